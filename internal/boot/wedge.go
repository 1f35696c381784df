package boot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/screen"
)

// wedge is a sync that holds an old revision.
type wedge struct {
	started time.Time // the sync
	// ended is when it was told to end; zero is not.
	ended time.Time
	done  bool
}

// Pauses of unwedge: how long a sync may wait with an old revision if it has not failed, how long Argo CD has to end it or to start the
// next one, and how long it has between two attempts of a sync.
const (
	patience = 5 * time.Minute
	restart  = 10 * time.Second
	between  = 3 * time.Second
)

// unwedge names syncs that hold an old revision while their source has a new one, and with Unwedge ends them and starts them again.
func (w *watched) unwedge(ctx context.Context, s *live.Snapshot, roots []*live.Node) error {
	var err error
	for _, root := range roots {
		root.All(func(n *live.Node) {
			if err == nil && !n.Missing && !n.Set {
				err = w.unwedgeOne(ctx, s, n)
			}
		})
	}
	return err
}

func (w *watched) unwedgeOne(ctx context.Context, s *live.Snapshot, n *live.Node) error {
	known := w.wedges[n.Key()]
	if known != nil && !known.ended.IsZero() && !known.done {
		return w.startAgain(ctx, s, n, known)
	}
	if !w.wedged(n) || known != nil && known.started.Equal(n.Operation.Started) {
		return nil
	}
	known = &wedge{started: n.Operation.Started}
	w.wedges[n.Key()] = known
	title := s.Title(n)
	fields := map[string]any{"namespace": n.Namespace, "name": n.Name, "revisions": n.Revisions, "syncs": n.Operation.Revisions}
	text := fmt.Sprintf("%s the sync of %s still deploys an old revision (%s; the source is at %s)", screen.Degraded, title,
		cause.Short(n.Operation.Revisions), cause.Short(n.Revisions))
	if !w.Unwedge {
		w.say(eventStale, fields, "%s; fix: argosy boot --unwedge, or argocd app terminate-op %s", text, title)
		return nil
	}
	w.say(eventStale, fields, "%s", text)
	ok, err := w.terminate(ctx, n)
	if err != nil {
		delete(w.wedges, n.Key())
		return fmt.Errorf("ending the sync of %s: %w", n.Ref, err)
	}
	if ok {
		known.ended = w.Follow.Now()
		w.say(eventUnwedged, fields, "ended the sync of %s", title)
	}
	return nil
}

// wedged reports whether a sync holds an old revision and does not get on: it has failed and is tried again, or it waits for long for an
// object, or for an Application that gets a new revision by this sync only.
func (w *watched) wedged(n *live.Node) bool {
	op := n.Operation
	if !op.Running() || op.Phase == argo.PhaseTerminating || len(op.Revisions) == 0 || len(n.Revisions) == 0 ||
		slices.Equal(op.Revisions, n.Revisions) {
		return false
	}
	if op.Retries > 0 || op.Retrying() {
		return true
	}
	if w.Follow.Now().Sub(op.Started) < patience {
		return false
	}
	return slices.ContainsFunc(n.Waits, func(x live.Wait) bool {
		return x.Node == nil && x.Object.Kind != "" || x.Node != nil && w.pinned(x.Node)
	})
}

// pinned reports whether a new commit reaches an Application by a sync of its parent only.
func (w *watched) pinned(n *live.Node) bool {
	for _, app := range w.found.Plan.Applications {
		if app.Name == n.Name && (app.Namespace == n.Namespace || app.Namespace == "") {
			return app.Pinned
		}
	}
	return false
}

// terminate does what Argo CD's API server does: it sets the phase of the operation, and the controller ends it (TerminateOperation of
// server/application/application.go, 3.2.11). It reports false if the sync has ended by itself.
func (w *watched) terminate(ctx context.Context, n *live.Node) (bool, error) {
	for range 10 {
		o, err := w.client.Object(ctx, argo.KindApplication, n.Ref)
		if err != nil || o == nil {
			return false, err
		}
		state := manifest.Map(o, "status", "operationState")
		started, _ := time.Parse(time.RFC3339, manifest.String(state, "startedAt"))
		if manifest.Map(o, "operation") == nil || manifest.String(state, "phase") != argo.PhaseRunning ||
			!started.Equal(n.Operation.Started) {
			return false, nil
		}
		ok, err := w.client.PatchApplication(ctx, n.Ref, manifest.String(o, "metadata", "resourceVersion"), map[string]any{
			"status": map[string]any{"operationState": map[string]any{"phase": argo.PhaseTerminating}},
		})
		if ok || err != nil {
			return ok, err
		}
	}
	return false, fmt.Errorf("somebody else keeps changing the Application; run this again")
}

// startAgain waits for the next sync, and starts it if Argo CD does not.
func (w *watched) startAgain(ctx context.Context, s *live.Snapshot, n *live.Node, known *wedge) error {
	op := n.Operation
	switch {
	case op.Running() && op.Started.Equal(known.started):
		return w.endAgain(ctx, s, n, known)
	case op.Running() || n.Requested || n.Sync == argo.Synced:
		known.done = true
		w.say(eventRestarted, map[string]any{"namespace": n.Namespace, "name": n.Name, "by": "argocd"}, "Argo CD syncs %s to %s",
			s.Title(n), cause.Short(n.Revisions))
		return nil
	case w.Follow.Now().Sub(known.ended) < restart:
		return nil
	}
	o, err := w.client.Object(ctx, argo.KindApplication, n.Ref)
	if err != nil || o == nil || manifest.Map(o, "operation") != nil {
		return err
	}
	version := manifest.String(o, "metadata", "resourceVersion")
	ok, err := w.client.PatchApplication(ctx, n.Ref, version, map[string]any{"operation": operation(o)})
	if err != nil {
		return fmt.Errorf("starting a sync of %s: %w", n.Ref, err)
	}
	if ok {
		known.done = true
		w.say(eventRestarted, map[string]any{"namespace": n.Namespace, "name": n.Name, "by": "argosy"}, "started a sync of %s", s.Title(n))
	}
	return nil
}

// endAgain ends a sync again if it goes on: a controller in the middle of an attempt overwrites the phase that ends the sync
// (setOperationState of controller/appcontroller.go, 3.2 to 3.5).
func (w *watched) endAgain(ctx context.Context, s *live.Snapshot, n *live.Node, known *wedge) error {
	pause := restart
	if n.Operation.Retrying() {
		pause = between // no controller writes now
	}
	if n.Operation.Phase == argo.PhaseTerminating || w.Follow.Now().Sub(known.ended) < pause {
		return nil
	}
	ok, err := w.terminate(ctx, n)
	if err != nil {
		return fmt.Errorf("ending the sync of %s again: %w", n.Ref, err)
	}
	if ok {
		known.ended = w.Follow.Now()
		fields := map[string]any{"namespace": n.Namespace, "name": n.Name, "revisions": n.Revisions, "syncs": n.Operation.Revisions}
		w.say(eventUnwedged, fields, "the sync of %s went on; ended it again", s.Title(n))
	}
	return nil
}

// operation is the sync that Argo CD would start for an Application by its policy (autoSync of controller/appcontroller.go, 3.2.11).
func operation(o manifest.Object) map[string]any {
	policy := manifest.Map(o, "spec", "syncPolicy")
	sync := map[string]any{}
	if automated := manifest.Map(policy, "automated"); automated["prune"] == true {
		sync["prune"] = true
	}
	if options, ok := policy["syncOptions"].([]any); ok {
		sync["syncOptions"] = options
	}
	out := map[string]any{"initiatedBy": map[string]any{"username": "argosy"}, "sync": sync, "retry": map[string]any{"limit": int64(5)}}
	if retry := manifest.Map(policy, "retry"); retry != nil {
		out["retry"] = retry
	}
	return out
}
