package cause

import (
	"fmt"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/window"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/words"
)

// windowCause is a sync that waits for a window.
func (e *engine) windowCause(n *live.Node, path []string, text string) Cause {
	return Cause{
		Kind: Window, App: n, Path: path, Text: text, Since: n.SyncSince, Fix: "wait, or change syncWindows of the AppProject",
		Command: []string{"argocd", "proj", "windows", "list", n.Project},
	}
}

// blockedByWindow explains a sync that Argo CD says is blocked by a window.
func (e *engine) blockedByWindow(n *live.Node, path []string) {
	c := e.windowCause(n, path, fmt.Sprintf("a sync window of project %q blocks the sync of %s", n.Project, e.snapshot.Title(n)))
	c.Since = n.Operation.Started
	if v, err := e.verdict(n, !n.Operation.Automated); err == nil && !v.Allowed {
		c.blocked(v)
	}
	e.add(c)
}

// window explains an Application whose automated sync is blocked by a window. Argo CD does not report that.
func (e *engine) window(n *live.Node, path []string) {
	v, err := e.verdict(n, false)
	title := e.snapshot.Title(n)
	switch {
	case err != nil:
		c := e.windowCause(n, path, fmt.Sprintf("%s is OutOfSync and its automated sync has not begun; a sync window of project %q cannot "+
			"be evaluated", title, n.Project))
		c.Detail, c.Fix, c.weight = err.Error(), "correct syncWindows of the AppProject, if they are wrong", 35
		e.add(c)
	case !v.Allowed:
		c := e.windowCause(n, path, fmt.Sprintf("the sync windows of project %q allow no automated sync of %s now", n.Project, title))
		c.blocked(v)
		e.add(c)
	}
}

// verdict evaluates the windows of the project of an Application. Without a project to look at, all is allowed.
func (e *engine) verdict(n *live.Node, manual bool) (window.Verdict, error) {
	if e.cluster == nil {
		return window.Verdict{Allowed: true}, nil
	}
	project, err := e.lookup(live.Key{Group: argo.Group, Kind: argo.KindAppProject, Namespace: e.snapshot.Namespace(), Name: n.Project})
	if err != nil || project == nil {
		return window.Verdict{Allowed: true}, nil
	}
	windows := window.For(window.Of(project), window.App{Name: n.Name, Namespace: n.Destination, Server: n.Server, Cluster: n.Cluster})
	return window.At(windows, manual, e.now)
}

// blocked names the windows that block, and says until when.
func (c *Cause) blocked(v window.Verdict) {
	names := make([]string, len(v.By))
	for i, w := range v.By {
		names[i] = w.String()
	}
	state := "closed"
	if v.By[0].Kind == window.Deny {
		state = "active"
	}
	c.Detail = fmt.Sprintf("%s: %s", state, words.Some(names))
	if v.Until.IsZero() {
		c.Detail += "; no time was found at which a sync may begin"
		c.Fix = "change syncWindows of the AppProject"
		return
	}
	c.Detail += "; a sync may begin at " + v.Until.UTC().Format(time.RFC3339)
}
