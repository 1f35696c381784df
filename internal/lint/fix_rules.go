package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/amend"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/strict"
)

// fixes are the rules with an obvious cure: one small change that needs no decision.
var fixes = map[string]fixer{
	ruleSyncOption.Name: func(f Finding, o manifest.Object) []amend.Change {
		option, _ := amend.Value(o, f.spot.path...).(string)
		name, value, _ := strings.Cut(option, "=")
		// The file of an Application that a Kustomization changes may have another option there.
		if f.meant != "" && nearest(strings.TrimSpace(name), manifest.Keys(syncOptions)) != f.meant {
			return nil
		}
		name = cmp.Or(f.meant, name)
		for _, known := range syncOptions[name] {
			if now := name + "=" + known; strings.EqualFold(known, strings.TrimSpace(value)) && now != option {
				return f.change(amend.Change{Kind: amend.Set, Value: now})
			}
		}
		return nil
	},
	ruleFieldUnknown.Name: func(f Finding, _ manifest.Object) []amend.Change {
		if f.meant == "" {
			return nil
		}
		return f.change(amend.Change{Kind: amend.Rename, Key: f.meant})
	},
	ruleMissingKey.Name: func(f Finding, o manifest.Object) []amend.Change {
		spec := f.spot.path[:len(f.spot.path)-1]
		if amend.Value(o, slices.Concat(spec, []string{"goTemplateOptions"})...) != nil { // the user has chosen
			return nil
		}
		return []amend.Change{{
			Path: spec, Kind: amend.Add, Key: "goTemplateOptions", Value: []any{"missingkey=error"}, After: "goTemplate",
		}}
	},
	ruleAllowEmpty.Name: func(f Finding, o manifest.Object) []amend.Change {
		if amend.Value(o, f.spot.path...) != true { // a template
			return nil
		}
		return f.change(amend.Change{Kind: amend.Remove})
	},
	ruleNoSelfHeal.Name: func(f Finding, o manifest.Object) []amend.Change {
		automated, _ := amend.Value(o, f.spot.path...).(map[string]any)
		if _, chosen := automated["selfHeal"]; chosen || automated == nil {
			return nil
		}
		return f.change(amend.Change{Kind: amend.Add, Key: "selfHeal", Value: true, After: "prune"})
	},
	ruleRetryForEver.Name: func(f Finding, o manifest.Object) []amend.Change {
		if limit, ok := amend.Value(o, f.spot.path...).(int64); !ok || limit >= 0 {
			return nil
		}
		return f.change(amend.Change{Kind: amend.Set, Value: int64(retryLimit)})
	},
	ruleFinalizerUnknown.Name: func(f Finding, o manifest.Object) []amend.Change {
		list, _ := amend.Value(o, f.spot.path...).([]any)
		for i, v := range list {
			name, _ := v.(string)
			if near := likelyFinalizer(name); near != "" && near == f.meant && !slices.Contains(list, any(near)) {
				path := slices.Concat(f.spot.path, []string{strict.Index(i)})
				return []amend.Change{{Path: path, Kind: amend.Set, Value: near}}
			}
		}
		return nil
	},
}

// retryLimit is that of Argo CD's example (docs/operator-manual/application.yaml, read in 3.2.11).
const retryLimit = 5

// likelyFinalizer is the finalizer of Argo CD that was meant, "" if that is not clear: the same but for the case, a plural, or dashes and
// dots.
func likelyFinalizer(name string) string {
	same := strings.NewReplacer("resources", "resource", "finalizers", "finalizer", "-", "", ".", "", "/", "")
	plain := func(s string) string { return same.Replace(strings.ToLower(s)) }
	for _, known := range argo.ResourcesFinalizers() {
		if name != known && plain(name) == plain(known) {
			return known
		}
	}
	return ""
}

// change is a change of the finding's field.
func (f Finding) change(c amend.Change) []amend.Change {
	c.Path = f.spot.path
	return []amend.Change{c}
}
