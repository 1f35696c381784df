package health

import (
	"cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Sample is an Application that a Trial runs the health check of Applications on.
type Sample int

// The samples. In each, everything that is not named is as in SampleHealthy.
const (
	// SampleHealthy was synced, compared with its spec, and is healthy.
	SampleHealthy Sample = iota
	// SampleProgressing and SampleDegraded have that health.
	SampleProgressing
	SampleDegraded
	// SampleNew has no status, as every Application at first. SampleEmpty has one without anything in it.
	SampleNew
	SampleEmpty
	// SampleSyncing is in the middle of a sync.
	SampleSyncing
	// SampleBroken has manifests that cannot be rendered (ComparisonError), from the first.
	SampleBroken
	// SampleOutdated was compared with the source of an older spec.
	SampleOutdated
	// SampleSelf is Progressing, in the middle of a sync, and one of its own objects.
	SampleSelf
)

// Trial runs the health checks of settings on samples. Whoever wants to know what a check sees asks a Trial, so that all know the same.
type Trial struct {
	Checks Customizations
	Limits Limits
	// Namespace is Argo CD's; "" is argocd.
	Namespace string
}

// Run returns the health of a sample. It reports false if there is no health check of Applications.
func (t Trial) Run(s Sample) (Health, bool, error) {
	return Evaluate(t.sample(s), t.Checks, t.Limits)
}

// OfApplications returns the key of the health check of Applications, "" if there is none.
func (c Customizations) OfApplications() (string, error) {
	return c.Covers(manifest.Object{"apiVersion": argo.APIVersion, "kind": argo.KindApplication})
}

// SyncAware reports whether the health check waits for the end of a sync.
func (t Trial) SyncAware() bool { return t.doubts(SampleSyncing) }

// SeesBroken reports whether the health check sees that an Application cannot be rendered.
func (t Trial) SeesBroken() bool { return t.doubts(SampleBroken) }

// SeesOutdated reports whether the health check sees that an Application has not seen its new spec.
func (t Trial) SeesOutdated() bool { return t.doubts(SampleOutdated) }

// KnowsItself reports whether the health check lets the sync of an Application that deploys itself go on.
func (t Trial) KnowsItself() bool { return t.passes(SampleSelf) }

// Ignores is a health that the check calls Healthy, Progressing before Degraded; "" is none.
func (t Trial) Ignores() Status {
	switch {
	case t.passes(SampleProgressing):
		return Progressing
	case t.passes(SampleDegraded):
		return Degraded
	}
	return ""
}

// passes reports whether the check calls a sample Healthy, and doubts whether it calls it something else. Without a check, or if it fails,
// both are false.
func (t Trial) passes(s Sample) bool {
	h, ok, err := t.Run(s)
	return err == nil && ok && h.Status == Healthy
}

func (t Trial) doubts(s Sample) bool {
	h, ok, err := t.Run(s)
	return err == nil && ok && h.Status != Healthy
}

const (
	sampleName = "x"
	// sampleBefore is earlier than sampleAfter, both as Argo CD writes times.
	sampleBefore = "2026-01-01T00:00:00Z"
	sampleAfter  = "2026-01-01T00:00:05Z"
)

func (t Trial) namespace() string { return cmp.Or(t.Namespace, argo.DefaultNamespace) }

func (t Trial) sample(s Sample) manifest.Object {
	source := func(revision string) map[string]any {
		return map[string]any{"repoURL": "https://git.example.com/x", "path": "x", "targetRevision": revision}
	}
	destination := map[string]any{"server": argo.InClusterServer, "namespace": "x"}
	metadata := map[string]any{"name": sampleName, "namespace": t.namespace()}
	state, sync, phase, compared := Healthy, argo.Synced, argo.PhaseSucceeded, "2"
	switch s {
	case SampleHealthy, SampleNew, SampleEmpty:
	case SampleProgressing:
		state = Progressing
	case SampleDegraded:
		state = Degraded
	case SampleSyncing:
		sync, phase = argo.OutOfSync, argo.PhaseRunning
	case SampleBroken:
		sync = argo.SyncUnknown
	case SampleOutdated:
		compared = "1"
	case SampleSelf:
		state, sync, phase = Progressing, argo.OutOfSync, argo.PhaseRunning
		metadata["annotations"] = map[string]any{
			argo.TrackingAnnotation: sampleName + ":" + argo.Group + "/" + argo.KindApplication + ":" + t.namespace() + "/" + sampleName,
		}
	}
	o := manifest.Object{
		"apiVersion": argo.APIVersion, "kind": argo.KindApplication, "metadata": metadata,
		"spec": map[string]any{"project": argo.DefaultProject, "source": source("2"), "destination": destination},
	}
	switch s {
	case SampleNew:
		return o
	case SampleEmpty:
		o["status"] = map[string]any{}
		return o
	}
	status := map[string]any{
		"controllerNamespace": t.namespace(), "health": map[string]any{"status": string(state)}, "reconciledAt": sampleAfter,
		"sync": map[string]any{
			"status": sync, "comparedTo": map[string]any{"source": source(compared), "destination": destination},
		},
	}
	switch {
	case s == SampleBroken: // it was never synced
		status["conditions"] = []any{map[string]any{"type": argo.ComparisonError, "message": "x"}}
	case phase == argo.PhaseSucceeded:
		status["operationState"] = map[string]any{"phase": phase, "finishedAt": sampleBefore}
	default:
		status["operationState"] = map[string]any{"phase": phase}
	}
	o["status"] = status
	return o
}

// SeesSets reports whether the health check of ApplicationSets waits for the Applications of a set whose own conditions are good.
func (t Trial) SeesSets() bool {
	o := manifest.Object{
		"apiVersion": argo.APIVersion, "kind": argo.KindApplicationSet, "metadata": map[string]any{"name": sampleName},
		"spec": map[string]any{},
		"status": map[string]any{
			"conditions": []any{
				map[string]any{"type": argo.ErrorOccurred, "status": "False"},
				map[string]any{"type": "ParametersGenerated", "status": "True"},
				map[string]any{"type": "ResourcesUpToDate", "status": "True"},
			},
			"resources": []any{map[string]any{
				"group": argo.Group, "kind": argo.KindApplication, "version": "v1alpha1", "namespace": argo.DefaultNamespace,
				"name": sampleName, "status": argo.OutOfSync, "health": map[string]any{"status": string(Progressing)},
			}},
		},
	}
	h, ok, err := Evaluate(o, t.Checks, t.Limits)
	return err == nil && ok && h.Status != Healthy
}
