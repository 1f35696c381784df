package scene

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// FromPlan is a plan, with the times of its simulated boot. Nil is no simulation.
func FromPlan(p *plan.Plan, boot *simulate.Boot) *Scene {
	s := &Scene{Mode: Planned, Title: p.Root.Name, Plan: boot != nil, Apps: []App{}}
	b := newBuilder(p, s)
	b.application(p.Root, "", 0, plan.Sync)
	if boot != nil {
		s.Total = boot.Total.Milliseconds()
		s.End = s.Total
		b.times(boot)
		s.Path = b.path(boot)
	}
	b.findings()
	s.arrange()
	return s
}

// Simulate is a simulated boot beside its plan: the usual boot, in which nothing fails. Both are boots of the plan.
func Simulate(p *plan.Plan, usual, boot *simulate.Boot) *Scene {
	s := FromPlan(p, usual)
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
				Key: set, Name: item.Name, Namespace: item.Namespace, Set: true, Parent: key, Wave: item.Wave, Phase: item.Phase, Note: note,
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
	text := giturl.Redact(s.Repository)
	for _, part := range []string{s.Path, s.Chart} {
		if part != "" {
			text += " " + part
		}
	}
	if s.Revision != "" {
		text += " @ " + s.Revision
	}
	return text
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

func (b *builder) findings() {
	for _, f := range b.plan.Findings {
		if len(b.scene.Findings) == maxFindings {
			break
		}
		x := Finding{
			Subject: f.Subject, Rule: f.Rule.Name, Severity: string(f.Rule.Severity), Cure: f.Rule.Cure, Message: giturl.RedactText(f.Message),
		}
		for i := range b.scene.Apps {
			if a := &b.scene.Apps[i]; a.Name == f.Subject || a.Namespace+"/"+a.Name == f.Subject {
				x.App = a.Key
				a.Findings++
				break
			}
		}
		b.scene.Findings = append(b.scene.Findings, x)
	}
}

// player turns the events of a simulation into states.
type player struct {
	*builder
	boot     *simulate.Boot
	now      int64
	children map[string][]int // by key
	changed  map[int]bool
}

// play adds the states of a boot.
func (b *builder) play(boot *simulate.Boot) {
	p := &player{builder: b, boot: boot, children: map[string][]int{}, changed: map[int]bool{}}
	for i, a := range b.scene.Apps {
		p.children[a.Parent] = append(p.children[a.Parent], i)
		p.put(i, State{Is: Waiting, Note: p.waitsFor(a)})
	}
	for n, e := range boot.Events {
		p.now = e.At.Milliseconds()
		if i, ok := b.index[b.key(e.App)]; ok {
			p.event(i, e)
		}
		if n+1 == len(boot.Events) || boot.Events[n+1].At != e.At {
			p.settle()
		}
	}
}

func (p *player) waitsFor(a App) string {
	if i, ok := p.index[a.Parent]; ok && !p.scene.Apps[i].Set {
		return fmt.Sprintf("wave %d of %s", a.Wave, p.scene.Apps[i].Name)
	}
	return ""
}

// put adds a state. Two at one moment are one.
func (p *player) put(i int, s State) {
	a := &p.scene.Apps[i]
	s.At = p.now
	n := len(a.History)
	switch {
	case n > 0 && a.History[n-1].At == s.At:
		a.History[n-1] = s
		if n > 1 && a.History[n-2].same(s) {
			a.History = a.History[:n-1]
		}
	case n > 0 && a.History[n-1].same(s):
		return
	default:
		a.History = append(a.History, s)
	}
	p.changed[i] = true
}

// event is something that happens to an Application.
func (p *player) event(i int, e simulate.Event) {
	s := p.scene.Apps[i].Last()
	s.Waits = nil
	switch e.What {
	case simulate.Created:
		s = State{Is: Running, Health: string(health.Progressing), Sync: "OutOfSync"}
	case simulate.SyncStarted:
		s.Is, s.Operation, s.Note = Running, "Running", "syncs"
		if e.Detail != "attempt 1" {
			s.Note = "syncs, " + e.Detail
		}
	case simulate.WaveStarted:
		number, _, _ := strings.Cut(e.Detail, " ")
		if wave, err := strconv.Atoi(number); err == nil {
			s.Wave = &wave
		}
	case simulate.Synced:
		s.Sync, s.Operation, s.Wave, s.Note = "Synced", "Succeeded", nil, ""
		if s.Health == string(health.Healthy) {
			s.Is = Healthy
		}
	case simulate.SyncFailed:
		s.Is, s.Operation, s.Note, s.Wave = Failing, "Retrying", "its sync failed: "+e.Detail, nil
	case simulate.SyncGivenUp:
		s.Is, s.Operation, s.Note, s.Wave = Failing, "Failed", "its sync is given up "+e.Detail, nil
	case simulate.CannotMake:
		s.Is, s.Health, s.Sync, s.Note = Failing, string(health.Unknown), "Unknown", "Argo CD cannot make its manifests: "+e.Detail
	case simulate.Refused:
		s.Is, s.Note = Failing, "Argo CD does not deploy it: "+e.Detail
	case simulate.Mended:
		s.Is, s.Note = Running, "a commit mends it"
	case simulate.BecameState:
		s = p.became(i, e, s)
	}
	p.put(i, s)
}

// became is a new health.
func (p *player) became(i int, e simulate.Event, s State) State {
	now := health.Status(e.Detail)
	app := p.names[e.App]
	if now == health.Healthy && app.DeploysOthers() && e.At != p.boot.Find(e.App).Healthy {
		now = health.Progressing // all that are there are healthy, but more come
	}
	s.Health = string(now)
	switch {
	case now == health.Degraded:
		s.Is = Failing
		if own := p.boot.Find(e.App).Unhealthy; len(own) > 0 {
			s.Note = words.Some(own)
		} else if s.Note == "" || s.Note == "syncs" {
			s.Note = "its workloads are Degraded"
		}
	case s.Operation == "Retrying" || s.Operation == "Failed":
		s.Is = Failing
	case now == health.Healthy && s.Operation != "Running":
		s.Is, s.Note = Healthy, ""
	default:
		s.Is = Running
	}
	return s
}

// settle says of Applications that deploy others what they wait for, after all events of a moment.
func (p *player) settle() {
	touched := map[int]bool{}
	for i := range p.changed {
		for n, ok := i, true; ok && !touched[n]; n, ok = p.index[p.scene.Apps[n].Parent] {
			touched[n] = true
		}
	}
	p.changed = map[int]bool{}
	order := make([]int, 0, len(touched))
	for i := range touched {
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range slices.Backward(order) { // children are behind their parents
		p.judge(i)
	}
	p.changed = map[int]bool{}
}

// judge is the state of an Application that deploys others, by theirs.
func (p *player) judge(i int) {
	a := &p.scene.Apps[i]
	children := p.children[a.Key]
	if len(children) == 0 {
		return
	}
	if a.Set {
		p.put(i, p.set(children))
		return
	}
	s := a.Last()
	s.Waits = nil
	fails := false
	var names []string
	for _, c := range children {
		child := &p.scene.Apps[c]
		if last := child.Last(); last.Is != Waiting && last.Is != Healthy {
			s.Waits = append(s.Waits, child.Key)
			names = append(names, child.Name)
			fails = fails || last.Is == Failing || last.Is == Blocked
		}
	}
	if s.Is == Waiting || s.Is == Healthy {
		s.Waits = nil
	} else if len(names) > 0 {
		s.Note = words.Some(names)
		if fails {
			s.Is = Blocked
		} else if s.Is == Blocked {
			s.Is = Running
		}
	} else if s.Is == Blocked {
		s.Is = Running
	}
	p.put(i, s)
}

// set is the state of an ApplicationSet: healthy as soon as its Applications exist.
func (p *player) set(children []int) State {
	for _, c := range children {
		if p.scene.Apps[c].Last().Is != Waiting {
			return State{Is: Healthy, Health: string(health.Healthy)}
		}
	}
	return State{Is: Waiting}
}
