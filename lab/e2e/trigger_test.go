package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/lab"
)

// triggerServer starts the trigger repositories on a port that a restart can take again, and returns their URL.
func (k *kit) triggerServer(interval string, env ...string) (url string, p *lab.Process) {
	k.Helper()
	address, err := lab.FreeAddress()
	k.must(err)
	args := []string{"repo", "--listen", address}
	if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "ARGOSY_POLICY=") }) {
		args = append(args, "--anonymous-buckets")
	}
	p, err = k.lab.Run(k.ctx, "appset-repo", argosy, args, append(env, "APPSET_REFRESH_INTERVAL="+interval),
		lab.Answers("http://"+address+"/healthz"))
	k.must(err)
	k.Cleanup(p.Kill)
	return "http://" + address, p
}

// TestTrigger is steps 1 to 5 of the appset plugin's flow: an Application refers to a trigger repository; each tick is a new,
// empty commit; Argo CD's own polling sees it and asks the plugin again, which renders the set anew.
func TestTrigger(t *testing.T) {
	k := newKit(t, "trigger")
	url, process := k.triggerServer("5s")
	calls := filepath.Join(t.TempDir(), "calls")
	// The set's input is a repository of its own, which the Application does not know.
	k.commit(map[string]string{"apps/one/cm.yaml": configMap("trigger-one", "1")})
	k.plugin("appset", fmt.Sprintf(`echo x >> %s; printf %%s "$PARAM_SPEC" | argosy appset generate -n %s -`, calls, lab.Namespace),
		"PATH="+filepath.Dir(argosy)+":"+os.Getenv("PATH"))
	spec := fmt.Sprintf(`goTemplate: true
generators:
- git: {repoURL: %q, revision: main, directories: [{path: apps/*}]}
template:
  metadata: {name: 'trigger-{{ .path.basename }}', finalizers: []}
  spec:
    project: default
    source: {repoURL: %q, path: '{{ .path.path }}', targetRevision: main}
    destination: {server: https://kubernetes.default.svc, namespace: trigger}
    syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true, Validate=false]}
`, k.repo.URL, k.repo.URL)
	k.apply(fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: trigger, namespace: %s}
spec:
  project: default
  source:
    repoURL: %s/appset.git
    path: .
    targetRevision: main
    plugin:
      name: appset
      parameters:
      - {name: spec, string: %q}
  destination: {server: https://kubernetes.default.svc, namespace: %s}
  syncPolicy: {automated: {prune: true}}
`, lab.Namespace, url, spec, lab.Namespace))
	k.await("Application", "trigger-one", "created")
	first := k.calls(calls)

	// A new directory appears as an Application, and nobody touches Argo CD.
	k.commit(map[string]string{"apps/two/cm.yaml": configMap("trigger-two", "1")})
	k.await("Application", "trigger-two", "created")
	k.await("Application", "trigger-two", "sync Synced")
	if now := k.calls(calls); now <= first {
		t.Errorf("%d calls of the plugin, then %d", first, now)
	}

	// Killed and started again between ticks: the same commit.
	before := k.remoteHead(url)
	process.Kill()
	k.must(process.Start(k.ctx))
	if after := k.remoteHead(url); after != before {
		// A tick may have come between; then both are ticks, one after the other, as a third answer shows.
		t.Logf("%s, then %s", before, after)
		if k.remoteParent(url) != before {
			t.Errorf("%s is not the tick after %s", after, before)
		}
	}
	// What leaves the input leaves the cluster.
	k.commit(map[string]string{"apps/two/cm.yaml": ""})
	k.await("Application", "trigger-two", "deleted")
}

// remoteHead asks a trigger repository for its latest commit.
func (k *kit) remoteHead(url string) string {
	k.Helper()
	out, err := lab.Output(k.ctx, "", "ls-remote", url+"/appset.git", "main")
	k.must(err)
	return strings.Fields(out)[0]
}

// remoteParent returns the commit before the latest.
func (k *kit) remoteParent(url string) string {
	k.Helper()
	dir := k.TempDir()
	_, err := lab.Output(k.ctx, "", "clone", "-q", url+"/appset.git", dir)
	k.must(err)
	out, err := lab.Output(k.ctx, dir, "rev-parse", "HEAD^")
	k.must(err)
	return strings.TrimSpace(out)
}
