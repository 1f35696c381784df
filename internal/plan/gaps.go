package plan

import (
	"cmp"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
)

// Gap is an Application or a set that a plan does not know completely.
type Gap struct {
	// Kind is the kind of the object; "" for a gap that is no object, such as a setting.
	Kind, Name string
	// State is unknown, partly known or broken. Reason says why.
	State, Reason string
	// Hides says that Applications may be missing from the plan because of it.
	Hides bool
}

// Gaps returns everything that a plan does not know completely, with reasons; Summary has the names.
func (p *Plan) Gaps() []Gap {
	var out []Gap
	sets := map[argo.Ref]bool{} // one can be deployed by several
	for _, app := range p.Applications {
		if verdict := app.Verdict(); verdict != source.Known || app.Hides {
			g := Gap{argo.KindApplication, app.Name, verdict.String(), app.Broken, app.Hides && verdict != source.Broken}
			for _, s := range app.Sources {
				g.Reason = cmp.Or(g.Reason, s.Unknown)
			}
			if verdict == source.Known { // over a limit, or for a cluster that is not known
				g.State = source.Unknown.String()
				i := slices.IndexFunc(p.Findings, func(f Finding) bool { return f.Subject == app.Name && f.Rule.Kind == Unknown })
				if g.Reason = "the plan ends here"; i >= 0 {
					g.Reason = p.Findings[i].Message
				}
			}
			out = append(out, g)
		}
		for _, item := range app.Items {
			id := argo.Ref{Namespace: item.Namespace, Name: item.Name}
			if item.Children == nil || item.Unknown == "" || sets[id] {
				continue
			}
			sets[id] = true
			switch {
			case item.Broken:
				out = append(out, Gap{argo.KindApplicationSet, item.Name, source.Broken.String(), item.Unknown, false})
			default:
				out = append(out, Gap{argo.KindApplicationSet, item.Name, source.Unknown.String(), item.Unknown, true})
			}
		}
	}
	for _, f := range p.Findings {
		if f.Rule.Kind == Broken && !slices.ContainsFunc(out, func(g Gap) bool {
			return g.Name == f.Subject && g.State == source.Broken.String()
		}) {
			out = append(out, Gap{"", f.Subject, source.Broken.String(), f.Message, false})
		}
	}
	return out
}

// hides reports whether the unknown part of an Application may have Applications: it is a root, it deploys others, or its destination is
// Argo CD's namespace.
func (l *loader) hides(app *Application, spec map[string]any, root bool) bool {
	unknown := func(s Source) bool { return s.Verdict == source.Unknown || s.Verdict == source.Partly }
	switch {
	case app.away:
		return true
	case slices.ContainsFunc(app.Sources, func(s Source) bool { return s.mentions }):
		return true
	case root || app.DeploysOthers():
		return slices.ContainsFunc(app.Sources, unknown)
	}
	namespace := manifest.String(spec, "destination", "namespace")
	here := l.local(spec) || l.cfg.Clusters == nil // it may be
	return here && (namespace == l.cfg.Namespace || namespace == "") && slices.ContainsFunc(app.Sources, func(s Source) bool {
		return s.hides
	})
}
