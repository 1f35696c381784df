package scene

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// FromPlan returns the scene of a plan with the findings of lint and the times of a simulated boot; both may be nil.
func FromPlan(p *plan.Plan, found *lint.Report, boot *simulate.Boot) *Scene {
	s := &Scene{Mode: Planned, Title: titleOf(p), Plan: boot != nil, Apps: []App{}}
	b := newBuilder(p, s)
	b.application(p.Root, "", 0, plan.Sync)
	if boot != nil {
		s.Total = boot.Total.Milliseconds()
		s.End = s.Total
		b.times(boot)
		s.Path = b.path(boot)
	}
	b.findings(found)
	s.arrange()
	return s
}

// titleOf names the root of a plan, or its roots.
func titleOf(p *plan.Plan) string {
	if !p.Root.Applied {
		return p.Root.Name
	}
	var names []string
	for _, i := range p.Root.Items {
		if i.Application != nil || i.Children != nil {
			names = append(names, i.Name)
		}
	}
	if len(names) > 3 {
		return words.Count(len(names), "root")
	}
	return strings.Join(names, ", ")
}

// Simulate is a simulated boot beside its plan: the usual boot, in which nothing fails. Both are boots of the plan.
func Simulate(p *plan.Plan, found *lint.Report, usual, boot *simulate.Boot) *Scene {
	s := FromPlan(p, found, usual)
	s.Mode = Simulated
	b := newBuilder(p, s)
	b.play(boot)
	s.Now = boot.Total.Milliseconds()
	if n := len(boot.Events); n > 0 {
		s.Now = max(s.Now, boot.Events[n-1].At.Milliseconds())
	}
	s.End = max(s.Now, s.Total)
	s.Path = b.path(boot)
	return s
}

// Compare adds the planned times of one scene to another, for Applications that both have.
func (s *Scene) Compare(planned *Scene) {
	by := map[string]*App{}
	for i := range planned.Apps {
		by[planned.Apps[i].Key] = &planned.Apps[i]
	}
	for i := range s.Apps {
		a := &s.Apps[i]
		if p := by[a.Key]; p != nil {
			a.Planned, a.Note, a.Needs, a.Findings = p.Planned, p.Note, p.Needs, p.Findings
		}
	}
	s.Plan, s.Total, s.Findings = planned.Plan, planned.Total, planned.Findings
	s.End = max(s.Now, s.Total)
}

// builder makes a scene of a plan.
type builder struct {
	plan  *plan.Plan
	scene *Scene
	names map[string]*plan.Application // by the names of their runs
	index map[string]int               // by key
}

func newBuilder(p *plan.Plan, s *Scene) *builder {
	b := &builder{plan: p, scene: s, names: map[string]*plan.Application{}, index: map[string]int{}}
	for app, name := range simulate.Names(p) {
		b.names[name] = app
	}
	for i := range s.Apps {
		b.index[s.Apps[i].Key] = i
	}
	return b
}

// key is the key of a run.
func (b *builder) key(name string) string {
	if app := b.names[name]; app != nil {
		return Key(false, app.Namespace, app.Name)
	}
	return ""
}

// application adds an Application and everything below it.
func (b *builder) application(app *plan.Application, parent string, wave int, phase string) {
	key := Key(false, app.Namespace, app.Name)
	if app.Applied { // it is not there: its Applications are roots
		key = ""
	} else if !b.add(App{
		Key: key, Name: app.Name, Namespace: app.Namespace, Project: app.Project, Parent: parent, Wave: wave, Phase: phase,
		Source: sourceOf(app), Note: noteOf(app), Needs: b.needs(app),
	}) {
		return
	}
	for _, item := range app.Items {
		switch {
		case item.Application != nil:
			b.application(item.Application, key, item.Wave, item.Phase)
		case item.Children != nil:
			set := Key(true, item.Namespace, item.Name)
			note := ""
			if item.Unknown != "" {
				note = "its Applications are not known: " + item.Unknown
			}
			b.add(App{
				Key: set, Name: item.Name, Namespace: item.Namespace, Set: true, Parent: key, Wave: item.Wave, Phase: item.Phase,
				Note: note,
			})
			for _, child := range item.Children {
				if !child.Itself {
					b.application(child, set, 0, plan.Sync)
				}
			}
		}
	}
}

// add adds an Application, unless it is there.
func (b *builder) add(a App) bool {
	if _, twice := b.index[a.Key]; twice {
		return false
	}
	b.index[a.Key] = len(b.scene.Apps)
	a.History = []State{}
	b.scene.Apps = append(b.scene.Apps, a)
	return true
}

func sourceOf(app *plan.Application) string {
	if len(app.Sources) == 0 {
		return ""
	}
	s := app.Sources[0]
	parts := []string{giturl.Redact(s.Repository), s.Path, s.Chart}
	if s.Revision != "" {
		parts = append(parts, "@", s.Revision)
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

func noteOf(app *plan.Application) string {
	if app.Broken != "" {
		return "broken: " + app.Broken
	}
	for _, s := range app.Sources {
		if s.Unknown != "" {
			return "unknown: " + s.Unknown
		}
	}
	return ""
}

func (b *builder) needs(app *plan.Application) []string {
	var out []string
	for _, name := range app.Needs {
		namespace, short, ok := strings.Cut(name, "/")
		if !ok {
			namespace, short = app.Namespace, name
		}
		out = append(out, Key(false, namespace, short))
	}
	return out
}

// times adds the times of a boot as those of the plan.
func (b *builder) times(boot *simulate.Boot) {
	for _, r := range boot.Runs {
		if i, ok := b.index[b.key(r.Name)]; ok {
			b.scene.Apps[i].Planned = &Times{millis(r.Created), millis(r.Synced), millis(r.Healthy)}
		}
	}
	for i := range b.scene.Apps { // of a set, those of its Applications
		if a := &b.scene.Apps[i]; a.Set {
			t := Times{-1, -1, -1}
			for _, c := range b.scene.Apps {
				if c.Parent == a.Key && c.Planned != nil && c.Planned.Created >= 0 {
					if t.Created < 0 || c.Planned.Created < t.Created {
						t.Created = c.Planned.Created
					}
					t.Synced, t.Healthy = max(t.Synced, c.Planned.Synced), max(t.Healthy, c.Planned.Healthy)
				}
			}
			a.Planned = &t
		}
	}
}

func millis(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

func (b *builder) path(boot *simulate.Boot) []Leg {
	var out []Leg
	for _, l := range boot.CriticalPath() {
		out = append(out, Leg{b.key(l.App), l.What, l.From.Milliseconds(), l.To.Milliseconds()})
	}
	return out
}

// maxFindings bounds the findings of a scene.
const maxFindings = 500

func (b *builder) findings(found *lint.Report) {
	if found == nil {
		return
	}
	named := map[string][]int{}
	for i, a := range b.scene.Apps {
		named[a.Name] = append(named[a.Name], i)
		named[a.Namespace+"/"+a.Name] = append(named[a.Namespace+"/"+a.Name], i)
	}
	worst := slices.Clone(found.Findings)
	slices.SortStableFunc(worst, func(x, y lint.Finding) int {
		switch {
		case x.Severity == y.Severity:
			return 0
		case lint.AtLeast(x.Severity, y.Severity):
			return -1
		}
		return 1
	})
	for _, f := range worst[:min(len(worst), maxFindings)] {
		x := Finding{
			Subject: f.Subject(), Rule: f.Rule.Name, Severity: string(f.Severity), Cure: f.Rule.Cure, Message: giturl.RedactText(f.Message),
			File: shortened(f.File),
		}
		if f.File != "" && f.Line > 0 {
			x.File += fmt.Sprintf(":%d", f.Line)
		}
		for _, subject := range f.Subjects {
			if at := named[subject]; len(at) > 0 {
				x.Apps = append(x.Apps, b.scene.Apps[at[0]].Key)
				if lint.AtLeast(f.Severity, plan.Warning) {
					b.scene.Apps[at[0]].Findings++
				}
			}
		}
		b.scene.Findings = append(b.scene.Findings, x)
	}
	for _, n := range found.NotChecked {
		x := Finding{Rule: n.Rule.Name, Severity: "not checked", Cure: n.Rule.Cure, Message: giturl.RedactText(n.Reason)}
		if n.More > 0 {
			x.Message += fmt.Sprintf("; and %d more", n.More)
		}
		b.scene.Findings = append(b.scene.Findings, x)
	}
}

// shortened is the end of a path: viewers need not see where the repository is on the server's disk.
func shortened(file string) string {
	parts := strings.Split(filepath.ToSlash(file), "/")
	if !filepath.IsAbs(file) || len(parts) <= 4 {
		return file
	}
	return "…/" + strings.Join(parts[len(parts)-4:], "/")
}
