package report

import "github.com/argosy-cd/argosy/internal/plan"

// ends knows which Applications of a plan never become healthy, by the rules that simulate has for a boot without faults.
type ends struct {
	plan  *plan.Plan
	known map[*plan.Application]bool
}

func newEnds(p *plan.Plan) *ends { return &ends{p, map[*plan.Application]bool{}} }

// stops says why a sync never gets past an item, such as "is broken"; "" if no reason is known.
func (e *ends) stops(item *plan.Item) string {
	switch {
	case !item.Waits || !e.unhealthy(item):
		return ""
	case item.Broken || item.Application != nil && item.Application.Broken != "" && item.Application.Refused == "":
		return "is broken"
	}
	return "never becomes healthy"
}

// unhealthy reports whether an item never becomes healthy, as the health check of its kind sees it.
func (e *ends) unhealthy(item *plan.Item) bool {
	switch {
	case item.Application != nil:
		return e.never(item.Application)
	case item.Awaits:
		for _, child := range item.Children {
			if e.never(child) {
				return true
			}
		}
	}
	return item.Broken
}

// never reports whether an Application never becomes healthy.
func (e *ends) never(app *plan.Application) bool {
	never, known := e.known[app]
	if !known {
		e.known[app] = false // of its own descendants
		never = e.find(app)
		e.known[app] = never
	}
	return never
}

func (e *ends) find(app *plan.Application) bool {
	switch {
	case app.Itself:
		return false
	case app.Refused != "": // its health is Unknown
		return true
	case app.Broken != "":
		return e.plan.SeesBroken
	}
	for _, item := range app.Items {
		if item.Forbidden != "" && e.plan.SyncAware && app.Automated {
			return true // its sync never begins
		}
		if e.stops(item) == "" {
			continue
		}
		last := app.Items[len(app.Items)-1]
		behind := item.Wave != last.Wave || item.Phase != last.Phase
		// Hooks, and children whose health is Unknown, do not count for the health of an Application, only for its sync.
		counts := !item.Hook && (item.Application == nil || item.Application.Refused == "")
		if counts || behind && e.plan.SyncAware {
			return true
		}
	}
	return false
}
