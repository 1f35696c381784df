package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/board"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/screen"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
)

// show plays a boot: the events of a simulation at their time, and at each sync what Argo CD asks the plugins.
type show struct {
	*screen.Screen
	stage *stage
	plan  *plan.Plan
	boot  *simulate.Boot
	sim   *board.Simulation
	clock *bootClock
	apps  map[string]*plan.Application // by the name of their runs
	state map[string]health.Status     // of those that are there
	next  time.Duration                // tick
	// healthy are Applications that became healthy at the same moment and are not printed yet.
	healthy []string
	since   time.Duration
	// Counts and answers of the real plugins and clocks.
	asked   map[string]int // by plugin
	answers map[string]map[string]string
	commits map[string]string // of clocks, by URL
	ticks   int
	last    string // tick, in words
	wrong   string // at the last tick
}

func newShow(s *stage, p *plan.Plan, clock *bootClock) *show {
	v := &show{
		Screen: screen.New(s.Screen), stage: s, plan: p, clock: clock, apps: map[string]*plan.Application{},
		state: map[string]health.Status{},
		asked: map[string]int{}, answers: map[string]map[string]string{}, commits: map[string]string{}, next: interval,
	}
	for app, name := range simulate.Names(p) {
		v.apps[name] = app
	}
	return v
}

// run plays a boot to its end.
func (v *show) run(ctx context.Context, sim *board.Simulation) error {
	v.sim, v.boot = sim, sim.Boot()
	if _, err := v.ticked(ctx); err != nil {
		return err
	}
	for i := 0; i < len(v.boot.Events); i++ {
		e := v.boot.Events[i]
		err := v.until(ctx, e.At)
		if now := sim.Boot(); err == nil && now != v.boot {
			// A viewer has broken or repaired something: what is past stays, what comes is another boot.
			v.boot = now
			i = v.past() - 1
			continue
		}
		if err == nil {
			err = v.event(ctx, e)
		}
		if ctx.Err() != nil {
			v.flush()
			return fmt.Errorf("stopped at %s of the boot", words.Clock(v.clock.passed()))
		}
		if err != nil {
			return err
		}
	}
	v.flush()
	v.sim.At(v.clock.passed())
	if !v.Plain() {
		v.Draw(v.picture())
		v.Keep()
	}
	v.summary()
	if v.boot.Done() && v.stage.exhibit.later != nil && v.Err() == nil {
		return v.later(ctx)
	}
	return v.Err()
}

// past is how many events of the boot have happened.
func (v *show) past() int {
	n, _ := slices.BinarySearchFunc(v.boot.Events, v.clock.passed(), func(e simulate.Event, now time.Duration) int {
		if e.At <= now {
			return -1
		}
		return 1
	})
	return n
}

// later is a commit, and a push to S3, after the boot: the next tick finds both.
func (v *show) later(ctx context.Context) error {
	v.stage.exhibit = v.stage.exhibit.later
	if err := v.stage.push(ctx); err != nil {
		return err
	}
	v.Line("\nThen somebody updates snapshot-controller and tempo and adds my-apps/home/vaultwarden in Git, and CI pushes a new jellyfin " +
		"to S3. The next tick finds all of it:\n")
	_ = v.until(ctx, v.next) // or until the user ends the demo
	v.Draw(nil)
	if v.Err() != nil || ctx.Err() != nil {
		return v.Err()
	}
	return v.update(ctx)
}

// update tells the order in which a commit reaches the Applications that it changes.
func (v *show) update(ctx context.Context) error {
	p, err := v.stage.plan(ctx)
	if err != nil {
		return err
	}
	u, err := simulate.Update(v.plan, p, simulate.DefaultModel())
	if err != nil {
		return err
	}
	pinned := map[string]bool{}
	for app, name := range simulate.Names(p) {
		pinned[name] = app.Pinned
	}
	var runs []*simulate.Run
	for _, r := range u.Runs {
		if r.Parent == u.Runs[0].Name && pinned[r.Name] && r.Touched && r.Created >= 0 {
			runs = append(runs, r)
		}
	}
	v.Line("\nThe root pins its Applications, so the commit does not reach them all at once, but wave by wave:\n")
	for _, r := range runs {
		v.Line("%7s  wave %d: %s gets it, and is Healthy at %s", "+"+words.Clock(r.Created), r.Wave, words.Printable(r.Name),
			"+"+words.Clock(r.Healthy))
	}
	return nil
}

// until waits for a time of the boot. On the way, clocks tick and the picture changes.
func (v *show) until(ctx context.Context, at time.Duration) error {
	for ctx.Err() == nil && v.Err() == nil && v.clock.passed() < at {
		v.flush()
		step := time.Hour
		if !v.Plain() {
			v.Draw(v.picture())
		}
		if !v.Plain() || v.stage.Listen != "" {
			step = 100 * time.Millisecond
		}
		v.sim.At(v.clock.passed())
		if at != math.MaxInt64 && v.sim.Boot() != v.boot {
			return nil
		}
		v.clock.wait(ctx, min(at, v.next), step)
		if v.clock.passed() >= v.next {
			v.tick(ctx)
		}
	}
	return errors.Join(ctx.Err(), v.Err())
}

// stay goes on after the boot: clocks tick, and changes are printed.
func (v *show) stay(ctx context.Context) {
	x := v.stage.exhibit
	v.Line("\nClocks keep ticking, and the plugins render again at each tick. Ctrl-C ends the demo. Meanwhile, try:")
	v.Command("git ls-remote %s/%s", v.stage.git, v.stage.clockPath(v.clocks()[0]))
	v.Command("git clone %s/%s", v.stage.git, v.stage.repos[0].path)
	switch {
	case !v.boot.Done() && x.later != nil:
		v.Line("  run it again with --repair-after 20s, and a commit repairs it")
	case len(x.artifacts) > 0:
		at := slices.SortedFunc(maps.Keys(x.artifacts), func(a, b bucket.URL) int { return strings.Compare(a.String(), b.String()) })[0]
		v.Command("AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x %s s3 push --endpoint %s DIR %s", v.stage.Program, v.stage.s3.URL, at)
	case len(v.answers) > 0:
		v.Line("  change a file in %s that a set or a trigger file uses", x.title)
	}
	_ = v.until(ctx, math.MaxInt64)
	v.Draw(nil)
}

// at writes a line with the time of the boot.
func (v *show) at(t time.Duration, format string, args ...any) {
	v.flush()
	v.Line("%7s  %s", words.Clock(t), fmt.Sprintf(format, args...))
}

// flush tells about Applications that became healthy in one moment.
func (v *show) flush() {
	if len(v.healthy) == 0 {
		return
	}
	v.Line("%7s  %s %s %s Healthy", words.Clock(v.since), screen.Healthy, words.Some(v.healthy), words.IsAre(len(v.healthy)))
	v.healthy = nil
}

// event prints an event of the boot.
func (v *show) event(ctx context.Context, e simulate.Event) error {
	app, name := v.apps[e.App], words.Printable(e.App)
	switch e.What {
	case simulate.Created:
		v.state[e.App] = health.Progressing
		if e.Detail == "" {
			v.at(e.At, "%s is applied, and nothing else", name)
		}
	case simulate.SyncStarted:
		return v.sync(ctx, e, app)
	case simulate.WaveStarted:
		if names := childNames(app, e); len(names) > 0 {
			v.at(e.At, "%s wave %s: %s", name, e.Detail, words.Some(names))
		}
	case simulate.SyncFailed:
		v.at(e.At, "%s %s: its sync failed: %s", screen.Degraded, name, words.Harmless(e.Detail))
	case simulate.SyncGivenUp:
		v.at(e.At, "%s %s: its sync is given up %s", screen.Degraded, name, words.Harmless(e.Detail))
	case simulate.CannotMake:
		v.state[e.App] = health.Degraded
		v.broken(ctx, e, app)
	case simulate.Mended:
		v.at(e.At, "  %s: a commit repairs it", name)
	case simulate.BecameState:
		v.became(e, name)
	}
	return nil
}

// broken shows why the manifests of an Application cannot be made, as the plugin says it if there is one.
func (v *show) broken(ctx context.Context, e simulate.Event, app *plan.Application) {
	why := e.Detail
	for _, s := range app.Sources {
		if s.Kind != source.AppSet && s.Kind != source.S3 {
			continue
		}
		s.Unknown, s.Verdict = "", source.Known
		v.asked[string(s.Kind)]++
		if _, err := v.stage.generate(ctx, app, s); err != nil {
			why = err.Error()
		}
	}
	v.at(e.At, "%s %s: Argo CD cannot render its manifests: %s", screen.Degraded, words.Printable(e.App), words.Harmless(why))
}

func (v *show) became(e simulate.Event, name string) {
	before, now := v.state[e.App], e.Health
	if now == health.Healthy && v.apps[e.App].DeploysOthers() && e.At != v.boot.Find(e.App).Healthy {
		now = health.Progressing // all existing Applications are healthy, but more will come
	}
	v.state[e.App] = now
	if now == before {
		return
	}
	switch now {
	case health.Healthy:
		if v.since != e.At {
			v.flush()
		}
		v.healthy, v.since = append(v.healthy, name), e.At
	case health.Degraded:
		v.at(e.At, "%s %s is Degraded", screen.Degraded, name)
	}
}

// childNames are the Applications of the wave of an event.
func childNames(app *plan.Application, e simulate.Event) []string {
	var names []string
	for _, w := range app.Waves() {
		if w.Wave != e.Wave || w.Phase != e.Phase {
			continue
		}
		for _, i := range w.Items {
			switch {
			case i.Application != nil:
				names = append(names, words.Printable(i.Application.Name))
			case i.Children != nil:
				names = append(names, "set "+words.Printable(i.Name))
			}
		}
	}
	return names
}

// sync does what Argo CD does when a sync begins: it asks the plugins, and what they answer must be what was planned.
func (v *show) sync(ctx context.Context, e simulate.Event, app *plan.Application) error {
	for i, s := range app.Sources {
		name := pluginOf(s)
		if name == "" {
			continue
		}
		began := v.stage.Now()
		objects, err := v.stage.generate(ctx, app, s)
		if err == nil {
			err = compareAnswer(app, objects)
		}
		if err != nil && namedPlugin(s) == "" && name == argo.PluginAppSet && ctx.Err() == nil {
			// The Application does not name the plugin, so a difference is only a warning.
			v.at(e.At, "%s %s: if it named the plugin appset, it would not be as planned: %s", screen.Degraded, words.Printable(app.Name),
				words.Harmless(err.Error()))
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", app.Name, err)
		}
		v.asked[name]++
		v.answers[answerKey(e.App, i)] = fingerprints(objects)
		v.at(e.At, "  %s: the plugin %s answers with %s, as planned (%s)", words.Printable(app.Name), name, describeAnswer(objects),
			v.stage.Now().Sub(began).Round(time.Millisecond))
	}
	return nil
}
