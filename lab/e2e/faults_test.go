package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// mortal is every process whose death a boot must survive. The sidecars and repo-servers are two of each.
var mortal = []string{
	"argosy-cmp", "argosy-cmp-2", "appset-repo", "redis", "s3", "argocd-repo-server", "argocd-repo-server-2",
	"argocd-application-controller",
}

// kept is every kind of which nothing may be deleted in a boot.
var kept = []string{
	application, "AppProject.argoproj.io", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "Namespace", "Service", "ConfigMap",
	"PersistentVolumeClaim", "CustomResourceDefinition.apiextensions.k8s.io",
}

// fault kills a process a while after so many Applications were created, and starts it again a while later, as a kubelet does.
type fault struct {
	process     string
	created     int
	delay, down time.Duration
}

func (f fault) String() string {
	return fmt.Sprintf("%s, %s after Application %d, for %s", f.process, f.delay, f.created, f.down)
}

// siege kills processes of a lab while it boots.
type siege struct {
	*kit
	journal *lab.Journal
	random  *rand.Rand
	wg      sync.WaitGroup
	down    map[string]*sync.Mutex // by process: it is killed when it has started again
}

// newSiege prints its seed; FAULTS_SEED repeats one.
func newSiege(k *kit) *siege {
	k.Helper()
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	if text := os.Getenv("FAULTS_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		k.must(err)
		seed = n
	}
	k.Logf("FAULTS_SEED=%d", seed)
	journal, err := k.lab.Journal(k.ctx, kept...)
	k.must(err)
	x := &siege{kit: k, journal: journal, random: rand.New(rand.NewPCG(seed, seed)), down: map[string]*sync.Mutex{}}
	for _, process := range mortal {
		x.down[process] = &sync.Mutex{}
	}
	k.Cleanup(func() {
		x.wg.Wait()
		journal.Stop()
	})
	return x
}

// fault is one at a random moment before so many Applications are created.
func (x *siege) fault(process string, before int) fault {
	ms := func(n int) time.Duration { return time.Duration(x.random.IntN(n)) * time.Millisecond }
	return fault{process, 1 + x.random.IntN(before-1), ms(1500), ms(1500)}
}

// strike waits for the moment of each fault in the background.
func (x *siege) strike(root string, faults ...fault) {
	x.Helper()
	for _, f := range faults {
		x.Log(f)
		x.wg.Go(func() {
			if err := x.hit(root, f); err != nil {
				x.Errorf("%s: %v", f, err)
			}
		})
	}
}

func (x *siege) hit(root string, f fault) error {
	if err := x.journal.AwaitCount(x.ctx, "Application", "created", f.created); err != nil {
		return err
	}
	if err := sleep(x.ctx, f.delay); err != nil {
		return err
	}
	if _, late := x.journal.First("Application", root, "operation Succeeded", 0); late { // "" is none
		return fmt.Errorf("the boot was over")
	}
	x.down[f.process].Lock()
	defer x.down[f.process].Unlock()
	p := x.lab.Process(f.process)
	p.Kill()
	if err := sleep(x.ctx, f.down); err != nil {
		return err
	}
	return p.Start(x.ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// survived waits until Applications are Synced and Healthy, and checks that nothing was deleted on the way there: each object that was
// created is still the same one.
func (x *siege) survived(names []string) {
	x.Helper()
	x.wg.Wait()
	for _, name := range names {
		x.wait(name, func(o *unstructured.Unstructured) bool {
			return text(o, "status", "sync", "status") == "Synced" && text(o, "status", "health", "status") == "Healthy"
		})
	}
	for _, what := range []string{"deleting", "deleted"} {
		for _, e := range x.journal.All(what) {
			x.Errorf("%s %s was deleted", e.Kind, e.Name)
		}
	}
	uids := map[string]bool{}
	for _, kind := range kept {
		list, err := x.lab.UIDs(x.ctx, kind)
		x.must(err)
		for _, uid := range list {
			uids[uid] = true
		}
	}
	created := x.journal.All("created")
	for _, e := range created {
		if !uids[e.UID] {
			x.Errorf("%s %s is not the one that was created", e.Kind, e.Name)
		}
	}
	x.Logf("%d objects were created and are still the same", len(created))
}

// deployedBefore checks that the sync of an Application of an earlier wave had succeeded before one of a later wave was created. Health
// alone proves little when manifests cannot be rendered: Argo CD calls such an Application Healthy.
func (x *exampleLab) deployedBefore(s simulated) {
	x.Helper()
	checked := 0
	for _, b := range s.Applications {
		for _, a := range s.Applications {
			if a.Parent == "" || a.Parent != b.Parent || a.Wave >= b.Wave {
				continue
			}
			checked++
			if !x.journal.Before(lab.Entry{Kind: "Application", Name: a.Name, What: "operation Succeeded"},
				lab.Entry{Kind: "Application", Name: b.Name, What: "created"}) {
				x.Errorf("%s was created before %s was deployed", b.Name, a.Name)
			}
		}
	}
	if checked == 0 {
		x.Error("nothing was checked")
	}
}

// besieged boots examples/cluster with two repo-servers while processes are killed. The faults begin with the root.
func besieged(t *testing.T, faults func(*siege) []fault) {
	t.Helper()
	x := newExampleIn(t, lab.Config{RepoServers: 2}, exampleLab{plugin: true, pinned: true})
	x.settings(ourCheck(t))
	s := x.simulate()
	siege := newSiege(x.kit)
	siege.strike("root", faults(siege)...)
	began := time.Now()
	x.apply(x.root)
	var names []string
	for _, a := range s.Applications {
		x.await("Application", a.Name, "health Healthy")
		names = append(names, a.Name)
	}
	siege.survived(names)
	t.Logf("booted in %s", time.Since(began).Round(time.Second))
	x.ordered(s)
	x.agrees(s)
	x.deployedBefore(s)
}

// TestFaultsOneSet: 300 Applications of one set, which the plugin renders, while every process is killed; then a change of the set, while
// all of them are killed again. It takes minutes.
func TestFaultsOneSet(t *testing.T) {
	if !long {
		t.Skip("only with LONG")
	}
	ownLane.enter(t)
	l, err := lab.Start(context.Background(), lab.Config{RepoServers: 2, Reconcile: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	k := newKitIn(t, l, "many", ourCheck(t))
	k.plugins(native)
	k.triggerServer("30s")
	const apps = 300
	files, names := map[string]string{"app/README": "The set is in the spec of the Application."}, []string{"many"}
	for i := range apps + 1 {
		name := fmt.Sprintf("many-%03d", i)
		files["apps/"+name+"/cm.yaml"] = configMap(name, "1")
		names = append(names, name)
	}
	k.commit(files)
	set := func(apps int) string {
		return k.setApp("many", "default", "spec", fmt.Sprintf(`goTemplate: true
generators: [{list: {elements: [%s]}}]
template:
  metadata: {name: '{{.name}}', labels: {apps: "%d"}}
  spec:
    project: default
    source: {repoURL: %q, path: 'apps/{{.name}}', targetRevision: main}
    destination: {server: https://kubernetes.default.svc, namespace: many}
    syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true]}
`, "{name: "+strings.Join(names[1:apps+1], "}, {name: ")+"}", apps, k.repo.URL))
	}
	x := newSiege(k)
	var faults, again []fault
	for _, process := range mortal {
		faults = append(faults, x.fault(process, apps-50))
		f := x.fault(process, apps)
		f.created = apps + 1 // with the set itself
		again = append(again, f)
	}
	x.strike("", faults...)
	k.apply(set(apps))
	k.must(x.journal.AwaitCount(k.ctx, "Application", "health Healthy", apps+1))
	x.survived(names[:apps+1])
	x.strike("", again...)
	k.apply(set(apps + 1))
	k.await("Application", names[apps+1], "health Healthy")
	for _, name := range names[1:] {
		k.wait(name, func(o *unstructured.Unstructured) bool { return o.GetLabels()["apps"] == fmt.Sprint(apps+1) })
	}
	x.survived(names)
}

// last is how many Applications of the example are created when the last fault begins: those of the last wave are not among them.
const last = 18

// TestFaults: a boot during which every process is killed once, at random moments.
func TestFaults(t *testing.T) {
	besieged(t, func(x *siege) (all []fault) {
		for _, process := range mortal {
			all = append(all, x.fault(process, last))
		}
		return all
	})
}

// TestFaultsBoot: argosy boot is killed at a random moment, and the cluster boots on. A second one follows it to the end.
func TestFaultsBoot(t *testing.T) {
	if !long {
		t.Skip("only with LONG")
	}
	x := newExample(t, exampleLab{plugin: true, pinned: true})
	x.settings(ourCheck(t))
	s := x.simulate()
	siege := newSiege(x.kit)
	f := siege.fault("argosy boot", last)
	t.Log(f)
	killed := x.boot(x.lab.Kubeconfig)
	x.must(siege.journal.AwaitCount(x.ctx, "Application", "created", f.created))
	x.must(sleep(x.ctx, f.delay))
	x.must(killed.cmd.Process.Kill())
	_ = killed.cmd.Wait()
	if r := result(x.boot(x.lab.Kubeconfig).end(0)); r != "healthy" {
		t.Errorf("the second boot ended with %s", r)
	}
	names := make([]string, 0, len(s.Applications))
	for _, a := range s.Applications {
		names = append(names, a.Name)
	}
	siege.survived(names)
	x.ordered(s)
	x.deployedBefore(s)
}

// TestFaultsRepeated: the same process is killed again and again. It takes minutes for each.
func TestFaultsRepeated(t *testing.T) {
	if !long {
		t.Skip("only with LONG")
	}
	t.Parallel()
	for _, process := range mortal {
		if strings.HasSuffix(process, "-2") {
			continue // its twin is killed
		}
		t.Run(process, func(t *testing.T) {
			besieged(t, func(x *siege) (all []fault) {
				for from := 1; from+4 < last; from += 4 {
					f := x.fault(process, 4)
					f.created += from - 1
					all = append(all, f)
				}
				return all
			})
		})
	}
}
