package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// bootEvent is a line of argosy boot -o json.
type bootEvent struct {
	Event, Check, Verdict, Text, Result, Name string
	Wave, Created, LeftToArgoCD               int
	Absent, Unplanned, Order                  []string
	Why                                       whyReport
}

// booting is an argosy boot that runs.
type booting struct {
	*kit
	cmd    *exec.Cmd
	out    bytes.Buffer
	stderr bytes.Buffer
}

// boot starts argosy boot for the root of the example.
func (x *exampleLab) boot(kubeconfig string, more ...string) *booting {
	x.Helper()
	file := filepath.Join(x.TempDir(), "root.yaml")
	x.must(os.WriteFile(file, []byte(x.root), 0o644))
	return x.startBoot(append([]string{
		file, "--repo", x.repo.URL + "=" + x.dir, "--argocd-version", argocdVersion(), "--kubeconfig", kubeconfig, "-o", "json",
	}, more...)...)
}

func (k *kit) startBoot(args ...string) *booting {
	k.Helper()
	b := &booting{kit: k, cmd: exec.CommandContext(k.ctx, argosy, append([]string{"boot"}, args...)...)}
	b.cmd.Env = append(os.Environ(), k.s3Environment()...)
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.stderr
	k.must(b.cmd.Start())
	return b
}

// end waits for the end of a boot, and for an exit code.
func (b *booting) end(code int) []bootEvent {
	b.Helper()
	_ = b.cmd.Wait()
	if got := b.cmd.ProcessState.ExitCode(); got != code {
		b.Fatalf("exit code %d, not %d\n%s\n%s", got, code, b.out.String(), b.stderr.String())
	}
	var events []bootEvent
	for line := range strings.Lines(b.out.String()) {
		var e bootEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			b.Fatalf("%v: %s", err, line)
		}
		events = append(events, e)
	}
	return events
}

// result is the last event of a boot.
func result(events []bootEvent) string {
	if len(events) == 0 {
		return ""
	}
	return events[len(events)-1].Result
}

// TestBootCommand boots examples/cluster, without the CRDs that nothing in it needs, by argosy boot, with exactly the rights of docs/live.md: waves in order, what runs is adopted, the
// boot is as planned, and a second one changes nothing.
func TestBootCommand(t *testing.T) {
	x := newExample(t, exampleLab{plugin: true, pinned: true})
	config := x.liveKubeconfig("argosy-boot")
	before := x.running("infrastructure/networking/cilium/agent.yaml", "kube-system")
	s := x.simulate()
	record, times := filepath.Join(t.TempDir(), "boot.jsonl"), filepath.Join(t.TempDir(), "times.yaml")
	board := x.board("--kubeconfig", config)
	events := x.boot(config, "--record", record, "--learn", times).end(0)
	for _, e := range events {
		if e.Event == "preflight" {
			t.Logf("%s %s: %s", e.Verdict, e.Check, e.Text)
		}
		if e.Verdict == "failed" {
			t.Errorf("%s: %s", e.Check, e.Text)
		}
		if e.Event == "compared" && len(e.Absent)+len(e.Unplanned)+len(e.Order) > 0 {
			t.Errorf("not as planned: %q, %q, %q", e.Absent, e.Unplanned, e.Order)
		}
	}
	if r := result(events); r != "healthy" {
		t.Errorf("the boot ended with %s", r)
	}
	if !slices.ContainsFunc(events, func(e bootEvent) bool { return e.Event == "wave-finished" && e.Wave == 5 }) {
		t.Error("no event says that wave 5 is done")
	}
	x.ordered(s)
	x.agrees(s)
	x.boardAgrees(board, s)
	after, err := x.lab.Get(x.ctx, "DaemonSet.apps", "kube-system", "cilium")
	x.must(err)
	if after.GetUID() != before.GetUID() {
		t.Errorf("cilium was not adopted: %s, then %s", before.GetUID(), after.GetUID())
	}
	if out := x.argosyMay(0, "status", "root", "--recording", record); !strings.Contains(out, "30 of 30 Applications healthy") {
		t.Error(out)
	}
	x.argosyMay(0, "why", "--recording", record)
	if learnt := x.simulate("--model", times); !learnt.Done {
		t.Error("with the times of the boot the simulation does not end")
	}

	root, err := x.lab.Get(x.ctx, application, "argocd", "root")
	x.must(err)
	began := time.Now()
	again := x.boot(config).end(0)
	if r := result(again); r != "nothing-to-do" {
		t.Errorf("the second boot ended with %s", r)
	}
	t.Logf("the second boot took %s", time.Since(began).Round(time.Millisecond))
	for _, e := range again {
		if e.Event == "applied" && e.Result != "unchanged" {
			t.Errorf("the second boot has %s %s", e.Result, e.Name)
		}
	}
	for _, f := range root.GetManagedFields() {
		if f.Manager == "argosy" && f.Time != nil {
			now, err := x.lab.Get(x.ctx, application, "argocd", "root")
			x.must(err)
			for _, g := range now.GetManagedFields() {
				if g.Manager == "argosy" && !g.Time.Equal(f.Time) {
					t.Errorf("the second boot changed the root: %s, then %s", f.Time, g.Time)
				}
			}
		}
	}
}

// TestBootCommandStops: a component that never becomes healthy stops everything behind it, and the boot says so, also after argosy boot was
// killed in the middle. Its repair lets a boot go on by itself.
func TestBootCommandStops(t *testing.T) {
	x := newExample(t, exampleLab{plugin: true})
	config := x.liveKubeconfig("argosy-boot")
	const file = "infrastructure/controllers/reloader/reloader.yaml"
	data, err := os.ReadFile(filepath.Join(x.dir, file))
	x.must(err)
	whole := string(data)
	x.commit(map[string]string{file: strings.Replace(whole, "    spec:\n",
		"    spec:\n      nodeSelector: {lab.example.com/none: \"true\"}\n", 1)})
	s := x.simulate("--never", "reloader")
	killed := x.boot(config)
	x.await("Application", "longhorn", "created") // in the middle
	x.must(killed.cmd.Process.Kill())
	_ = killed.cmd.Wait()
	x.waitsFor("root", "reloader")
	x.agrees(s)
	events := x.boot(config, "--timeout", "45s").end(3)
	last := events[slices.IndexFunc(events, func(e bootEvent) bool { return e.Event == "compared" })-1]
	if last.Event != "blocked" || len(last.Why.Causes) == 0 || last.Why.Causes[0].Application.Name != "reloader" {
		t.Errorf("%+v", last)
	}
	if e := events[len(events)-1]; e.Result != "timeout" {
		t.Errorf("%+v", e)
	}
	if out := x.argosyMay(3, "why", "root", "--kubeconfig", config); !strings.Contains(strings.SplitN(out, "\n", 2)[0], "reloader") {
		t.Error(out)
	}
	b := x.boot(config, "--timeout", "10m")
	x.commit(map[string]string{file: whole})
	if r := result(b.end(0)); r != "healthy" {
		t.Errorf("the boot ended with %s", r)
	}
	x.ordered(x.simulate())
}

// TestBootUnwedge: a root retries for ever what cannot be applied, and the fix is in Git. Argo CD stands still, boot names it, and
// boot --unwedge goes on.
func TestBootUnwedge(t *testing.T) {
	k := newKit(t, "wedge", ourCheck(t))
	config := k.liveKubeconfig("argosy-boot")
	dir := t.TempDir()
	commit := func(service string) string {
		files := map[string]string{
			"root/svc.yaml": service, "root/a.yaml": k.app(app{name: "wedge-a", path: "a", wave: "1"}), "a/cm.yaml": configMap("a", "1"),
		}
		for name, text := range files {
			k.must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			k.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		return k.commit(files)
	}
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: wedge}\nspec: {clusterIP: None, ports: [{port: 80, protocol: %s}]}\n"
	first := commit(strings.ReplaceAll(service, "%s", "ICMP"))
	root := filepath.Join(t.TempDir(), "root.yaml")
	k.must(os.WriteFile(root, []byte(k.app(app{
		name: "wedge-root", path: "root", namespace: lab.Namespace,
		policy: "{automated: {prune: true}, retry: {limit: -1, backoff: {duration: 2s, maxDuration: 2s}}}",
	})), 0o644))
	args := []string{root, "--repo", k.repo.URL + "=" + dir, "--argocd-version", argocdVersion(), "--kubeconfig", config, "-o", "json", "--timeout"}
	b := k.startBoot(append(args, "60s")...)
	k.wait("wedge-root", func(o *unstructured.Unstructured) bool {
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "operationState", "retryCount")
		return n > 0
	})
	second := commit(strings.ReplaceAll(service, "%s", "TCP"))
	k.wait("wedge-root", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "revision") == second })
	events := b.end(3)
	if !slices.ContainsFunc(events, func(e bootEvent) bool { return e.Event == "stale" && e.Name == "wedge-root" }) {
		t.Errorf("the stale sync is not named: %s", b.out.String())
	}
	o, err := k.lab.Get(k.ctx, application, lab.Namespace, "wedge-root")
	k.must(err)
	if at := text(o, "status", "operationState", "operation", "sync", "revision"); at != first {
		t.Errorf("Argo CD syncs %s by itself, and the old revision is %s", at, first)
	}
	events = k.startBoot(append(args, "8m", "--unwedge")...).end(0)
	for _, want := range []string{"stale", "unwedged", "restarted", "done"} {
		if !slices.ContainsFunc(events, func(e bootEvent) bool { return e.Event == want }) {
			t.Errorf("no event %s", want)
		}
	}
	if r := result(events); r != "healthy" {
		t.Errorf("the boot ended with %s", r)
	}
}

// TestBootInstall: argosy boot installs Argo CD by its own manifests, CRDs first, writes the health check, and boots a root whose Application
// argocd deploys the same manifests: Argo CD adopts what runs, and nothing is made again. A second boot leaves all of it to Argo CD.
func TestBootInstall(t *testing.T) {
	ownLane.enter(t)
	l, err := lab.Start(t.Context(), lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	k := newKitIn(t, l, "install")
	manifests := k.argoManifests("install.yaml")
	install, err := os.ReadFile(manifests)
	k.must(err)
	files := map[string]string{
		"argocd/install.yaml": string(install), "web/cm.yaml": configMap("web", "1"),
		"root/argocd.yaml": k.app(app{
			name: "install-argocd", path: "argocd", namespace: lab.Namespace, policy: "{automated: {}, syncOptions: [ServerSideApply=true]}",
		}),
		"root/web.yaml": k.app(app{name: "install-web", path: "web", wave: "1"}),
	}
	k.commit(files)
	dir := k.directory(files)
	root := filepath.Join(t.TempDir(), "root.yaml")
	k.must(os.WriteFile(root, []byte(k.app(app{name: "install-root", path: "root", namespace: lab.Namespace})), 0o644))
	args := []string{
		root, "--repo", k.repo.URL + "=" + dir, "--argocd-version", argocdVersion(), "--kubeconfig", l.Kubeconfig, "-o", "json", "--install", manifests,
		"--fix",
	}
	events := k.startBoot(args...).end(0)
	fixed := false
	for _, e := range events {
		fixed = fixed || e.Event == "fixed" && e.Check == "health-check"
		if e.Verdict == "failed" && e.Check != "health-check" {
			t.Errorf("%s: %s", e.Check, e.Text)
		}
	}
	if first := events[slices.IndexFunc(events, func(e bootEvent) bool { return e.Event == "installed" })]; first.Created < 30 || !fixed {
		t.Errorf("%d objects were created; the health check was written: %t", first.Created, fixed)
	}
	if r := result(events); r != "healthy" {
		t.Errorf("the boot ended with %s", r)
	}
	k.healthyBefore("install-argocd", "install-web")
	// --fix added a key to what --install had applied. It took nothing away, not even for a moment.
	o, err := l.Get(k.ctx, "ConfigMap", lab.Namespace, "argocd-cm")
	k.must(err)
	for _, m := range o.GetManagedFields() {
		if m.Manager == "argosy" && m.Operation == "Apply" && !strings.Contains(m.FieldsV1.String(), "f:labels") {
			t.Errorf("argosy has applied %s to argocd-cm, and not the labels", m.FieldsV1)
		}
	}
	for _, name := range []string{"argocd-repo-server", "argocd-server"} {
		o, err := l.Get(k.ctx, "Deployment.apps", lab.Namespace, name)
		k.must(err)
		if by := o.GetAnnotations()["argocd.argoproj.io/tracking-id"]; by != "install-argocd:apps/Deployment:argocd/"+name {
			t.Errorf("%s was not adopted: %q", name, by)
		}
		if e, ok := k.journal.First("Deployment", name, "deleted", 0); ok {
			t.Errorf("%s was made again: %+v", name, e)
		}
	}
	again := k.startBoot(args...).end(0)
	if e := again[slices.IndexFunc(again, func(e bootEvent) bool { return e.Event == "installed" })]; e.Created != 0 || e.LeftToArgoCD < 30 {
		t.Errorf("the second time %d objects were created, and %d left to Argo CD", e.Created, e.LeftToArgoCD)
	}
	if r := result(again); r != "nothing-to-do" {
		t.Errorf("the second boot ended with %s", r)
	}
}
