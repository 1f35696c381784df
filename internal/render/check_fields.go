package render

import (
	"bytes"
	"path"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// resourcesOnly allows only resources in a directory of plugins: other fields could change the plugins after the check.
func (l *localCheck) resourcesOnly(name string, k types.Kustomization) {
	k.TypeMeta, k.MetaData, k.Resources, k.Bases = types.TypeMeta{}, nil, nil, nil //nolint:staticcheck // deprecated, and in use
	if !reflect.DeepEqual(k, types.Kustomization{}) {
		l.errorf(at{file: name}, "the Kustomization of a directory of generators, transformers or validators may have resources only")
	}
}

// entry checks a file or a directory.
func (l *localCheck) entry(a at, s string, plugins *at) {
	if !l.local(a, s, true) {
		return
	}
	name := path.Join(path.Dir(a.file), s)
	if l.disk.IsDir(name) {
		l.directory(a, name, plugins)
		return
	}
	data, err := l.disk.ReadFile(name)
	if err != nil {
		l.errorf(a, "%s: %s", s, oneLine(err))
		return
	}
	l.resourcesIn[path.Dir(a.file)] += 1 + bytes.Count(data, []byte("\n---"))
	if l.inline(a, s, data); plugins == nil {
		return
	}
	if m, err := l.resources(data); err == nil {
		l.configs(*plugins, m)
	}
}

// plugin looks at the configuration of a generator or transformer, which is in place or, if it cannot be, a path.
func (l *localCheck) plugin(a at, s string) {
	l.inline(a, s, []byte(s))
	if m, err := l.resources([]byte(s)); err == nil {
		l.configs(a, m)
	} else {
		l.entry(a, s, &a)
	}
}

// configs looks for fields that name files, which belong to the Kustomization with the plugin.
func (l *localCheck) configs(a at, m resmap.ResMap) {
	for _, r := range m.Resources() {
		var c struct {
			Path, TargetFilePath string
			Patch, Patches       any // text, or something else of a plugin that is none of Kustomize's
			Paths                []string
			Replacements         []struct{ Path string }
			types.KvPairSources
		}
		text, err := r.AsYAML()
		if err == nil {
			err = manifest.Unmarshal(text, &c)
		}
		switch {
		case r.GetAnnotations()["config.kubernetes.io/function"] != "" || r.GetAnnotations()["config.k8s.io/function"] != "":
			if l.stuck = l.stuck || l.k.MayRun; l.k.MayRun {
				l.lacks(a, "functions in containers or programs are not run")
				continue
			}
			l.errorf(a, "functions in containers or programs are not run")
		case r.GetKind() == "HelmChartInflationGenerator":
			l.errorf(a, "HelmChartInflationGenerator is supported in generators only")
		case err != nil:
			l.errorf(a, "%s: %s", r.GetKind(), oneLine(err))
		}
		l.patchFile(a.dot("path"), c.Path)
		l.files(a.dot("targetFilePath"), c.TargetFilePath)
		for _, v := range []any{c.Patch, c.Patches} {
			text, _ := v.(string)
			l.inline(a.dot("patch"), text, []byte(text))
		}
		for _, s := range c.Paths {
			l.patch(a.dot("paths"), s)
		}
		for _, r := range c.Replacements {
			l.decoded(a.dot("replacements.path"), r.Path)
		}
		l.pairs(a, c.KvPairSources)
	}
}

// resources decodes resources as Kustomize does.
func (l *localCheck) resources(data []byte) (resmap.ResMap, error) {
	if err := boundAliases(data); err != nil {
		return nil, err
	}
	leave, err := kinds.enter(l.ctx, false, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	return l.factory.NewResMapFromBytes(data)
}

// slice decodes resources, which may have duplicates.
func (l *localCheck) slice(data []byte) ([]*resource.Resource, error) {
	if err := boundAliases(data); err != nil {
		return nil, err
	}
	leave, err := kinds.enter(l.ctx, false, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	return l.factory.RF().SliceFromBytes(data)
}

// inline checks the text of resources and patches, in place or of a file.
func (l *localCheck) inline(a at, name string, text []byte) {
	if err := boundAliases(text); err != nil {
		l.errorf(a, "%.60q: %v", name, err)
	}
}

// patchFile checks a patch in a file.
func (l *localCheck) patchFile(a at, name string) {
	a = a.of(name)
	l.files(a, name)
	if data, err := l.disk.ReadFile(path.Join(path.Dir(a.file), name)); err == nil && name != "" {
		l.inline(a, name, data)
	}
}

// patch checks a patch, which is in place or, if it cannot be, a file.
func (l *localCheck) patch(a at, s string) {
	l.inline(a, s, []byte(s))
	if _, err := l.slice([]byte(s)); err != nil {
		l.patchFile(a, s)
	}
}

func (l *localCheck) pairs(a at, p types.KvPairSources) {
	for _, s := range p.FileSources {
		if _, after, ok := strings.Cut(s, "="); ok {
			s = after // key=file
		}
		l.files(a.dot("files"), s)
	}
	l.files(a.dot("envs"), p.EnvSources...)
	l.files(a.dot("env"), p.EnvSource)
}

func (l *localCheck) files(a at, names ...string) {
	for _, s := range names {
		if s != "" {
			l.local(a.of(s), s, false)
		}
	}
}

// decoded checks files that Kustomize decodes.
func (l *localCheck) decoded(a at, names ...string) {
	for _, name := range names {
		l.patchFile(a, name)
	}
}

// isRemote reports whether an entry is not in the source. An entry that may be a directory may also be a Git repository.
func (l *localCheck) isRemote(a at, s string, directory bool) bool {
	return remote(s, directory) || looksRemote(s) && !l.disk.Exists(path.Join(path.Dir(a.file), s))
}

// local demands that something is there.
func (l *localCheck) local(a at, s string, directory bool) bool {
	name := path.Join(path.Dir(a.file), s)
	mount, _ := top(a.file)
	switch at, _ := top(name); {
	case l.isRemote(a, s, directory):
		l.lacks(a, notFetched, s)
		l.stuck = true
	case path.IsAbs(s) || at != mount:
		l.errorf(a, "%q is outside of the source", s)
	case !l.disk.Exists(name):
		l.errorf(a, "%q is not in the source", s)
	default:
		return true
	}
	return false
}

// notFetched is the message for remote content without a Remote.
const notFetched = "%q is remote; only files in the source are read"

// remote reports whether Kustomize might take a name for a URL or, where that is possible, for a Git repository, even if
// there is a file of that name.
func remote(s string, clonable bool) bool {
	s = strings.ToLower(s)
	if strings.HasPrefix(s, "http:") || strings.HasPrefix(s, "https:") {
		return true
	}
	return clonable && (strings.Contains(s, "://") || strings.Contains(s, "@") || strings.HasPrefix(s, "git::") ||
		strings.HasPrefix(s, "github.com"))
}

// looksRemote is for messages only.
func looksRemote(s string) bool {
	return remote(s, true) || slices.ContainsFunc([]string{".git/", ".git?", "_git/", "?ref=", "//"}, func(part string) bool {
		return strings.Contains(s, part)
	}) ||
		strings.HasSuffix(s, ".git")
}
