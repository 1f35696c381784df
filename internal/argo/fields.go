package argo

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/argo/versions"
)

// fieldsText is written from Argo CD's CRDs by TestFields in conformance/.
//
//go:embed fields.txt
var fieldsText string

// Fields are the fields that the CRD of a kind of Argo CD names, in all versions. Others are dropped by the API server. The zero Fields are
// not listed: any field may be there.
type Fields struct{ table map[string]fieldOf }

type fieldOf struct {
	since versions.Version
	of    Fields
}

// objectMeta are the fields of metadata, which no CRD lists.
var objectMeta = []string{
	"annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation",
	"labels", "managedFields", "name", "namespace", "ownerReferences", "resourceVersion", "selfLink", "uid",
}

var fieldTables = sync.OnceValue(func() map[string]Fields {
	all := map[string]Fields{}
	for line := range strings.Lines(fieldsText) {
		name, list, found := strings.Cut(strings.TrimSpace(line), " = ")
		if !found {
			continue
		}
		f := Fields{map[string]fieldOf{}}
		for _, text := range strings.Fields(list) {
			text, since, _ := strings.Cut(text, "@")
			key, of, _ := strings.Cut(text, ":")
			n, _ := strconv.Atoi(since)                                                 // none is 0
			f.table[key] = fieldOf{versions.Version(n), all[strings.TrimLeft(of, "[")]} // types come before their use
		}
		all[name] = f
	}
	meta := Fields{map[string]fieldOf{}}
	for _, name := range objectMeta {
		meta.table[name] = fieldOf{}
	}
	for _, kind := range []string{KindApplication, KindApplicationSet, KindAppProject} {
		all[kind].table["metadata"] = fieldOf{of: meta}
	}
	return all
})

// FieldsOf returns the fields of a kind: Application, ApplicationSet, AppProject.
func FieldsOf(kind string) Fields { return fieldTables()[kind] }

// Listed reports whether all fields are known.
func (f Fields) Listed() bool { return f.table != nil }

// Names returns the fields that a version has, in order.
func (f Fields) Names(v versions.Version) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f.table)) {
		if f.Has(name, v) {
			out = append(out, name)
		}
	}
	return out
}

// Has reports whether a version has a field.
func (f Fields) Has(name string, v versions.Version) bool {
	m, ok := f.table[name]
	return ok && v.Between(m.since, 0)
}

// Since is the first version that has a field, if a later one has it, too. Zero is all versions, or none.
func (f Fields) Since(name string) versions.Version { return f.table[name].since }

// Field returns the fields of a field, or of the items of its list.
func (f Fields) Field(name string) Fields { return f.table[name].of }

// Find returns the shortest paths to a field of a name in a version, at most a few.
func (f Fields) Find(name string, v versions.Version) [][]string {
	type step struct {
		at   Fields
		path []string
	}
	seen := map[string]bool{}
	for level := []step{{f, nil}}; len(level) > 0; {
		var found [][]string
		var next []step
		for _, s := range level {
			for _, key := range s.at.Names(v) {
				path := append(slices.Clone(s.path), key)
				of := s.at.Field(key)
				// Equal types are in many places. The first one counts.
				id := key + " " + strings.Join(of.Names(0), " ")
				switch {
				case key == name:
					found = append(found, path)
				case of.Listed() && !seen[id]:
					seen[id] = true
					next = append(next, step{of, path})
				}
			}
		}
		if len(found) > 0 {
			return found[:min(len(found), 3)]
		}
		level = next
	}
	return nil
}
