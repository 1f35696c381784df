package plan

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/source"
)

// Summary counts the content of a plan.
type Summary struct {
	Applications, Sets, Objects int
	// Broken are the Applications and sets that Argo CD cannot render.
	Broken []string
	// Unknown names incomplete Applications and sets, Hiding those of them that may deploy more Applications.
	Unknown, Hiding []string
}

// Complete reports whether every Application that Argo CD would make is in the plan.
func (s Summary) Complete() bool { return len(s.Broken)+len(s.Hiding) == 0 }

// Uncertain reports whether parts of an Application are unknown, and none is broken.
func (a *Application) Uncertain() bool {
	switch a.Verdict() {
	case source.Broken:
		return false
	case source.Unknown, source.Partly:
		return true
	}
	return a.Hides
}

// Summary counts.
func (p *Plan) Summary() Summary {
	var s Summary
	sets := map[argo.Ref]bool{} // one can be deployed by several
	for _, app := range p.Applications {
		if !app.Applied {
			s.Applications++
		}
		s.Objects += len(app.Items)
		switch {
		case app.Verdict() == source.Broken:
			s.Broken = append(s.Broken, app.Name)
		case app.Uncertain():
			s.Unknown = append(s.Unknown, app.Name)
		}
		if app.Hides && app.Verdict() != source.Broken {
			s.Hiding = append(s.Hiding, app.Name)
		}
		for _, item := range app.Items {
			if item.Children == nil {
				continue
			}
			id := argo.Ref{Namespace: item.Namespace, Name: item.Name}
			if sets[id] {
				continue
			}
			sets[id] = true
			s.Sets++
			switch {
			case item.Broken:
				s.Broken = append(s.Broken, item.Name)
			case item.Unknown != "":
				s.Unknown, s.Hiding = append(s.Unknown, item.Name), append(s.Hiding, item.Name)
			}
		}
	}
	for _, f := range p.Findings {
		// Other broken things, such as settings and duplicate names.
		if f.Rule.Kind == Broken && !slices.Contains(s.Broken, f.Subject) {
			s.Broken = append(s.Broken, f.Subject)
		}
	}
	return s
}
