package scene

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/live"
)

func node(name string, status health.Status) *live.Node {
	return &live.Node{Application: &live.Application{Ref: argo.Ref{Namespace: "argocd", Name: name}, Health: status, Sync: "Synced"}}
}

// TestWord: what nobody may watch is unknown and not waiting, and a source that was not hydrated is a failure.
func TestWord(t *testing.T) {
	unseen, dry, done := node("a", health.Unknown), node("a", health.Healthy), node("a", health.Healthy)
	unseen.Missing, unseen.Unseen = true, "you may not list applications"
	dry.Hydration = &live.Hydration{Phase: "Failed", Message: "no such branch"}
	for _, c := range []struct {
		node *live.Node
		is   Is
		note string
	}{{unseen, Unknown, "it cannot be watched: you may not list applications"}, {dry, Failing, "no such branch"}, {done, Healthy, ""}} {
		if got := stateOf(&live.Snapshot{}, c.node); got.Is != c.is || got.Note != c.note {
			t.Errorf("%s %q, want %s %q", got.Is, got.Note, c.is, c.note)
		}
	}
}

// TestWaitsNamed: however many fail, those that the note names are among the keys, by which it is hidden from those who may not see them.
func TestWaitsNamed(t *testing.T) {
	n := node("root", health.Progressing)
	n.Waits = []live.Wait{{Reason: live.ForHealth, Node: node("hidden", health.Progressing)}}
	for i := range 2 * maxWaits {
		n.Waits = append(n.Waits, live.Wait{Reason: live.ForHealth, Node: node(fmt.Sprint("bad", i), health.Degraded)})
	}
	s := stateOf(&live.Snapshot{}, n)
	if !strings.Contains(s.Note, "hidden") || !slices.Contains(s.Waits, "argocd/hidden") || s.Waits[0] != "argocd/bad0" || len(s.Waits) != maxWaits {
		t.Errorf("%q, %d: %v", s.Note, len(s.Waits), s.Waits)
	}
}
