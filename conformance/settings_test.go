package conformance

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/util/settings"

	"github.com/argosy-cd/argosy/internal/manifest"
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

// TestCustomized compares which kinds argocd-cm customizes in the manifests of Argo CD with what is taken for granted.
func TestCustomized(t *testing.T) {
	dir := strings.TrimSpace(string(run(t, ".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3")))
	data, err := os.ReadFile(filepath.Join(dir, "manifests", "base", "config", "argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	read, err := ours.Parse("argocd-cm.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	kinds := append(manifest.Keys(read.Health), "Secret", "apps/Deployment", "cert-manager.io/Certificate", "argoproj.io/ApplicationSet")
	if len(kinds) < 8 {
		t.Errorf("argocd-cm customizes few kinds: %s", kinds)
	}
	var unknown *ours.Settings
	for _, name := range slices.DeleteFunc(kinds, func(k string) bool { return k == "*/*" }) {
		group, kind, both := strings.Cut(name, "/")
		o := manifest.Object{"apiVersion": group + "/v1", "kind": kind}
		if !both {
			o = manifest.Object{"apiVersion": "v1", "kind": group}
		}
		if got, want := unknown.Customize(o), read.Customize(o); got != want {
			t.Errorf("%s: %t, Argo CD's manifests say %t", name, got, want)
		}
	}
}
