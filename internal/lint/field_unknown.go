package lint

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/strict"
)

var ruleFieldUnknown = Rule{
	Rule: plan.Rule{
		Name: "field-unknown", Kind: plan.Advice, Severity: plan.Warning,
		Means: "An Application has no such field. The API server drops it, and it has no effect.",
		Cure:  "Correct the name of the field, or move the field to where it belongs.",
	},
	Family: Fields,
	Why: "The CRD of Applications lists all fields, and the API server prunes others (manifests/crds/application-crd.yaml, read in " +
		"3.2.11 and " +
		"3.5.6). kubectl apply refuses such an Application.",
	check: func(p *pass) {
		for _, app := range p.applications() {
			spec := argo.Application().Field("spec")
			for _, path := range unknownFields(spec, app.Object["spec"], []string{"spec"}, p.Version) {
				p.find(app, path, "an Application has no field %s", strings.ReplaceAll(strings.Join(path, "."), ".[", "["))
			}
		}
	},
}

// tagPrefix is a field of sources since Argo CD 3.5.
var tagPrefix = versions.Difference{Since: 5}

// unknownFields are the paths of the fields of a value that its type does not have. Fields in another case are invalid, and found by the
// planner; the source hydrator has more fields in later versions, and is left out.
func unknownFields(t argo.Type, v any, path []string, version versions.Version) [][]string {
	var out [][]string
	switch v := v.(type) {
	case map[string]any:
		if !t.Closed() {
			return nil
		}
		unknown := t.Unknown(v)
		for _, k := range manifest.Keys(v) {
			here := append(slices.Clone(path), k)
			switch {
			case k == "sourceHydrator" || k == "tagPrefix" && version.Has(tagPrefix):
			case !slices.Contains(unknown, k):
				out = append(out, unknownFields(t.Field(k), v[k], here, version)...)
			case t.Name(k) == k:
				out = append(out, here)
			}
		}
	case []any:
		for i, e := range v {
			out = append(out, unknownFields(t.Item(), e, append(slices.Clone(path), strict.Index(i)), version)...)
		}
	}
	return out
}
