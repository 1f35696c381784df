package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
)

// planOf plans a root with a health check of Applications that copies status.health, or with the given settings.
func planOf(t *testing.T, cfg Config, files memory) *Plan {
	t.Helper()
	c := config(files)
	c.Exists, c.ProgressiveSyncs, c.Clusters, c.Settings = cfg.Exists, cfg.ProgressiveSyncs, cfg.Clusters, cfg.Settings
	if c.Settings == nil {
		c.Settings = copying(t, "return {status = obj.status.health.status}")
	}
	p, err := New(t.Context(), c, document(t, application("root", "root", "0")))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func copying(t *testing.T, script string) *settings.Settings {
	t.Helper()
	s, ok, err := settings.FromObject(manifest.Object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "argocd-cm"},
		"data":     map[string]any{"resource.customizations.health.argoproj.io_Application": script},
	})
	if !ok || err != nil {
		t.Fatal(err)
	}
	return s
}

// about are the findings of some rules, as "rule subject: message".
func about(p *Plan, rules ...string) []string {
	var out []string
	for _, f := range p.Findings {
		for _, rule := range rules {
			if strings.HasPrefix(f.Rule.Name, rule) {
				out = append(out, fmt.Sprintf("%s %s: %s", f.Rule.Name, f.Subject, f.Message))
			}
		}
	}
	return out
}

func crdText(group, kind, scope string) string {
	return fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %ss.%s}, spec: {group: %s, names: {kind: %s}, scope: %s}}\n", strings.ToLower(kind), group, group, kind, scope)
}

// childText is an Application with a destination and sync options.
func childText(name, wave, namespace string, options ...string) string {
	text := strings.Replace(application(name, name, wave), "namespace: argocd}, syncPolicy: {automated: {}}",
		"namespace: "+namespace+"}, syncPolicy: {automated: {}, syncOptions: ["+strings.Join(options, ", ")+"]}", 1)
	return text + "---\n"
}

// syncAware is a health check that also waits for the end of a sync.
const syncAware = "if obj.status.operationState ~= nil and obj.status.operationState.phase == 'Running' then return {status = 'Progressing'} end\nreturn {status = obj.status.health.status}"

func TestKindsAndNamespaces(t *testing.T) {
	const web = "{apiVersion: example.com/v1, kind: Web, metadata: {name: w}}\n"
	const cm = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"
	here := "https://kubernetes.default.svc"
	for name, c := range map[string]struct {
		files  memory
		exists []Thing
		script string
		want   []string
		// requires is what items of the Application a require, and whether they are unchecked.
		requires []string
	}{
		"a CRD that nobody deploys": {
			files: memory{
				"root/a.yaml": childText("a", "0", "default"),
				"a/w.yaml":    web + "---\n{apiVersion: example.com/v1, kind: Web, metadata: {name: w2}}\n",
			},
			want:     []string{"kind-missing a: nothing in this plan deploys the CRD of example.com/Web, which a needs; unless the cluster has it, a sync with such an object fails before it applies anything: set --exists example.com/Web if it does"},
			requires: []string{"Web w example.com/Web", "Web w2 example.com/Web"},
		},
		"that the cluster has": {
			files:  memory{"root/a.yaml": childText("a", "0", "default"), "a/w.yaml": web},
			exists: []Thing{{What: ThingKind, Name: "example.com/Web"}},
		},
		"without the check": {
			files:    memory{"root/a.yaml": childText("a", "0", "default", "SkipDryRunOnMissingResource=true"), "a/w.yaml": web},
			want:     []string{"kind-missing a: nothing in this plan deploys the CRD of example.com/Web, which a needs; unless the cluster has it, a sync that comes to such an object fails: set --exists example.com/Web if it does"},
			requires: []string{"Web w example.com/Web unchecked"},
		},
		"in the same sync": {
			files: memory{
				"root/a.yaml": childText("a", "0", "default"),
				"a/w.yaml":    web + "---\n" + crdText("example.com", "Web", "Namespaced"),
			},
			requires: []string{"Web w example.com/Web unchecked"},
		},
		"in an earlier wave, and the same wave": {
			files: memory{"root/a.yaml": childText("a", "1", "default") + childText("b", "1", "default") + childText("crds", "0",
				"default"), "a/w.yaml": web, "b/w.yaml": web, "crds/w.yaml": crdText("example.com", "Web", "Namespaced")},
			requires: []string{"Web w example.com/Web"},
		},
		"in a later wave": {
			files: memory{"root/a.yaml": childText("a", "0", "default") + childText("b", "0", "default") + childText("crds", "3",
				"default"), "a/w.yaml": web, "b/w.yaml": web, "crds/w.yaml": crdText("example.com", "Web", "Namespaced")},
			want: []string{
				"kind-later a: a needs the CRD of example.com/Web, which comes later, in wave 3 of root (CustomResourceDefinition webs.example.com of crds): the sync of a fails, and whether wave 3 comes depends on the health check of Applications (b needs it, too)",
			},
			requires: []string{"Web w example.com/Web"},
		},
		"with a check that sees syncs": {
			files: memory{
				"root/a.yaml": childText("a", "0", "default") + childText("crds", "3", "default"), "a/w.yaml": web,
				"crds/w.yaml": crdText("example.com", "Web", "Namespaced"),
			}, script: syncAware,
			want:     []string{"kind-later a: a needs the CRD of example.com/Web, which comes later, in wave 3 of root (CustomResourceDefinition webs.example.com of crds): the sync of a fails until then, and wave 3 starts only when a is healthy: a deadlock"},
			requires: []string{"Web w example.com/Web"},
		},
		"with a check that waits for nothing": {
			files: memory{
				"root/a.yaml": childText("a", "0", "default") + childText("crds", "3", "default"), "a/w.yaml": web,
				"crds/w.yaml": crdText("example.com", "Web", "Namespaced"),
			}, script: "none",
			want:     []string{"kind-later a: a needs the CRD of example.com/Web, which comes later, in wave 3 of root (CustomResourceDefinition webs.example.com of crds): the sync of a fails until then; Argo CD retries it 5 times"},
			requires: []string{"Web w example.com/Web"},
		},
		"by a child of the one that needs it, in an earlier wave": {
			files: memory{
				"root/a.yaml": childText("crds", "0", "default") +
					"{apiVersion: example.com/v1, kind: Web, metadata: {name: w, annotations: {argocd.argoproj.io/sync-wave: '5'}}}\n",
				"crds/w.yaml": crdText("example.com", "Web", "Namespaced"),
			},
			want: []string{"kind-later root: root needs the CRD of example.com/Web before its sync begins, but only that sync deploys it (CustomResourceDefinition webs.example.com of crds): a deadlock"},
		},
		"by a parent, later": {
			files: memory{"root/a.yaml": childText("a", "0", "default") + strings.Replace(crdText("example.com", "Web", "Namespaced"),
				"metadata: {", "metadata: {annotations: {argocd.argoproj.io/sync-wave: '2'}, ", 1), "a/w.yaml": web},
			want:     []string{"kind-later a: a needs the CRD of example.com/Web, which comes later, in wave 2 of root (CustomResourceDefinition webs.example.com of root): the sync of a fails, and whether wave 2 comes depends on the health check of Applications"},
			requires: []string{"Web w example.com/Web"},
		},
		"made by a controller": {
			files: memory{
				"root/a.yaml": childText("a", "0", "default"),
				"a/w.yaml":    "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: MustHave, metadata: {name: x}}\n---\n{apiVersion: templates.gatekeeper.sh/v1, kind: ConstraintTemplate, metadata: {name: x}, spec: {crd: {spec: {names: {kind: MustHave}}}}}\n",
			},
			want: []string{"kind-missing a: nothing in this plan deploys the CRD of templates.gatekeeper.sh/ConstraintTemplate, which a needs; unless the cluster has it, a sync with such an object fails before it applies anything: set --exists templates.gatekeeper.sh/ConstraintTemplate if it does"},
			requires: []string{
				"ConstraintTemplate x templates.gatekeeper.sh/ConstraintTemplate",
			},
		},
		"that a source may have which is not known": {
			files: memory{
				"root/a.yaml": childText("a", "0", "default") + strings.Replace(childText("chart", "0", "default"), "path: chart",
					"chart: x, targetRevision: 1.0.0", 1),
				"a/w.yaml": web + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}\n",
			},
			want: []string{
				"prerequisite-unknown a: no known part of this plan creates the namespace shop (for a); chart may deploy it, from sources that are not known completely",
				"prerequisite-unknown a: no known part of this plan deploys the CRD of example.com/Web (for a); chart may deploy it, from sources that are not known completely",
			},
		},
		"that a broken source may have": {
			files:    memory{"root/a.yaml": childText("a", "0", "default") + childText("gone", "0", "default"), "a/w.yaml": web},
			want:     []string{"kind-missing a: nothing in this plan deploys the CRD of example.com/Web, which a needs (gone may, but Argo CD cannot render that); unless the cluster has it, a sync with such an object fails before it applies anything: set --exists example.com/Web if it does"},
			requires: []string{"Web w example.com/Web"},
		},
		"a namespace that nobody creates": {
			files: memory{"root/a.yaml": childText("a", "0", "shop") + childText("b", "0", "shop"), "a/c.yaml": cm, "b/c.yaml": cm},
			want:  []string{"namespace-missing a: nothing in this plan creates the namespace shop, which a, b need; unless the cluster has it, a sync that comes to an object in it fails: set CreateNamespace=true, or --exists Namespace/shop"},
			requires: []string{
				"ConfigMap c shop",
			},
		},
		"that the cluster has, or Kubernetes": {
			files: memory{"root/a.yaml": childText("a", "0", "shop"), "a/c.yaml": cm +
				"---\n{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: kube-system}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: argocd}}\n"},
			exists: []Thing{{What: ThingNamespace, Name: "shop"}},
		},
		"that this cluster has": {
			files:  memory{"root/a.yaml": childText("a", "0", "shop"), "a/c.yaml": cm},
			exists: []Thing{{What: ThingNamespace, Cluster: argo.InClusterServer, Name: "shop"}},
		},
		"that another cluster has": {
			files:    memory{"root/a.yaml": childText("a", "0", "shop"), "a/c.yaml": cm},
			exists:   []Thing{{What: ThingNamespace, Cluster: "https://far.example.com", Name: "shop"}},
			want:     []string{"namespace-missing a: nothing in this plan creates the namespace shop, which a needs; unless the cluster has it, a sync that comes to an object in it fails: set CreateNamespace=true, or --exists Namespace/shop"},
			requires: []string{"ConfigMap c shop"},
		},
		"that the Application creates, and another needs later": {
			files: memory{
				"root/a.yaml": childText("a", "1", "shop") + childText("b", "0", "shop", "CreateNamespace=true"),
				"a/c.yaml":    cm, "b/c.yaml": cm,
			},
			requires: []string{"ConfigMap c shop"},
		},
		"that another creates later": {
			files: memory{
				"root/a.yaml": childText("a", "0", "shop") + childText("b", "1", "shop", "CreateNamespace=true"),
				"a/c.yaml":    cm, "b/c.yaml": cm,
			},
			want:     []string{"namespace-later a: a needs the namespace shop, which comes later, in wave 1 of root (CreateNamespace of b): the sync of a fails, and whether wave 1 comes depends on the health check of Applications"},
			requires: []string{"ConfigMap c shop"},
		},
		"only the destination's is created": {
			files: memory{
				"root/a.yaml": childText("a", "0", "shop", "CreateNamespace=true"),
				"a/c.yaml":    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: other}}\n",
			},
			want:     []string{"namespace-missing a: nothing in this plan creates the namespace other, which a needs; unless the cluster has it, a sync that comes to an object in it fails: set CreateNamespace=true, or --exists Namespace/other"},
			requires: []string{"ConfigMap c other"},
		},
		"a manifest of the namespace": {
			files: memory{
				"root/a.yaml": childText("a", "0", "shop"),
				"a/c.yaml":    cm + "---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n",
			},
			requires: []string{"ConfigMap c shop"},
		},
		"cluster-scoped, or of a scope that is not known": {
			files: memory{
				"root/a.yaml": childText("a", "0", "shop"),
				"a/c.yaml":    "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}\n---\n" + web,
			},
			exists: []Thing{{What: ThingKind, Name: "example.com/Web"}},
		},
		"of a scope that the CRD says": {
			files: memory{
				"root/a.yaml": childText("a", "1", "shop") + childText("crds", "0", "default"),
				"crds/w.yaml": crdText("example.com", "Web", "Cluster") + "---\n" + crdText("example.com", "Shop", "Namespaced"),
				"a/c.yaml":    web + "---\n{apiVersion: example.com/v1, kind: Shop, metadata: {name: s}}\n",
			},
			want: []string{"namespace-missing a: nothing in this plan creates the namespace shop, which a needs; unless the cluster has it, a sync that comes to an object in it fails: set CreateNamespace=true, or --exists Namespace/shop"},
			requires: []string{
				"Shop s example.com/Shop shop", "Web w example.com/Web",
			},
		},
		"the same sync, in an earlier wave than a child that creates it": {
			files: memory{"root/a.yaml": childText("a", "1", "shop", "CreateNamespace=true") +
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}\n", "a/c.yaml": cm},
			want: []string{"namespace-later root: root needs the namespace shop, which comes later, in wave 1 of root (CreateNamespace of a): the sync of root fails in wave 0, and never comes to wave 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Exists: c.exists}
			switch c.script {
			case "":
			case "none":
				cfg.Settings = copying(t, "")
				cfg.Settings.Health = nil
			default:
				cfg.Settings = copying(t, c.script)
			}
			p := planOf(t, cfg, c.files)
			if diff := cmp.Diff(c.want, about(p, "kind-", "namespace-", "prerequisite", "project-")); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			var requires []string
			for _, app := range p.Applications {
				for _, i := range app.Items {
					if app.Name != "a" || len(i.Requires) == 0 {
						continue
					}
					text := i.Kind + " " + i.Name
					for _, thing := range i.Requires {
						text += " " + thing.Name
						if thing.Cluster != here {
							t.Errorf("%v is in %q", thing, thing.Cluster)
						}
					}
					if i.Unchecked {
						text += " unchecked"
					}
					requires = append(requires, text)
				}
			}
			if diff := cmp.Diff(c.requires, requires); diff != "" {
				t.Errorf("requires (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProvides(t *testing.T) {
	p := planOf(t, Config{}, memory{
		"root/a.yaml": childText("a", "0", "shop", "CreateNamespace=true") +
			"{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: p}}\n",
		"a/x.yaml": crdText("example.com", "Web", "Cluster") +
			"---\n{apiVersion: v1, kind: Namespace, metadata: {name: team}}\n---\n{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: elsewhere}}\n",
	})
	var got []string
	for _, app := range p.Applications {
		for _, thing := range app.Provides {
			got = append(got, app.Name+" "+thing.String())
		}
		for _, i := range app.Items {
			for _, thing := range i.Provides {
				got = append(got, app.Name+" "+i.Name+" "+thing.String())
			}
		}
	}
	want := []string{
		"root p AppProject p", "a Namespace shop", "a team Namespace team",
		"a webs.example.com CustomResourceDefinition example.com/Web",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseThing(t *testing.T) {
	for text, want := range map[string]Thing{
		"cert-manager.io/Certificate": {What: ThingKind, Name: "cert-manager.io/Certificate"},
		"Namespace/a":                 {What: ThingNamespace, Name: "a"}, "AppProject/b": {What: ThingProject, Name: "b"},
		"*.example.com/*": {What: ThingKind, Name: "*.example.com/*"}, "example.com/*Monitor": {What: ThingKind, Name: "example.com/*Monitor"},
		"Namespace/[": {}, "example.com/w*": {},
		"Namespace": {}, "Namespace/": {}, "/Web": {}, "apps/Deployment": {}, "example.com/web": {}, "example.com/v1/Web": {}, "": {},
	} {
		got, err := ParseThing(text)
		if got != want || (err != nil) != (want == Thing{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func project(name, wave, spec string) string {
	return fmt.Sprintf("{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: %s, namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: %q}}, spec: {%s}}\n---\n", name, wave, spec)
}

func TestProjects(t *testing.T) {
	const (
		cm   = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"
		all  = "sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}]"
		kind = "the project p does not permit the kind "
	)
	in := func(app, name string) string { return strings.Replace(app, "project: default", "project: "+name, 1) }
	for name, c := range map[string]struct {
		files            memory
		settings         string // globalProjects
		want             []string
		refused, forbid  string // of the Application a, and its first item that is
		requires, exists string
	}{
		"permits": {
			files:    memory{"root/a.yaml": project("p", "-1", all) + in(childText("a", "0", "default"), "p"), "a/c.yaml": cm},
			requires: "p",
		},
		"nobody deploys": {
			files: memory{"root/a.yaml": in(childText("a", "0", "default"), "p"), "a/c.yaml": cm}, requires: "p",
			want: []string{"project-missing a: nothing in this plan deploys the AppProject p, which a needs; unless the cluster has it, Argo CD neither compares nor syncs what uses it: set --exists AppProject/p if it does"},
		},
		"the cluster has": {files: memory{"root/a.yaml": in(childText("a", "0", "default"), "p"), "a/c.yaml": cm}, exists: "p"},
		"comes later": {
			files: memory{"root/a.yaml": project("p", "2", all) + in(childText("a", "0", "default"), "p"), "a/c.yaml": cm}, requires: "p",
			want: []string{"project-later a: a needs the AppProject p, which comes later, in wave 2 of root (AppProject p of root): Argo CD refuses a until then, and wave 2 starts only when a is healthy: a deadlock"},
		},
		"comes with it": {
			files: memory{"root/a.yaml": in(childText("a", "0", "argocd"), "p"), "a/c.yaml": project("p", "0", all)}, requires: "p",
			want: []string{"project-later a: a needs the AppProject p before its sync begins, but only that sync deploys it (AppProject p of a): a deadlock"},
		},
		"forbids the source": {
			files: memory{"root/a.yaml": project("p", "-1",
				"sourceRepos: ['https://other/*'], destinations: [{server: '*', namespace: '*'}]") + in(childText("a", "0", "default"),
				"p"), "a/c.yaml": cm}, requires: "p",
			refused: "the project p does not permit the repository of a source",
			want:    []string{"project-forbids a: the project p does not permit the repository of a source: Argo CD refuses a (InvalidSpecError)"},
		},
		"forbids the destination": {
			files: memory{"root/a.yaml": project("p", "-1",
				"sourceRepos: ['*'], destinations: [{name: in-cluster, namespace: team-*}]") + in(childText("a", "0", "default"),
				"p") + in(childText("b", "0", "default"), "p"), "a/c.yaml": cm, "b/c.yaml": cm}, requires: "p",
			refused: "the project p does not permit the destination in-cluster/default",
			want:    []string{"project-forbids a: the project p does not permit the destination in-cluster/default: Argo CD refuses a, b (InvalidSpecError)"},
		},
		"forbids a kind": {
			files: memory{
				"root/a.yaml": project("p", "-1", all) + in(childText("a", "0", "default"), "p"),
				"a/c.yaml":    cm + "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}\n",
			},
			requires: "p",
			forbid:   kind + "rbac.authorization.k8s.io/ClusterRole", want: []string{"project-forbids a: " + kind +
				"rbac.authorization.k8s.io/ClusterRole: no sync of a begins"},
		},
		"forbids a namespace": {
			files: memory{
				"root/a.yaml": project("p", "-1",
					"sourceRepos: ['*'], destinations: [{server: '*', namespace: default}]") + in(childText("a", "0", "default"), "p"),
				"a/c.yaml": strings.Replace(cm, "name: c", "name: c, namespace: kube-system", 1),
			}, requires: "p",
			forbid: "the project p does not permit the namespace kube-system",
			want:   []string{"project-forbids a: the project p does not permit the namespace kube-system: no sync of a begins"},
		},
		"forbids the namespace that is created": {
			files: memory{
				"root/a.yaml": project("p", "-1", all) + in(childText("a", "0", "shop", "CreateNamespace=true"), "p"),
				"a/c.yaml":    cm,
			}, requires: "p",
			forbid: "the project p does not permit Namespaces, such as the one that CreateNamespace=true creates",
			want:   []string{"project-forbids a: the project p does not permit Namespaces, such as the one that CreateNamespace=true creates: no sync of a begins"},
		},
		"global projects may permit more": {files: memory{
			"root/a.yaml": project("p", "-1", "") + in(childText("a", "0", "default"), "p"),
			"a/c.yaml":    cm,
		}, requires: "p", settings: "- {projectName: x}"},
		"a repository of its own": {
			files: memory{"root/a.yaml": project("p", "-1", "destinations: [{server: '*', namespace: '*'}]") + in(childText("a", "0",
				"default"), "p") + "{apiVersion: v1, kind: Secret, metadata: {name: r, labels: {argocd.argoproj.io/secret-type: repository}}, stringData: {project: p, url: 'https://x/y'}}\n", "a/c.yaml": cm}, requires: "p",
		},
		"the default project, which is narrowed": {
			files: memory{"root/a.yaml": project("default", "0", "sourceRepos: ['*']"), "a/c.yaml": cm},
			want:  []string{"project-forbids root: the project default does not permit the destination in-cluster/argocd: once it is deployed, Argo CD refuses root (InvalidSpecError)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Settings: copying(t, "return {status = obj.status.health.status}")}
			cfg.Settings.GlobalProjects = c.settings != ""
			if c.exists != "" {
				cfg.Exists = []Thing{{What: ThingProject, Name: c.exists}}
			}
			p := planOf(t, cfg, c.files)
			if diff := cmp.Diff(c.want, about(p, "project-", "prerequisite", "kind-", "namespace-")); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			refused, forbid, requires := "", "", ""
			for _, app := range p.Applications {
				if app.Name != "a" {
					continue
				}
				refused = app.Refused
				for _, thing := range app.Requires {
					requires += thing.Name
				}
				for _, i := range app.Items {
					if forbid == "" {
						forbid = i.Forbidden
					}
				}
			}
			if refused != c.refused || forbid != c.forbid || requires != c.requires {
				t.Errorf("refused %q, forbidden %q, requires %q", refused, forbid, requires)
			}
		})
	}
}

func TestVolumes(t *testing.T) {
	class := func(mode, annotations string) string {
		return fmt.Sprintf("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk, annotations: {%s}}, volumeBindingMode: %s}\n---\n", annotations, mode)
	}
	claim := func(wave, class string) string {
		return fmt.Sprintf("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, annotations: {argocd.argoproj.io/sync-wave: %q}}, spec: {%s}}\n---\n", wave, class)
	}
	pod := func(wave string) string {
		return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: %q}}, spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}}}\n---\n", wave)
	}
	const (
		late   = "{apiVersion: v1, kind: ConfigMap, metadata: {name: late, annotations: {argocd.argoproj.io/sync-wave: '9'}}}\n---\n"
		waits  = "WaitForFirstConsumer"
		intro  = "volume-waits root: PersistentVolumeClaim data is bound only when a Pod uses it (WaitForFirstConsumer of StorageClass disk), and "
		locked = intro + "Deployment web, which does, comes later and waits for it: a deadlock; put both in one wave"
		nobody = intro + "nothing in this plan does: everything behind it waits for ever"
		named  = "storageClassName: disk"
	)
	for name, c := range map[string]struct {
		objects string
		want    []string
		first   bool
		users   int
	}{
		"before its workload":       {class(waits, "") + claim("1", named) + pod("2"), []string{locked}, true, 1},
		"with its workload":         {class(waits, "") + claim("1", named) + pod("1") + late, nil, true, 1},
		"of nobody":                 {class(waits, "") + claim("1", named) + late, []string{nobody}, true, 0},
		"of nobody, and at the end": {class(waits, "") + claim("1", named), nil, true, 0},
		"bound at once":             {class("Immediate", "") + claim("1", named) + pod("2"), nil, false, 0},
		"by default": {
			class(waits, "storageclass.kubernetes.io/is-default-class: 'true'") + claim("1", "") + pod("2"),
			[]string{locked},
			true, 1,
		},
		"no default": {class(waits, "") + claim("1", "") + pod("2"), nil, false, 0},
		"no class": {class(waits, "storageclass.kubernetes.io/is-default-class: 'true'") + claim("1",
			"storageClassName: ''") + pod("2"), nil, false, 0},
		"another class":          {class(waits, "") + claim("1", "storageClassName: other") + pod("2"), nil, false, 0},
		"a volume that it names": {class(waits, "") + claim("1", named+", volumeName: v") + pod("2"), nil, false, 0},
		"of a StatefulSet": {
			class(waits, "") + strings.Replace(claim("1", named), "name: data", "name: data-db-0", 1) +
				"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, annotations: {argocd.argoproj.io/sync-wave: '1'}}, spec: {volumeClaimTemplates: [{metadata: {name: data}}]}}\n---\n" + late,
			nil, true, 1,
		},
		"perhaps of one that is not known": {
			class(waits, "") + claim("1", named) + strings.Replace(application("u", "b", "1"), "path: b}",
				"path: b, plugin: {name: other}}", 1) + "---\n" + late, nil, false, 0,
		},
		"of another Application": {class(waits, "") + claim("1", named) + application("b", "b", "1") + "---\n" + late, nil, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, Config{}, memory{"root/a.yaml": c.objects, "b/b.yaml": pod("0")})
			if diff := cmp.Diff(c.want, about(p, "volume-")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, i := range p.Root.Items {
				if i.Kind == "PersistentVolumeClaim" && (i.FirstConsumer != c.first || len(i.Consumers) != c.users) {
					t.Errorf("first consumer %v, %d consumers", i.FirstConsumer, len(i.Consumers))
				}
			}
		})
	}
}

func TestRollouts(t *testing.T) {
	set := func(strategy, generators string) string {
		return fmt.Sprintf("{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: s}, spec: {strategy: {%s}, generators: [%s], template: {metadata: {name: '{{app}}'}, spec: {project: default, source: {repoURL: 'https://x/y', path: none}, destination: {name: in-cluster}}}}}\n---\n", strategy, generators)
	}
	const (
		rolling = "type: RollingSync, rollingSync: {steps: [{}]}"
		one     = "{list: {elements: [{app: x}]}}"
		late    = "{apiVersion: v1, kind: ConfigMap, metadata: {name: late, annotations: {argocd.argoproj.io/sync-wave: '9'}}}\n"
	)
	on, off := true, false
	for name, c := range map[string]struct {
		objects string
		flag    *bool
		waits   bool
		rollout bool
		rule    string
	}{
		"no strategy":             {set("", one) + late, &on, false, false, ""},
		"unknown":                 {set(rolling, one) + late, nil, false, true, "rollout-unknown"},
		"on":                      {set(rolling, one) + late, &on, true, true, ""},
		"off":                     {set(rolling, one) + late, &off, false, true, "rollout-ignored"},
		"off, with no wave":       {set(rolling, one), &off, false, true, "rollout-ignored"},
		"not known, with no wave": {set(rolling, one), nil, false, true, ""},
		"no steps":                {set("type: RollingSync, rollingSync: {}", one) + late, &on, false, false, ""},
		"of the tree": {set(rolling, one) + late +
			"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cmd-params-cm, namespace: argocd}, data: {applicationsetcontroller.enable.progressive.syncs: 'true'}}\n", nil, true, true, ""},
		"of another namespace": {set(rolling, one) + late +
			"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cmd-params-cm, namespace: x}, data: {applicationsetcontroller.enable.progressive.syncs: 'true'}}\n", nil, false, true, "rollout-unknown"},
		"a broken set": {set("", "{list: {elements: x}}") + late, &off, true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, Config{ProgressiveSyncs: c.flag}, memory{"root/a.yaml": c.objects, "none/a.yaml": ""})
			for _, i := range p.Root.Items {
				if i.Kind == argo.KindApplicationSet && (i.Waits != c.waits || i.Rollout != c.rollout || i.Broken &&
					!strings.Contains(i.Why, "Degraded")) {
					t.Errorf("waits %v, rollout %v: %s", i.Waits, i.Rollout, i.Why)
				}
			}
			rule := ""
			if list := about(p, "rollout-"); len(list) > 0 {
				rule, _, _ = strings.Cut(list[0], " ")
			}
			if rule != c.rule {
				t.Errorf("finding %q", rule)
			}
		})
	}
}
