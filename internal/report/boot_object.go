package report

import (
	"time"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
)

// seconds is a time for programs; a negative one never came.
func seconds(d time.Duration) any {
	if d < 0 {
		return nil
	}
	return d.Seconds()
}

// bootObject is a boot for programs.
func bootObject(p *plan.Plan, b *simulate.Boot) map[string]any {
	apps, events, path, findings := []any{}, []any{}, []any{}, []any{}
	for _, f := range p.Findings {
		findings = append(findings, findingObject(f))
	}
	for _, r := range b.Runs {
		apps = append(apps, runObject(r, b.Update))
	}
	for _, e := range b.Events {
		o := map[string]any{"at": seconds(e.At), "application": e.App, "what": string(e.What)}
		if e.Detail != "" {
			o["detail"] = e.Detail
		}
		if e.What == simulate.BecameState {
			o["health"] = string(e.Health)
		}
		events = append(events, o)
	}
	for _, l := range b.CriticalPath() {
		path = append(path, map[string]any{"application": l.App, "what": l.What, "from": seconds(l.From), "to": seconds(l.To)})
	}
	o := map[string]any{
		"done": b.Done(), "total": seconds(b.Total), "applications": apps, "events": events, "criticalPath": path,
		"waiting": Texts(b.Blocked()), "causes": Texts(culprits(b, "")), "findings": findings, "argocd": versionObject(p),
	}
	if b.Update {
		o["update"], o["removed"], o["notInOrder"] = true, Texts(b.Removed), earlyObjects(b.TooEarly(p))
	}
	return o
}

// runObject is an Application of a boot or of an update.
func runObject(r *simulate.Run, update bool) map[string]any {
	o := map[string]any{
		"name": r.Name, "wave": int64(r.Wave), "created": seconds(r.Created), "started": seconds(r.Started), "synced": seconds(r.Synced),
		"healthy": seconds(r.Healthy),
		"health":  string(r.Health), "attempts": int64(r.Attempts), "objects": int64(r.Objects),
	}
	if update {
		delete(o, "created")
		o["changed"], o["touched"], o["old"] = seconds(r.Created), r.Touched, r.Old()
	}
	for key, text := range map[string]string{"failure": r.Failure, "refused": r.Refused, "broken": r.Broken} {
		if text != "" {
			o[key] = text
		}
	}
	if r.Parent != "" {
		o["parent"] = r.Parent
	}
	if r.Set != "" {
		o["set"] = r.Set
	}
	return o
}

func earlyObjects(list []simulate.Early) []any {
	out := []any{}
	for _, e := range list {
		out = append(out, map[string]any{
			"application": e.App, "wave": int64(e.Wave), "before": e.Before,
			"earlierWave": int64(e.EarlierWave),
		})
	}
	return out
}
