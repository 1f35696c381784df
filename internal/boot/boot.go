// Package boot is argosy boot: it plans and checks a root, checks that the cluster is ready for it, applies it, follows it wave by wave
// until everything is healthy and synced, and says what blocks it and how it differed from the plan.
//
// It changes nothing in the cluster but the following, as requested: the root, with Fix the health check of Applications, with Install the
// objects of Argo CD, and with Unwedge syncs that hold an old revision. Where it ends early, the cluster stays as it is, and a second boot
// goes on from there.
package boot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/course"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/preview"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/screen"
)

// Config configures a boot. The zero value of an option turns it off.
type Config struct {
	// Lint plans and checks the root.
	Lint preview.Lint
	// Follow is the cluster, and how it is watched. Its Out and Err are where the boot is printed.
	Follow follow.Config
	// Screen is the terminal, if Out is one.
	Screen screen.Config
	// Timeout is how long everything may take.
	Timeout time.Duration
	// Fix repairs the findings of checks that are safe to repair.
	Fix bool
	// Unwedge ends syncs that hold an old revision.
	Unwedge bool
	// Force boots although a check has failed, ForceConflicts takes fields from other managers.
	Force, ForceConflicts bool
	// DryRun changes nothing: it plans, checks, and asks the API server whether it would accept the root.
	DryRun bool
	// Install is a file of manifests, or a directory of manifests, a kustomization or a chart, with Argo CD; "" installs nothing.
	Install string
	// Record and Learn are files that the boot is recorded to, and its times; "" is none.
	Record, Learn string
}

// Check refuses options that exclude each other.
func (c Config) Check() error {
	switch {
	case c.Timeout <= 0:
		return problem.Usagef("--timeout must be more than 0, it is %s", c.Timeout)
	case c.DryRun && (c.Fix || c.Unwedge || c.Install != "" || c.Record != "" || c.Learn != ""):
		return problem.Usagef("--dry-run excludes --fix, --unwedge, --install, --record and --learn")
	case c.Record != "" && c.Record == c.Learn:
		return problem.Usagef("--record and --learn need two files")
	}
	return nil
}

// boot is a running boot.
type boot struct {
	Config
	*output
	client *kube.Client
	lookup *kube.Lookup
	facts  facts
	given  plan.Config // as the user has set it
	// distant is another cluster with things of a sort that a plan needs, which are not looked at.
	distant  map[string]string
	tracking argo.Tracking
	unseen   map[string]string // why not every thing of a sort that a plan needs could be looked at
	found    *preview.Checked
	follow   *follow.Boot
	course   *course.Course
	roots    []live.Key
	began    time.Time // when the root was applied
	wedges   map[live.Key]*wedge
}

// errStopped says that a check has failed, and was printed.
var errStopped = problem.ErrFound

// Run boots. The error is problem.ErrFound if a check has failed or the boot is not done in time, and that was printed.
func Run(ctx context.Context, c Config) (err error) {
	b := &boot{
		Config: c, client: c.Follow.Client, lookup: &kube.Lookup{Client: c.Follow.Client, Now: c.Follow.Now}, output: newOutput(c),
		wedges: map[live.Key]*wedge{}, given: c.Lint.Planner.Config,
	}
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	err = b.run(limited)
	b.close()
	switch {
	case err == nil || errors.Is(err, errStopped):
	case ctx.Err() != nil:
		return errors.New("interrupted: the cluster is left as it is; argosy boot goes on from there")
	case limited.Err() != nil:
		b.end(outcomeTimeout, "not done after %s (--timeout): %v", c.Timeout, err)
		return errStopped
	}
	return cmp.Or(err, b.screen.Err())
}

func (b *boot) run(ctx context.Context) (err error) {
	record, err := b.recording()
	if err != nil {
		return err
	}
	if record != nil {
		defer func() { err = b.unrecorded(err, record.Close()) }()
	}
	if err := b.reach(ctx); err != nil {
		return err
	}
	if err := b.plan(ctx, "nothing was changed in the cluster"); err != nil {
		return err
	}
	if b.Install != "" {
		if err := b.install(ctx); err != nil {
			return err
		}
		b.facts = b.gather(ctx)
		// The install may have changed the version, the settings and what is missing.
		if err := b.plan(ctx, "Argo CD is installed, the root was not applied"); err != nil {
			return err
		}
	}
	if b.facts.served {
		b.Follow.Err = b.Follow.Out
		b.Follow.Patience = quiet
		if b.follow, err = follow.Open(ctx, b.Follow); err != nil {
			return err
		}
		defer func() { err = b.unrecorded(err, b.follow.Close()) }()
	}
	if err := b.preflight(ctx); err != nil {
		return err
	}
	if b.DryRun {
		if err := b.apply(ctx); err != nil {
			return err
		}
		b.end(outcomeDryRun, "nothing was changed")
		return nil
	}
	b.course = course.New(b.roots...)
	b.course.Next(b.follow.Snapshot())
	b.began = b.Follow.Now()
	if err := b.apply(ctx); err != nil {
		return err
	}
	return b.watch(ctx)
}

// recording opens the file of the recording.
func (b *boot) recording() (*os.File, error) {
	if b.Record == "" {
		return nil, nil
	}
	file, err := os.OpenFile(b.Record, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, problem.Path(err)
	}
	b.Follow.Record = file
	return file, nil
}

// unrecorded adds the error of a failed recording to the error of a boot. Beside another error, which may be printed already, it is printed
// here.
func (b *boot) unrecorded(err, failed error) error {
	if failed == nil {
		return err
	}
	failed = fmt.Errorf("the recording is not complete: %w", problem.Path(failed))
	if err == nil {
		return failed
	}
	b.say(eventError, map[string]any{"text": failed.Error()}, "error: %v", failed)
	return err
}

// reach checks that the API server answers, and gathers facts about Argo CD.
func (b *boot) reach(ctx context.Context) error {
	version, err := b.client.ServerVersion(ctx)
	if err != nil {
		b.check(Check{
			Name: "api", Verdict: Failed, Text: err.Error(), Fix: "check --kubeconfig and --context, and that the API server runs",
		})
		b.checked()
		return fmt.Errorf("the cluster cannot be reached")
	}
	b.check(Check{Name: "api", Verdict: OK, Text: fmt.Sprintf("Kubernetes %s answers", version)})
	b.facts = b.gather(ctx)
	return nil
}

// plan plans and checks the root with the facts of the cluster, and again after an install. A broken plan ends the boot, unless Force is
// set; state says what was changed by then.
func (b *boot) plan(ctx context.Context, state string) error {
	b.roots, b.unseen, b.distant = nil, map[string]string{}, map[string]string{}
	b.checks = slices.DeleteFunc(b.checks, func(c Check) bool { return c.Name == planCheck || c.Name == lintCheck })
	planner := b.Lint.Planner
	planner.Config = b.given
	if planner.Config.Namespace == "" {
		planner.Config.Namespace = b.client.Namespace
	}
	if planner.Config.Version == 0 {
		planner.Config.Version = b.facts.known()
	}
	if s := b.facts.settings; planner.Config.Settings == nil && s != nil && b.facts.hasCheck {
		planner.Config.Settings = s
	}
	var err error
	existing := func(p *plan.Plan) []plan.Thing { return b.existing(ctx, p) }
	if b.found == nil {
		b.found, err = b.Lint.Check(ctx, existing)
	} else {
		b.found, err = b.Lint.Again(ctx, b.found, existing)
	}
	if err != nil {
		return err
	}
	for _, d := range b.found.Roots {
		if argo.IsApplication(d.Object) || argo.IsApplicationSet(d.Object) {
			key := live.KeyOf(d.Object)
			key.Namespace = cmp.Or(key.Namespace, b.client.Namespace)
			b.roots = append(b.roots, key)
		}
	}
	b.checkPlan()
	if b.refused() && !b.Force {
		b.checked()
		return b.stop(state)
	}
	return nil
}

// stop ends the boot because of checks that have failed.
func (b *boot) stop(text string) error {
	var names []string
	for _, c := range b.checks {
		if c.bad(b.Lint.Verdict.Strict) {
			names = append(names, c.Name)
		}
	}
	b.end(outcomeRefused,
		"stopped, these checks are not ok: %s; %s. Repair them, or boot anyway with --force", strings.Join(names, ", "), text)
	return errStopped
}

// absent ends the boot because Argo CD is not installed, as far as that is known, which Force does not change.
func (b *boot) absent() error {
	text := "Argo CD is not installed; install it, or run argosy boot --install PATH"
	if b.facts.servedErr != nil {
		text = "it is not known whether Argo CD is installed"
	}
	b.end(outcomeRefused, "stopped: %s", text)
	return errStopped
}

// apply applies the objects of the root; those that others need come first.
func (b *boot) apply(ctx context.Context) error {
	docs := slices.Clone(b.found.Roots)
	slices.SortStableFunc(docs, func(x, y manifest.Document) int { return rank(x.Object) - rank(y.Object) })
	how := kube.Apply{Namespace: b.client.Namespace, DryRun: b.DryRun, Force: b.ForceConflicts}
	for _, d := range docs {
		var result kube.Result
		err := kube.Persist(ctx, func() (err error) {
			result, err = b.lookup.Apply(ctx, d.Object, how)
			return err
		})
		if errors.Is(err, kube.ErrConflict) {
			err = fmt.Errorf("%w; leave the field to that manager, or take it with --force-conflicts", err)
		}
		if err != nil {
			return err
		}
		key := live.KeyOf(d.Object)
		text := fmt.Sprintf("%s: %s", key, result)
		if b.DryRun {
			text = fmt.Sprintf("%s would be %s", key, result)
		}
		b.say(eventApplied, map[string]any{
			"kind": key.Kind, "namespace": cmp.Or(key.Namespace, b.client.Namespace), "name": key.Name, "result": string(result),
			"dryRun": b.DryRun,
		}, "%s", text)
	}
	return nil
}

// rank is the position of an object in the order of apply.
func rank(o manifest.Object) int {
	switch kind := manifest.String(o, "kind"); {
	case kind == "Namespace":
		return 0
	case kind == "CustomResourceDefinition":
		return 1
	case argo.IsApplication(o) || argo.IsApplicationSet(o):
		return 4
	case kind == argo.KindAppProject || kind == "ServiceAccount" || kind == "ConfigMap" || kind == "Secret":
		return 2
	}
	return 3
}
