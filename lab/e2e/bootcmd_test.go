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
)

// bootEvent is a line of argosy boot -o json.
type bootEvent struct {
	Event, Check, Verdict, Text, Result, Name string
	Wave                                      int
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

// boot starts argosy boot for the root of a seed.
func (x *seed) boot(kubeconfig string, more ...string) *booting {
	x.Helper()
	file := filepath.Join(x.TempDir(), "root.yaml")
	x.must(os.WriteFile(file, []byte(x.root), 0o644))
	return x.startBoot(append([]string{
		file, "--repo", x.repo.URL + "=" + x.dir, "--argocd-version", "3.2", "--kubeconfig", kubeconfig, "-o", "json",
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

// TestBootCommand boots examples/cluster by argosy boot, with exactly the rights of docs/live.md: waves in order, what runs is adopted, the
// boot is as planned, and a second one changes nothing.
func TestBootCommand(t *testing.T) {
	x := newSeed(t, true, true)
	config := x.liveKubeconfig("argosy-boot")
	before := x.running("infrastructure/networking/cilium/agent.yaml", "kube-system")
	s := x.simulate()
	record, times := filepath.Join(t.TempDir(), "boot.jsonl"), filepath.Join(t.TempDir(), "times.yaml")
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
