package conformance

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// some is up to three of some values, or no list at all.
func (d dice) some(m map[string]any, key string, one func() any) {
	if d.IntN(4) == 0 {
		return
	}
	list := []any{}
	for range d.IntN(4) {
		list = append(list, one())
	}
	m[key] = list
}

func (d dice) project() manifest.Object {
	spec := map[string]any{}
	d.some(spec, "sourceRepos", func() any {
		return d.pick("*", "**", "https://git.example.com/*", "https://git.example.com/**", "!https://git.example.com/a/b",
			"https://GIT.example.com/a/b.git", "git@git.example.com:a/*", "!*", "https://git.example.com/{a,c}/?",
			"https://*.example.com/a/b", "!git@git.example.com:a/b.git", "oci://x/*", "https://git.example.com/[a-b]/*", "",
			"https://git.example.com/a%zz", "ssh://git@git.example.com/a/b")
	})
	d.some(spec, "destinations", func() any {
		m := map[string]any{}
		d.maybe(m, "server", "*", "https://kubernetes.default.svc", "!https://kubernetes.default.svc", "https://*.example.com",
			"!https://far.example.com", "https://kubernetes.*")
		d.maybe(m, "name", "*", "in-cluster", "!in-cluster", "f*", "!far")
		d.maybe(m, "namespace", "*", "a", "!a", "team-*", "!team-b", "{a,b}", "!kube-*")
		return m
	})
	for _, key := range []string{
		"clusterResourceWhitelist", "clusterResourceBlacklist", "namespaceResourceWhitelist",
		"namespaceResourceBlacklist",
	} {
		d.some(spec, key, func() any {
			return map[string]any{
				"group": d.pick("", "*", "apps", "*.io", "a[", "rbac.*"),
				"kind":  d.pick("*", "Deployment", "Namespace", "Cluster*", "?ode", "[A-D]*"),
			}
		})
	}
	d.some(spec, "sourceNamespaces", func() any { return d.pick("*", "a", "team-*", "/^team-[ab]$/", "/a/", "[", "{a,b}") })
	return manifest.Object{"apiVersion": argo.APIVersion, "kind": "AppProject", "metadata": map[string]any{"name": "p"}, "spec": spec}
}

// TestProjects compares what projects allow with Argo CD's own methods.
func TestProjects(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(7, 8))}
	count := map[string]int{}
	for range 30_000 {
		o := d.project()
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var theirs v1alpha1.AppProject
		if err := json.Unmarshal(data, &theirs); err != nil {
			t.Fatal(err)
		}
		ours := argo.NewProject(o)
		check := func(what string, got, want bool, about ...any) {
			if got != want {
				t.Fatalf("%s %v: %v, Argo CD says %v\n%s", what, about, got, want, data)
			}
			if got {
				count[what]++
			}
		}
		repo := d.pick("https://git.example.com/a/b", "https://git.example.com/a/b.git", "git@git.example.com:a/b.git",
			"https://git.example.com/c", "ssh://git@git.example.com/a/b", "oci://x/y", "https://x.example.com/A/b",
			"https://git.example.com/a/b/c").(string)
		check("source", ours.AllowsSource(repo), theirs.IsSourcePermitted(v1alpha1.ApplicationSource{RepoURL: repo}), repo)
		server, name := d.pick("https://kubernetes.default.svc", "https://far.example.com", "").(string),
			d.pick("in-cluster", "far", "").(string)
		namespace := d.pick("a", "b", "team-a", "team-b", "kube-system", "").(string)
		want, err := theirs.IsDestinationPermitted(&v1alpha1.Cluster{Server: server, Name: name}, namespace, nil)
		if err != nil {
			t.Fatal(err)
		}
		check("destination", ours.AllowsDestination(server, name, namespace), want, server, name, namespace)
		group, kind, namespaced := d.pick("", "apps", "cert-manager.io", "rbac.authorization.k8s.io").(string),
			d.pick("Deployment", "Namespace", "ClusterRole", "Node", "A").(string), d.IntN(2) == 0
		check("kind", ours.AllowsKind(group, kind, namespaced), theirs.IsGroupKindPermitted(schema.GroupKind{Group: group, Kind: kind},
			namespaced), group, kind, namespaced)
		app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: d.pick("a", "b", "team-a", "team-c").(string)}}
		check("namespace", ours.AllowsNamespace(app.Namespace), theirs.IsAppNamespacePermitted(app, "argocd"), app.Namespace)
	}
	for _, what := range []string{"source", "destination", "kind", "namespace"} {
		if n := count[what]; n < 1000 || n > 29_000 {
			t.Errorf("%s: %d of 30000 are allowed, which compares little", what, n)
		}
	}
}
