package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// rootSet is what a plan begins with.
type rootSet struct {
	docs  []manifest.Document
	args  []string // files and directories that they come from
	repos *repositories
}

// planRoots reads the roots, or finds them. The work tree stands for the branch that they follow.
func planRoots(ctx context.Context, std stdio, repos *repositories, opts planInput, args []string) (*rootSet, error) {
	r := &rootSet{args: args, repos: repos}
	var err error
	if len(args) == 0 {
		if r.docs, err = findRoots(ctx, repos, opts); err != nil {
			return nil, err
		}
		for _, d := range r.docs {
			if !slices.Contains(r.args, d.File) {
				r.args = append(r.args, d.File)
			}
		}
	} else {
		for _, arg := range args {
			docs, err := readRoots(ctx, std.in, repos, arg)
			if err != nil {
				return nil, err
			}
			r.docs = append(r.docs, docs...)
		}
	}
	branch := branchOf(ctx, repos, r.docs)
	if branch != "" && repos.revision == "" && branch != repos.branch {
		r.repos = repos.with("", branch)
	}
	return r, nil
}

// branchOf is the branch that roots in local repositories follow: the one that a change will be merged into. It is "" if they follow HEAD.
func branchOf(ctx context.Context, repos *repositories, roots []manifest.Document) string {
	for _, d := range roots {
		for _, s := range argo.Deployed(d.Object) {
			url, revision := manifest.String(s, "repoURL"), manifest.String(s, "targetRevision")
			if !repos.maps(ctx, url) {
				continue
			}
			if branch := strings.TrimPrefix(revision, "refs/heads/"); repos.mergesInto(ctx, url, branch) {
				return branch
			}
		}
	}
	return ""
}

// readRoots reads the roots of a file, or what would be applied of a directory.
func readRoots(ctx context.Context, stdin io.Reader, repos *repositories, arg string) ([]manifest.Document, error) {
	if info, err := os.Stat(arg); arg != "-" && err == nil && info.IsDir() {
		return directoryRoots(ctx, repos, arg)
	}
	data, err := readInput(stdin, arg)
	if err != nil {
		return nil, err
	}
	return fileRoots(arg, data)
}

// fileRoots are the objects of a file, of which one must be an Application or a set.
func fileRoots(name string, data []byte) ([]manifest.Document, error) {
	docs, _, err := manifest.DecodeLoose(name, data)
	if err != nil {
		return nil, err
	}
	return docs, anyRoot(name, docs)
}

// rootsAt reads the roots of a file or a directory as they are at the revision of the repositories. One that is not there has none.
func rootsAt(ctx context.Context, repos *repositories, arg string) ([]manifest.Document, error) {
	view, name, err := repos.inside(ctx, arg)
	if err != nil {
		return nil, err
	}
	if _, kind, _ := view.Resolve(ctx, name); kind == tree.Directory {
		return directoryRoots(ctx, repos, arg)
	}
	data, err := repos.file(ctx, arg)
	if err != nil {
		return nil, err
	}
	return fileRoots(arg, data)
}

func anyRoot(name string, docs []manifest.Document) error {
	if slices.ContainsFunc(docs, func(d manifest.Document) bool { return argo.IsApplication(d.Object) || argo.IsApplicationSet(d.Object) }) {
		return nil
	}
	return fmt.Errorf("%s: there is no Application and no ApplicationSet in it", name)
}

// directoryRoots are what would be applied of a directory: a Kustomization, a chart or plain manifests.
func directoryRoots(ctx context.Context, repos *repositories, dir string) ([]manifest.Document, error) {
	view, name, err := repos.inside(ctx, dir)
	if errors.Is(err, errOutside) && repos.revision == "" {
		view, err = gitsource.Disk(dir)
		name = "."
	}
	if err != nil {
		return nil, err
	}
	top := dir // of the view
	if name != "." {
		top = filepath.Join(dir, strings.Repeat("../", strings.Count(name, "/")+1))
	}
	loader := repos.loader()
	loader.Environment.Remote = loader.Remote
	result := source.Render(ctx, source.Request{
		Environment: loader.Environment, Repository: source.Repository{View: view},
		Spec: map[string]any{"path": name}, URL: func(file string) string { return nearName(filepath.Join(top, file)) },
	})
	if err := result.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return result.Documents, anyRoot(dir, result.Documents)
}

// findRoots looks through the local repositories for the Applications and sets that nobody deploys, and that deploy others.
func findRoots(ctx context.Context, repos *repositories, opts planInput) ([]manifest.Document, error) {
	candidates, err := repos.applications(ctx)
	if err != nil {
		return nil, err
	}
	if len(candidates) == 0 {
		var urls []string
		for _, l := range repos.local {
			urls = append(urls, gitsource.Redact(l.URL))
		}
		return nil, fmt.Errorf("no Application in the local repositories has its source in one of them (%s); name the file of the root, or the URL of a repository as its Applications do, --repo URL=PATH", strings.Join(slices.Compact(slices.Sorted(slices.Values(urls))), ", "))
	}
	roots, err := opts.rootsAmong(ctx, repos, candidates)
	switch {
	case err != nil:
		return nil, err
	case len(roots) == 0:
		return nil, errors.New("there is no Application in the local repositories that deploys others; name the file of the root")
	case len(roots) == 1 || opts.all:
		repos.noteRoots(roots, candidates)
		return roots, nil
	}
	lines := []string{"there are several roots; name one, or plan all of them with --all:"}
	for _, d := range roots {
		lines = append(lines, fmt.Sprintf("  %s   %s %s", d.File, manifest.String(d.Object, "kind"), manifest.String(d.Object, "metadata", "name")))
	}
	return nil, errors.New(strings.Join(lines, "\n"))
}

// noteRoots says which roots were found.
func (r *repositories) noteRoots(roots, candidates []manifest.Document) {
	for _, d := range roots {
		fmt.Fprintf(r.std.err, "note: found the root %s %s in %s, one of %d Applications and sets in the repository\n", manifest.String(d.Object, "kind"), words.Printable(manifest.String(d.Object, "metadata", "name")), words.Printable(d.File), len(candidates))
	}
}

// rootsAmong plans all candidates at once, as if somebody had applied them: a root is one that nobody else deploys.
func (o *planInput) rootsAmong(ctx context.Context, repos *repositories, candidates []manifest.Document) ([]manifest.Document, error) {
	input := *o
	input.sets = plan.SetsByController // so that sets are seen
	p, err := input.plan(ctx, &rootSet{docs: candidates, repos: repos})
	if err != nil {
		return nil, err
	}
	return rootsOf(p, candidates), nil
}

// rootsOf returns those candidates that deploy others and that no other candidate deploys. Of those that deploy each other, as sets that are
// deployed by one of their own Applications do, the first is the root.
func rootsOf(p *plan.Plan, candidates []manifest.Document) []manifest.Document {
	g := newDeployments(p)
	var out []manifest.Document
	var chosen []deployed
	for _, d := range candidates {
		id := g.find(d.Object, p.Root.Namespace)
		if id == (deployed{}) || !g.parents[id] {
			continue
		}
		mine := g.below(id)
		isRoot := true
		for _, other := range candidates {
			by := g.find(other.Object, p.Root.Namespace)
			if by == id || by == (deployed{}) {
				continue
			}
			// Whoever deploys it is deployed by it, too, or it is no root.
			if g.below(by)[id] && (!mine[by] || slices.Contains(chosen, by)) {
				isRoot = false
			}
		}
		if isRoot && !slices.Contains(chosen, id) {
			out, chosen = append(out, d), append(chosen, id)
		}
	}
	return out
}

// deployed is an Application or a set.
type deployed struct{ kind, namespace, name string }

// deployments says who deploys whom.
type deployments struct {
	children map[deployed][]deployed
	parents  map[deployed]bool // those that deploy others, or may
	known    map[deployed]map[deployed]bool
}

func newDeployments(p *plan.Plan) *deployments {
	g := &deployments{children: map[deployed][]deployed{}, parents: map[deployed]bool{}, known: map[deployed]map[deployed]bool{}}
	of := func(app *plan.Application) deployed { return deployed{argo.KindApplication, app.Namespace, app.Name} }
	for _, app := range p.Applications {
		g.children[of(app)] = nil
		g.parents[of(app)] = app.DeploysOthers() || app.Hides || app.Broken != "" && strings.HasSuffix(app.Destination, "/"+app.Namespace)
		for _, item := range app.Items {
			set := deployed{item.Kind, item.Namespace, item.Name}
			switch {
			case item.Application != nil:
				g.children[of(app)] = append(g.children[of(app)], of(item.Application))
			case item.Children != nil:
				g.children[of(app)], g.parents[set] = append(g.children[of(app)], set), true
			}
			for _, child := range item.Children {
				g.children[set] = append(g.children[set], of(child))
			}
		}
	}
	return g
}

// find returns what an object is in the plan, nothing if it is not there.
func (g *deployments) find(o manifest.Object, namespace string) deployed {
	for _, in := range []string{manifest.String(o, "metadata", "namespace"), namespace} {
		id := deployed{manifest.String(o, "kind"), in, manifest.String(o, "metadata", "name")}
		if _, ok := g.children[id]; ok || g.parents[id] {
			return id
		}
	}
	return deployed{}
}

// below is everything that something deploys, directly or not.
func (g *deployments) below(id deployed) map[deployed]bool {
	if known := g.known[id]; known != nil {
		return known
	}
	out := map[deployed]bool{}
	var walk func(deployed)
	walk = func(id deployed) {
		for _, child := range g.children[id] {
			if !out[child] {
				out[child] = true
				walk(child)
			}
		}
	}
	walk(id)
	g.known[id] = out
	return out
}

// applications returns all Applications and sets in manifests of the local repositories, the Applications only if one of their sources is in
// one of them. What is not a manifest, such as a template, is none.
func (r *repositories) applications(ctx context.Context) ([]manifest.Document, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	if len(r.local) == 0 {
		return nil, errors.New("there is no local repository to look for a root in; name the file of the root, or a repository with --repo")
	}
	ours := func(url string) bool {
		return slices.ContainsFunc(r.local, func(l gitsource.Local) bool { return gitsource.Key(l.URL) == gitsource.Key(url) })
	}
	var out []manifest.Document
	seen := map[string]bool{} // a repository can be there under several URLs, or in another
	for _, l := range r.local {
		if strings.HasPrefix(l.URL, "s3://") {
			continue
		}
		t, err := r.source.Tree(ctx, l.URL, "HEAD")
		if err != nil {
			return nil, err
		}
		files, err := t.Manifests(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			name := nearName(filepath.Join(l.Path, f.Name))
			if seen[name] || !mentions(f) {
				continue
			}
			seen[name] = true
			docs, _, err := manifest.DecodeLoose(name, f.Data)
			if err != nil && !bytes.Contains(f.Data, []byte("{{")) { // and so no template
				fmt.Fprintf(r.std.err, "note: skipped, although it may be the root: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
			}
			if err != nil {
				continue
			}
			for _, d := range docs {
				if argo.IsApplication(d.Object) && slices.ContainsFunc(argo.Repositories(d.Object), ours) || argo.IsApplicationSet(d.Object) {
					out = append(out, d)
				}
			}
		}
	}
	return out, nil
}

// mentions reports whether a file may have an Application or a set in it.
func mentions(f tree.File) bool {
	return bytes.Contains(f.Data, []byte(argo.KindApplication)) && bytes.Contains(f.Data, []byte(argo.Group))
}

// nearName is a file's name from where we stand, if it is below.
func nearName(file string) string {
	here, err := filepath.Abs(".")
	if err != nil {
		return file
	}
	full, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	if rel, err := filepath.Rel(here, full); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return file
}
