package lint

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/strict"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleFieldUnknown = Rule{
	Rule: plan.Rule{
		Name: "field-unknown", Kind: plan.Advice, Severity: plan.Warning,
		Means: "An Application, ApplicationSet or AppProject has no such field in this version of Argo CD. The API server drops it, " +
			"and it has no effect.",
		Cure: "Correct the name of the field, or move the field to where it belongs.",
	},
	Family: Fields,
	Why: "The CRDs list all fields, and the API server prunes others (manifests/crds, read in 3.2.11 to 3.5.6). kubectl apply " +
		"refuses such an object.",
	check: func(p *pass) {
		generated, patched := p.generated(), p.patched()
		for _, app := range p.applications() {
			// A generated Application has the fields of its set's template, which is checked itself.
			if !generated[app] || patched[app] {
				for _, u := range p.unknownFields(argo.KindApplication, app.Object) {
					p.find(app, u.path, "an Application has no field %s", u)
					p.meant(u.meant)
				}
			}
		}
		for _, s := range p.sets() {
			object := s.Object
			if !argo.IsApplicationSet(object) {
				object = manifest.Object{"spec": s.spec}
			}
			for _, u := range p.unknownFields(argo.KindApplicationSet, object) {
				p.set(s, u.path[1:], "an ApplicationSet has no field %s", u)
				p.meant(u.meant)
			}
		}
		for _, app := range p.Applications {
			for _, item := range app.Items {
				if item.Group != argo.Group || item.Kind != argo.KindAppProject {
					continue
				}
				for _, u := range p.unknownFields(argo.KindAppProject, item.Object) {
					p.about(item, u.path, "an AppProject has no field %s", u)
					p.meant(u.meant)
				}
			}
		}
	},
}

// unknownField is a field that a kind does not have.
type unknownField struct {
	path []string
	// hint suggests a field, or names the version that has it. meant is the name of a suggested field, "" if there is none.
	hint, meant string
}

func (u unknownField) String() string { return fieldPath(u.path) + u.hint }

// fieldPath is a path as people write it.
func fieldPath(path []string) string { return strings.ReplaceAll(strings.Join(path, "."), ".[", "[") }

// unknownFields are the fields of an object that the version's CRD does not have.
func (p *pass) unknownFields(kind string, o manifest.Object) []unknownField {
	s := fieldSearch{kind: kind, top: argo.FieldsOf(kind), version: p.Version}
	s.walk(s.top, o, nil)
	return s.found
}

type fieldSearch struct {
	kind    string
	top     argo.Fields
	version versions.Version
	found   []unknownField
}

func (s *fieldSearch) walk(f argo.Fields, v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		if !f.Listed() {
			return
		}
		for _, k := range manifest.Keys(v) {
			here := append(slices.Clone(path), k)
			switch {
			case f.Has(k, s.version):
				s.walk(f.Field(k), v[k], here)
			case s.elsewhere(k) || f.Has("clusterDecisionResource", 0): // the engine refuses a generator that it does not know
			default:
				hint, meant := s.hint(f, k, path)
				s.found = append(s.found, unknownField{here, hint, meant})
			}
		}
	case []any:
		for i, e := range v {
			s.walk(f, e, append(slices.Clone(path), strict.Index(i)))
		}
	}
}

// elsewhere reports whether another rule is about the field.
func (s *fieldSearch) elsewhere(name string) bool {
	return name == preserveField || s.kind == argo.KindApplication && argo.Application().Field("spec").Name(name) != name
}

// hint suggests a field, and returns its name if that is similar.
func (s *fieldSearch) hint(f argo.Fields, name string, path []string) (hint, meant string) {
	if v := f.Since(name); v > 0 {
		return "; Argo CD has it since " + v.String(), ""
	}
	if near := nearest(name, f.Names(s.version)); near != "" {
		return words.DidYouMean(near), near
	}
	if slices.Contains(path, "generators") { // their fields have the same names, and are not the same
		return "", ""
	}
	// Below where it is, or beside an object that it is in.
	for n := len(path); n > 0; n-- {
		at := s.top
		for _, step := range path[:n] {
			if !strings.HasPrefix(step, "[") {
				at = at.Field(step)
			}
		}
		if found := at.Find(name, s.version); len(found) > 0 {
			return "; it belongs to " + fieldPath(append(slices.Clone(path[:n]), found[0][:len(found[0])-1]...)), ""
		}
	}
	return "", ""
}

// nearest is the name that differs the least from another, "" if none is near.
func nearest(name string, names []string) string {
	return words.Nearest(name, names, min(3, 1+len(name)/3))
}
