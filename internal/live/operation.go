package live

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Operation is a sync that runs, or the last one.
type Operation struct {
	Phase             string // Running, Terminating, Succeeded, Failed, Error
	Message           string
	Started, Finished time.Time
	// Retries counts the retries so far, Limit is how many there may be; negative is no limit.
	Retries, Limit int
	// Refresh says that retries use the latest revision, and not the one that it began with.
	Refresh   bool
	Automated bool
	// Revisions are the synced revisions of the sources. None means those of the spec.
	Revisions []string
	// Only are the objects that it syncs. None is all.
	Only []Key
	// Results are the objects that failed, or that the sync waits for.
	Results []Result
	// Waits is the object that its message waits for. Nil if there is none.
	Waits *Awaited
}

// Result is the result of an object in a sync.
type Result struct {
	Key
	// Status is Synced, SyncFailed, Pruned or PruneSkipped; Phase is Running, Failed or Error.
	Status, Phase string
	Hook          string // its type; "" is none
	Message       string
}

// Failed reports whether it failed.
func (r Result) Failed() bool {
	return r.Status == argo.ResultSyncFailed || r.Phase == argo.PhaseFailed || r.Phase == argo.PhaseError
}

// Awaited is the object that a sync's message waits for.
type Awaited struct {
	// For is ForHealth, ForHook or ForDeletion.
	For               Reason
	Group, Kind, Name string
	More              int // others
}

// Running reports whether a sync has not ended. A sync that will be retried has not ended.
func (o *Operation) Running() bool {
	return o != nil && (o.Phase == argo.PhaseRunning || o.Phase == argo.PhaseTerminating)
}

// Retrying reports whether a sync failed and waits for its next retry.
func (o *Operation) Retrying() bool { return o.Running() && !o.Finished.IsZero() }

// InWindow reports whether a sync window blocks it.
func (o *Operation) InWindow() bool {
	return o.Running() && strings.HasPrefix(o.Message, "Sync operation blocked by sync window")
}

// Hydration is a run of the source hydrator: it renders the dry source of an Application and commits the result, which is then synced.
type Hydration struct {
	Phase             string // Hydrating, Failed, Hydrated
	Message           string
	Started, Finished time.Time
	Revision          string // of the dry source
}

// Done reports whether the dry source was hydrated, or nothing has to be.
func (h *Hydration) Done() bool { return h == nil || h.Phase == "Hydrated" }

// Failed reports whether the last run failed. Argo CD tries again after two minutes.
func (h *Hydration) Failed() bool { return h != nil && h.Phase == argo.PhaseFailed }

func newHydration(state map[string]any) *Hydration {
	if state == nil {
		return nil
	}
	return &Hydration{
		Phase: shared(manifest.String(state, "phase")), Message: message(state), Started: at(state, "startedAt"),
		Finished: at(state, "finishedAt"), Revision: shared(manifest.String(state, "drySHA")),
	}
}

// waiting is a message of the sync engine (setRunningPhase in pkg/sync/sync_context.go of gitops-engine, of 3.2 and of September 2026).
var waiting = regexp.MustCompile(
	`^waiting for (completion of hook|healthy state of|deletion of hook|deletion of) ([^/\s]*)/([^/\s]+)/(\S+?)(?: and (\d+) more (?:hooks|resources))?$`)

func newOperation(state map[string]any) *Operation {
	if state == nil {
		return nil
	}
	op := manifest.Map(state, "operation")
	result := manifest.Map(state, "syncResult")
	o := &Operation{
		Phase: shared(manifest.String(state, "phase")), Message: message(state), Started: at(state, "startedAt"),
		Finished: at(state, "finishedAt"), Retries: number(state["retryCount"]),
		Limit:     number(manifest.Map(op, "retry")["limit"]),
		Refresh:   manifest.Map(op, "retry")["refresh"] == true,
		Automated: manifest.Map(op, "initiatedBy")["automated"] == true, Revisions: revisions(manifest.Map(op, "sync")),
	}
	if len(o.Revisions) == 0 {
		o.Revisions = revisions(result)
	}
	for _, r := range manifest.Maps(manifest.Map(op, "sync")["resources"]) {
		o.Only = append(o.Only, keyIn(r))
	}
	for _, r := range manifest.Maps(result["resources"]) {
		// Skip completed results: an Application can have thousands of them.
		phase, status := manifest.String(r, "hookPhase"), manifest.String(r, "status")
		if phase != argo.PhaseSucceeded || status == argo.ResultSyncFailed {
			o.Results = append(o.Results, Result{
				Key: keyIn(r), Status: shared(status), Phase: shared(phase), Message: message(r),
				Hook: shared(manifest.String(r, "hookType")),
			})
		}
	}
	if m := waiting.FindStringSubmatch(o.Message); m != nil && o.Running() {
		more, _ := strconv.Atoi(m[5])
		o.Waits = &Awaited{
			For: map[string]Reason{
				"completion of hook": ForHook, "healthy state of": ForHealth, "deletion of": ForDeletion, "deletion of hook": ForDeletion,
			}[m[1]],
			Group: m[2], Kind: m[3], Name: m[4], More: more,
		}
	}
	return o
}

// awaited returns the objects that a sync waits for: all running ones, the one in its message first.
func (o *Operation) awaited() []Result {
	if o == nil || o.Waits == nil {
		return nil
	}
	named := func(r Result) bool {
		return r.Group == o.Waits.Group && r.Kind == o.Waits.Kind && r.Name == o.Waits.Name
	}
	var out []Result
	for _, r := range o.Results {
		if named(r) || o.Waits.For != ForDeletion && r.Phase == argo.PhaseRunning && (r.Hook != "") == (o.Waits.For == ForHook) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Result) int {
		switch {
		case named(a) == named(b):
			return 0
		case named(a):
			return -1
		}
		return 1
	})
	if len(out) == 0 {
		out = append(out, Result{Key: Key{Group: o.Waits.Group, Kind: o.Waits.Kind, Name: o.Waits.Name}})
	}
	return out
}
