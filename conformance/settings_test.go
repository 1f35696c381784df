package conformance

import (
	"math/rand/v2"
	"testing"

	"github.com/argoproj/argo-cd/v3/util/settings"

	ours "github.com/argosy-cd/argosy/internal/settings"
)

// TestExcludes compares which resources are left out with Argo CD's filter.
func TestExcludes(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(1, 2))}
	some := func(words ...any) []string {
		var out []string
		for range d.IntN(3) {
			out = append(out, d.pick(words...).(string))
		}
		return out
	}
	for range 20_000 {
		var theirs settings.ResourcesFilter
		var s ours.Settings
		for i := range d.IntN(4) {
			f := ours.Filter{
				APIGroups: some("", "*", "apps", "a*s", "{apps,batch}", "*.{x,y*}.io", "[a-b]*", "[!a]*", "?pps", `\*`, "b[a", "{a", "a}",
					"**.io", "cilium.io", "[^a]", "a,b", "{,a}pps"),
				Kinds:    some("*", "Pod", "Deployment", "Po*"),
				Clusters: some("*", "https://kubernetes.default.svc", "https://*.example.com:*", "https://*/path"),
			}
			if i%2 == 0 {
				s.Exclusions = append(s.Exclusions, f)
				theirs.ResourceExclusions = append(theirs.ResourceExclusions, settings.FilteredResource(f))
			} else {
				s.Inclusions = append(s.Inclusions, f)
				theirs.ResourceInclusions = append(theirs.ResourceInclusions, settings.FilteredResource(f))
			}
		}
		group := d.pick("", "apps", "batch", "a.x.io", "a.yes.io", "cilium.io", "*", "^", "a}", "a,b", "pps", "b[a", "events.k8s.io",
			"coordination.k8s.io").(string)
		kind := d.pick("Pod", "Deployment", "Event", "Lease", "Po*").(string)
		cluster := d.pick("", "https://kubernetes.default.svc", "https://a.example.com:6443", "https://a/path").(string)
		if got, want := s.Excludes(group, kind, cluster), theirs.IsExcludedResource(group, kind, cluster); got != want {
			t.Fatalf("%q %s at %q: %v, Argo CD says %v\n%+v", group, kind, cluster, got, want, theirs)
		}
	}
}
