package render

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// errNotHere means that a file is not available, in contrast to errors of Kustomize.
var errNotHere = errors.New("it is not available here")

func notHere(err error, really bool) error {
	if !really {
		return err
	}
	return fmt.Errorf("%w; %w", err, errNotHere)
}

// values returns the values of a chart in a Kustomization: of the file, with the inline ones merged over or under them, or replacing them.
func (l *localCheck) values(a at, globals types.HelmGlobals, h types.HelmChart, files []tree.File) ([]byte, error) {
	inline := len(h.ValuesInline) > 0
	if inline && h.ValuesMerge == "replace" {
		return manifest.Marshal(h.ValuesInline)
	}
	var file []byte
	var err error
	if h.ValuesFile != "" {
		file, err = l.load(a, h.ValuesFile)
	} else {
		file, err = l.ownValues(a, globals, h, files)
	}
	if err != nil || !inline {
		return file, err
	}
	if h.ValuesFile == "" && files == nil {
		return manifest.Marshal(h.ValuesInline)
	}
	return l.mergeValues(file, h.ValuesInline, h.ValuesMerge == "merge")
}

// ownValues is the file values.yaml of a chart, which Kustomize demands, and demands to be below the Kustomization.
func (l *localCheck) ownValues(a at, globals types.HelmGlobals, h types.HelmChart, files []tree.File) ([]byte, error) {
	dir, err := l.chartDir(a, globals, h)
	if err != nil {
		return nil, err
	}
	if real, kind := l.disk.find(dir); kind == tree.Directory {
		dir = real
	}
	if err := l.restrict(a, path.Join(dir, "values.yaml")); err != nil || files == nil {
		return nil, err
	}
	data, ok := tree.Find(files, "values.yaml")
	if !ok {
		return nil, errors.New("the chart has no values.yaml, which Kustomize demands")
	}
	return data, nil
}

// load reads a file as Kustomize does: by its URL, or from the directory of the Kustomization.
func (l *localCheck) load(a at, name string) ([]byte, error) {
	if isURL(name) {
		if l.k.Remote == nil {
			return nil, notHere(fmt.Errorf("%q is remote", name), true)
		}
		data, err := l.k.Remote.File(l.ctx, name)
		return data, notHere(err, err != nil)
	}
	file := path.Join(path.Dir(a.file), name)
	if in, _ := top(file); path.IsAbs(name) || in != mountOf(a) {
		return nil, fmt.Errorf("%q is outside of the source", name)
	}
	real, kind := l.disk.find(file)
	if kind != tree.Regular {
		return nil, fmt.Errorf("%q is not in the source", name)
	}
	if err := l.restrict(a, real); err != nil {
		return nil, err
	}
	return l.disk.ReadFile(real)
}

// restrict refuses a file that is not below its Kustomization, unless Kustomize is told otherwise.
func (l *localCheck) restrict(a at, file string) error {
	if l.k.Anywhere || strings.HasPrefix(file, path.Dir(a.file)+"/") {
		return nil
	}
	return fmt.Errorf("security; file %q is not in or below %q", l.disk.name(file), l.disk.name(path.Dir(a.file)))
}

// mergeValues merges inline values into those of a file, by Kustomize's rules; under says that the file wins.
func (l *localCheck) mergeValues(file []byte, inline map[string]any, under bool) ([]byte, error) {
	if err := boundAliases(file); err != nil {
		return nil, fmt.Errorf("parsing the values file: %w", err)
	}
	of, err := yaml.Parse(string(file))
	if err != nil {
		return nil, fmt.Errorf("parsing the values file: %s", oneLine(err))
	}
	in, err := yaml.FromMap(inline)
	if err != nil {
		return nil, err
	}
	from, to := in, of
	if under {
		from, to = of, in
	}
	leave, err := kinds.enter(l.ctx, false, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	merged, err := merge2.Merge(from, to, yaml.MergeOptions{})
	if err != nil {
		return nil, fmt.Errorf("merging values: %s", oneLine(err))
	}
	values, err := merged.Map()
	if err != nil {
		return nil, fmt.Errorf("merging values: %s", oneLine(err))
	}
	return manifest.Marshal(values)
}
