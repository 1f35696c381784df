// Package demo boots a cluster that does not exist: the example cluster, or directories of the user.
//
// Real are an S3 server and a Git server in this process, trigger repositories that tick, both plugins on their sockets, and a client that
// does what Argo CD's repo-server does. The cluster is not real: its events are those of a simulation, and each plugin is called when the
// sync of its Application begins. An answer that differs from the plan is an error. Nothing is left on disk, however the process ends.
package demo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/board"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/screen"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
)

// Config configures a demo. All fields must be set, unless their zero value is described.
type Config struct {
	Exhibit *Exhibit
	Screen  screen.Config
	// Program is the command line's name of this program, for commands that are shown.
	Program string
	// Speed is how many times as fast as a real boot the demo is.
	Speed float64
	// Fail are the names of Applications whose workloads become Degraded. A commit mends them after Repair; 0 is never.
	Fail   []string
	Repair time.Duration
	// Stay goes on after the boot, until the context ends.
	Stay bool
	// Namespace is Argo CD's; "" uses the first root's.
	Namespace string
	// Listen is the address of the page that shows the boot, on loopback; "" is none.
	Listen string
	Now    func() time.Time

	// Plan returns the settings that the boot is planned with, except for where repositories are read from.
	Plan func() (plan.Config, error)
	// Plugins opens the plugins appset and s3. Nil opens those of argosy cmp.
	Plugins func(Place) (Plugins, error)
}

// Check refuses invalid settings of the user.
func (c Config) Check() error {
	switch {
	case !(c.Speed >= 0.1 && c.Speed <= 10_000): // also not a number
		return problem.Usagef("--speed must be 0.1 to 10000, it is %g", c.Speed)
	case c.Repair < 0 || c.Repair > 24*time.Hour:
		return problem.Usagef("--repair-after must be 0 to 24h, it is %s", c.Repair)
	case len(slices.Compact(slices.Sorted(slices.Values(c.Fail)))) < len(c.Fail):
		return problem.Usagef("--fail names an Application twice")
	case c.Listen != "" && !serve.IsLoopback(c.Listen):
		return problem.Usagef("--listen must be a loopback address, such as 127.0.0.1:8484; it is %s", c.Listen)
	case c.Repair > 0 && len(c.Fail) == 0:
		return problem.Usagef("--repair-after requires --fail")
	}
	return nil
}

// Run boots, and returns the plan of the boot. The error is problem.ErrFound if the boot does not come to its end.
func Run(ctx context.Context, c Config) (p *plan.Plan, err error) {
	dir, err := newWorkDir()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.remove()) }()
	if c.Plugins == nil {
		c.Plugins = func(at Place) (Plugins, error) { return openPlugins(at, c.Now), nil }
	}
	c.Namespace = argoNamespace(c.Namespace, c.Exhibit.roots)
	clock := newClock(c.Now().Truncate(interval), c.Speed)
	s := &stage{Config: c, exhibit: c.Exhibit, dir: dir.path, time: clock.now}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if p, err = s.plan(ctx); err != nil {
		return nil, err
	}
	show := newShow(s, p, clock)
	if err := show.planned(); err != nil {
		return nil, err
	}
	var faults []simulate.Fault
	for _, name := range c.Fail {
		faults = append(faults, simulate.Fault{App: name, Kind: simulate.Fail, Mended: c.Repair})
	}
	if faults, err = simulate.Match(p, faults); err != nil {
		return nil, err
	}
	sim, err := board.FromSimulation(board.Checked{Plan: p}, simulate.DefaultModel(), faults...)
	if err != nil {
		return nil, problem.Usage(err)
	}
	closeBoard, err := show.open(ctx, sim)
	if err != nil {
		return nil, err
	}
	defer closeBoard()
	show.Line("\nBOOT, %g times as fast\n", c.Speed)
	if err := show.run(ctx, sim); err != nil {
		return nil, err
	}
	if c.Stay {
		show.stay(ctx)
	}
	if !show.boot.Done() {
		return p, problem.ErrFound
	}
	return p, nil
}

// planned shows the plan.
func (v *show) planned() error {
	v.Line("PLAN of %s\n", v.stage.exhibit.title)
	var table strings.Builder
	if err := report.Plan(&table, report.Table, v.plan, false); err != nil {
		return err
	}
	v.Table(table.String())
	if names := unnamed(v.plan); len(names) > 0 {
		does := "does"
		if len(names) > 1 {
			does = "do"
		}
		v.Line("\n%s %s not name the plugin appset, which renders its sets here; without it no wave waits for them, see argosy plan",
			words.Some(names), does)
	}
	return nil
}

// unnamed are Applications with sets in Git that do not name the plugin which renders them here.
func unnamed(p *plan.Plan) []string {
	var out []string
	for _, app := range p.Applications {
		if slices.ContainsFunc(app.Sources, func(s plan.Source) bool { return s.Kind == source.AppSet && namedPlugin(s) == "" }) {
			out = append(out, words.Printable(app.Name))
		}
	}
	return out
}
