package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// runPlanDiff says what changes from a revision to the plan of the work tree.
func runPlanDiff(ctx context.Context, std stdio, opts planOptions, repos *repositories, args []string) error {
	before, after, err := opts.bothPlans(ctx, repos, opts.diff, args)
	if err != nil {
		return err
	}
	r := report.NewDifference(opts.diff, before, after, opts.verdict.rules())
	r.Manifests, r.Command = opts.manifests, opts.commandLine(args)
	if err := r.Write(std.out, opts.output.format()); err != nil {
		return err
	}
	if r.Worse() {
		return errFound
	}
	return nil
}

// planThen plans the roots as they are at the revision of the repositories. Without any, nothing is deployed.
func (o *planInput) planThen(ctx context.Context, repos *repositories, args []string) (*plan.Plan, error) {
	was := &rootSet{args: args, repos: repos}
	for _, arg := range args {
		docs, err := rootsThen(ctx, repos, arg)
		if err != nil {
			return nil, err
		}
		was.docs = append(was.docs, docs...)
	}
	if len(args) == 0 {
		var err error
		if was.docs, err = o.foundRoots(ctx, repos); err != nil {
			return nil, err
		}
	}
	if len(was.docs) == 0 {
		return &plan.Plan{}, nil
	}
	return o.plan(ctx, was)
}

// bothPlans plans the roots at a revision and in the work tree. A root may be on one side only.
func (o *planInput) bothPlans(ctx context.Context, repos *repositories, revision string, args []string) (before, after *plan.Plan, err error) {
	then := repos.with(revision, "")
	defer then.close() //nolint:errcheck // only read from
	if before, err = o.planThen(ctx, then, args); err != nil {
		return nil, nil, fmt.Errorf("at %s: %w", words.Printable(revision), err)
	}
	var here []string
	for _, arg := range args {
		_, err := os.Stat(arg)
		if there, _ := then.has(ctx, arg); !errors.Is(err, fs.ErrNotExist) || !there {
			here = append(here, arg)
		}
	}
	if len(here) == 0 && len(args) > 0 {
		return before, &plan.Plan{}, nil
	}
	roots, err := planRoots(ctx, repos.std, repos, *o, here)
	if err != nil && len(args) == 0 && before.Root != nil {
		if found, failed := o.foundRoots(ctx, repos); failed == nil && len(found) == 0 {
			return before, &plan.Plan{}, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	defer roots.repos.close() //nolint:errcheck // only read from
	after, err = o.plan(ctx, roots)
	return before, after, err
}

// rootsThen are those of a file or a directory at the revision of the repositories, none if it is not there.
func rootsThen(ctx context.Context, repos *repositories, arg string) ([]manifest.Document, error) {
	if arg == "-" {
		return nil, fmt.Errorf("standard input has no revision %s; name the file of the root", repos.revision)
	}
	there, err := repos.has(ctx, arg)
	if errors.Is(err, errOutside) { // it has no revisions, so it is the same on both sides
		return readRoots(ctx, nil, repos.with("", ""), arg)
	}
	if err != nil || !there {
		return nil, err
	}
	docs, err := rootsAt(ctx, repos, arg)
	if len(docs) > 0 && anyRoot(arg, docs) != nil {
		return nil, nil
	}
	return docs, err
}

// has reports whether there is a file or directory at the revision of the repositories.
func (r *repositories) has(ctx context.Context, name string) (bool, error) {
	view, rel, err := r.inside(ctx, name)
	if err != nil {
		return false, err
	}
	_, kind, err := view.Resolve(ctx, rel)
	return kind != tree.None, err
}

// foundRoots are all roots that are in the repositories, none if there is no root.
func (o *planInput) foundRoots(ctx context.Context, repos *repositories) ([]manifest.Document, error) {
	candidates, err := repos.applications(ctx)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	return o.rootsAmong(ctx, repos, candidates)
}
