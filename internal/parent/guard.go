package parent

import (
	"context"
	"fmt"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// guard refuses an answer that would delete more Applications than it may.
type guard struct {
	live  Live // nil is none
	self  argo.Ref
	limit limit
	blind string // why it does not know
}

// children are what the parent deploys now. Nil is not known, as for a parent that is not there.
func (g *guard) children(ctx context.Context) (*Children, error) {
	if g.live == nil {
		return nil, nil
	}
	children, err := g.live.Children(ctx, g.self)
	if err != nil {
		return nil, fmt.Errorf("looking for Applications that this answer would delete: %w", err)
	}
	return children, nil
}

func (g *guard) check(ctx context.Context, destination string, children *Children, objects []manifest.Object) error {
	switch {
	case g.live == nil:
		return nil
	case children == nil:
		g.blind = fmt.Sprintf("Application %s is not there, so it is not known what this answer would delete", g.self)
		return nil
	case children.Sources > 1:
		g.blind = fmt.Sprintf("Application %s has %d sources, so it is not known what the answer for one of them would delete", g.self, children.Sources)
		return nil
	}
	stays := map[argo.Ref]bool{}
	for _, o := range objects {
		if argo.IsApplication(o) {
			stays[ref(o, destination)] = true
		}
	}
	gone := 0
	for _, child := range children.Applications {
		if !stays[child] {
			gone++
		}
	}
	// The limit for none is the smallest there is.
	if gone <= g.limit.of(0) {
		return nil
	}
	return g.count(ctx, children, stays)
}

// count looks at what is really there: Argo CD also lists Applications that were never created.
func (g *guard) count(ctx context.Context, children *Children, stays map[argo.Ref]bool) error {
	there := map[argo.Ref]bool{}
	if children.Remote {
		for _, child := range children.Applications {
			there[child] = true
		}
	} else {
		var err error
		if there, err = g.live.Existing(ctx, children.Applications); err != nil {
			return fmt.Errorf("looking for Applications that this answer would delete: %w", err)
		}
	}
	var names []string
	for _, child := range children.Applications {
		if there[child] && !stays[child] {
			names = append(names, child.Name)
		}
	}
	allowed := g.limit.of(len(there))
	if len(names) <= allowed {
		return nil
	}
	return fmt.Errorf("refused: it would delete %d of %d Applications, and %d may go at once: %s; if this is meant, set the parameter max-delete to %d", len(names), len(there), allowed, listed(names), len(names))
}

// listed is a list of names that does not fill a message.
func listed(names []string) string {
	const most = 20
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
