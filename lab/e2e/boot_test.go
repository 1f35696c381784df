package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/lab"
)

// exampleLab is examples/cluster in a lab of its own: with its sets rendered by our plugin and one of them at the ticks of a clock, as
// examples/demo lays it over, or by the controller. Some of it is in S3.
type exampleLab struct {
	*kit
	repo   *lab.Repo
	dir    string
	root   string // the manifest of the root
	plugin bool
	pinned bool // Applications get a commit instead of the branch
	whole  bool // also with the CRDs that nothing in it needs
}

const (
	exampleRoot = "infrastructure/controllers/argocd/root.yaml"
	exampleApps = "infrastructure/controllers/argocd/apps/my-apps-appset.yaml"
)

// newExample makes the lab of the example.
func newExample(t *testing.T, s exampleLab) *exampleLab {
	t.Helper()
	return newExampleIn(t, lab.Config{}, s)
}

// newExampleIn is newExample in a lab that is configured otherwise.
func newExampleIn(t *testing.T, config lab.Config, s exampleLab) *exampleLab {
	t.Helper()
	ownLane.enter(t)
	config.Settings = map[string]string{healthKey: copyingLua}
	l, err := lab.Start(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("logs:", l.KeepLogs())
		}
		l.Stop()
	})
	k := newKitIn(t, l, "example")
	x := &s
	x.kit = k
	x.repo, x.dir = exampleRepo(k.ctx, t, l, x.whole)
	k.must(l.Bucket(k.ctx, "artifacts"))
	x.lay(os.DirFS("../../examples/demo"))
	root, err := os.ReadFile(filepath.Join(x.dir, exampleRoot))
	k.must(err)
	x.root = string(root)
	k.plugins(native)
	if l.Tools.ArgoCDMinor() >= 5 {
		go x.acceptGateways()
	}
	return x
}

// acceptGateways does what the controller of the example's GatewayClass would. Since 3.5 Argo CD has a check for it: Progressing until it is
// accepted.
func (x *exampleLab) acceptGateways() {
	_, err := x.lab.Wait(x.ctx, application, lab.Namespace, "gateway", func(o *unstructured.Unstructured) bool {
		return o != nil && text(o, "status", "operationState", "phase") == "Succeeded"
	})
	if err == nil {
		classes := schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gatewayclasses"}
		_, err = x.lab.API().Dynamic.Resource(classes).Patch(x.ctx, "lan", types.MergePatchType,
			[]byte(`{"status": {"conditions": [{"type": "Accepted", "status": "True", "reason": "Accepted", "message": "by the lab"}]}}`),
			metav1.PatchOptions{}, "status")
	}
	if err != nil && x.ctx.Err() == nil {
		x.Error(err)
	}
}

// lay lays files over the cluster, as argosy demo does. What is beside a trigger file goes to S3.
func (x *exampleLab) lay(over fs.FS) {
	x.Helper()
	clock, _ := x.triggerServer("30s")
	replace := []string{"https://git.example.com/home/cluster.git", x.repo.URL, "http://appset-repo.argocd", clock}
	if !x.pinned {
		replace = append(replace, `{name: pin, string: "true"}`, `{name: pin, string: "false"}`)
	}
	change := map[string]string{}
	x.must(fs.WalkDir(over, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "README.md" || !x.plugin && (name == exampleRoot || name == exampleApps) {
			return err
		}
		data, err := fs.ReadFile(over, name)
		change[name] = unvalidated(strings.NewReplacer(replace...).Replace(string(data)))
		if dir := path.Dir(name); path.Base(name) == "s3-source.yaml" {
			files, _ := filepath.Glob(filepath.Join(x.dir, dir, "*"))
			for _, file := range files {
				content, err := os.ReadFile(file)
				x.must(err)
				x.must(x.lab.Put(x.ctx, "artifacts", path.Base(dir)+"/"+filepath.Base(file), string(content)))
				change[path.Join(dir, filepath.Base(file))] = ""
			}
		}
		return err
	}))
	x.commit(change)
}

// commit changes files of the cluster's repository; an empty one is removed.
func (x *exampleLab) commit(files map[string]string) {
	x.Helper()
	for name, content := range files {
		file := filepath.Join(x.dir, name)
		if content == "" {
			x.must(os.Remove(file))
			continue
		}
		x.must(os.WriteFile(file, []byte(content), 0o644))
	}
	_, err := x.repo.Commit(x.ctx, files)
	x.must(err)
}

// simulated is a boot as argosy simulate tells it.
type simulated struct {
	Done         bool
	Applications []struct {
		Name, Parent, Set string
		Wave              int
		Created, Healthy  *float64
	}
	Waiting []string
}

func (x *exampleLab) simulate(args ...string) simulated {
	x.Helper()
	file := filepath.Join(x.TempDir(), "root.yaml")
	x.must(os.WriteFile(file, []byte(x.root), 0o644))
	out := x.argosyMay(3, append([]string{"simulate", "-o", "json", "--argocd-version", argocdVersion(), "--repo", x.repo.URL + "=" + x.dir, file},
		args...)...)
	var s simulated
	x.must(json.Unmarshal([]byte(out), &s))
	want := 29
	if x.plugin {
		want++ // one that has the set my-apps
	}
	if len(s.Applications) != want {
		x.Fatalf("%d Applications are simulated", len(s.Applications))
	}
	return s
}

// agrees compares the journal with the simulation: the same Applications were made, and one was made when another was healthy if it was in
// the simulation, too.
func (x *exampleLab) agrees(s simulated) {
	x.Helper()
	made, healthy := map[string]int64{}, map[string]int64{}
	for _, a := range s.Applications {
		if e, ok := x.journal.First("Application", a.Name, "created", 0); ok {
			made[a.Name] = e.Revision
		}
		if e, ok := x.journal.First("Application", a.Name, "health Healthy", 0); ok {
			healthy[a.Name] = e.Revision
		}
	}
	waited := 0
	for _, b := range s.Applications {
		if (b.Created != nil) != (made[b.Name] != 0) {
			x.Errorf("%s: made in the simulation: %t, in the lab: %t", b.Name, b.Created != nil, made[b.Name] != 0)
			continue
		}
		if b.Created == nil || b.Parent == "" {
			continue
		}
		for _, a := range s.Applications {
			if a.Parent != b.Parent || a.Wave >= b.Wave || a.Healthy == nil || *a.Healthy > *b.Created {
				continue
			}
			waited++
			if healthy[a.Name] == 0 || healthy[a.Name] > made[b.Name] {
				x.Errorf("%s (wave %d) was made at %d, and %s (wave %d) was healthy at %d; in the simulation it waited", b.Name, b.Wave,
					made[b.Name], a.Name, a.Wave, healthy[a.Name])
			}
		}
	}
	x.Logf("%d Applications were made, as in the simulation, and %d times one waited for another", len(made), waited)
}

// ordered checks that no Application of a wave was made before all of earlier waves were healthy.
func (x *exampleLab) ordered(s simulated) {
	x.Helper()
	waves, own := map[int][]string{}, map[string]int{}
	for _, a := range s.Applications {
		switch a.Parent {
		case "":
			continue
		case "root":
			own[a.Name] = a.Wave
		default: // it comes with the one that deploys it
			own[a.Name] = own[a.Parent]
		}
		waves[own[a.Name]] = append(waves[own[a.Name]], a.Name)
	}
	numbers := slices.Sorted(maps.Keys(waves))
	if fmt.Sprint(numbers) != "[0 1 2 4 5 6]" {
		x.Errorf("waves %v", numbers)
	}
	for i, later := range numbers[1:] {
		for _, b := range waves[later] {
			for _, earlier := range numbers[:i+1] {
				for _, a := range waves[earlier] {
					x.healthyBefore(a, b)
				}
			}
		}
	}
}

// TestExampleBoot boots examples/cluster: by applying the root alone, waves 0, 1, 2, 4, 5 and 6 in order, with sets that the
// plugin renders and some of the sources in S3; three times with LONG. What runs already is adopted.
func TestExampleBoot(t *testing.T) {
	t.Parallel()
	times := 1
	if long {
		times = 3
	}
	for n := range times {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			x := newExample(t, exampleLab{plugin: true, pinned: true, whole: true})
			var before *unstructured.Unstructured
			if n == 0 {
				before = x.running("infrastructure/networking/cilium/agent.yaml", "kube-system")
			}
			s := x.simulate()
			began := time.Now()
			x.apply(x.root)
			for _, a := range s.Applications {
				x.await("Application", a.Name, "health Healthy")
			}
			t.Logf("booted in %s", time.Since(began).Round(time.Second))
			x.ordered(s)
			x.agrees(s)
			if n == 0 {
				x.learns(s)
				after, err := x.lab.Get(x.ctx, "DaemonSet.apps", "kube-system", "cilium")
				x.must(err)
				if after.GetUID() != before.GetUID() || after.GetAnnotations()["argocd.argoproj.io/tracking-id"] == "" {
					t.Errorf("cilium was not adopted: %s, then %s %v", before.GetUID(), after.GetUID(), after.GetAnnotations())
				}
			}
		})
	}
}

// learns simulates the boot with the times that the Applications of the cluster themselves tell.
func (x *exampleLab) learns(before simulated) {
	x.Helper()
	list := map[string]any{"kind": "List"}
	var items []any
	for _, a := range before.Applications {
		o, err := x.lab.Get(x.ctx, "Application.argoproj.io", "argocd", a.Name)
		x.must(err)
		items = append(items, o.Object)
	}
	list["items"] = items
	data, err := json.Marshal(list)
	x.must(err)
	file := filepath.Join(x.TempDir(), "cluster.json")
	x.must(os.WriteFile(file, data, 0o644))
	after := x.simulate("--learn", file)
	if !after.Done {
		x.Error("with the times of the cluster the boot does not end")
	}
	other := 0
	for i, a := range after.Applications {
		if b := before.Applications[i]; a.Name != b.Name || *a.Healthy-*a.Created != *b.Healthy-*b.Created {
			other++
		}
	}
	x.Logf("%d Applications took another time than by the model", other)
	if other < len(after.Applications)/2 {
		x.Error("little was learnt")
	}
}

// running applies a manifest of the cluster by hand, as somebody did before Argo CD was there.
func (x *exampleLab) running(file, namespace string) *unstructured.Unstructured {
	x.Helper()
	data, err := os.ReadFile(filepath.Join(x.dir, file))
	x.must(err)
	o := &unstructured.Unstructured{}
	x.must(yaml.Unmarshal(data, &o.Object))
	o.SetNamespace(namespace)
	text, err := yaml.Marshal(o.Object)
	x.must(err)
	x.apply(string(text))
	o, err = x.lab.Get(x.ctx, o.GetKind()+".apps", namespace, o.GetName())
	x.must(err)
	return o
}

// TestExampleStops: a component that never becomes healthy stops everything behind it, as in the simulation, and its repair lets the boot go
// on by itself. With the stock controller, nothing waits for a set, and what it makes is what we would make. The Applications follow the
// branch: pinned ones would get the repair only with the next sync of the root, which this one holds up until the Deployment's own deadline
// of ten minutes.
func TestExampleStops(t *testing.T) {
	t.Parallel()
	for name, plugin := range map[string]bool{"plugin": true, "stock": false} {
		t.Run(name, func(t *testing.T) {
			x := newExample(t, exampleLab{plugin: plugin})
			const file = "infrastructure/controllers/reloader/reloader.yaml"
			data, err := os.ReadFile(filepath.Join(x.dir, file))
			x.must(err)
			whole := string(data)
			x.commit(map[string]string{file: strings.Replace(whole, "    spec:\n",
				"    spec:\n      nodeSelector: {lab.example.com/none: \"true\"}\n", 1)})
			s := x.simulate("--never", "reloader")
			x.apply(x.root)
			for _, a := range s.Applications {
				if a.Healthy != nil && a.Name != "root" {
					x.await("Application", a.Name, "health Healthy")
				}
			}
			x.await("Application", "reloader", "health Progressing")
			if plugin {
				x.waitsFor("root", "reloader")
			}
			x.agrees(s)
			x.commit(map[string]string{file: whole})
			for _, a := range s.Applications {
				x.await("Application", a.Name, "health Healthy")
			}
			if plugin {
				x.ordered(x.simulate())
			} else {
				x.asTheController()
			}
		})
	}
}
