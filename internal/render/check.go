package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// localCheck keeps Kustomize from fetching and running anything: it has no switch for that. It reads what Kustomize will read, with Kustomize's
// own decoders, which ignore the case of names. Whatever names a file must be a file that is there, which is also the better message. What is
// remote is fetched by ours, or left out; charts are rendered by ours; and the Kustomizations that name them are written anew.
type localCheck struct {
	ctx      context.Context
	k        Kustomization
	disk     *disk
	factory  *resmap.Factory
	seen     map[string]bool
	below    map[string][]string // the directories of Kustomizations that a directory refers to
	schema   bool // a Kustomization brings its own
	stuck    bool // what is missing cannot be left out
	errs     []error
	missing  []error
	warnings []string
}

// at is a field of a Kustomization.
type at struct{ file, field string }

func (a at) dot(field string) at { return at{a.file, a.field + "." + field} }

func (l *localCheck) errorf(a at, format string, args ...any) {
	l.errs = append(l.errs, l.error(a, format, args...))
}

// lacks notes that something is not available.
func (l *localCheck) lacks(a at, format string, args ...any) {
	if err := l.error(a, format, args...); !slices.ContainsFunc(l.missing, func(e error) bool { return e.Error() == err.Error() }) {
		l.missing = append(l.missing, err)
	}
}

func (l *localCheck) error(a at, format string, args ...any) error {
	s := fmt.Sprintf(format, args...)
	if a.field != "" {
		s = a.field + ": " + s
	}
	return fmt.Errorf("%s: %s", l.k.URL(l.disk.name(a.file)), s)
}

// directory checks the Kustomization in a directory, and those that it leads to, and returns its name. plugins is the
// field that wants plugins from it.
func (l *localCheck) directory(from at, dir string, plugins *at) string {
	dir, _ = l.disk.find(dir)
	l.below[path.Dir(from.file)] = append(l.below[path.Dir(from.file)], dir)
	var found []string
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if _, kind := l.disk.find(path.Join(dir, name)); kind == tree.Regular {
			found = append(found, name)
		}
	}
	switch {
	case len(found) == 0 && from.file == "":
		l.errorf(at{file: path.Join(dir, konfig.DefaultKustomizationFileName())}, "there is no such file")
		return ""
	case len(found) == 0:
		l.errorf(from, "there is no %s in %q", konfig.DefaultKustomizationFileName(), l.disk.name(dir))
		return ""
	}
	name := path.Join(dir, found[0])
	key := fmt.Sprint(name, plugins != nil)
	if l.seen[key] {
		return name
	}
	l.seen[key] = true
	if len(found) > 1 {
		l.errorf(at{file: name}, "only one of %s may be there", strings.Join(found, ", "))
		return name
	}
	data, err := l.disk.ReadFile(name)
	if err != nil {
		l.errorf(at{file: name}, "%s", oneLine(err))
		return name
	}
	var k types.Kustomization
	if err := k.Unmarshal(data); err != nil {
		l.errorf(at{file: name}, "%s", oneLine(err))
		return name
	}
	if _, err := manifest.Value(data); err != nil { // a key twice, of which Kustomize takes the last
		if l.k.Strict {
			l.errorf(at{file: name}, "%v", err)
			return name
		}
		l.warnings = append(l.warnings, fmt.Sprintf("%s: %v; the last one counts", l.k.URL(l.disk.name(name)), err))
	}
	changed := false
	if from.file == "" && l.k.Edits != nil {
		if err := errors.Join(l.k.Edits.fits(data), l.k.Edits.apply(&k)); err != nil {
			l.errorf(at{file: name}, "%v", err)
			return name
		}
		changed = true
	}
	changed = l.kustomization(name, &k, plugins) || changed
	if modernize(&k) || changed {
		l.write(name, &k)
	}
	return name
}

// modernize replaces deprecated fields by those that do exactly the same, because Kustomize would warn on standard error, and reports whether
// there were any.
func modernize(k *types.Kustomization) bool {
	if k.Bases == nil && k.ImageTags == nil && k.CommonLabels == nil { //nolint:staticcheck // deprecated, and in use
		return false
	}
	k.FixKustomization()
	if len(k.CommonLabels) > 0 { //nolint:staticcheck // likewise
		k.Labels = append(k.Labels, types.Label{Pairs: k.CommonLabels, IncludeSelectors: true}) //nolint:staticcheck // likewise
	}
	k.CommonLabels = nil //nolint:staticcheck // likewise
	return true
}

// write puts a Kustomization in the place of its file.
func (l *localCheck) write(name string, k *types.Kustomization) {
	data, err := manifest.Marshal(k)
	if err != nil {
		l.errorf(at{file: name}, "%v", err)
		return
	}
	l.disk.written[name] = data
}

// kustomization checks one, and reports whether it had to be changed.
func (l *localCheck) kustomization(name string, k *types.Kustomization, plugins *at) bool {
	in := func(field string) at { return at{name, field} }
	changed := l.entries(in("resources"), &k.Resources, plugins)
	changed = l.entries(in("bases"), &k.Bases, plugins) || changed //nolint:staticcheck // deprecated, and in use
	if changed {
		l.notEmpty(name, k)
	}
	if plugins != nil {
		l.resourcesOnly(name, *k)
		return changed
	}
	if l.entries(in("components"), &k.Components, nil) {
		l.notEmpty(name, k)
		changed = true
	}
	for _, list := range []struct {
		at
		plugins *[]string
	}{{in("generators"), &k.Generators}, {in("transformers"), &k.Transformers}, {in("validators"), &k.Validators}} {
		kept := (*list.plugins)[:0:0]
		for _, s := range *list.plugins {
			if list.field == "generators" && l.chartGenerators(list.at, s, k) {
				changed = true
				continue
			}
			l.plugin(list.at, s)
			kept = append(kept, s)
		}
		*list.plugins = kept
	}
	for _, s := range k.PatchesStrategicMerge { //nolint:staticcheck // deprecated, and in use
		l.patch(in("patchesStrategicMerge"), string(s))
	}
	l.files(in("crds"), k.Crds...)
	l.files(in("configurations"), k.Configurations...)
	l.files(in("openapi.path"), k.OpenAPI["path"])
	l.schema = l.schema || len(k.OpenAPI) > 0
	for _, p := range k.Patches {
		l.patchFile(in("patches.path"), p.Path)
		l.inline(in("patches"), p.Patch, []byte(p.Patch))
	}
	for _, p := range k.PatchesJson6902 { //nolint:staticcheck // deprecated, and in use
		l.patchFile(in("patchesJson6902.path"), p.Path)
		l.inline(in("patchesJson6902"), p.Patch, []byte(p.Patch))
	}
	for _, r := range k.Replacements {
		l.files(in("replacements.path"), r.Path)
	}
	for _, g := range k.ConfigMapGenerator {
		l.pairs(in("configMapGenerator"), g.KvPairSources)
	}
	for _, g := range k.SecretGenerator {
		l.pairs(in("secretGenerator"), g.KvPairSources)
	}
	if len(k.HelmCharts)+len(k.HelmChartInflationGenerator) > 0 {
		l.charts(name, k)
		changed = true
	}
	return changed
}

// entries checks a list of files and directories, some of which may be remote, and reports whether it has changed it.
func (l *localCheck) entries(a at, list *[]string, plugins *at) bool {
	changed := false
	kept := (*list)[:0:0]
	for _, s := range *list {
		if !l.isRemote(a, s, true) {
			l.entry(a, s, plugins)
			kept = append(kept, s)
			continue
		}
		changed = true
		if local, ok := l.fetch(a, s, plugins); ok {
			kept = append(kept, local)
		}
	}
	if changed {
		*list = kept
	}
	return changed
}

// resourcesOnly keeps a directory of plugins from changing what is in them after it was checked.
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
			l.files(a.dot("replacements.path"), r.Path)
		}
		l.pairs(a, c.KvPairSources)
	}
}

// resources decodes resources as Kustomize does.
func (l *localCheck) resources(data []byte) (resmap.ResMap, error) {
	if err := boundAliases(data); err != nil {
		return nil, err
	}
	defer kinds.enter(false)()
	return l.factory.NewResMapFromBytes(data)
}

// slice is resources, of which several may be the same.
func (l *localCheck) slice(data []byte) ([]*resource.Resource, error) {
	if err := boundAliases(data); err != nil {
		return nil, err
	}
	defer kinds.enter(false)()
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
			l.local(a, s, false)
		}
	}
}

// isRemote reports whether something is not in the source. What can be a directory can also be a Git repository.
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

// notFetched is said of what is remote where nothing is fetched.
const notFetched = "%q is remote; only files in the source are read"

// remote reports whether Kustomize might take a name for a URL or, where that is possible, for a Git repository, even if
// there is a file of that name.
func remote(s string, clonable bool) bool {
	s = strings.ToLower(s)
	if strings.HasPrefix(s, "http:") || strings.HasPrefix(s, "https:") {
		return true
	}
	return clonable && (strings.Contains(s, "://") || strings.Contains(s, "@") || strings.HasPrefix(s, "git::") || strings.HasPrefix(s, "github.com"))
}

// looksRemote is for messages only.
func looksRemote(s string) bool {
	return remote(s, true) || slices.ContainsFunc([]string{".git/", ".git?", "_git/", "?ref=", "//"}, func(part string) bool { return strings.Contains(s, part) }) ||
		strings.HasSuffix(s, ".git")
}
