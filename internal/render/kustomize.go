package render

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// kustomization builds the Kustomization at the root of a directory.
func kustomization(files []tree.File, o Options) ([]manifest.Document, error) {
	if err := invalid(files, o); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(tree.Names(files), isKustomization) {
		return nil, fmt.Errorf("%s: there is no such file", o.URL("kustomization.yaml"))
	}
	if err := localOnly(files, o); err != nil {
		return nil, err
	}
	disk := filesys.MakeFsInMemory()
	for _, f := range files {
		if err := disk.WriteFile("/source/"+f.Name, f.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", o.URL(f.Name), err)
		}
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsRootOnly
	options.PluginConfig = types.DisabledPluginConfig()
	built, err := krusty.MakeKustomizer(options).Run(disk, "/source")
	if err != nil {
		return nil, fmt.Errorf("%s: %s", o.URL("kustomization.yaml"), strings.ReplaceAll(oneLine(err), "/source/", ""))
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("%s: %s", o.URL("kustomization.yaml"), oneLine(err))
	}
	return decode([]tree.File{{Name: o.URL("kustomization.yaml") + " (built)", Data: text}})
}

// localOnly refuses what would make Kustomize fetch something or run something: it has no switch for that. Whatever
// names a file must be a file that is there, which is also the better message.
func localOnly(files []tree.File, o Options) error {
	l := &localCheck{o: o, files: map[string][]byte{}, dirs: map[string]bool{".": true}}
	for _, f := range files {
		l.files[f.Name] = f.Data
		for d := path.Dir(f.Name); d != "."; d = path.Dir(d) {
			l.dirs[d] = true
		}
	}
	for _, f := range files {
		if isKustomization(path.Base(f.Name)) {
			l.kustomization(f)
		}
	}
	return errors.Join(l.errs...)
}

type localCheck struct {
	o     Options
	files map[string][]byte
	dirs  map[string]bool
	errs  []error
}

func (l *localCheck) errorf(file, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf("%s: %s", l.o.URL(file), fmt.Sprintf(format, args...)))
}

// Fields of a Kustomization that name files or directories.
var (
	pathLists  = []string{"resources", "bases", "components", "crds", "configurations"}
	fileFields = []string{"path", "paths", "files", "file", "envs", "env", "valuesFile", "additionalValuesFiles"}
	pluginList = []string{"generators", "transformers", "validators"}
	charts     = []string{"helmCharts", "helmChartInflationGenerator", "helmGlobals"}
)

func (l *localCheck) kustomization(f tree.File) {
	v, err := manifest.Value(f.Data)
	k, ok := v.(map[string]any)
	if err != nil || !ok {
		return // Kustomize says it better
	}
	dir := path.Dir(f.Name)
	for _, name := range pathLists {
		for _, s := range texts(k[name]) {
			l.local(f.Name, dir, name, s)
		}
	}
	for _, name := range pluginList {
		for _, s := range texts(k[name]) {
			l.plugin(f.Name, dir, name, s)
		}
	}
	for _, name := range charts {
		if k[name] != nil {
			l.errorf(f.Name, "%s is not supported here; publish the chart itself", name)
		}
	}
	for name, v := range k {
		if name == "patchesStrategicMerge" {
			for _, s := range texts(v) {
				if !strings.Contains(s, "\n") && !strings.Contains(s, ": ") {
					l.local(f.Name, dir, name, s)
				}
			}
			continue
		}
		l.walk(f.Name, dir, name, v)
	}
}

// plugin looks at the configuration of a generator or transformer, which is a file, a directory or written in place.
func (l *localCheck) plugin(file, dir, field, s string) {
	if !strings.Contains(s, "\n") {
		l.local(file, dir, field, s)
		name := path.Join(dir, s)
		for _, candidate := range append(l.below(name), name) {
			if data, ok := l.files[candidate]; ok {
				l.documents(file, path.Dir(candidate), field, data)
			}
		}
		return
	}
	l.documents(file, dir, field, []byte(s))
}

func (l *localCheck) below(dir string) []string {
	var names []string
	for name := range l.files {
		if strings.HasPrefix(name, dir+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (l *localCheck) documents(file, dir, field string, data []byte) {
	docs, err := manifest.Decode(file, data)
	if err != nil {
		return
	}
	for _, d := range docs {
		annotations := manifest.Map(d.Object, "metadata", "annotations")
		if annotations["config.kubernetes.io/function"] != nil || annotations["config.k8s.io/function"] != nil {
			l.errorf(file, "%s: functions in containers or programs are not run", field)
		}
		if manifest.String(d.Object, "kind") == "HelmChartInflationGenerator" {
			l.errorf(file, "%s: HelmChartInflationGenerator is not supported here; publish the chart itself", field)
		}
		l.walk(file, dir, field, d.Object)
	}
}

// walk looks for fields that name files, at any depth.
func (l *localCheck) walk(file, dir, field string, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			l.walk(file, dir, field, e)
		}
	case map[string]any:
		for name, e := range v {
			if !slices.Contains(fileFields, name) {
				l.walk(file, dir, field+"."+name, e)
				continue
			}
			for _, s := range texts(e) {
				if _, after, ok := strings.Cut(s, "="); ok && name == "files" {
					s = after // key=file
				}
				if remote(s) {
					l.errorf(file, "%s.%s: %q is remote; only files in the source are read", field, name, s)
				}
			}
		}
	}
}

// local demands that something is there.
func (l *localCheck) local(file, dir, field, s string) {
	name := path.Join(dir, s)
	switch _, isFile := l.files[name]; {
	case remote(s):
		l.errorf(file, "%s: %q is remote; only files in the source are read", field, s)
	case path.IsAbs(s) || name == ".." || strings.HasPrefix(name, "../"):
		l.errorf(file, "%s: %q is outside of the source", field, s)
	case !isFile && !l.dirs[name]:
		l.errorf(file, "%s: %q is not in the source", field, s)
	}
}

// remote reports whether Kustomize might take a name for a URL or a Git repository. It is wide on purpose.
func remote(s string) bool {
	lower := strings.ToLower(s)
	return strings.Contains(s, "://") || strings.Contains(s, "@") || strings.Contains(lower, "git::") || strings.Contains(lower, ".git/") ||
		strings.HasSuffix(lower, ".git") || strings.Contains(lower, "_git/") || strings.Contains(lower, "github.com") || strings.Contains(s, "?") ||
		strings.Contains(s, "//")
}

// texts returns the strings in a list, or the one string.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	default:
		return nil
	}
}
