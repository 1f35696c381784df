package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/argosy-cd/argosy/lab"
)

// TestCutAndKill: tests can cut Git off and kill any server, and Argo CD goes on when they are back.
func TestCutAndKill(t *testing.T) {
	k := newKit(t, "cut")
	k.commit(map[string]string{"app/cm.yaml": configMap("cut", "one")})
	k.apply(k.app(app{name: "cut", path: "app"}))
	k.await("Application", "cut", "sync Synced")

	k.lab.Git.Cut()
	t.Cleanup(k.lab.Git.Restore)
	k.refresh("cut", "hard")
	k.wait("cut", func(o *unstructured.Unstructured) bool {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return len(conditions) > 0 && conditions[0].(map[string]any)["type"] == "ComparisonError"
	})
	k.lab.Git.Restore()
	second := k.commit(map[string]string{"app/cm.yaml": configMap("cut", "two")})
	k.atRevision("cut", second)

	controller := k.lab.Process("argocd-application-controller")
	controller.Kill()
	third := k.commit(map[string]string{"app/cm.yaml": configMap("cut", "three")})
	k.must(controller.Start(k.ctx))
	k.atRevision("cut", third)
	k.must(k.lab.Process("argocd-repo-server").Restart(k.ctx))
	fourth := k.commit(map[string]string{"app/cm.yaml": configMap("cut", "four")})
	k.atRevision("cut", fourth)
}

// TestStrictRBAC: the API server enforces RBAC, so later tests can run with no more than they need.
func TestStrictRBAC(t *testing.T) {
	k := newKit(t, "rbac")
	anonymous := rest.AnonymousClientConfig(k.lab.API().Config)
	client, err := dynamic.NewForConfig(anonymous)
	k.must(err)
	_, err = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).List(k.ctx, metav1.ListOptions{})
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		t.Errorf("an anonymous reader of all secrets gets %v", err)
	}
}

// TestVersion: the API server says its version in a way that kubectl, charts and Argo CD can read.
func TestVersion(t *testing.T) {
	k := newKit(t, "version")
	client, err := discovery.NewDiscoveryClientForConfig(k.lab.API().Config)
	k.must(err)
	v, err := client.ServerVersion()
	k.must(err)
	if v.Major != "1" || v.Minor == "" || !strings.HasPrefix(v.GitVersion, "v1."+v.Minor+".") {
		t.Errorf("%+v", v)
	}
}

// processesIn returns the processes that run in a folder, as all of a lab do.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, link := range links {
		cwd, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(cwd, dir) {
			continue
		}
		data, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		out = append(out, strings.ReplaceAll(string(data), "\x00", " "))
	}
	return out
}

// TestPeoplesLab runs "lab up" and "lab down" beside the lab of the tests, and kills a lab: nothing is left either way.
func TestPeoplesLab(t *testing.T) {
	ownLane.enter(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	command := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, tool, args...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+home, "ARGOSY_LAB_CACHE="+filepath.Join(cache, "argosy-lab"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	up := func() (pid int) {
		t.Helper()
		out, err := command("up")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, want := range []string{"export KUBECONFIG=", "ARGOCD_AUTH_TOKEN=", "AWS_ENDPOINT_URL=", "make lab-down"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing from\n%s", want, out)
			}
		}
		data, err := os.ReadFile(filepath.Join(home, "argosy-lab/running/state.json"))
		if err != nil {
			t.Fatal(err)
		}
		var state struct{ PID int }
		if err := json.Unmarshal(data, &state); err != nil {
			t.Fatal(err)
		}
		return state.PID
	}
	gone := func() {
		t.Helper()
		for len(processesIn(t, home)) > 0 {
			select {
			case <-ctx.Done():
				t.Fatalf("left behind: %s", strings.Join(processesIn(t, home), "\n"))
			case <-time.After(50 * time.Millisecond):
			}
		}
	}

	up()
	if len(processesIn(t, home)) < 10 {
		t.Errorf("only these processes: %s", strings.Join(processesIn(t, home), "\n"))
	}
	if out, err := command("up"); err != nil || !strings.Contains(out, "a lab is running already") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := command("down"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	gone()
	if left, _ := os.ReadDir(filepath.Join(home, "argosy-lab")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	if err := syscall.Kill(up(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone()
	// The programs of a lab are killed when the thread that started them ends. Other threads of the lab may hold its lock for longer.
	for {
		out, err := command("status")
		if err != nil && strings.Contains(out, "no lab is running") {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%v\n%s", err, out)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestFailedStart: a lab that cannot start says which program and where its log is, and leaves nothing running.
func TestFailedStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir := t.TempDir()
	// A folder where the API server's tokens should be written, which is after etcd has started.
	if err := os.MkdirAll(filepath.Join(dir, "certs", "tokens.csv"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := lab.Start(ctx, lab.Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "tokens.csv") || !strings.Contains(err.Error(), filepath.Join(dir, "log")) {
		t.Fatalf("got %v", err)
	}
	if left := processesIn(t, dir); len(left) > 0 {
		t.Errorf("left behind: %s", strings.Join(left, "\n"))
	}
}
