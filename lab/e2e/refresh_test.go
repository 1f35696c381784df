package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/lab"
)

// patient is a lab whose Argo CD looks at Git once in an hour, unless it is asked to. It is started when it is needed.
var patient = sync.OnceValues(func() (*lab.Lab, error) {
	return lab.Start(context.Background(), lab.Config{
		Progress: os.Stderr, Reconcile: time.Hour,
		Settings: map[string]string{healthKey: copyingLua},
	})
})

// newPatientKit is newKit in that lab.
func newPatientKit(t *testing.T, name string, settings ...map[string]string) *kit {
	t.Helper()
	patientLane.enter(t)
	l, err := patient()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("logs of the lab:", l.KeepLogs())
		}
	})
	return newKitIn(t, l, name, settings...)
}

// rights applies what deploy/ gives the sidecars, and returns how to use it.
func (k *kit) rights() (kubeconfig string) {
	k.Helper()
	objects := k.sidecarManifests()
	for _, o := range objects {
		if strings.HasPrefix(o.GetName(), "argosy-") || o.GetKind() == "ServiceAccount" && o.GetName() == "argocd-repo-server" {
			text, err := yaml.Marshal(o.Object)
			k.must(err)
			k.apply(string(text))
		}
	}
	// Another test may have killed who held it.
	k.must(k.lab.Delete(k.ctx, "Lease.coordination.k8s.io", lab.Namespace, "argosy-refresh"))
	kubeconfig, err := k.lab.ServiceAccount(k.ctx, lab.Namespace, "argocd-repo-server")
	k.must(err)
	return kubeconfig
}

// replica starts a sidecar. Only that with the number 0 has the sockets that repo-server knows.
func (k *kit) replica(n int, kubeconfig string, env ...string) *lab.Process {
	k.Helper()
	dir := k.lab.PluginDir
	if n > 0 {
		dir = k.directory(map[string]string{"x": ""})
	}
	address, err := lab.FreeAddress()
	k.must(err)
	env = append(append(k.s3Environment(), "ARGOSY_KUBECONFIG="+kubeconfig, "ARGOSY_ARGOCD_NAMESPACE="+lab.Namespace,
		"ARGOSY_TRIGGER_HOSTS=127.0.0.1"), env...)
	p, err := k.lab.Run(k.ctx, "argosy-cmp-"+strconv.Itoa(n), argosy, []string{"cmp", "--socket-dir", dir, "--listen", address}, env,
		lab.Answers("http://"+address+"/readyz"))
	k.must(err)
	k.Cleanup(p.Kill)
	return p
}

// holder waits until another process than one holds the Lease.
func (k *kit) holder(not string) string {
	k.Helper()
	o, err := k.lab.Wait(k.ctx, "Lease.coordination.k8s.io", lab.Namespace, "argosy-refresh", func(o *unstructured.Unstructured) bool {
		return o != nil && text(o, "spec", "holderIdentity") != "" && text(o, "spec", "holderIdentity") != not
	})
	k.must(err)
	return text(o, "spec", "holderIdentity")
}

// ticks follows a trigger repository and knows the number of each commit. A clone has those since the last 64th tick only.
type ticks struct {
	*kit
	url   string
	known map[string]int
}

// read reads the latest commits and returns the latest tick.
func (x *ticks) read() (latest int) {
	x.Helper()
	dir := x.TempDir()
	_, err := lab.Output(x.ctx, "", "clone", "-q", x.url, dir)
	x.must(err)
	out, err := lab.Output(x.ctx, dir, "log", "--format=%H %ct")
	x.must(err)
	for line := range strings.Lines(out) {
		hash, date, _ := strings.Cut(strings.TrimSpace(line), " ")
		seconds, err := strconv.Atoi(date)
		x.must(err)
		x.known[hash] = seconds / 10
		latest = max(latest, seconds/10)
	}
	return latest
}

// pass lets time pass, and misses no tick.
func (x *ticks) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(min(4*time.Second, max(time.Until(end), 0))) {
		x.read()
	}
}

// seen is what an application has seen: ticks, and the refreshes that were asked for since the tick before.
type seen struct{ tick, refreshes int }

func (x *ticks) seen(name string) []seen {
	var out []seen
	refreshes := 0
	for _, e := range x.journal.Entries("Application", name) {
		switch word, value, _ := strings.Cut(e.What, " "); word {
		case "refresh":
			refreshes++
		case "revision":
			out = append(out, seen{x.known[value], refreshes})
			refreshes = 0
		}
	}
	return out
}

// TestInterval keeps the interval while Argo CD itself would look once in an hour: each tick, each application, once, with two
// replicas and the rights of deploy/, when the one that does it is killed, and when the API server is away.
func TestInterval(t *testing.T) {
	k := newPatientKit(t, "interval")
	url, _ := k.triggerServer("10s")
	kubeconfig := k.rights()
	k.commit(map[string]string{"app/cm.yaml": configMap("cm", "1")})
	spec := fmt.Sprintf("generators: [{list: {elements: [{name: interval-child}]}}]\ntemplate: {metadata: {name: '{{name}}', finalizers: []}, spec: {project: default, source: {repoURL: %q, path: app, targetRevision: main}, destination: {server: 'https://kubernetes.default.svc', namespace: interval}}}", k.repo.URL)
	single := k.setApp("interval-set", "default", "spec", spec)
	single = strings.Replace(strings.Replace(single, k.repo.URL, url+"/appset.git", 1), "path: app", "path: .", 1)
	var names []string
	for i := range 20 {
		name := fmt.Sprintf("interval-%02d", i)
		names = append(names, name)
		a := k.app(app{name: name, path: ".", repo: &lab.Repo{URL: url + "/appset.git"}})
		k.apply(a)
	}
	names = append(names, "interval-set")
	k.apply(single,
		k.bucketApp("interval-multi",
			fmt.Sprintf("[{repoURL: %s, path: app, targetRevision: main}, {repoURL: %s/every/10s/multi.git, path: ., targetRevision: main}]", k.repo.URL, url)),
		k.setApp("interval-git", "default", "spec", strings.ReplaceAll(spec, "interval-child", "interval-git-child")),
		strings.Replace(k.app(app{name: "interval-skip", path: ".", repo: &lab.Repo{URL: url + "/appset.git"}}), "namespace: argocd",
			"namespace: argocd\n  annotations: {argocd.argoproj.io/skip-reconcile: \"true\"}", 1))
	// The first one, which will be killed, is not the one that repo-server asks.
	leader := k.replica(1, kubeconfig, "APPSET_REFRESH_INTERVAL=10s")
	first := k.holder("")
	k.replica(0, kubeconfig, "APPSET_REFRESH_INTERVAL=10s")
	ticks := &ticks{k, url + "/appset.git", map[string]int{}}
	for _, name := range names {
		ticks.read()
		k.await("Application", name, "refresh normal")
	}
	k.await("Application", "interval-child", "created")

	ticks.pass(35 * time.Second)
	began := time.Now()
	leader.Kill()
	second := k.holder(first)
	t.Logf("another one held the Lease %s after the first was killed", time.Since(began).Round(100*time.Millisecond))
	ticks.pass(25 * time.Second)

	latest := ticks.read()
	for _, name := range names {
		list := ticks.seen(name)
		if len(list) < 5 {
			t.Errorf("%s has seen %v", name, list)
			continue
		}
		// The first is from when it was made.
		missed := 0
		for i, s := range list[2:] {
			missed += s.tick - list[i+1].tick - 1
			if s.refreshes != 1 {
				t.Errorf("%s: tick %d with %d refreshes", name, s.tick, s.refreshes)
			}
		}
		if missed > 0 {
			t.Logf("%s has missed %d ticks of %v", name, missed, list)
		}
		if missed > 1 { // when a busy machine takes longer than a tick to hand over
			t.Errorf("%s has missed %d ticks", name, missed)
		}
		if last := list[len(list)-1].tick; last < latest-1 {
			t.Errorf("%s has seen tick %d of %d", name, last, latest)
		}
	}

	// The API server is away. When it is back, each application is asked for once, not once for each tick.
	k.allowed("argosy-cmp-*") // an API server that has just started refuses everything
	k.must(leader.Start(k.ctx))
	api := k.lab.Process("kube-apiserver")
	api.Kill()
	ticks.pass(30 * time.Second)
	k.must(api.Start(k.ctx))
	back := time.Now()
	// Argo CD itself takes up to a minute to watch again. Until then, it has one request for each application.
	for _, name := range names {
		for {
			list := ticks.seen(name)
			if list[len(list)-1].tick >= int(back.Unix()/10) {
				break
			}
			if k.ctx.Err() != nil {
				t.Fatalf("%s has seen %v", name, list)
			}
			ticks.pass(time.Second)
		}
	}
	t.Logf("all applications were compared %s after the API server was back", time.Since(back).Round(time.Second))
	ticks.pass(25 * time.Second)
	latest = ticks.read()
	gaps := 0
	for _, name := range names {
		list := ticks.seen(name)
		unasked := 0 // Argo CD may compare one without being asked when it watches again
		for i, s := range list[2:] {
			if s.refreshes == 0 {
				unasked++
			}
			if s.refreshes > 1 || unasked > 1 {
				t.Errorf("%s: tick %d with %d refreshes", name, s.tick, s.refreshes)
			}
			if s.tick != list[i+1].tick+1 {
				gaps++
			}
		}
		if last := list[len(list)-1].tick; last < latest-1 {
			t.Errorf("%s has seen tick %d of %d", name, last, latest)
		}
	}
	t.Logf("%d gaps of ticks in %d applications; held by %s, %s", gaps, len(names), first, second)
	if gaps < len(names) || gaps > 2*len(names) { // one for the time without an API, and maybe one for who was killed
		t.Errorf("%d gaps", gaps)
	}
	for name, want := range map[string]int{"interval-multi": 7, "interval-git": 7} {
		if n := k.journal.Count("Application", name, "refresh normal"); n < want {
			t.Errorf("%s was asked for %d times", name, n)
		}
	}
	if n := k.journal.Count("Application", "interval-skip", "refresh normal"); n != 0 {
		t.Errorf("interval-skip was asked for %d times", n)
	}
}

// allowed looks for missing rights in logs.
func (k *kit) allowed(pattern string) {
	k.Helper()
	logs, err := filepath.Glob(filepath.Join(k.lab.Dir, "log", pattern))
	k.must(err)
	if len(logs) == 0 {
		k.Errorf("there are no logs %s", pattern)
	}
	for _, file := range logs {
		data, err := os.ReadFile(file)
		k.must(err)
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, "forbidden") && !k.before(line) {
				k.Errorf("a right is missing: %s", line)
			}
		}
	}
}

// before reports whether a line of a log is from before the test: processes of tests one after the other have the same logs, and an API
// server that has just started refuses everything.
func (k *kit) before(line string) bool {
	stamp, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	return err == nil && at.Before(k.began)
}

// TestOtherNamespaces: Applications in other namespaces that Argo CD serves are refreshed, too, by a clock and by changes in S3.
func TestOtherNamespaces(t *testing.T) {
	k := newPatientKit(t, "other")
	kubeconfig := k.rights()
	out, err := os.ReadFile("../../deploy/kustomize/any-namespace/rbac.yaml")
	k.must(err)
	k.apply(string(out), "apiVersion: v1\nkind: Namespace\nmetadata: {name: apps-one}\n")
	url, _ := k.triggerServer("5s")
	k.must(k.lab.Bucket(k.ctx, "other"))
	k.must(k.lab.Put(k.ctx, "other", "app/cm.yaml", configMap("other", "1")))
	k.commit(map[string]string{"app/s3-source.yaml": "bucket: other\npath: app\n"})
	move := func(manifest string) string {
		return strings.Replace(manifest, "namespace: argocd", "namespace: apps-one", 1)
	}
	k.replica(0, kubeconfig, "APPSET_REFRESH_INTERVAL=5s", "ARGOCD_APPLICATION_NAMESPACES="+lab.OtherNamespaces)
	k.apply(
		move(k.app(app{name: "other-s3", path: "app", plugin: "s3"})),
		move(k.app(app{name: "other-clock", path: ".", repo: &lab.Repo{URL: url + "/appset.git"}})),
	)
	k.Cleanup(func() {
		for _, name := range []string{"other-s3", "other-clock"} {
			k.must(k.lab.Delete(context.Background(), application, "apps-one", name))
		}
	})
	k.value("other", "other", "1")
	k.must(k.lab.Put(k.ctx, "other", "app/cm.yaml", configMap("other", "2")))
	k.value("other", "other", "2")
	k.await("Application", "other-clock", "refresh normal")
	k.allowed("argosy-cmp-*")
}
