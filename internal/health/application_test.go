package health

import (
	"strings"
	"testing"
)

// seedScript is the health check that the project was founded on: it repeats what a child says of itself.
const seedScript = `hs = {}
hs.status = "Progressing"
hs.message = ""
if obj.status ~= nil then
  if obj.status.health ~= nil then
    hs.status = obj.status.health.status
    if obj.status.health.message ~= nil then
      hs.message = obj.status.health.message
    end
  end
end
return hs
`

// child is an Application that has been synced and is healthy.
const child = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec:
  project: default
  source: {repoURL: https://git.example.com/x, path: web, targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: web}
status:
  health: {status: Healthy}
  reconciledAt: "2026-01-01T00:00:00Z"
  sync:
    status: Synced
    revision: abc
    comparedTo:
      source: {repoURL: https://git.example.com/x, path: web, targetRevision: main}
      destination: {server: https://kubernetes.default.svc, namespace: web}
  operationState: {phase: Succeeded}
`

// TestApplicationScript is what our health check says, beside what the seed's says. The next wave starts at Healthy.
func TestApplicationScript(t *testing.T) {
	for name, c := range map[string]struct {
		replace    []string
		want, seed string
		message    string
	}{
		"healthy":     {want: "Healthy", seed: "Healthy"},
		"new":         {replace: []string{"status:\n  health: {status: Healthy}\n", "was:\n"}, want: "Progressing", seed: "Progressing", message: "waiting for Argo CD to look at it"},
		"no health":   {replace: []string{"  health: {status: Healthy}\n", ""}, want: "Progressing", seed: "Progressing"},
		"progressing": {replace: []string{"{status: Healthy}", "{status: Progressing, message: soon}"}, want: "Progressing", seed: "Progressing", message: "soon"},
		"degraded":    {replace: []string{"{status: Healthy}", "{status: Degraded, message: broken}"}, want: "Degraded", seed: "Degraded", message: "broken"},
		"missing":     {replace: []string{"{status: Healthy}", "{status: Missing}", "Synced", "OutOfSync"}, want: "Missing", seed: "Missing"},
		"suspended":   {replace: []string{"{status: Healthy}", "{status: Suspended}"}, want: "Suspended", seed: "Suspended"},

		"synced before":            {replace: []string{"{phase: Succeeded}", `{phase: Succeeded, finishedAt: "2025-12-31T23:59:59Z"}`}, want: "Healthy", seed: "Healthy"},
		"synced, and seen":         {replace: []string{"{phase: Succeeded}", `{phase: Succeeded, finishedAt: "2026-01-01T00:00:00Z"}`}, want: "Healthy", seed: "Healthy"},
		"synced, not seen":         {replace: []string{"{phase: Succeeded}", `{phase: Succeeded, finishedAt: "2026-01-01T00:00:01Z"}`}, want: "Progressing", seed: "Healthy", message: "waiting for Argo CD to look at it after its sync"},
		"synced, perhaps not seen": {replace: []string{"{phase: Succeeded}", `{phase: Succeeded, finishedAt: "2026-01-01T00:00:00Z"}`, "Synced", "OutOfSync"}, want: "Progressing", seed: "Healthy"},

		// A stale Healthy: the status is about another spec, or about what was there before a sync.
		"new path":           {replace: []string{"spec:\n  project: default\n  source: {repoURL: https://git.example.com/x, path: web", "spec:\n  project: default\n  source: {repoURL: https://git.example.com/x, path: bad"}, want: "Progressing", seed: "Healthy", message: "waiting for Argo CD to look at its new source"},
		"new revision":       {replace: []string{"targetRevision: main}\n  destination", "targetRevision: v2}\n  destination"}, want: "Progressing", seed: "Healthy"},
		"new value":          {replace: []string{"targetRevision: main}\n  destination", "targetRevision: main, helm: {parameters: [{name: a, value: b}]}}\n  destination"}, want: "Progressing", seed: "Healthy"},
		"value removed":      {replace: []string{"targetRevision: main}\n      destination", "targetRevision: main, helm: {values: x}}\n      destination"}, want: "Progressing", seed: "Healthy"},
		"new destination":    {replace: []string{"namespace: web}\nstatus", "namespace: other}\nstatus"}, want: "Progressing", seed: "Healthy", message: "waiting for Argo CD to look at its new destination"},
		"several sources":    {replace: []string{"  source: {repoURL: https://git.example.com/x, path: web, targetRevision: main}\n  destination", "  sources: [{repoURL: https://git.example.com/x, path: web}]\n  destination"}, want: "Progressing", seed: "Healthy"},
		"never compared":     {replace: []string{"    comparedTo:\n      source: {repoURL: https://git.example.com/x, path: web, targetRevision: main}\n      destination: {server: https://kubernetes.default.svc, namespace: web}\n", ""}, want: "Progressing", seed: "Healthy"},
		"about to sync":      {replace: []string{"status:\n  health", "operation: {sync: {}}\nstatus:\n  health", "Synced", "OutOfSync"}, want: "Progressing", seed: "Healthy", message: "a sync is about to start"},
		"syncing":            {replace: []string{"{phase: Succeeded}", "{phase: Running, message: waiting for healthy state of apps/Deployment/x}", "Synced", "OutOfSync"}, want: "Progressing", seed: "Healthy", message: "a sync is running: waiting for healthy state of apps/Deployment/x"},
		"sync has failed":    {replace: []string{"{phase: Succeeded}", "{phase: Failed, message: denied}", "Synced", "OutOfSync"}, want: "Progressing", seed: "Healthy", message: "its last sync has failed: denied"},
		"cannot be compared": {replace: []string{"Synced", "Unknown", "  operationState", "  conditions: [{type: ComparisonError, message: no such path}]\n  operationState"}, want: "Progressing", seed: "Healthy", message: "no such path"},

		// It does not wait for what will not come.
		"out of sync in a sync window": {replace: []string{"Synced", "OutOfSync"}, want: "Healthy", seed: "Healthy"},
		"synced by hand, drifted":      {replace: []string{"Synced", "OutOfSync", "  operationState: {phase: Succeeded}\n", ""}, want: "Healthy", seed: "Healthy"},
		"failed, but synced since":     {replace: []string{"{phase: Succeeded}", "{phase: Failed}"}, want: "Healthy", seed: "Healthy"},
		"empty fields":                 {replace: []string{"targetRevision: main}\n  destination", "targetRevision: main, directory: {recurse: false, jsonnet: {}}, helm: {}}\n  destination"}, want: "Healthy", seed: "Healthy"},
		"a hydrator":                   {replace: []string{"  source: {repoURL: https://git.example.com/x, path: web, targetRevision: main}\n  destination", "  sourceHydrator: {drySource: {path: web}}\n  destination"}, want: "Healthy", seed: "Healthy"},
		"not reconciled on purpose":    {replace: []string{"metadata: {name: web}", "metadata: {name: web, annotations: {argocd.argoproj.io/skip-reconcile: 'true'}}", "path: web, targetRevision: main}\n  destination", "path: new}\n  destination"}, want: "Healthy", seed: "Healthy"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer(c.replace...).Replace(child)
			if len(c.replace) > 0 && text == child {
				t.Fatal("nothing is replaced")
			}
			o := object(t, text)
			for script, want := range map[string]string{ApplicationScript: c.want, seedScript: c.seed} {
				h, err := Lua(Script{Health: script}, o, Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if h.Status != want {
					t.Errorf("%s: %s, want %s", map[bool]string{true: "seed", false: "ours"}[script == seedScript], h.Status, want)
				}
				if script == ApplicationScript && c.message != "" && h.Message != c.message {
					t.Errorf("message %q", h.Message)
				}
			}
		})
	}
}
