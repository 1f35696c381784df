package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/settings"
)

const serverManifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-server}
spec: {template: {spec: {containers: [{image: "quay.io/argoproj/argocd:TAG"}]}}}
`

// clusterSet lists the clusters: the local one is the last since 3.4.
const clusterSet = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set}
spec:
  generators: [{clusters: {}}]
  template:
    metadata: {name: "on-{{name}}"}
    spec: {project: default, source: {repoURL: https://x/y, path: leaf}, destination: {server: "{{server}}"}}
`

const clusterSecret = `apiVersion: v1
kind: Secret
metadata: {name: prod, labels: {argocd.argoproj.io/secret-type: cluster}}
stringData: {name: prod, server: https://prod.example.com}
`

func TestVersionOfTree(t *testing.T) {
	image := func(tag string) string { return strings.ReplaceAll(serverManifest, "TAG", tag) }
	operator := "apiVersion: argoproj.io/v1beta1\nkind: ArgoCD\nmetadata: {name: x}\nspec: {version: v3.3.1}\n"
	chart := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: argo-cd, namespace: argocd}\nspec: {project: default, source: {repoURL: https://charts.example.com, chart: argo-cd, targetRevision: 9.0.0, helm: {valuesObject: {global: {image: {tag: v3.4.4}}}}}, destination: {name: in-cluster, namespace: argocd}}\n"
	for name, c := range map[string]struct {
		files   memory
		given   versions.Version
		want    versions.Version
		from    string
		nearest bool
	}{
		"nothing":      {memory{}, 0, 5, VersionNotSeen, false},
		"an image":     {memory{"root/a.yaml": image("v3.2.11")}, 0, 2, "Deployment argocd-server (root/a.yaml:1)", false},
		"given":        {memory{"root/a.yaml": image("v3.2.11")}, 4, 4, VersionGiven, false},
		"the newest":   {memory{"root/a.yaml": image("v3.5.6")}, 0, 5, "Deployment argocd-server (root/a.yaml:1)", false},
		"too old":      {memory{"root/a.yaml": image("v2.14.1")}, 0, 2, "Deployment argocd-server (root/a.yaml:1)", true},
		"too new":      {memory{"root/a.yaml": image("v3.6.0")}, 0, 5, "Deployment argocd-server (root/a.yaml:1)", true},
		"too old, but": {memory{"root/a.yaml": image("v2.14.1")}, 3, 3, VersionGiven, false},
		"no version":   {memory{"root/a.yaml": image("latest")}, 0, 5, VersionNotSeen, false},
		"operator":     {memory{"root/a.yaml": operator}, 0, 3, "ArgoCD x (root/a.yaml:1)", false},
		"chart":        {memory{"root/a.yaml": chart}, 0, 4, "Application argo-cd (root/a.yaml:1)", false},
		"image first": {
			memory{"root/a.yaml": operator, "root/b.yaml": image("v3.4.1")},
			0, 4, "Deployment argocd-server (root/b.yaml:1)",
			false,
		},
		"a child": {
			memory{"root/a.yaml": application("child", "child", "0"), "child/a.yaml": image("v3.4.1")},
			0, 4,
			"Deployment argocd-server (child/a.yaml:1)", false,
		},
		"elsewhere": {
			memory{"root/a.yaml": strings.ReplaceAll(application("child", "child", "0"), "name: in-cluster, ",
				"server: https://prod.example.com, "), "child/a.yaml": image("v3.4.1")},
			0, 5, VersionNotSeen, false,
		},
		"other namespace": {
			memory{"root/a.yaml": strings.ReplaceAll(image("v3.2.11"), "argocd-server", "argocd-server, namespace: other")},
			0, 5, VersionNotSeen, false,
		},
		"a base": {
			memory{"root/kustomization.yaml": "resources: ['https://github.com/argoproj/argo-cd//manifests/cluster-install?ref=v3.3.4']\n"},
			0, 3, "the sources of root (root.yaml:1)", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := memory{"leaf/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}
			if c.files["root/kustomization.yaml"] == "" {
				m["root/set.yaml"], m["root/cluster.yaml"] = clusterSet, clusterSecret
			}
			for k, v := range c.files {
				m[k] = v
			}
			cfg := config(m)
			cfg.Version = c.given
			p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
			if err != nil {
				t.Fatal(err)
			}
			if p.Version != c.want || p.VersionFrom != c.from {
				t.Errorf("%s, %s; not %s, %s", p.Version, p.VersionFrom, c.want, c.from)
			}
			found := slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Rule.Name == RuleVersionNearest.Name })
			if found != c.nearest {
				t.Errorf("findings: %v", p.Findings)
			}
			if m["root/set.yaml"] == "" {
				return
			}
			// The set is rendered by that version.
			i := slices.IndexFunc(p.Root.Items, func(i *Item) bool { return i.Kind == "ApplicationSet" })
			local := p.Root.Items[i].Children[0].Name == "on-in-cluster"
			if local == c.want.Has(versions.ClustersFromSecrets) {
				t.Errorf("the set has %s first", p.Root.Items[i].Children[0].Name)
			}
		})
	}
}

func TestVersionOfSettings(t *testing.T) {
	s, err := settings.Parse("argocd.yaml",
		[]byte("apiVersion: argoproj.io/v1beta1\nkind: ArgoCD\nmetadata: {name: x}\nspec: {version: v3.2.3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(memory{"root/a.yaml": strings.ReplaceAll(serverManifest, "TAG", "v3.4.1")})
	cfg.Settings = s
	p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
	if err != nil || p.Version != 2 || !strings.Contains(p.VersionFrom, `ArgoCD "x" at argocd.yaml`) {
		t.Errorf("%s, %s, %v", p.Version, p.VersionFrom, err)
	}
}

func TestControllerUnknown(t *testing.T) {
	object := func(kind, wave string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: " + kind +
			"\nmetadata: {name: lan, annotations: {argocd.argoproj.io/sync-wave: '" + wave +
			"'}}\nspec: {controllerName: example.com/gateway}\n"
	}
	later := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: later, annotations: {argocd.argoproj.io/sync-wave: '5'}}\n"
	check := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}\ndata: {resource.customizations.health.argoproj.io_Application: 'return {status = obj.status.health.status}'}\n"
	for name, c := range map[string]struct {
		files memory
		older string // with 3.4
		newer string // with 3.5
	}{
		"a later wave": {
			memory{"root/a.yaml": object("GatewayClass", "1"), "root/b.yaml": later},
			"",
			"GatewayClass lan waits until the controller example.com/gateway accepts it, which cannot be seen here; the waves of root behind wave 1 wait for it",
		},
		"a policy": {
			memory{"root/a.yaml": object("BackendTLSPolicy", "1"), "root/b.yaml": later},
			"",
			"BackendTLSPolicy lan waits until the controller of its Gateway accepts it, which cannot be seen here; the waves of root behind wave 1 wait for it",
		},
		"the last":     {memory{"root/a.yaml": object("GatewayClass", "6"), "root/b.yaml": later}, "", ""},
		"another kind": {memory{"root/a.yaml": object("ReferenceGrant", "1"), "root/b.yaml": later}, "", ""},
		"own check": {
			memory{
				"root/a.yaml": object("GatewayClass", "1"), "root/b.yaml": later,
				"root/cm.yaml": strings.ReplaceAll(check, "argoproj.io_Application", "gateway.networking.k8s.io_GatewayClass"),
			}, "", "",
		},
		"a parent": {
			memory{
				"root/a.yaml": application("child", "child", "0"), "root/b.yaml": later, "child/a.yaml": object("GatewayClass", "0"),
				"root/cm.yaml": check,
			},
			"", "GatewayClass lan waits until the controller example.com/gateway accepts it, which cannot be seen here; the waves of root behind child wait for it",
		},
		"a parent that does not wait": {memory{
			"root/a.yaml": application("child", "child", "0"), "root/b.yaml": later,
			"child/a.yaml": object("GatewayClass", "0"),
		}, "", ""},
		"a parent's parent": {
			memory{
				"root/a.yaml": application("middle", "middle", "0"), "root/b.yaml": later, "root/cm.yaml": check,
				"middle/a.yaml": application("child", "child", "0"), "child/a.yaml": object("GatewayClass", "0"),
			},
			"", "GatewayClass lan waits until the controller example.com/gateway accepts it, which cannot be seen here; the waves of root behind middle wait for it",
		},
	} {
		for version, want := range map[versions.Version]string{4: c.older, 5: c.newer, 0: c.newer} {
			t.Run(name+" "+version.String(), func(t *testing.T) {
				cfg := config(c.files)
				cfg.Version = version
				p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, f := range p.Findings {
					if f.Rule.Name == RuleControllerUnknown.Name {
						got += f.Message
					}
				}
				if got != want {
					t.Errorf("%q", got)
				}
			})
		}
	}
}
