package live

import (
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/problem"
)

// GoalState is the kind of a Goal.
type GoalState string

// States to wait for.
const (
	GoalHealthy  GoalState = "healthy"
	GoalSynced   GoalState = "synced"
	GoalRevision GoalState = "revision"
)

// Goal is a state of a root to wait for.
type Goal struct {
	State GoalState
	// Revision is the commit of GoalRevision, or the beginning of it.
	Revision string
}

var commit = regexp.MustCompile(`^[0-9a-zA-Z][0-9a-zA-Z._+-]{0,127}$`)

// ParseGoal reads healthy, synced or revision=SHA.
func ParseGoal(text string) (Goal, error) {
	name, revision, given := strings.Cut(text, "=")
	switch state := GoalState(name); {
	case !given && (state == GoalHealthy || state == GoalSynced):
		return Goal{State: state}, nil
	case given && state == GoalRevision && commit.MatchString(revision):
		return Goal{State: state, Revision: revision}, nil
	}
	return Goal{}, problem.Usagef("%q must be healthy, synced or revision=SHA", text)
}

func (g Goal) String() string {
	if g.State == GoalRevision {
		return string(g.State) + "=" + g.Revision
	}
	return string(g.State)
}

// minCommit is the shortest beginning of a commit that is taken for one.
const minCommit = 7

// Left returns the nodes that keep a goal from being reached, of the root and everything below it. An empty list is a goal that is reached.
//
// Healthy and synced are about everything below the root. Missing Applications, syncs that run, and a source that was not hydrated keep
// both from being reached. A revision is about the root alone: it was compared with the revision and is synced.
func (g Goal) Left(root *Node) []*Node {
	if g.State == GoalRevision {
		if is := func(have string) bool {
			return have == g.Revision || len(g.Revision) >= minCommit && strings.HasPrefix(have, g.Revision)
		}; slices.ContainsFunc(root.Revisions, is) && root.Sync == argo.Synced && !root.Operation.Running() && !root.Requested {
			return nil
		}
		return []*Node{root}
	}
	var out []*Node
	root.All(func(n *Node) {
		ok := n.Settled()
		if g.State == GoalHealthy {
			// If the objects of a node are unknown, only Synced proves that all of them exist.
			ok = ok && n.Health == health.Healthy && (n.Cut == "" || n.Sync == argo.Synced)
		} else {
			ok = ok && (n.Set && n.Health == health.Healthy || n.Sync == argo.Synced)
		}
		if !ok {
			out = append(out, n)
		}
	})
	return out
}

// Describe describes the state of a node.
func (n *Node) Describe() string {
	if n.Unseen != "" {
		return "cannot be watched: " + n.Unseen
	}
	if n.Missing {
		return "not created"
	}
	parts := []string{}
	for _, word := range []string{string(n.Health), n.Sync} {
		if word != "" {
			parts = append(parts, word)
		}
	}
	if n.Operation.Running() {
		parts = append(parts, "syncing")
	}
	switch {
	case n.Hydration.Failed():
		parts = append(parts, "hydration failed")
	case !n.Hydration.Done():
		parts = append(parts, "hydrating")
	}
	if !n.Deleting.IsZero() {
		parts = append(parts, "being deleted")
	}
	if len(parts) == 0 {
		return "not reconciled yet"
	}
	return strings.Join(parts, ", ")
}
