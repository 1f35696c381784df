package report

import (
	"io"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// planObject prints a plan for programs.
func planObject(w io.Writer, f Format, p *plan.Plan, resources bool) error {
	findings := make([]any, len(p.Findings))
	for i, found := range p.Findings {
		findings[i] = findingObject(found)
	}
	object := manifest.Object{
		"root": planned{resources, map[*plan.Application]bool{}}.application(p.Root), "findings": findings,
		"argocd": versionObject(p),
	}
	if f == YAML {
		return manifest.WriteYAML(w, object)
	}
	return Object(w, object)
}

// versionObject says which version of Argo CD a plan is for, and where that is from.
func versionObject(p *plan.Plan) map[string]any {
	return map[string]any{"version": p.Version.String(), "from": p.VersionFrom}
}

// planned converts a plan to an object. An Application that is deployed twice has its details once.
type planned struct {
	resources bool
	told      map[*plan.Application]bool
}

func (p planned) application(app *plan.Application) map[string]any {
	o := map[string]any{
		"name": app.Name, "namespace": app.Namespace, "project": app.Project, "destination": app.Destination.String(),
		"objects": int64(len(app.Items)),
	}
	if app.Itself {
		o["itself"] = true
	}
	if app.Pinned {
		o["pinned"] = true
	}
	if app.Broken != "" {
		o["broken"] = app.Broken
	}
	if p.told[app] {
		o["again"] = true
		return o
	}
	p.told[app] = true
	sources := []any{}
	for _, s := range app.Sources {
		source := map[string]any{"repoURL": giturl.Redact(s.Repository), "kind": string(s.Kind), "verdict": s.Verdict.String()}
		for key, value := range map[string]string{"path": s.Path, "chart": s.Chart, "targetRevision": s.Revision, "unknown": s.Unknown} {
			if value != "" {
				source[key] = value
			}
		}
		sources = append(sources, source)
	}
	o["sources"] = sources
	var waves []any
	for _, wave := range app.Waves() {
		if items := p.items(wave.Items); len(items) > 0 {
			waves = append(waves, map[string]any{"phase": wave.Phase, "wave": int64(wave.Wave), "items": items})
		}
	}
	if len(waves) > 0 {
		o["waves"] = waves
	}
	return o
}

func (p planned) items(items []*plan.Item) []any {
	var out []any
	for _, item := range items {
		if item.Application == nil && item.Children == nil && !p.resources {
			continue
		}
		o := map[string]any{"kind": item.Kind, "name": item.Name, "waits": item.Waits, "why": item.Why}
		if item.Group != "" {
			o["group"] = item.Group
		}
		if item.Namespace != "" {
			o["namespace"] = item.Namespace
		}
		if item.InDoubt {
			o["inDoubt"] = true
		}
		if item.Moved != "" {
			o["moved"] = item.Moved
		}
		if item.Application != nil {
			o["application"] = p.application(item.Application)
		}
		var children []any
		for _, child := range item.Children {
			children = append(children, p.application(child))
		}
		if children != nil {
			o["applications"] = children
		}
		if item.Unknown != "" {
			o["unknown"] = item.Unknown
		}
		out = append(out, o)
	}
	return out
}
