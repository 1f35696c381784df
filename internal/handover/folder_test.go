package handover_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/handover"
	"github.com/argosy-cd/argosy/internal/manifest"
)

const root = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root, namespace: argocd, uid: r1}
spec:
  project: default
  source: {repoURL: https://git.example.com/x, targetRevision: main, path: sets, directory: {recurse: true}}
  destination: {server: https://kubernetes.default.svc, namespace: argocd}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`

// newFolder is a cluster in which root deploys two sets and a plain Application.
func newFolder(t *testing.T) *cluster {
	t.Helper()
	decode := func(text string) manifest.Object {
		docs, err := manifest.Decode("folder", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return docs[0].Object
	}
	first := strings.NewReplacer(`, uid: s1, resourceVersion: "1"`, "").Replace(set)
	second := strings.NewReplacer("name: web,", "name: shop,", "'web-{{name}}'", "'shop-{{name}}'").Replace(first)
	c := &cluster{T: t, objects: map[string]manifest.Object{}, next: 1, git: []manifest.Object{decode(first), decode(second)}}
	c.put(decode(root))
	for range 4 {
		c.controllers()
	}
	c.writes = 0
	if got := manifest.String(c.objects["Application/root"], "status", "sync", "status"); got != "Synced" || len(c.all()) != 6 {
		t.Fatal(got, c.all())
	}
	return c
}

func mark(o manifest.Object, by string) {
	meta := manifest.Map(o, "metadata")
	if manifest.Map(meta, "annotations") == nil {
		meta["annotations"] = map[string]any{}
	}
	manifest.Map(meta, "annotations")[argo.TrackingAnnotation] = trackedBy(o, by)
}

func marked(o manifest.Object, by string) bool {
	return manifest.String(o, "metadata", "annotations", argo.TrackingAnnotation) == trackedBy(o, by)
}

// trackedBy is the annotation of an object that an Application deploys.
func trackedBy(o manifest.Object, by string) string {
	return fmt.Sprintf("%s:%s/%s:argocd/%s", by, manifest.Group(o), manifest.String(o, "kind"), manifest.String(o, "metadata", "name"))
}

func owned(o manifest.Object) bool {
	list, _ := manifest.Map(o, "metadata")["ownerReferences"].([]any)
	return len(list) > 0
}

// folderController is Argo CD with an Application that deploys the folder, with the plugin and its guard, or without.
func (c *cluster) folderController(p manifest.Object) {
	if manifest.Map(p, "metadata")["deletionTimestamp"] != nil {
		return
	}
	name := manifest.String(p, "metadata", "name")
	plugin := manifest.Map(p, "spec", "source", "plugin") != nil
	meta := manifest.Map(p, "metadata")
	if manifest.Map(meta, "annotations")["argocd.argoproj.io/refresh"] != nil {
		if delete(manifest.Map(meta, "annotations"), "argocd.argoproj.io/refresh"); c.wipes {
			delete(meta, "annotations")
			c.put(p)
		}
	}
	var target []manifest.Object
	for _, s := range c.git {
		if !plugin {
			target = append(target, s)
			continue
		}
		apps, err := render(c.Context(), s)
		if err != nil {
			c.Fatal(err)
		}
		target = append(target, apps...)
	}
	key := func(o manifest.Object) string {
		return manifest.String(o, "kind") + "/" + manifest.String(o, "metadata", "name")
	}
	if plugin && slices.ContainsFunc(c.sorted(), func(o manifest.Object) bool {
		return manifest.String(o, "kind") == "ApplicationSet" && marked(o, name)
	}) && slices.ContainsFunc(c.sorted(), owned) || plugin && c.broken {
		p["status"] = map[string]any{
			"conditions": []any{map[string]any{"type": "ComparisonError", "message": "refused"}},
			"resources":  manifest.Map(p, "status")["resources"], "sync": map[string]any{"status": "Unknown"},
		}
		return
	}
	automated := manifest.Map(p, "spec", "syncPolicy")["automated"] != nil
	wanted, _ := manifest.Map(p, "operation", "sync")["resources"].([]any)
	chosen := func(o manifest.Object) bool {
		return slices.ContainsFunc(wanted, func(v any) bool {
			return manifest.String(v.(map[string]any), "name") == manifest.String(o, "metadata", "name")
		})
	}
	var resources []any
	status := "Synced"
	add := func(o manifest.Object, synced, prune bool) {
		r := map[string]any{"group": argo.Group, "kind": o["kind"], "namespace": "argocd", "name": manifest.String(o, "metadata", "name")}
		if prune {
			r["requiresPruning"] = true
		}
		if !synced || prune {
			status = "OutOfSync"
		}
		resources = append(resources, r)
	}
	for _, o := range target {
		live := c.objects[key(o)]
		synced := live != nil && marked(live, name) && fmt.Sprint(manifest.Map(o, "spec")["generators"]) == fmt.Sprint(manifest.Map(live, "spec")["generators"])
		if !synced && (automated || chosen(o)) {
			if live == nil {
				live = manifest.Copy(o).(map[string]any)
			}
			live["spec"] = manifest.Copy(o["spec"])
			mark(live, name)
			c.put(live)
			synced = true
		}
		add(o, synced, false)
	}
	for _, live := range c.sorted() {
		if !marked(live, name) || owned(live) || slices.ContainsFunc(target, func(o manifest.Object) bool { return key(o) == key(live) }) {
			continue
		}
		if automated {
			c.deleted = append(c.deleted, key(live))
			delete(c.objects, key(live))
			continue
		}
		add(live, true, true)
	}
	before := manifest.Map(p, "status", "operationState")
	if op := manifest.Map(p, "operation"); op != nil {
		if before == nil {
			before = map[string]any{}
		}
		merge(before, map[string]any{"operation": manifest.Copy(op), "phase": "Succeeded"}) // as Argo CD: what is left of the one before stays
		delete(p, "operation")
	}
	compared := map[string]any{"source": manifest.Copy(manifest.Map(p, "spec", "source"))}
	p["status"] = map[string]any{"sync": map[string]any{"status": status, "comparedTo": compared}, "resources": resources}
	if before != nil {
		manifest.Map(p, "status")["operationState"] = before
	}
}

// all are the UIDs of the Applications of both sets.
func (c *cluster) all() map[string]string {
	out := map[string]string{}
	for _, o := range c.objects {
		if name := manifest.String(o, "metadata", "name"); manifest.String(o, "kind") == "Application" && strings.Contains(name, "-") && !strings.HasSuffix(name, "-handover") {
			out[name] = manifest.String(o, "metadata", "uid")
		}
	}
	return out
}

func (c *cluster) folder(back bool) error {
	cfg := c.config(back)
	cfg.Set.Name = "root"
	return cfg.RunFolder(c.Context())
}

// inPlugin and inController check who has the Applications, and that they and the root are as before.
func (c *cluster) inPlugin(before map[string]string) {
	c.Helper()
	c.same(before)
	if c.objects["ApplicationSet/web"] != nil || c.objects["ApplicationSet/shop"] != nil || manifest.Map(c.objects["Application/root"], "spec", "source", "plugin") == nil {
		c.Errorf("not in the plugin: %v", c.objects)
	}
	for name := range before {
		if o := c.objects["Application/"+name]; owned(o) || !marked(o, "root") {
			c.Errorf("%s is not adopted: %v", name, o)
		}
	}
}

func (c *cluster) inController(before map[string]string) {
	c.Helper()
	c.same(before)
	if manifest.Map(c.objects["Application/root"], "spec", "source", "plugin") != nil ||
		manifest.Map(c.objects["Application/root"], "spec", "source", "directory")["recurse"] != true {
		c.Errorf("the root is %v", c.objects["Application/root"])
	}
	for i, name := range []string{"web", "shop"} {
		if got, want := fmt.Sprint(c.objects["ApplicationSet/"+name]["spec"]), fmt.Sprint(c.git[i]["spec"]); got != want {
			c.Errorf("%s is %s\nwant %s", name, got, want)
		}
	}
	for name := range before {
		if !owned(c.objects["Application/"+name]) {
			c.Errorf("%s is not owned", name)
		}
	}
}

func (c *cluster) same(before map[string]string) {
	c.Helper()
	for range 3 {
		c.controllers()
	}
	if got := c.all(); fmt.Sprint(got) != fmt.Sprint(before) || len(c.deleted) > 0 {
		c.Errorf("deleted %v, or others: %v, before %v", c.deleted, got, before)
	}
	r := c.objects["Application/root"]
	if manifest.Map(r, "spec", "syncPolicy", "automated")["selfHeal"] != true || manifest.String(r, "metadata", "annotations", "argosy.dev/handover") != "" {
		c.Errorf("the root is %v", r)
	}
	if who := manifest.String(r, "status", "operationState", "operation", "initiatedBy", "username"); who != "" {
		c.Error("the sync of some resources is not forgotten")
	}
	if c.objects["Application/root-handover"] != nil {
		c.Error("the Application for the proof is still there")
	}
}

func TestFolder(t *testing.T) {
	c := newFolder(t)
	before := c.all()
	for range 2 {
		for range 2 { // again: there is nothing to do
			if err := c.folder(false); err != nil {
				t.Fatal(err)
			}
			c.inPlugin(before)
		}
		for range 2 {
			if err := c.folder(true); err != nil {
				t.Fatal(err)
			}
			c.inController(before)
		}
	}
}

// TestFolderRefreshed: Argo CD removes all annotations of the root when it has refreshed it, and the state is not lost.
func TestFolderRefreshed(t *testing.T) {
	c := newFolder(t)
	before := c.all()
	c.wipes = true
	for _, back := range []bool{false, true} {
		manifest.Map(c.objects["Application/root"], "metadata")["annotations"] = map[string]any{"argocd.argoproj.io/refresh": "normal"}
		if err := c.folder(back); err != nil {
			t.Fatal(err)
		}
		c.wipes = false // on the way back, we ask for a refresh ourselves
		c.same(before)
		c.wipes = true
	}
}

// TestFolderAutomated: the automated sync of the root is as it was, also if it has no options or is off.
func TestFolderAutomated(t *testing.T) {
	for name, automated := range map[string]any{"without options": map[string]any{}, "off": nil} {
		t.Run(name, func(t *testing.T) {
			c := newFolder(t)
			policy := manifest.Map(c.objects["Application/root"], "spec", "syncPolicy")
			if policy["automated"] = automated; automated == nil {
				delete(policy, "automated")
			}
			for _, back := range []bool{false, true} {
				if err := c.folder(back); err != nil {
					t.Fatal(err)
				}
				got, ok := manifest.Map(c.objects["Application/root"], "spec", "syncPolicy")["automated"]
				if on, _ := got.(map[string]any); ok != (automated != nil) || ok && (on == nil || len(on) > 0) {
					t.Errorf("back %t: the automated sync is %v", back, got)
				}
			}
		})
	}
}

// TestFolderKilledAtEveryStep ends a run after each of its writes, and then goes on, or back.
func TestFolderKilledAtEveryStep(t *testing.T) {
	steps := 0
	for first := range 2 {
		for second := range 2 {
			for dies := 1; ; dies++ {
				c := newFolder(t)
				before := c.all()
				if first == 1 {
					if err := c.folder(false); err != nil {
						t.Fatal(err)
					}
					c.writes = 0
				}
				c.dies = dies
				err := c.folder(first == 1)
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				steps++
				if dies%2 == 0 {
					c.controllers()
				}
				c.dies = 0
				if err := c.folder(second == 1); err != nil {
					t.Errorf("killed at write %d, first %d, then %d: %v", dies, first, second, err)
					continue
				}
				if second == 1 {
					c.inController(before)
				} else {
					c.inPlugin(before)
				}
			}
		}
	}
	if steps < 40 {
		t.Errorf("only %d writes", steps)
	}
}

// TestFolderRefused: nothing is changed unless all sets and the cluster agree.
func TestFolderRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *cluster, root manifest.Object)
		want   string
	}{
		"another spec": {
			func(c *cluster, _ manifest.Object) {
				manifest.Map(c.objects["Application/shop-a"], "spec", "source")["path"] = "other"
			},
			`Application shop-a: spec.source.path is "other" in the cluster, and "a" in the set`,
		},
		"out of sync": {
			func(_ *cluster, root manifest.Object) { manifest.Map(root, "status", "sync")["status"] = "OutOfSync" },
			"Application argocd/root is OutOfSync; it must be Synced",
		},
		"a chart": {
			func(_ *cluster, root manifest.Object) {
				manifest.Map(root, "spec", "source")["helm"] = map[string]any{}
			},
			"spec.source.helm: it cannot be combined with a plugin",
		},
		"another cluster": {
			func(_ *cluster, root manifest.Object) {
				manifest.Map(root, "spec")["destination"] = map[string]any{"name": "far"}
			},
			"deploys to another cluster",
		},
		"no sets": {
			func(_ *cluster, root manifest.Object) { manifest.Map(root, "status")["resources"] = []any{} },
			"deploys no ApplicationSet",
		},
		"ignored fields": {
			func(c *cluster, _ manifest.Object) {
				manifest.Map(c.objects["ApplicationSet/web"], "spec")["preservedFields"] = map[string]any{"labels": []any{"x"}}
			},
			"ApplicationSet argocd/web: spec.preservedFields: a sync of the Application that renders the folder overwrites these fields",
		},
		"an Application of the name of the proof": {
			func(c *cluster, root manifest.Object) {
				other := manifest.Copy(root).(map[string]any)
				manifest.Map(other, "metadata")["name"] = "root-handover"
				manifest.Map(other, "spec", "source")["plugin"] = map[string]any{"name": "appset"}
				c.put(other)
			},
			"Application argocd/root-handover is there already, and argosy has not created it; this name must be free",
		},
		"a set that is gone": {
			func(c *cluster, _ manifest.Object) { delete(c.objects, "ApplicationSet/web") },
			"ApplicationSet argocd/web is not in the cluster",
		},
		"somebody else's set": {
			func(c *cluster, _ manifest.Object) { mark(c.objects["ApplicationSet/web"], "other") },
			"ApplicationSet argocd/web is not deployed by Application argocd/root",
		},
		"a state that is none": {
			func(_ *cluster, root manifest.Object) {
				manifest.Map(root, "metadata")["annotations"] = map[string]any{"argosy.dev/handover": `{"sets": 1}`}
			},
			"annotation argosy.dev/handover: it is not the state of a hand-over",
		},
		"a state with somebody else's set": {
			func(c *cluster, root manifest.Object) {
				state, _ := json.Marshal(map[string]any{
					"plain": map[string]any{"path": "x"}, "plugin": map[string]any{"path": "x"},
					"sets": []any{map[string]any{"Namespace": "argocd", "Name": "victim"}},
				})
				manifest.Map(root, "metadata")["annotations"] = map[string]any{"argosy.dev/handover": string(state)}
				victim := manifest.Copy(c.objects["ApplicationSet/web"]).(map[string]any)
				manifest.Map(victim, "metadata")["name"] = "victim"
				mark(victim, "other")
				c.put(victim)
			},
			"ApplicationSet argocd/victim is not deployed by Application argocd/root",
		},
		"deployed by another root": {
			func(c *cluster, root manifest.Object) {
				mark(root, "seed")
				c.put(manifest.Object{
					"kind": "Application", "metadata": map[string]any{"name": "seed"},
					"spec": map[string]any{"syncPolicy": map[string]any{"automated": map[string]any{}}},
				})
			},
			"Application argocd/root is deployed by Application argocd/seed, which would undo this",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFolder(t)
			test.change(c, c.objects["Application/root"])
			if err := c.folder(false); err == nil || !strings.Contains(err.Error(), test.want) || c.writes > 0 {
				t.Errorf("%d writes, %v", c.writes, err)
			}
		})
	}
	c := newFolder(t)
	cfg := c.config(false)
	cfg.Set.Name = "none"
	if err := cfg.RunFolder(t.Context()); err == nil || err.Error() != "Application argocd/none is not in the cluster" {
		t.Error(err)
	}
}

func TestFolderPlan(t *testing.T) {
	c := newFolder(t)
	for back, want := range map[bool]string{
		false: `1. to do: create Application argocd/root-handover without automated sync, and wait until the plugin renders the same 6 Applications for it
2. to do: turn off automated sync of Application argocd/root
3. to do: stop the applicationset-controller for 2 ApplicationSets
4. to do: remove the owner references of the Applications to the sets
5. to do: delete the ApplicationSets, without their Applications
6. to do: put the plugin into the source of Application argocd/root, and wait until it renders the same 6 Applications
7. to do: delete Application argocd/root-handover, without the Applications that it renders
8. to do: set the automated sync of Application argocd/root as it was, and wait until it has adopted the Applications
nothing was changed`,
		true: `1. done: delete Application argocd/root-handover, without the Applications that it renders
2. done: wait until Application argocd/root is Synced`,
	} {
		cfg := c.config(back)
		cfg.Set.Name, cfg.Do = "root", false
		var lines []string
		cfg.Tell = func(line string) { lines = append(lines, line) }
		if err := cfg.RunFolder(t.Context()); err != nil || c.writes > 0 {
			t.Fatal(err, c.writes)
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s", got)
		}
	}
}

// TestFolderBroken: a plugin that does not answer ends a run before anything else is changed.
func TestFolderBroken(t *testing.T) {
	c := newFolder(t)
	before := c.all()
	c.broken = true
	if err := c.folder(false); err == nil || !strings.HasPrefix(err.Error(), "step 1: Argo CD says ComparisonError: refused: not done") {
		t.Fatal(err)
	}
	c.broken = false
	if c.writes != 1 || c.objects["Application/root-handover"] == nil {
		t.Errorf("%d writes", c.writes)
	}
	if err := c.folder(true); err != nil {
		t.Fatal(err)
	}
	c.inController(before)
}

// TestCreateOnly: a controller that may not update Applications does not own them again by itself.
func TestCreateOnly(t *testing.T) {
	for _, policy := range []string{"create-only", "create-delete"} {
		c := newCluster(t)
		manifest.Map(c.objects["ApplicationSet/web"], "spec")["syncPolicy"] = map[string]any{"applicationsSync": policy}
		uids := c.uids()
		for range 2 {
			if err := c.config(false).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.handedOver(uids)
			manifest.Map(c.objects["Application/web-b"], "spec")["info"] = "by hand"
			if err := c.config(true).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.controllers()
			c.untouched(uids)
			if manifest.String(c.objects["Application/web-b"], "spec", "info") != "by hand" {
				t.Errorf("%s: the change by hand is lost", policy)
			}
			if got, _ := c.Owned(t.Context(), "argocd"); len(got["web-a"]) != 1 || got["web-a"][0] != manifest.String(c.objects["ApplicationSet/web"], "metadata", "uid") {
				t.Errorf("%s: %v", policy, got)
			}
		}
	}
}

var _ handover.Cluster = (*cluster)(nil)
