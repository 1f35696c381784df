package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// root is where Kustomize sees the directory.
const root = "/source"

// building is locked because Kustomize keeps the schema of types, which a Kustomization can replace, in globals.
var building sync.Mutex

// kustomization builds the Kustomization in a directory.
func kustomization(files []tree.File, o Options) (docs []manifest.Document, err error) {
	if err := invalid(files, o); err != nil {
		return nil, err
	}
	if o.LocalCharts {
		if files, err = inflate(files, o); err != nil {
			return nil, err
		}
	}
	building.Lock()
	defer building.Unlock()
	name := konfig.DefaultKustomizationFileName()
	// Kustomize panics over an empty file in crds, a patch without a target and more.
	defer func() {
		if r := recover(); r != nil {
			docs, err = nil, fmt.Errorf("%s: a panic in Kustomize: %v", o.URL(name), r)
		}
	}()
	l := localCheck{o: o, disk: newDisk(files), seen: map[string]bool{}, factory: resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())}
	name = l.directory(at{}, path.Join(".", o.Dir), nil)
	if err := errors.Join(l.errs...); err != nil {
		return nil, err
	}
	if l.schema {
		defer openapi.ResetOpenAPI()
	}
	text, err := build(l.disk, path.Join(root, o.Dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", o.URL(name), strings.ReplaceAll(strings.ReplaceAll(oneLine(err), root+"/", ""), "'"+root+"'", "'.'"))
	}
	return decode([]tree.File{{Name: o.URL(name) + " (built)", Data: text}})
}

func build(disk filesys.FileSystem, dir string) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	options.LoadRestrictions = types.LoadRestrictionsRootOnly
	options.PluginConfig = types.DisabledPluginConfig()
	built, err := krusty.MakeKustomizer(options).Run(disk, dir)
	if err != nil {
		return nil, err
	}
	return built.AsYaml()
}

// disk is a directory below root. Kustomize has a file system in memory, but that one knows few characters in names.
type disk struct {
	filesys.FileSystem // nothing, for what a build does not use
	files              map[string][]byte
	dirs               map[string]bool
}

func newDisk(files []tree.File) disk {
	d := disk{filesys.MakeEmptyDirInMemory(), map[string][]byte{}, map[string]bool{root: true}}
	for _, f := range files {
		name := path.Join(root, f.Name)
		d.files[name] = f.Data
		for dir := path.Dir(name); dir != root; dir = path.Dir(dir) {
			d.dirs[dir] = true
		}
	}
	return d
}

func (d disk) IsDir(name string) bool { return d.dirs[path.Clean(name)] }

func (d disk) Exists(name string) bool {
	_, _, err := d.CleanedAbs(name)
	return err == nil
}

func (d disk) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	name = path.Clean(name)
	if d.dirs[name] {
		return filesys.ConfirmedDir(name), "", nil
	}
	if _, ok := d.files[name]; ok {
		return filesys.ConfirmedDir(path.Dir(name)), path.Base(name), nil
	}
	return "", "", fmt.Errorf("'%s' doesn't exist", name)
}

func (d disk) ReadFile(name string) ([]byte, error) {
	data, ok := d.files[path.Clean(name)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return data, nil
}

// localCheck refuses what would make Kustomize fetch something or run something: it has no switch for that. It reads
// what Kustomize will read, with Kustomize's own decoders, which ignore the case of names. Whatever names a file must be
// a file that is there, which is also the better message.
type localCheck struct {
	o       Options
	disk    disk
	factory *resmap.Factory
	seen    map[string]bool
	schema  bool // a Kustomization brings its own
	errs    []error
}

// at is a field of a Kustomization.
type at struct{ file, field string }

func (a at) dot(field string) at { return at{a.file, a.field + "." + field} }

func (l *localCheck) errorf(a at, format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if a.field != "" {
		s = a.field + ": " + s
	}
	l.errs = append(l.errs, fmt.Errorf("%s: %s", l.o.URL(a.file), s))
}

// directory checks the Kustomization in a directory, and those that it leads to, and returns its name. plugins is the
// field that wants plugins from it.
func (l *localCheck) directory(from at, dir string, plugins *at) string {
	var found []string
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if _, ok := l.disk.files[path.Join(root, dir, name)]; ok {
			found = append(found, name)
		}
	}
	switch {
	case len(found) == 0 && from.file == "":
		l.errorf(at{file: path.Join(dir, konfig.DefaultKustomizationFileName())}, "there is no such file")
		return ""
	case len(found) == 0:
		l.errorf(from, "there is no %s in %q", konfig.DefaultKustomizationFileName(), dir)
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
	data := l.disk.files[path.Join(root, name)]
	var k types.Kustomization
	if err := k.Unmarshal(data); err != nil {
		l.errorf(at{file: name}, "%s", oneLine(err))
	} else if _, err := manifest.Value(data); err != nil {
		l.errorf(at{file: name}, "%v", err) // a key twice, of which Kustomize would take the last
	} else {
		l.kustomization(name, &k, plugins)
	}
	return name
}

func (l *localCheck) kustomization(name string, k *types.Kustomization, plugins *at) {
	in := func(field string) at { return at{name, field} }
	for _, s := range k.Resources {
		l.entry(in("resources"), s, plugins)
	}
	for _, s := range k.Bases { //nolint:staticcheck // deprecated, and in use
		l.entry(in("bases"), s, plugins)
	}
	if plugins != nil {
		l.resourcesOnly(name, *k)
		return
	}
	for _, s := range k.Components {
		l.entry(in("components"), s, nil)
	}
	for _, list := range []struct {
		at
		plugins []string
	}{{in("generators"), k.Generators}, {in("transformers"), k.Transformers}, {in("validators"), k.Validators}} {
		for _, s := range list.plugins {
			l.plugin(list.at, s)
		}
	}
	for _, s := range k.PatchesStrategicMerge { //nolint:staticcheck // deprecated, and in use
		l.patch(in("patchesStrategicMerge"), string(s))
	}
	l.files(in("crds"), k.Crds...)
	l.files(in("configurations"), k.Configurations...)
	l.files(in("openapi.path"), k.OpenAPI["path"])
	l.schema = l.schema || len(k.OpenAPI) > 0
	for _, p := range k.Patches {
		l.files(in("patches.path"), p.Path)
	}
	for _, p := range k.PatchesJson6902 { //nolint:staticcheck // deprecated, and in use
		l.files(in("patchesJson6902.path"), p.Path)
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
	if len(k.HelmCharts)+len(k.HelmChartInflationGenerator) > 0 || k.HelmGlobals != nil {
		l.errorf(at{file: name}, "helmCharts is not supported here; publish the chart itself")
	}
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
	if l.disk.dirs[path.Join(root, name)] {
		l.directory(a, name, plugins)
	} else if plugins != nil {
		if m, err := l.factory.NewResMapFromBytes(l.disk.files[path.Join(root, name)]); err == nil {
			l.configs(*plugins, m)
		}
	}
}

// plugin looks at the configuration of a generator or transformer, which is in place or, if it cannot be, a path.
func (l *localCheck) plugin(a at, s string) {
	if m, err := l.factory.NewResMapFromBytes([]byte(s)); err == nil {
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
			l.errorf(a, "functions in containers or programs are not run")
		case r.GetKind() == "HelmChartInflationGenerator":
			l.errorf(a, "HelmChartInflationGenerator is not supported here; publish the chart itself")
		case err != nil:
			l.errorf(a, "%s: %s", r.GetKind(), oneLine(err))
		}
		l.files(a.dot("path"), c.Path)
		l.files(a.dot("targetFilePath"), c.TargetFilePath)
		for _, s := range c.Paths {
			l.patch(a.dot("paths"), s)
		}
		for _, r := range c.Replacements {
			l.files(a.dot("replacements.path"), r.Path)
		}
		l.pairs(a, c.KvPairSources)
	}
}

// patch checks a patch, which is in place or, if it cannot be, a file.
func (l *localCheck) patch(a at, s string) {
	if _, err := l.factory.RF().SliceFromBytes([]byte(s)); err != nil {
		l.files(a, s)
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

// local demands that something is there. What can be a directory can also be a Git repository.
func (l *localCheck) local(a at, s string, directory bool) bool {
	name := path.Join(path.Dir(a.file), s)
	switch exists := l.disk.Exists(path.Join(root, name)); {
	case remote(s, directory), !exists && looksRemote(s):
		l.errorf(a, "%q is remote; only files in the source are read", s)
	case path.IsAbs(s) || name == ".." || strings.HasPrefix(name, "../"):
		l.errorf(a, "%q is outside of the source", s)
	case !exists:
		l.errorf(a, "%q is not in the source", s)
	default:
		return true
	}
	return false
}

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
