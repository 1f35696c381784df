package handover_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/handover"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// cluster is an API server with an applicationset-controller, an application controller and a garbage collector, as far as a hand-over
// meets them. lab/ has the real ones.
type cluster struct {
	*testing.T
	objects map[string]manifest.Object // by kind and name
	next    int
	writes  int
	// dies is the number of the write after which the caller is gone; 0 is never.
	dies int
	// broken says that the plugin does not answer, and absent that the controller of sets does not run.
	broken, absent bool
	// wipes says that Argo CD removes all annotations with the one that asks for a refresh.
	wipes bool
	// gone is an object that is listed, and not there when it is read after the first write.
	gone    string
	deleted []string
	// git are the sets of a folder.
	git []manifest.Object
}

var errKilled = errors.New("killed")

const set = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: web, namespace: argocd, uid: s1, resourceVersion: "1", labels: {team: shop}, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  generators: [{list: {elements: [{name: a}, {name: b}, {name: c}]}}]
  strategy: {type: AllAtOnce}
  template:
    metadata: {name: 'web-{{name}}', labels: {app: '{{name}}'}, annotations: {example.com/x: "1"}}
    spec:
      project: default
      source: {repoURL: https://git.example.com/x, path: '{{name}}'}
      destination: {server: https://kubernetes.default.svc, namespace: '{{name}}'}
      syncPolicy: {automated: {}}
`

// render renders a set as the command does.
func render(ctx context.Context, o manifest.Object) ([]manifest.Object, error) {
	parsed, _, err := appset.Parse(manifest.Document{Object: o})
	if err != nil {
		return nil, err
	}
	res, err := appset.Generate(ctx, appset.Config{}, parsed)
	if err != nil {
		return nil, err
	}
	return res.Applications[0], nil
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	docs, err := manifest.Decode("set", []byte(set))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{T: t, objects: map[string]manifest.Object{"ApplicationSet/web": docs[0].Object}, next: 1}
	c.controllers()
	c.writes = 0
	return c
}

func (c *cluster) version() string { c.next++; return fmt.Sprint(c.next) }

// put stores an object, with a UID if it has none.
func (c *cluster) put(o manifest.Object) {
	meta := manifest.Map(o, "metadata")
	meta["resourceVersion"] = c.version()
	if meta["uid"] == nil {
		meta["uid"] = "u" + c.version()
	}
	c.objects[manifest.String(o, "kind")+"/"+manifest.String(meta, "name")] = o
}

// controllers lets all controllers work once.
func (c *cluster) controllers() {
	for _, o := range c.sorted() {
		if manifest.String(o, "kind") == "ApplicationSet" && !c.absent {
			c.setController(o)
		}
	}
	for _, o := range c.sorted() {
		if manifest.String(o, "spec", "source", "path") == "sets" {
			c.folderController(o)
		} else if manifest.String(o, "spec", "source", "plugin", "name") == "appset" {
			c.appController(o)
		}
	}
	for key, o := range c.objects { // the garbage collector
		owners, _ := manifest.Map(o, "metadata")["ownerReferences"].([]any)
		for _, v := range owners {
			uid := manifest.String(v.(map[string]any), "uid")
			if !slices.ContainsFunc(slices.Collect(mapsValues(c.objects)), func(o manifest.Object) bool {
				return manifest.String(o, "metadata", "uid") == uid
			}) {
				c.deleted = append(c.deleted, key)
				delete(c.objects, key)
			}
		}
	}
}

// sorted are the objects, in the order of their names.
func (c *cluster) sorted() (out []manifest.Object) {
	for _, key := range slices.Sorted(maps.Keys(c.objects)) {
		out = append(out, c.objects[key])
	}
	return out
}

func mapsValues(m map[string]manifest.Object) func(func(manifest.Object) bool) {
	return func(yield func(manifest.Object) bool) {
		for _, o := range m {
			if !yield(o) {
				return
			}
		}
	}
}

func (c *cluster) setController(s manifest.Object) {
	if manifest.Map(s, "metadata")["deletionTimestamp"] != nil {
		delete(c.objects, "ApplicationSet/"+manifest.String(s, "metadata", "name"))
		return
	}
	generators := manifest.Map(s, "spec")["generators"].([]any)
	if selector := manifest.Map(generators[0].(map[string]any), "selector"); selector != nil {
		expression := selector["matchExpressions"].([]any)[0].(map[string]any)
		s["status"] = map[string]any{"conditions": []any{map[string]any{
			"type": "ErrorOccurred", "status": "True",
			"message": fmt.Sprintf("error parsing label selector: %q is not a valid pod selector operator", expression["operator"]),
		}}}
		return
	}
	apps, err := render(context.Background(), s)
	if err != nil {
		c.Fatal(err)
	}
	for _, app := range apps {
		meta := manifest.Map(app, "metadata")
		if old := c.objects["Application/"+manifest.String(meta, "name")]; old != nil {
			if strings.HasPrefix(manifest.String(s, "spec", "syncPolicy", "applicationsSync"), "create-") && owned(old) {
				continue // of those that do not update; what it does not own is new to it
			}
			meta["uid"] = manifest.String(old, "metadata", "uid")
		}
		meta["ownerReferences"] = []any{map[string]any{
			"kind": "ApplicationSet", "name": manifest.String(s, "metadata", "name"), "controller": true, "uid": manifest.String(s, "metadata", "uid"),
		}}
		c.put(app)
	}
}

func (c *cluster) appController(p manifest.Object) {
	if c.broken {
		p["status"] = map[string]any{"conditions": []any{map[string]any{"type": "ComparisonError", "message": "no plugin"}}}
		return
	}
	spec := argo.PluginParameter(manifest.Map(p, "spec", "source", "plugin"), "spec")
	docs, err := manifest.Decode("spec", []byte(spec))
	if err != nil {
		c.Fatal(err)
	}
	parsed, _, err := appset.Parse(docs[0])
	if err != nil {
		c.Fatal(err)
	}
	res, err := appset.Generate(context.Background(), appset.Config{Namespace: "argocd"}, parsed)
	if err != nil {
		c.Fatal(err)
	}
	synced := "Synced"
	var resources []any
	for _, app := range res.Applications[0] {
		name := manifest.String(app, "metadata", "name")
		resources = append(resources, map[string]any{"group": argo.Group, "kind": "Application", "name": name})
		live := c.objects["Application/"+name]
		if live == nil {
			c.Fatalf("Application %s is not there", name)
		}
		if manifest.String(live, "metadata", "annotations", argo.TrackingAnnotation) != "" {
			continue
		}
		if manifest.Map(p, "spec", "syncPolicy")["automated"] == nil {
			synced = "OutOfSync"
			continue
		}
		if len(manifest.Map(live, "metadata")["ownerReferences"].([]any)) > 0 {
			c.Errorf("%s is synced by both", name)
		}
		manifest.Map(live, "metadata", "annotations")[argo.TrackingAnnotation] = trackedBy(live, "web")
		c.put(live)
	}
	p["status"] = map[string]any{"sync": map[string]any{"status": synced}, "resources": resources}
}

// written counts a write, after which the caller may be gone.
func (c *cluster) written() error {
	if c.writes++; c.writes == c.dies {
		return errKilled
	}
	return nil
}

func (c *cluster) Object(_ context.Context, kind string, ref argo.Ref) (manifest.Object, error) {
	o := c.objects[kind+"/"+ref.Name]
	if o == nil || kind+"/"+ref.Name == c.gone && c.writes > 0 {
		return nil, nil
	}
	return manifest.Copy(o).(map[string]any), nil
}

func (c *cluster) Owned(context.Context, string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, o := range c.objects {
		if manifest.String(o, "kind") != "Application" {
			continue
		}
		name := manifest.String(o, "metadata", "name")
		out[name] = []string{}
		owners, _ := manifest.Map(o, "metadata")["ownerReferences"].([]any)
		for _, v := range owners {
			owner, _ := v.(map[string]any)
			out[name] = append(out[name], manifest.String(owner, "uid"))
		}
	}
	return out, nil
}

func (c *cluster) Create(_ context.Context, o manifest.Object) error {
	key := manifest.String(o, "kind") + "/" + manifest.String(o, "metadata", "name")
	if c.objects[key] != nil {
		return errors.New("already exists")
	}
	c.put(manifest.Copy(o).(map[string]any))
	return c.written()
}

func (c *cluster) Patch(_ context.Context, kind string, ref argo.Ref, patch map[string]any) error {
	o := c.objects[kind+"/"+ref.Name]
	if v := manifest.String(patch, "metadata", "resourceVersion"); v != "" && v != manifest.String(o, "metadata", "resourceVersion") {
		return handover.ErrConflict
	}
	merge(o, manifest.Copy(patch).(map[string]any))
	c.put(o)
	return c.written()
}

func merge(o, patch map[string]any) {
	for k, v := range patch {
		m, isMap := v.(map[string]any)
		old, _ := o[k].(map[string]any)
		switch {
		case v == nil:
			delete(o, k)
		case isMap && old != nil:
			merge(old, m)
		default:
			o[k] = v
		}
	}
}

func (c *cluster) Delete(_ context.Context, kind string, ref argo.Ref, uid string) error {
	key := kind + "/" + ref.Name
	o := c.objects[key]
	if manifest.String(o, "metadata", "uid") != uid {
		return errors.New("another UID")
	}
	if list, _ := manifest.Map(o, "metadata")["finalizers"].([]any); len(list) > 0 {
		if kind == "Application" {
			c.Errorf("%s has finalizers, so its Applications go, too", key)
		}
		manifest.Map(o, "metadata")["deletionTimestamp"] = "now"
	} else {
		delete(c.objects, key)
	}
	return c.written()
}

// uids are those of the Applications of the set.
func (c *cluster) uids() string {
	var out []string
	for _, name := range []string{"web-a", "web-b", "web-c"} {
		out = append(out, manifest.String(c.objects["Application/"+name], "metadata", "uid"))
	}
	return strings.Join(out, " ")
}

// config is a hand-over of the cluster's set. It gives up after some time.
func (c *cluster) config(back bool) handover.Config {
	waits := 0
	return handover.Config{
		Cluster: c, Set: argo.Ref{Namespace: "argocd", Name: "web"}, Argo: "argocd", Render: render, Back: back, Do: true,
		Wait: func(context.Context) error {
			c.controllers()
			if waits++; waits > 20 {
				return errors.New("not done")
			}
			return nil
		},
	}
}

// handedOver checks that the plugin has the Applications.
func (c *cluster) handedOver(uids string) {
	c.Helper()
	parent := c.objects["Application/web"]
	if c.objects["ApplicationSet/web"] != nil || parent == nil || manifest.Map(parent, "spec", "syncPolicy")["automated"] == nil ||
		manifest.String(parent, "metadata", "labels", "team") != "shop" {
		c.Errorf("not handed over: %v", c.objects)
	}
	c.untouched(uids)
}

// controlled checks that the controller has the Applications, and that the set is as it was.
func (c *cluster) controlled(uids string) {
	c.Helper()
	s := c.objects["ApplicationSet/web"]
	docs, _ := manifest.Decode("set", []byte(set))
	if s == nil || c.objects["Application/web"] != nil {
		c.Fatalf("not given back: %v", c.objects)
	}
	if got, want := fmt.Sprint(s["spec"]), fmt.Sprint(docs[0].Object["spec"]); got != want {
		c.Errorf("the set is another one:\n%s\n%s", got, want)
	}
	if list := manifest.Map(s, "metadata")["finalizers"].([]any); len(list) != 1 {
		c.Errorf("finalizers of the set: %v", list)
	}
	c.untouched(uids)
}

func (c *cluster) untouched(uids string) {
	c.Helper()
	if len(c.deleted) > 0 || c.uids() != uids {
		c.Errorf("Applications were deleted: %v, %s, before %s", c.deleted, c.uids(), uids)
	}
}

func TestThereAndBack(t *testing.T) {
	c := newCluster(t)
	uids := c.uids()
	for range 2 {
		if err := c.config(false).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.handedOver(uids)
		if err := c.config(true).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.controlled(uids)
	}
}

// TestKilledAtEveryStep ends a run after each of its writes, and then goes on, or back.
func TestKilledAtEveryStep(t *testing.T) {
	steps := 0
	for first := range 2 {
		for second := range 2 {
			for dies := 1; ; dies++ {
				c := newCluster(t)
				uids := c.uids()
				if first == 1 {
					if err := c.config(false).Run(t.Context()); err != nil {
						t.Fatal(err)
					}
					c.writes = 0
				}
				c.dies = dies
				err := c.config(first == 1).Run(t.Context())
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				steps++
				if dies%2 == 0 { // the controllers may have worked in between, or not
					c.controllers()
				}
				c.dies = 0
				if err := c.config(second == 1).Run(t.Context()); err != nil {
					// Killed after its last write, a run has nothing left to do in its own direction.
					t.Errorf("killed at write %d, first %d, then %d: %v", dies, first, second, err)
					continue
				}
				if second == 1 {
					c.controlled(uids)
				} else {
					c.handedOver(uids)
				}
			}
		}
	}
	if steps < 20 {
		t.Errorf("only %d writes", steps)
	}
}

func TestPlan(t *testing.T) {
	c := newCluster(t)
	cfg := c.config(false)
	cfg.Do = false
	var lines []string
	cfg.Tell = func(line string) { lines = append(lines, line) }
	if err := cfg.Run(t.Context()); err != nil || c.writes > 0 {
		t.Fatal(err, c.writes)
	}
	want := `1. to do: create Application argocd/web without automated sync, and wait until the plugin renders the same 3 Applications for it
2. to do: stop the applicationset-controller for ApplicationSet argocd/web
3. to do: remove the owner references of the Applications to the set
4. to do: delete ApplicationSet argocd/web, without its Applications
5. to do: turn on automated sync of Application argocd/web, and wait until it has adopted the Applications
nothing was changed`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("%s", got)
	}
}

// TestRefused: nothing is changed unless the set and the cluster agree, and nothing else would interfere.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *cluster)
		name   string
		want   string
	}{
		"another spec": {
			change: func(c *cluster) {
				manifest.Map(c.objects["Application/web-a"], "spec", "source")["path"] = "other"
			},
			want: `Application web-a: spec.source.path is "other" in the cluster, and "a" in the set`,
		},
		"another password": {
			change: func(c *cluster) {
				manifest.Map(c.objects["Application/web-a"], "spec", "source")["repoURL"] = "https://me:hunter2@git.example.com/other"
			},
			want: `Application web-a: spec.source.repoURL is "https://git.example.com/other" in the cluster, and "`,
		},
		"no automated sync": {
			change: func(c *cluster) {
				delete(manifest.Map(c.objects["Application/web-a"], "spec", "syncPolicy"), "automated")
			},
			want: `Application web-a: spec.syncPolicy.automated is "" in the cluster, and "map[]" in the set`,
		},
		"another label": {
			change: func(c *cluster) { manifest.Map(c.objects["Application/web-b"], "metadata", "labels")["app"] = "x" },
			want:   `Application web-b: metadata.labels.app is "x" in the cluster, and "b" in the set`,
		},
		"no finalizer": {
			change: func(c *cluster) { delete(manifest.Map(c.objects["Application/web-b"], "metadata"), "finalizers") },
			want:   `Application web-b: metadata.finalizers is`,
		},
		"missing": {
			change: func(c *cluster) { delete(c.objects, "Application/web-c") },
			want:   `Application web-c: the set renders it, and it is not in the cluster`,
		},
		"one more": {
			change: func(c *cluster) {
				o := manifest.Copy(c.objects["Application/web-c"]).(map[string]any)
				manifest.Map(o, "metadata")["name"] = "web-d"
				c.put(o)
			},
			want: `Application web-d: it is in the cluster, and the set does not render it`,
		},
		"another owner": {
			change: func(c *cluster) {
				manifest.Map(c.objects["Application/web-a"], "metadata")["ownerReferences"].([]any)[0].(map[string]any)["uid"] = "x"
			},
			want: `Application web-a: it is owned by ApplicationSet "web"`,
		},
		"a parent's name": {
			name: "web-a",
			want: `Application argocd/web-a is there already, and is not the Application of this set`,
		},
		"deployed by a root": {
			change: func(c *cluster) {
				manifest.Map(c.objects["ApplicationSet/web"], "metadata")["annotations"] = map[string]any{
					argo.TrackingAnnotation: "root:argoproj.io/ApplicationSet:argocd/web",
				}
				c.put(manifest.Object{
					"kind": "Application", "metadata": map[string]any{"name": "root"},
					"spec": map[string]any{"syncPolicy": map[string]any{"automated": map[string]any{}}},
				})
			},
			want: `ApplicationSet argocd/web is deployed by Application argocd/root, which would undo this`,
		},
		"nothing": {
			change: func(c *cluster) { delete(c.objects, "ApplicationSet/web") },
			want:   `ApplicationSet argocd/web: neither the set nor its Application is in the cluster`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			if test.change != nil {
				test.change(c)
			}
			cfg := c.config(false)
			cfg.Parent = test.name
			err := cfg.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || c.writes > 0 {
				t.Errorf("%d writes, %v", c.writes, err)
			}
		})
	}
}

// TestBroken: a plugin that does not render the set, or a controller that does not answer, ends a run before the controller lets go.
func TestBroken(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *cluster)
		want   string
	}{
		"plugin": {
			func(c *cluster) { c.broken = true },
			"step 1: Argo CD says ComparisonError: no plugin: not done; run this again to go on, or with --back to go back",
		},
		"controller": {
			func(c *cluster) { c.absent = true },
			"step 2: the applicationset-controller has not answered yet; check that it runs: not done",
		},
		"Application": {
			func(c *cluster) { c.gone = "Application/web-a" },
			"step 3: removing the owner of Application argocd/web-a: it is not there any more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			uids := c.uids()
			test.change(c)
			if err := c.config(false).Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Fatal(err)
			}
			owned, _ := c.Owned(t.Context(), "argocd")
			if len(owned["web-a"]) != 1 {
				t.Errorf("it was released: %v", owned)
			}
			c.broken, c.absent, c.gone = false, false, ""
			if err := c.config(true).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.controlled(uids)
		})
	}
}

// TestTracking: labels are compared with how Argo CD tracks resources.
func TestTracking(t *testing.T) {
	for name, test := range map[string]struct {
		tracking argo.Tracking
		label    string
		want     string
	}{
		"by annotation":    {label: "app.kubernetes.io/instance"},
		"by label":         {tracking: argo.Tracking{Method: "label"}, label: "example.com/other"},
		"in the template":  {tracking: argo.Tracking{Method: "label"}, label: "app.kubernetes.io/instance", want: "the new parent would replace it"},
		"both":             {tracking: argo.Tracking{Method: "annotation+label"}, label: "app.kubernetes.io/instance", want: "the new parent would replace it"},
		"another label":    {tracking: argo.Tracking{Method: "label", Label: "example.com/x"}, label: "app.kubernetes.io/instance"},
		"the other's name": {tracking: argo.Tracking{Method: "label", Label: "example.com/x"}, label: "example.com/x", want: "metadata.labels.example.com/x: Argo CD tracks"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			labels := manifest.Map(c.objects["ApplicationSet/web"], "spec", "template", "metadata", "labels")
			labels[test.label] = "mine"
			c.controllers()
			cfg := c.config(false)
			cfg.Tracking = test.tracking
			err := cfg.Run(t.Context())
			if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || c.writes > 0) {
				t.Errorf("%d writes, %v", c.writes, err)
			}
		})
	}
	// Who deploys the set is read from the mark that counts.
	c := newCluster(t)
	meta := manifest.Map(c.objects["ApplicationSet/web"], "metadata")
	meta["annotations"] = map[string]any{argo.TrackingAnnotation: trackedBy(c.objects["ApplicationSet/web"], "old")}
	manifest.Map(meta, "labels")["app.kubernetes.io/instance"] = "root"
	for _, name := range []string{"old", "root"} {
		automated := map[string]any{"automated": map[string]any{}}
		if name == "old" {
			automated = nil
		}
		c.put(manifest.Object{"kind": "Application", "metadata": map[string]any{"name": name}, "spec": map[string]any{"syncPolicy": automated}})
	}
	cfg := c.config(false)
	cfg.Tracking.Method = "label"
	if err := cfg.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is deployed by Application argocd/root") {
		t.Error(err)
	}
	cfg.Tracking.Method = ""
	if err := cfg.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNotDeployed: a label that a chart has set, and an annotation that was copied from another object, are no marks of an Application.
func TestNotDeployed(t *testing.T) {
	for name, change := range map[string]func(meta map[string]any){
		"label": func(meta map[string]any) { manifest.Map(meta, "labels")[argo.InstanceLabel] = "root" },
		"copied": func(meta map[string]any) {
			meta["annotations"] = map[string]any{argo.TrackingAnnotation: "root:argoproj.io/ApplicationSet:argocd/other"}
		},
	} {
		c := newCluster(t)
		change(manifest.Map(c.objects["ApplicationSet/web"], "metadata"))
		c.put(manifest.Object{
			"kind": "Application", "metadata": map[string]any{"name": "root"},
			"spec": map[string]any{"syncPolicy": map[string]any{"automated": map[string]any{}}},
		})
		if err := c.config(false).Run(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFinalizersOfHooks: Argo CD adds finalizers for hooks itself, since 3.3 also for PreDelete.
func TestFinalizersOfHooks(t *testing.T) {
	c := newCluster(t)
	uids := c.uids()
	meta := manifest.Map(c.objects["Application/web-a"], "metadata")
	meta["finalizers"] = append(meta["finalizers"].([]any), "pre-delete-finalizer.argocd.argoproj.io", "post-delete-finalizer.argocd.argoproj.io/cleanup")
	if err := c.config(false).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.handedOver(uids)
}

// TestPatience waits a second each time, and gives up after the time that it was given.
func TestPatience(t *testing.T) {
	var timers []time.Duration
	fired := make(chan time.Time, 10)
	after := func(d time.Duration) <-chan time.Time {
		timers = append(timers, d)
		fired <- time.Time{}
		return fired
	}
	wait := handover.Patience(3*time.Second, after)
	for range 3 {
		if err := wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := wait(t.Context()); err == nil || err.Error() != "not done after 3s" {
		t.Errorf("got %v", err)
	}
	if want := []time.Duration{time.Second, time.Second, time.Second}; !slices.Equal(timers, want) {
		t.Errorf("got %v, want %v", timers, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := func(time.Duration) <-chan time.Time { return nil }
	if err := handover.Patience(time.Minute, never)(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
