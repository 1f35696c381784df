package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// rule is a small tree, and what real Argo CD makes of it.
type rule struct {
	// name is the root Application. It deploys the folder of that name into the namespace of that name.
	name string
	// files are those of the repository. Folders start with the name.
	files map[string]string
	// root changes the root Application; its name and path are set.
	root app
	// project is the root's project, "default" if it is empty.
	project string
	// before are objects that the cluster has already.
	before []string
	// never are Applications with a workload that never becomes healthy; a simulation has to be told.
	never []string

	// phase and message are of the root's operation; the message contains it. health is the root's, "" is not looked at.
	phase, message, health string
	// there and absent are objects, "Kind.group/name", in the namespace of the root; Applications and sets are in Argo CD's.
	there, absent []string
	// children are the health of Applications.
	children map[string]string
}

// annotated adds an annotation to a manifest whose metadata is in flow style.
func annotated(manifest, key, value string) string {
	if !strings.Contains(manifest, "metadata: {annotations: {") {
		manifest = strings.Replace(manifest, "metadata: {", "metadata: {annotations: {}, ", 1)
	}
	return strings.Replace(strings.Replace(manifest, "annotations: {", fmt.Sprintf("annotations: {%s: %q, ", key, value), 1), ", }", "}", 1)
}

func inWave(manifest string, wave int) string {
	return annotated(manifest, "argocd.argoproj.io/sync-wave", fmt.Sprint(wave))
}

// inNamespace adds a namespace to a manifest whose metadata is in flow style.
func inNamespace(manifest, namespace string) string {
	return strings.Replace(manifest, "metadata: {", "metadata: {namespace: "+namespace+", ", 1)
}

// definition is a CRD for Things of a group.
func definition(group string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, group)
}

func thing(group, name string) string {
	return fmt.Sprintf("apiVersion: %s/v1\nkind: Thing\nmetadata: {name: %q}\n", group, name)
}

// start commits the trees of rules and applies their roots, all at once.
func (k *kit) start(rules []rule) {
	k.Helper()
	files := map[string]string{}
	for _, r := range rules {
		maps.Copy(files, r.files)
		k.apply(r.before...)
	}
	k.commit(files)
	for _, r := range rules {
		k.apply(k.rootOf(r))
	}
}

// hold waits until each rule holds, and then checks once more that what must not be there is not there.
func (k *kit) hold(rules []rule) {
	k.Helper()
	for _, r := range rules {
		o := k.wait(r.name, func(o *unstructured.Unstructured) bool {
			return strings.Contains(text(o, "status", "operationState", "message"), r.message) &&
				(r.phase == "" || text(o, "status", "operationState", "phase") == r.phase) &&
				(r.health == "" || text(o, "status", "health", "status") == r.health)
		})
		for _, object := range r.there {
			kind, name, _ := strings.Cut(object, "/")
			_, err := k.lab.Wait(k.ctx, kind, r.in(kind), name, func(o *unstructured.Unstructured) bool { return o != nil })
			k.must(err)
		}
		for child, health := range r.children {
			k.wait(child, func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == health })
		}
		k.Logf("%s: %s, %s, operation %s: %s", r.name, text(o, "status", "sync", "status"), text(o, "status", "health", "status"),
			text(o, "status", "operationState", "phase"), text(o, "status", "operationState", "message"))
	}
	for _, r := range rules {
		for _, object := range r.absent {
			kind, name, _ := strings.Cut(object, "/")
			if k.exists(kind, r.in(kind), name) {
				k.Errorf("%s: %s is there", r.name, object)
			}
		}
	}
}

// in is the namespace of objects of a kind.
func (r *rule) in(kind string) string {
	if strings.HasSuffix(kind, ".argoproj.io") {
		return lab.Namespace
	}
	return r.name
}

const (
	stuck   = "waiting for healthy state of apps/Deployment/"
	set     = "ApplicationSet.argoproj.io"
	retries = "Retrying attempt #"
)

// TestRulesOfSyncs shows what one sync does, on objects that are no Applications.
func TestRulesOfSyncs(t *testing.T) {
	k := newKit(t, "one")
	k.apply(definition("missing.rules.example.com"), strings.NewReplacer("things", "certificates", "Thing", "Certificate", "thing",
		"certificate").Replace(definition("cert-manager.io")))
	rules := []rule{
		{ // A Namespace and a CRD go to the wave of the first object that needs them.
			name: "one-deps",
			files: map[string]string{
				"one-deps/ns.yaml":     inWave("apiVersion: v1\nkind: Namespace\nmetadata: {name: one-deps-other}\n", 5),
				"one-deps/crd.yaml":    inWave(definition("deps.rules.example.com"), 5),
				"one-deps/first.yaml":  inWave(configMap("one-deps-before", "1"), -1),
				"one-deps/user.yaml":   inWave(inNamespace(configMap("one-deps-user", "1"), "one-deps-other"), 0),
				"one-deps/gate.yaml":   inWave(deployment("one-deps-gate", true), 1),
				"one-deps/thing.yaml":  inWave(thing("deps.rules.example.com", "one-deps-thing"), 2),
				"one-deps/second.yaml": inWave(inNamespace(configMap("one-deps-again", "1"), "one-deps-other"), 2),
				"one-deps/third.yaml":  inWave(configMap("one-deps-third", "1"), 3),
			},
			phase: "Succeeded",
			there: []string{"Thing.deps.rules.example.com/one-deps-thing", "ConfigMap/one-deps-third"},
		},
		{ // The weight of a Helm hook is a wave, also without a hook.
			name: "one-weight", never: []string{"one-weight"},
			files: map[string]string{
				"one-weight/gate.yaml":   deployment("one-weight-gate", false),
				"one-weight/before.yaml": annotated(configMap("one-weight-before", "1"), "helm.sh/hook-weight", "-5"),
				"one-weight/after.yaml":  annotated(configMap("one-weight-after", "1"), "helm.sh/hook-weight", "5"),
				"one-weight/word.yaml": annotated(annotated(configMap("one-weight-word", "1"), "helm.sh/hook-weight", "5"),
					"argocd.argoproj.io/sync-wave", "soon"),
			},
			phase: "Running", message: stuck + "one-weight-gate",
			there:  []string{"ConfigMap/one-weight-before", "Deployment.apps/one-weight-gate"},
			absent: []string{"ConfigMap/one-weight-after", "ConfigMap/one-weight-word"},
		},
		{ // Nobody deploys the CRD: nothing at all is applied.
			name: "one-nocrd",
			files: map[string]string{
				"one-nocrd/cm.yaml":    inWave(configMap("one-nocrd-first", "1"), 0),
				"one-nocrd/thing.yaml": inWave(thing("none.rules.example.com", "one-nocrd-thing"), 1),
			},
			phase: "Running", message: "one or more synchronization tasks are not valid", health: "Missing",
			absent: []string{"ConfigMap/one-nocrd-first", "Namespace/one-nocrd"},
		},
		{ // The same without the dry run: the waves before it are applied.
			name: "one-nodry",
			files: map[string]string{
				"one-nodry/cm.yaml":   inWave(configMap("one-nodry-first", "1"), 0),
				"one-nodry/same.yaml": inWave(configMap("one-nodry-same", "1"), 1),
				"one-nodry/thing.yaml": annotated(inWave(thing("none.rules.example.com", "one-nodry-thing"), 1),
					"argocd.argoproj.io/sync-options", "SkipDryRunOnMissingResource=true"),
				"one-nodry/last.yaml": inWave(configMap("one-nodry-last", "1"), 2),
			},
			phase: "Running", message: "one or more objects failed to apply",
			there: []string{"ConfigMap/one-nodry-first", "ConfigMap/one-nodry-same"}, absent: []string{"ConfigMap/one-nodry-last"},
		},
		{ // Nobody creates the namespace: the others of the wave are applied, later waves are not.
			name: "one-nons",
			files: map[string]string{
				"one-nons/a.yaml": inWave(inNamespace(configMap("a", "1"), "one-nons-none"), 0),
				"one-nons/b.yaml": inWave(configMap("one-nons-same", "1"), 0),
				"one-nons/d.yaml": inWave(deployment("one-nons-same", true), 0),
				"one-nons/c.yaml": inWave(configMap("one-nons-later", "1"), 1),
			},
			phase: "Running", message: "one or more objects failed to apply",
			there: []string{"ConfigMap/one-nons-same", "Deployment.apps/one-nons-same"}, absent: []string{"ConfigMap/one-nons-later"},
		},
		{ // The project forbids a kind: nothing is applied.
			name: "one-nokind", project: "one-nokind",
			before: []string{project("one-nokind",
				"clusterResourceWhitelist: [{group: '*', kind: '*'}], namespaceResourceBlacklist: [{group: '', kind: Secret}]")},
			files: map[string]string{
				"one-nokind/cm.yaml":     inWave(configMap("one-nokind-first", "1"), 0),
				"one-nokind/secret.yaml": inWave("apiVersion: v1\nkind: Secret\nmetadata: {name: one-nokind-secret}\n", 1),
			},
			phase: "Running", message: "one or more synchronization tasks are not valid",
			absent: []string{"ConfigMap/one-nokind-first", "Namespace/one-nokind"},
		},
		{ // The project forbids namespaces, and CreateNamespace needs one.
			name: "one-nocreate", project: "one-nocreate",
			before: []string{project("one-nocreate", "clusterResourceWhitelist: []")},
			files:  map[string]string{"one-nocreate/cm.yaml": configMap("one-nocreate-cm", "1")},
			phase:  "Running", message: "one or more synchronization tasks are not valid",
			absent: []string{"ConfigMap/one-nocreate-cm"},
		},
		{ // Missing: a kind with a check in Go.
			name: "one-missgo", never: []string{"one-missgo"},
			files: map[string]string{
				"one-missgo/a.yaml": inWave(deployment("one-missgo-gate", false), 0),
				"one-missgo/b.yaml": inWave(deployment("one-missgo-later", true), 1),
			},
			phase: "Running", message: stuck + "one-missgo-gate", health: "Missing", absent: []string{"Deployment.apps/one-missgo-later"},
		},
		{ // Missing: a kind with a check in Lua that Argo CD brings.
			name: "one-misslua", never: []string{"one-misslua"},
			files: map[string]string{
				"one-misslua/a.yaml": inWave(deployment("one-misslua-gate", false), 0),
				"one-misslua/b.yaml": inWave("apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: one-misslua-later}\n", 1),
			},
			phase: "Running", message: stuck + "one-misslua-gate", health: "Progressing",
			absent: []string{"Certificate.cert-manager.io/one-misslua-later"},
		},
		{ // Missing: a kind without any check.
			name: "one-missnone", never: []string{"one-missnone"},
			files: map[string]string{
				"one-missnone/a.yaml": inWave(deployment("one-missnone-gate", false), 0),
				"one-missnone/b.yaml": inWave("apiVersion: v1\nkind: Secret\nmetadata: {name: one-missnone-later}\n", 1),
			},
			phase: "Running", message: stuck + "one-missnone-gate", health: "Progressing", absent: []string{"Secret/one-missnone-later"},
		},
		{ // Missing: a kind without any check, which argocd-cm customizes.
			name: "one-missmap", never: []string{"one-missmap"},
			files: map[string]string{
				"one-missmap/a.yaml": inWave(deployment("one-missmap-gate", false), 0),
				"one-missmap/b.yaml": inWave(configMap("one-missmap-later", "1"), 1),
			},
			phase: "Running", message: stuck + "one-missmap-gate", health: "Missing", absent: []string{"ConfigMap/one-missmap-later"},
		},
		{ // A Degraded object beside one that is Progressing: the sync goes on.
			name: "one-degraded", never: []string{"one-degraded"},
			files: map[string]string{
				"one-degraded/a.yaml": inWave(strings.Replace(deployment("one-degraded-bad", false), "replicas: 1",
					"replicas: 1\n  progressDeadlineSeconds: 1", 1), 0),
				"one-degraded/b.yaml": inWave(deployment("one-degraded-slow", false), 0),
				"one-degraded/c.yaml": inWave(configMap("one-degraded-later", "1"), 1),
			},
			root:  app{policy: "{automated: {}, syncOptions: [CreateNamespace=true, Validate=false]}"},
			phase: "Running", message: stuck + "one-degraded-slow", health: "Degraded", absent: []string{"ConfigMap/one-degraded-later"},
		},
		{ // A last wave with a Sync hook is awaited, all of it.
			name: "one-lasthook", never: []string{"one-lasthook"},
			files: map[string]string{
				"one-lasthook/a.yaml": inWave(configMap("one-lasthook-first", "1"), 0),
				"one-lasthook/b.yaml": inWave(deployment("one-lasthook-last", false), 1),
				"one-lasthook/c.yaml": annotated(inWave(configMap("one-lasthook-hook", "1"), 1), "argocd.argoproj.io/hook", "Sync"),
			},
			phase: "Running", message: stuck + "one-lasthook-last", there: []string{"ConfigMap/one-lasthook-hook"},
		},
		{ // The same with one wave only: the hook is awaited, the rest is not.
			name: "one-onlyhook", never: []string{"one-onlyhook"},
			files: map[string]string{
				"one-onlyhook/b.yaml": deployment("one-onlyhook-last", false),
				"one-onlyhook/c.yaml": annotated(configMap("one-onlyhook-hook", "1"), "argocd.argoproj.io/hook", "Sync"),
			},
			root:   app{policy: "{automated: {}}"},
			before: []string{"apiVersion: v1\nkind: Namespace\nmetadata: {name: one-onlyhook}\n"},
			phase:  "Succeeded", health: "Progressing", there: []string{"ConfigMap/one-onlyhook-hook", "Deployment.apps/one-onlyhook-last"},
		},
		{ // A claim that waits for its first consumer, which is in the next wave.
			name:   "one-pvc",
			before: []string{"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: one-wait}\nprovisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n"},
			files: map[string]string{
				"one-pvc/a.yaml": inWave("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: one-pvc-claim}\nspec: {storageClassName: one-wait, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n", 0),
				"one-pvc/b.yaml": inWave(deployment("one-pvc-user", true), 1),
			},
			phase: "Running", message: "waiting for healthy state of /PersistentVolumeClaim/one-pvc-claim",
			absent: []string{"Deployment.apps/one-pvc-user"},
		},
	}
	k.start(rules)
	k.hold(rules)
	k.simulate(rules, "--exists", "cert-manager.io/Certificate")
	order := []lab.Entry{
		{Kind: "ConfigMap", Name: "one-deps-before", What: "created"},
		{Kind: "Namespace", Name: "one-deps-other", What: "created"},
		{Kind: "ConfigMap", Name: "one-deps-user", What: "created"},
		{Kind: "Deployment", Name: "one-deps-gate", What: "available"},
		{Kind: "CustomResourceDefinition", Name: "things.deps.rules.example.com", What: "created"},
		{Kind: "ConfigMap", Name: "one-deps-third", What: "created"},
	}
	for i := 1; i < len(order); i++ {
		if !k.journal.Before(order[i-1], order[i]) {
			t.Errorf("%s of %s did not come before %s of %s", order[i-1].What, order[i-1].Name, order[i].What, order[i].Name)
		}
	}

	// The rest of the wave is done: now the sync fails, and the next wave does not come.
	k.must(k.lab.Patch(k.ctx, "Deployment.apps", "one-degraded", "one-degraded-slow", `{"spec": {"replicas": 0}}`))
	k.wait("one-degraded", func(o *unstructured.Unstructured) bool {
		m := text(o, "status", "operationState", "message")
		return strings.Contains(m, "one or more synchronization tasks completed unsuccessfully") && strings.Contains(m, retries)
	})
	if k.exists("ConfigMap", "one-degraded", "one-degraded-later") {
		t.Error("the wave after a Degraded object was applied")
	}
}

// project is an AppProject that allows all sources and destinations; more are further fields of its spec, in flow style.
func project(name, more string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: " + name +
		", namespace: argocd}\nspec: {sourceRepos: ['*'], destinations: [{namespace: '*', server: '*'}], " + more + "}\n"
}

// children are trees whose first wave is an Application that cannot be deployed. The next wave of those that are passed comes all the same.
func (k *kit) children(passed ...string) []rule {
	var rules []rule
	add := func(short, project, path string, r rule) {
		r.name, r.root.namespace = k.name+"-"+short, lab.Namespace
		child, next := r.name+"-child", r.name+"-next"
		group := r.name + ".rules.example.com"
		r.files = map[string]string{
			r.name + "/child.yaml": strings.Replace(k.app(app{name: child, path: path, wave: "0", namespace: r.name}),
				"project: default", "project: "+project, 1),
			r.name + "/next.yaml":            k.app(app{name: next, path: r.name + "-next", wave: "1", namespace: r.name}),
			r.name + "-next/definition.yaml": definition(group),
			r.name + "-thing/thing.yaml":     thing(group, "thing"),
			"child/cm.yaml":                  configMap("child", "1"),
			"secret/secret.yaml":             strings.NewReplacer("ConfigMap", "Secret", "data:", "stringData:").Replace(configMap("child", "1")),
		}
		if slices.Contains(passed, short) {
			r.phase, r.there = "Succeeded", []string{application + "/" + next}
		} else {
			r.phase, r.message, r.absent = "Running", "waiting for healthy state of argoproj.io/Application/"+child,
				[]string{application + "/" + next}
		}
		rules = append(rules, r)
	}
	name := func(short string) string { return k.name + "-" + short }
	add("noproject", "none", "child", rule{})
	add("nosource", name("nosource"), "child", rule{before: []string{strings.Replace(project(name("nosource"), ""), "'*'",
		"https://git.example.com/other", 1)}})
	add("nodest", name("nodest"), "child", rule{before: []string{strings.Replace(project(name("nodest"), ""), "namespace: '*'",
		"namespace: other", 1)}})
	for short, path := range map[string]string{"nokind": "secret", "nomap": "child"} {
		add(short, name(short), path, rule{before: []string{project(name(short), "clusterResourceWhitelist: [{group: '*', kind: '*'}], "+
			"namespaceResourceBlacklist: [{group: '', kind: ConfigMap}, {group: '', kind: Secret}]")}})
	}
	add("nopath", "default", "none", rule{})
	add("later", "default", name("later")+"-thing", rule{}) // the next wave has its CRD
	return rules
}

// state is an Application's sync status, health and the type of its first condition.
func (k *kit) state(name string) string {
	k.Helper()
	o := k.wait(name, func(*unstructured.Unstructured) bool { return true })
	s := text(o, "status", "sync", "status") + " " + text(o, "status", "health", "status")
	if list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions"); len(list) > 0 {
		s += fmt.Sprint(" ", list[0].(map[string]any)["type"])
	}
	return s
}

// TestRulesOfChildren: Applications that cannot be deployed, with a health check of Applications that copies status.health. The next wave
// waits for an Application that is Unknown, and does not wait for one that is Healthy although nothing of it could be deployed: a missing
// Secret does not count, a missing ConfigMap does, because argocd-cm names its kind. If the next wave has what is missing, that helps.
func TestRulesOfChildren(t *testing.T) {
	k := newKit(t, "kids")
	rules := k.children("nokind", "nopath", "later")
	k.start(rules)
	k.hold(rules)
	k.simulate(rules)
	for name, want := range map[string]string{
		"kids-noproject-child": "Unknown Unknown InvalidSpecError",
		"kids-nosource-child":  "Unknown Unknown InvalidSpecError",
		"kids-nodest-child":    "Unknown Unknown InvalidSpecError",
		"kids-nokind-child":    "OutOfSync Healthy",
		"kids-nomap-child":     "OutOfSync Missing",
		"kids-nopath-child":    "Unknown Healthy ComparisonError",
	} {
		if got := k.state(name); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
	k.await("Application", "kids-later-child", "operation Succeeded")
}

// TestRulesWithOurChecks: the same with our health checks of Applications and of ApplicationSets. No wave comes before the one before it is
// healthy, so a CRD that comes later never comes; and a root that deploys itself does not wait for itself.
func TestRulesWithOurChecks(t *testing.T) {
	k := newKit(t, "ours")
	k.settings(map[string]string{
		healthKey:    k.argosy("health", "script", "applications"),
		setHealthKey: k.argosy("health", "script", "applicationsets"),
	})
	root := app{name: "ours-self", path: "ours-self", wave: "0", namespace: lab.Namespace}
	rules := append(k.children(), rule{
		name: "ours-self", root: root, files: map[string]string{
			"ours-self/root.yaml": k.app(root),
			"ours-self/next.yaml": k.app(app{name: "ours-self-next", path: "child", wave: "1", namespace: "ours-self"}),
		},
		phase: "Succeeded", health: "Healthy", children: map[string]string{"ours-self-next": "Healthy"},
	}, rule{
		name: "ours-set", never: []string{"ours-set-x"}, root: app{namespace: lab.Namespace}, files: map[string]string{
			"ours-set/set.yaml":  k.set("ours-set-set", "0", app{name: "ours-set-x", path: "slow"}),
			"ours-set/next.yaml": k.app(app{name: "ours-set-next", path: "child", wave: "1", namespace: "ours-set"}),
			"slow/d.yaml":        deployment("slow", false),
		},
		phase: "Running", message: "waiting for healthy state of argoproj.io/ApplicationSet/ours-set-set",
		children: map[string]string{"ours-set-x": "Progressing"}, absent: []string{application + "/ours-set-next"},
	})
	k.start(rules)
	k.hold(rules)
	k.simulate(rules)
	o := k.wait("ours-self", func(*unstructured.Unstructured) bool { return true })
	if id := o.GetAnnotations()["argocd.argoproj.io/tracking-id"]; id != "ours-self:argoproj.io/Application:argocd/ours-self" {
		t.Errorf("ours-self does not deploy itself, or this shows nothing: %q", id)
	}
	k.commit(map[string]string{"slow/d.yaml": deployment("slow", true)})
	k.await("Application", "ours-set-next", "health Healthy")
	k.healthyBefore("ours-set-x", "ours-set-next")
}

// TestRulesOfSets: ApplicationSets in a wave, with Argo CD's own health check of sets and --enable-progressive-syncs.
func TestRulesOfSets(t *testing.T) {
	k := newKit(t, "sets")
	next := func(name, path string) string {
		return k.app(app{name: name + "-next", path: path, wave: "1", namespace: name})
	}
	// rolling is a set whose one Application is rolled out.
	rolling := func(path string) string {
		return strings.NewReplacer("metadata: {name: '{{name}}'}", "metadata: {name: '{{name}}', labels: {step: one}}",
			"spec:\n  generators", "spec:\n  strategy: {type: RollingSync, rollingSync: {steps: [{matchExpressions: [{key: step, operator: In, values: [one]}]}]}}\n  generators",
		).Replace(k.set("sets-rolling-set", "0", app{name: "sets-rolling-x", path: path}))
	}
	const waits = "waiting for healthy state of argoproj.io/ApplicationSet/sets-rolling-set"
	rules := []rule{
		{ // A set that cannot be generated is Degraded.
			name: "sets-error", root: app{namespace: lab.Namespace},
			files: map[string]string{
				"good/cm.yaml":  configMap("good", "1"),
				"other/cm.yaml": configMap("other", "1"),
				"sets-error/set.yaml": strings.NewReplacer("'{{name}}'", "'{{.none}}'", "spec:\n  generators",
					"spec:\n  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n  generators").
					Replace(k.set("sets-error-set", "0", app{name: "sets-error-x", path: "good"})),
				"sets-error/next.yaml": next("sets-error", "good"),
			},
			phase: "Running", message: "one or more synchronization tasks completed unsuccessfully", health: "Degraded",
			there: []string{set + "/sets-error-set"}, absent: []string{application + "/sets-error-next", application + "/sets-error-x"},
		},
		{ // A set that is rolled out is Progressing until its Applications are healthy.
			name: "sets-rolling", never: []string{"sets-rolling-x"}, root: app{namespace: lab.Namespace},
			files: map[string]string{
				"bad/d.yaml":             deployment("bad", false),
				"worse/d.yaml":           deployment("bad", false),
				"sets-rolling/set.yaml":  rolling("bad"),
				"sets-rolling/next.yaml": next("sets-rolling", "good"),
			},
			phase: "Running", message: waits,
			children: map[string]string{"sets-rolling-x": "Progressing"}, absent: []string{application + "/sets-rolling-next"},
		},
	}
	k.start(rules)
	k.hold(rules)
	k.simulate(rules)
	k.commit(map[string]string{"bad/d.yaml": deployment("bad", true)})
	k.await("Application", "sets-rolling-next", "health Healthy")
	k.healthyBefore("sets-rolling-x", "sets-rolling-next")
	k.wait("sets-rolling", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Succeeded" && text(o, "status", "sync", "status") == "Synced"
	})

	// An update of the set, and of the wave behind it. The objects are the same: with one to prune, and no pruning, the controller syncs
	// for ever.
	k.commit(map[string]string{"sets-rolling/set.yaml": rolling("worse"), "sets-rolling/next.yaml": next("sets-rolling", "other")})
	k.wait("sets-rolling", func(o *unstructured.Unstructured) bool {
		return strings.Contains(text(o, "status", "operationState", "message"), waits)
	})
	if o := k.wait("sets-rolling-next", func(*unstructured.Unstructured) bool {
		return true
	}); text(o, "spec", "source", "path") != "good" {
		t.Error("the wave behind the set was updated")
	}
	k.commit(map[string]string{"worse/d.yaml": deployment("bad", true)})
	k.wait("sets-rolling-next", func(o *unstructured.Unstructured) bool { return text(o, "spec", "source", "path") == "other" })
}
