package health

import (
	"slices"
	"strings"
	"testing"
)

// copyScript is the health check of Applications that most clusters have: it copies status.health of the child.
const copyScript = `hs = {}
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

// justSynced makes it an Application whose sync has just ended: its status is from before.
var justSynced = []string{
	"Synced", "OutOfSync", "{phase: Succeeded}", `{phase: Succeeded, finishedAt: "2026-01-01T00:00:05Z"}` +
		"\n  resources: [{kind: Application, name: a, status: Synced}, {kind: Application, name: b, status: OutOfSync}]",
}

// itself makes it an Application that is being synced, with a tracking ID.
var itself = []string{
	"metadata: {name: web}", "metadata: {name: web, namespace: argocd, annotations: {argocd.argoproj.io/tracking-id: '%ID%'}}",
	"{status: Healthy}", "{status: Progressing}\n  controllerNamespace: argocd", "{phase: Succeeded}",
	"{phase: Running, message: waiting for healthy state of argoproj.io/Application/web}",
}

// with changes the new texts of replacements.
func with(replace []string, more ...string) []string {
	out := slices.Clone(replace)
	changed := strings.NewReplacer(more...)
	for i := 1; i < len(out); i += 2 {
		out[i] = changed.Replace(out[i])
	}
	// What is not in them is in the Application.
	return append(out, more...)
}

// TestApplicationScript compares our health check with copyScript, which copies status.health. The next wave starts at Healthy.
func TestApplicationScript(t *testing.T) {
	for name, c := range map[string]struct {
		replace      []string
		want, copied Status
		message      string
	}{
		"healthy": {want: "Healthy", copied: "Healthy"},
		"new": {
			replace: []string{"status:\n  health: {status: Healthy}\n", "was:\n"}, want: "Progressing", copied: "Progressing",
			message: "waiting for Argo CD to reconcile it",
		},
		"no health": {replace: []string{"  health: {status: Healthy}\n", ""}, want: "Progressing", copied: "Progressing"},
		"progressing": {
			replace: []string{"{status: Healthy}", "{status: Progressing, message: soon}"}, want: "Progressing",
			copied: "Progressing", message: "soon",
		},
		"degraded": {
			replace: []string{"{status: Healthy}", "{status: Degraded, message: broken}"}, want: "Degraded", copied: "Degraded",
			message: "broken",
		},
		"missing": {
			replace: []string{"{status: Healthy}", "{status: Missing}", "Synced", "OutOfSync"}, want: "Missing",
			copied: "Missing",
		},
		"suspended": {replace: []string{"{status: Healthy}", "{status: Suspended}"}, want: "Suspended", copied: "Suspended"},

		// A stale Healthy: the status is about another spec, or about what was there before a sync.
		"new path": {
			replace: []string{
				"spec:\n  project: default\n  source: {repoURL: https://git.example.com/x, path: web",
				"spec:\n  project: default\n  source: {repoURL: https://git.example.com/x, path: bad",
			}, want: "Progressing", copied: "Healthy",
			message: "waiting for Argo CD to compare it with its new source",
		},
		"new revision": {
			replace: []string{"targetRevision: main}\n  destination", "targetRevision: v2}\n  destination"},
			want:    "Progressing", copied: "Healthy",
		},
		"new value": {replace: []string{
			"targetRevision: main}\n  destination",
			"targetRevision: main, helm: {parameters: [{name: a, value: b}]}}\n  destination",
		}, want: "Progressing", copied: "Healthy"},
		"value removed": {replace: []string{
			"targetRevision: main}\n      destination",
			"targetRevision: main, helm: {values: x}}\n      destination",
		}, want: "Progressing", copied: "Healthy"},
		"new destination": {
			replace: []string{"namespace: web}\nstatus", "namespace: other}\nstatus"}, want: "Progressing",
			copied: "Healthy", message: "waiting for Argo CD to compare it with its new destination",
		},
		"several sources": {replace: []string{"  source: {repoURL: https://git.example.com/x, path: web, targetRevision: main}\n  destination", "  sources: [{repoURL: https://git.example.com/x, path: web}]\n  destination"}, want: "Progressing", copied: "Healthy"},
		"never compared":  {replace: []string{"    comparedTo:\n      source: {repoURL: https://git.example.com/x, path: web, targetRevision: main}\n      destination: {server: https://kubernetes.default.svc, namespace: web}\n", ""}, want: "Progressing", copied: "Healthy"},
		"about to sync": {
			replace: []string{"status:\n  health", "operation: {sync: {}}\nstatus:\n  health", "Synced", "OutOfSync"},
			want:    "Progressing", copied: "Healthy", message: "a sync is about to start",
		},
		"syncing": {
			replace: []string{
				"{phase: Succeeded}",
				"{phase: Running, message: waiting for healthy state of apps/Deployment/x}", "Synced", "OutOfSync",
			}, want: "Progressing",
			copied: "Healthy", message: "a sync is running: waiting for healthy state of apps/Deployment/x",
		},
		"sync has failed": {
			replace: []string{"{phase: Succeeded}", "{phase: Failed, message: denied}", "Synced", "OutOfSync"},
			want:    "Progressing", copied: "Healthy", message: "its last sync has failed: denied",
		},
		"cannot be compared": {
			replace: []string{
				"Synced", "Unknown", "  operationState",
				"  conditions: [{type: ComparisonError, message: no such path}]\n  operationState",
			}, want: "Progressing", copied: "Healthy",
			message: "no such path",
		},

		"operation just done, before the comparison": {
			replace: justSynced, want: "Progressing", copied: "Healthy",
			message: "waiting for Argo CD to compare it after its sync",
		},
		"operation just done, in the second of the last comparison": {replace: with(justSynced, "2026-01-01T00:00:05Z",
			"2026-01-01T00:00:00Z"), want: "Progressing", copied: "Healthy"},
		"operation just done, Degraded before it": {
			replace: with(justSynced, "{status: Healthy}", "{status: Degraded}"),
			want:    "Progressing", copied: "Degraded",
		},
		"operation just done, Missing before it": {
			replace: with(justSynced, "{status: Healthy}", "{status: Missing}"),
			want:    "Progressing", copied: "Missing",
		},

		// What Argo CD 3.4 writes about a new app of apps. Missing objects make it Missing only if all are missing, and its operation is
		// set before its status.
		"3.4: new, nothing compared": {replace: []string{
			"status:\n  health: {status: Healthy}\n",
			"operation: {sync: {}}\nwas:\n",
		}, want: "Progressing", copied: "Progressing"},
		"3.4: nothing is there, about to sync": {replace: []string{
			"status:\n  health: {status: Healthy}",
			"operation: {sync: {}}\nstatus:\n  health: {status: Missing}", "Synced", "OutOfSync", "  operationState: {phase: Succeeded}\n",
			"",
		}, want: "Progressing", copied: "Missing"},
		"3.4: wave 0 is there, wave 1 is not, syncing": {replace: []string{
			"status:\n  health", "operation: {sync: {}}\nstatus:\n  health",
			"Synced", "OutOfSync", "{phase: Succeeded}", "{phase: Running}",
		}, want: "Progressing", copied: "Healthy"},
		"3.4: wave 1 was applied, not looked at": {replace: justSynced, want: "Progressing", copied: "Healthy"},
		"3.4: wave 0 is there, wave 1 has failed": {replace: []string{
			"{phase: Succeeded}", "{phase: Failed, message: denied}",
			"Synced", "OutOfSync",
		}, want: "Progressing", copied: "Healthy"},
		"3.4: nothing is there, not synced by itself": {replace: []string{
			"{status: Healthy}", "{status: Missing}", "Synced", "OutOfSync",
			"  operationState: {phase: Succeeded}\n", "",
		}, want: "Missing", copied: "Missing"},
		"3.4: partly there, synced by hand, unknowable": {replace: []string{
			"Synced", "OutOfSync", "  operationState: {phase: Succeeded}\n",
			"",
		}, want: "Healthy", copied: "Healthy"},

		"no project": {
			replace: []string{
				"{status: Healthy}", "{status: Unknown}", "Synced", "Unknown",
				"  operationState: {phase: Succeeded}\n",
				"  conditions: [{type: InvalidSpecError, message: project none does not exist}]\n",
			},
			want: "Progressing", copied: "Unknown", message: "project none does not exist",
		},

		// An Application that deploys itself, whatever it does.
		"itself": {
			replace: with(itself, "%ID%", "web:argoproj.io/Application:argocd/web"), want: "Healthy",
			copied: "Progressing", message: "it deploys itself, so its sync does not wait for it",
		},
		"itself, in a namespace of its own": {replace: with(itself, "%ID%", "apps-x_web:argoproj.io/Application:apps-x/web",
			"namespace: argocd", "namespace: apps-x"), want: "Healthy", copied: "Progressing"},
		"another of its name, elsewhere": {replace: with(itself, "%ID%", "web:argoproj.io/Application:apps-x/web", "namespace: argocd",
			"namespace: apps-x"), want: "Progressing", copied: "Progressing"},
		"deployed by another": {
			replace: with(itself, "%ID%", "root:argoproj.io/Application:argocd/web"),
			want:    "Progressing", copied: "Progressing",
		},
		"deployed by another, its own label": {
			replace: with(itself, "annotations:",
				"labels: {app.kubernetes.io/instance: web}, annotations:", "%ID%", "root:argoproj.io/Application:argocd/web"),
			want: "Progressing", copied: "Progressing",
		},
		"itself, by label": {replace: with(itself, "annotations: {argocd.argoproj.io/tracking-id: '%ID%'}",
			"labels: {app.kubernetes.io/instance: web}"), want: "Healthy", copied: "Progressing"},
		"another, by label": {replace: with(itself, "annotations: {argocd.argoproj.io/tracking-id: '%ID%'}",
			"labels: {app.kubernetes.io/instance: root}"), want: "Progressing", copied: "Progressing"},
		"nothing tracks it": {
			replace: with(itself, "annotations: {argocd.argoproj.io/tracking-id: '%ID%'}", "labels: {}"),
			want:    "Progressing", copied: "Progressing",
		},

		// It does not wait for what will not come.
		"looked at since its sync": {
			replace: with(justSynced, "2026-01-01T00:00:05Z", "2025-12-31T23:59:59Z"), want: "Healthy",
			copied: "Healthy",
		},
		"only pruning is left": {
			replace: with(justSynced, "status: OutOfSync}]", "status: OutOfSync, requiresPruning: true}]"),
			want:    "Healthy", copied: "Healthy",
		},
		"healed, and out of sync again": {replace: with(justSynced, "finishedAt",
			"operation: {sync: {autoHealAttemptsCount: 1}}, finishedAt"), want: "Healthy", copied: "Healthy"},
		"out of sync in a sync window": {replace: []string{"Synced", "OutOfSync"}, want: "Healthy", copied: "Healthy"},
		"synced by hand, drifted": {
			replace: []string{"Synced", "OutOfSync", "  operationState: {phase: Succeeded}\n", ""},
			want:    "Healthy", copied: "Healthy",
		},
		"failed, but synced since": {replace: []string{"{phase: Succeeded}", "{phase: Failed}"}, want: "Healthy", copied: "Healthy"},
		"empty fields": {replace: []string{
			"targetRevision: main}\n  destination",
			"targetRevision: main, directory: {recurse: false, jsonnet: {}}, helm: {}}\n  destination",
		}, want: "Healthy", copied: "Healthy"},
		"a hydrator": {replace: []string{
			"  source: {repoURL: https://git.example.com/x, path: web, targetRevision: main}\n  destination",
			"  sourceHydrator: {drySource: {path: web}}\n  destination",
		}, want: "Healthy", copied: "Healthy"},
		"not reconciled on purpose": {replace: []string{
			"metadata: {name: web}",
			"metadata: {name: web, annotations: {argocd.argoproj.io/skip-reconcile: 'true'}}",
			"path: web, targetRevision: main}\n  destination", "path: new}\n  destination",
		}, want: "Healthy", copied: "Healthy"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer(c.replace...).Replace(child)
			if len(c.replace) > 0 && text == child {
				t.Fatal("nothing is replaced")
			}
			o := object(t, text)
			for script, want := range map[string]Status{ApplicationScript: c.want, copyScript: c.copied} {
				h, err := Lua(Script{Health: script}, o, Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if h.Status != want {
					t.Errorf("%s: %s, want %s", map[bool]string{true: "copy", false: "ours"}[script == copyScript], h.Status, want)
				}
				if script == ApplicationScript && c.message != "" && h.Message != c.message {
					t.Errorf("message %q", h.Message)
				}
			}
		})
	}
}

// TestApplicationSetScript is what our health check of ApplicationSets says. The next wave starts at Healthy.
func TestApplicationSetScript(t *testing.T) {
	const upToDate = "conditions: [{type: ErrorOccurred, status: 'False'}, {type: ParametersGenerated, status: 'True'}, {type: ResourcesUpToDate, status: 'True', message: generated}]"
	const a, b = "{name: a, status: Synced, health: {status: Healthy}}", "{name: b, status: Synced, health: {status: Healthy}}"
	for name, c := range map[string]struct{ status, want, message string }{
		"new": {"", "Progressing", "waiting for the applicationset-controller to reconcile it"},
		"no Applications yet": {
			upToDate, "Progressing",
			"it lists no Applications; the applicationset-controller needs --enable-progressive-syncs",
		},
		"healthy": {
			upToDate + "\n  resources: [" + a + ", " + b + "]\n  resourcesCount: 2", "Healthy",
			"its 2 Applications are healthy",
		},
		"no count": {upToDate + "\n  resources: [" + a + "]", "Healthy", "its 1 Applications are healthy"},
		"progressing": {
			upToDate + "\n  resources: [" + a + ", {name: b, status: Synced, health: {status: Progressing}}]",
			"Progressing", "Application b is Progressing and Synced",
		},
		"missing": {
			upToDate + "\n  resources: [{name: b, status: OutOfSync, health: {status: Missing}}]", "Progressing",
			"Application b is Missing and OutOfSync",
		},
		"suspended": {
			upToDate + "\n  resources: [{name: b, status: Synced, health: {status: Suspended}}]", "Progressing",
			"Application b is Suspended and Synced",
		},
		"out of sync": {
			upToDate + "\n  resources: [{name: b, status: OutOfSync, health: {status: Healthy}}]", "Progressing",
			"Application b is Healthy and OutOfSync",
		},
		"not comparable": {
			upToDate + "\n  resources: [{name: b, status: Unknown, health: {status: Healthy}}]", "Progressing",
			"Application b is Healthy and Unknown",
		},
		"not looked at": {
			upToDate + "\n  resources: [" + a + ", {name: b, health: {}}]", "Progressing",
			"waiting for Argo CD to reconcile Application b",
		},
		"no health": {
			upToDate + "\n  resources: [{name: b, status: Synced}]", "Progressing",
			"waiting for Argo CD to reconcile Application b",
		},
		"degraded": {upToDate +
			"\n  resources: [{name: x, status: Synced, health: {status: Progressing}}, {name: b, status: Synced, health: {status: Degraded}}]", "Degraded", "Application b is Degraded"},
		"degraded, to be synced": {
			upToDate + "\n  resources: [{name: b, status: OutOfSync, health: {status: Degraded}}]", "Progressing",
			"Application b is Degraded and OutOfSync",
		},
		"more than it lists": {
			upToDate + "\n  resources: [" + a + ", " + b + "]\n  resourcesCount: 6000", "Progressing",
			"it lists 2 of 6000 Applications; see --max-resources-status-count of the applicationset-controller",
		},
		"an error": {"conditions: [{type: ErrorOccurred, status: 'True', message: no such repository}]\n  resources: [" + a +
			"]", "Degraded", "no such repository"},
		"not up to date": {
			"conditions: [{type: ResourcesUpToDate, status: 'False', message: invalid}]\n  resources: [" + a + "]",
			"Degraded", "invalid",
		},
		"rolled out": {strings.Replace(upToDate, "[", "[{type: RolloutProgressing, status: 'True', message: step 1}, ", 1) +
			"\n  resources: [" + a + "]", "Progressing", "step 1"},
		"was rolled out": {strings.Replace(upToDate, "[", "[{type: RolloutProgressing, status: 'False'}, ", 1) +
			"\n  resources: [" + a + "]", "Healthy", "its 1 Applications are healthy"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := Lua(Script{Health: ApplicationSetScript}, object(t,
				"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: web}\nstatus:\n  "+c.status+"\n"), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if string(h.Status) != c.want || h.Message != c.message {
				t.Errorf("%s %q", h.Status, h.Message)
			}
		})
	}
}
