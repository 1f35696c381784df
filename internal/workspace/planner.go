package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// Planner plans the roots in repositories.
type Planner struct {
	Repositories *Repositories
	// Config says how to plan. The planner fills in where repositories are: Git, Loader and Cache.
	Config plan.Config
	// All plans every root that is found; otherwise several are an error.
	All bool
	// Stdin has the root "-".
	Stdin io.Reader
	// Deprecated is called once for each deprecated field in a plan, with its file. Nil is not called.
	Deprecated func(line string)

	branches []*Repositories // opened by Roots
	warned   map[string]bool // lines that Deprecated was called with
}

// Close closes the repositories, those of Roots included, and ends the workers.
func (p *Planner) Close() error {
	err := p.Repositories.Close()
	for _, r := range p.branches {
		err = errors.Join(err, r.Close())
	}
	if foreign := p.Repositories.cfg.Foreign; foreign != nil {
		foreign.Close()
	}
	return err
}

// Again makes the planner read the work trees again, because files in them have changed.
func (p *Planner) Again() {
	p.branches = append(p.branches, p.Repositories)
	for _, r := range p.branches {
		r.rendered.Forget()
	}
	p.Repositories = p.Repositories.with(p.Repositories.revision, p.Repositories.branch)
}

// Plan makes a plan of roots.
func (p *Planner) Plan(ctx context.Context, roots *Roots) (*plan.Plan, error) {
	cfg, repos := p.Config, roots.Repositories
	cfg.Git, cfg.Loader, cfg.Cache = repos, repos.Loader(), &repos.rendered
	made, err := plan.New(ctx, cfg, roots.Documents...)
	if err == nil && p.Deprecated != nil {
		p.warn(made)
	}
	return made, err
}

// warn calls Deprecated.
func (p *Planner) warn(made *plan.Plan) {
	if p.warned == nil {
		p.warned = map[string]bool{}
	}
	for _, app := range made.Applications {
		for _, s := range app.Sources {
			for _, line := range s.Deprecated {
				if !p.warned[line] {
					p.warned[line] = true
					p.Deprecated(line)
				}
			}
		}
	}
}

// then plans the roots at the base revision. No roots give an empty plan.
func (p *Planner) then(ctx context.Context, repos *Repositories, args []string) (*plan.Plan, error) {
	was := &Roots{Repositories: repos}
	for _, arg := range args {
		docs, err := rootsThen(ctx, repos, arg)
		if err != nil {
			return nil, err
		}
		was.Documents = append(was.Documents, docs...)
	}
	if len(args) == 0 {
		var err error
		if was.Documents, err = p.found(ctx, repos); err != nil {
			return nil, err
		}
	}
	if len(was.Documents) == 0 {
		return &plan.Plan{}, nil
	}
	return p.Plan(ctx, was)
}

// Both plans the roots at a revision and in the work tree. A root may be on one side only: the plan of the other side has no root.
func (p *Planner) Both(ctx context.Context, revision string, args []string) (before, after *plan.Plan, err error) {
	then := p.Repositories.with(revision, "")
	defer then.Close() //nolint:errcheck // only read from
	if before, err = p.then(ctx, then, args); err != nil {
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
	roots, err := p.Roots(ctx, here)
	if err != nil && len(args) == 0 && before.Root != nil {
		if found, failed := p.found(ctx, p.Repositories); failed == nil && len(found) == 0 {
			return before, &plan.Plan{}, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	after, err = p.Plan(ctx, roots)
	return before, after, err
}

// rootsThen returns the roots of a file or a directory at the revision of the repositories, none if it does not exist.
func rootsThen(ctx context.Context, repos *Repositories, arg string) ([]manifest.Document, error) {
	if arg == "-" {
		return nil, fmt.Errorf("standard input has no revision %s; name the file of the root", repos.revision)
	}
	there, err := repos.has(ctx, arg)
	if errors.Is(err, errOutside) { // it has no revisions, so it is the same on both sides
		now := repos.with("", "")
		defer now.Close() //nolint:errcheck // only read from
		return readRoots(ctx, nil, now, arg)
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
func (r *Repositories) has(ctx context.Context, name string) (bool, error) {
	view, rel, err := r.inside(ctx, name)
	if err != nil {
		return false, err
	}
	_, kind, err := view.Resolve(ctx, rel)
	return kind != tree.None, err
}

// found are all roots that are in the repositories, none if there is no root.
func (p *Planner) found(ctx context.Context, repos *Repositories) ([]manifest.Document, error) {
	candidates, err := repos.applications(ctx)
	if err != nil || len(candidates.docs) == 0 {
		return nil, err
	}
	roots, err := p.among(ctx, repos, candidates.docs)
	if err != nil {
		return nil, err
	}
	return candidates.beside(roots), nil
}
