package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// localCheck keeps Kustomize from fetching and running anything: it has no switch for that. It reads what Kustomize will read, with
// Kustomize's own decoders, which ignore the case of names. Each named file must exist, which also gives better messages. Remote content is
// fetched by our own fetcher, or left out; charts are rendered by our own engine; and the Kustomizations that name them are rewritten.
type localCheck struct {
	ctx     context.Context
	k       Kustomization
	disk    *disk
	factory *resmap.Factory
	seen    map[string]bool
	below   map[string][]string // the directories of Kustomizations that a directory refers to
	// resourcesIn are how many resources the files of a Kustomization have, by its directory.
	resourcesIn map[string]int
	schema      bool // a Kustomization brings its own
	stuck       bool // the missing part cannot be left out
	errs        []error
	missing     []error
	warnings    []error
	deprecated  []error
}

// at is a field of a Kustomization, with an entry of it as written; "" is none.
type at struct{ file, field, entry string }

func (a at) dot(field string) at { return at{a.file, a.field + "." + field, a.entry} }

// of is the same field, and an entry of it.
func (a at) of(entry string) at { return at{a.file, a.field, entry} }

func (l *localCheck) errorf(a at, format string, args ...any) {
	if len(l.errs) < maxErrors {
		l.errs = append(l.errs, l.error(a, format, args...))
	}
}

// lacks notes that something is not available.
func (l *localCheck) lacks(a at, format string, args ...any) {
	if len(l.missing) >= maxErrors {
		return
	}
	l.missing = appendOnce(l.missing, l.error(a, format, args...))
}

// appendOnce adds an error, unless one says the same.
func appendOnce(list []error, err error) []error {
	if slices.ContainsFunc(list, func(e error) bool { return e.Error() == err.Error() }) {
		return list
	}
	return append(list, err)
}

func (l *localCheck) error(a at, format string, args ...any) error {
	s := fmt.Sprintf(format, args...)
	if a.field != "" {
		s = a.field + ": " + s
	}
	return l.position(a).Errorf("%s", giturl.RedactText(s))
}

// position is where a field, or an entry of it, is written. A file that cannot be read has no lines.
func (l *localCheck) position(a at) manifest.Position {
	p := manifest.Position{File: l.k.URL(l.disk.name(a.file))}
	if data, err := l.disk.original(a.file); err == nil {
		p.Line = lineOf(data, a.field, a.entry)
	}
	return p
}

// lineOf finds the line of a top-level field, or of an entry below it, in the text of a Kustomization: of the first line that has the text
// of the entry. Zero is not found. Kustomize ignores the case of names.
func lineOf(data []byte, field, entry string) int {
	key, _, _ := strings.Cut(field, ".")
	if key == "" {
		return 0
	}
	number, at := 0, 0
	for line := range strings.Lines(string(data)) {
		number++
		name, _, isField := strings.Cut(line, ":")
		switch top := strings.TrimLeft(line, " \t-#") == line; {
		case at == 0 && isField && strings.EqualFold(strings.Trim(name, `"' `), key) && top:
			at = number
		case at > 0 && isField && top && strings.TrimSpace(line) != "":
			return at // of the field: the entry is not below it
		}
		if at > 0 && entry != "" && strings.Contains(line, strings.TrimSpace(entry)) && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			return number
		}
	}
	return at
}

// directory checks the Kustomization in a directory, and those that it refers to, and returns its name. plugins is the field that loads
// plugins from it.
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
		l.errorf(at{file: name}, "only one of %s may exist", strings.Join(found, ", "))
		return name
	}
	data, err := l.disk.ReadFile(name)
	if err != nil {
		l.errorf(at{file: name}, "%s", oneLine(err))
		return name
	}
	if err := manifest.Check(data); err != nil {
		l.errorf(at{file: name}, "%v", err)
		return name
	}
	var k types.Kustomization
	if err := k.Unmarshal(data); err != nil {
		l.errorf(at{file: name}, "%s", oneLine(err))
		return name
	}
	if _, err := manifest.Value(data); err != nil { // a key twice, of which Kustomize takes the last
		err = manifest.Located(l.k.URL(l.disk.name(name)), err)
		if l.k.Strict {
			l.errs = append(l.errs, err)
			return name
		}
		l.warnings = append(l.warnings, manifest.LastCounts(err))
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
	l.deprecates(name, &k)
	return name
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
	in := func(field string) at { return at{file: name, field: field} }
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
			if list.field == "generators" && l.chartGenerators(list.of(s), s, k) {
				changed = true
				continue
			}
			l.plugin(list.of(s), s)
			kept = append(kept, s)
		}
		*list.plugins = kept
	}
	changed = l.strategic(in("patchesStrategicMerge"), k) || changed
	l.decoded(in("crds"), k.Crds...)
	l.decoded(in("configurations"), k.Configurations...)
	l.decoded(in("openapi.path"), k.OpenAPI["path"])
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
		l.decoded(in("replacements.path"), r.Path)
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
		a := a.of(s)
		if copied, ok := l.copied(a, s); ok {
			changed = true
			l.entry(a, copied, plugins)
			kept = append(kept, copied)
			continue
		}
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
