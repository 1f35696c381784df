package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// Roots are the roots of a plan.
type Roots struct {
	Documents []manifest.Document
	// Repositories are the repositories of the plan; their work tree stands for the branch that the roots follow. The Planner closes them.
	Repositories *Repositories
}

// Roots reads the roots of files and directories, or finds them if there are no arguments.
func (p *Planner) Roots(ctx context.Context, args []string) (*Roots, error) {
	r := &Roots{Repositories: p.Repositories}
	var err error
	if len(args) == 0 {
		if r.Documents, err = p.find(ctx); err != nil {
			return nil, err
		}
	}
	for _, arg := range args {
		docs, err := readRoots(ctx, p.Stdin, p.Repositories, arg)
		if err != nil {
			return nil, err
		}
		r.Documents = append(r.Documents, docs...)
	}
	branch := branchOf(ctx, p.Repositories, r.Documents)
	if branch != "" && p.Repositories.revision == "" && branch != p.Repositories.branch {
		r.Repositories = p.Repositories.with("", branch)
		p.branches = append(p.branches, r.Repositories)
	}
	return r, nil
}

// branchOf is the branch that roots in local repositories follow: the one that a change will be merged into. It is "" if they follow HEAD.
func branchOf(ctx context.Context, repos *Repositories, roots []manifest.Document) string {
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

// readRoots reads the roots of a file, or of a directory the objects that would be applied.
func readRoots(ctx context.Context, stdin io.Reader, repos *Repositories, arg string) ([]manifest.Document, error) {
	if info, err := os.Stat(arg); arg != "-" && err == nil && info.IsDir() {
		return directoryRoots(ctx, repos, arg)
	}
	data, err := input.FileOr(stdin, arg)
	if err != nil {
		return nil, err
	}
	return fileRoots(arg, data)
}

// fileRoots returns the objects of a file; at least one must be an Application or a set.
func fileRoots(name string, data []byte) ([]manifest.Document, error) {
	docs, _, err := manifest.DecodeLoose(name, data)
	if err != nil {
		return nil, err
	}
	return docs, anyRoot(name, docs)
}

// rootsAt reads the roots of a file or a directory at the revision of the repositories. It returns none if that does not exist.
func rootsAt(ctx context.Context, repos *Repositories, arg string) ([]manifest.Document, error) {
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
	if slices.ContainsFunc(docs, deploys) {
		return nil
	}
	return fmt.Errorf("%s: there is no Application and no ApplicationSet in it", name)
}

// directoryRoots returns the objects of a directory that would be applied; at least one must be an Application or a set.
func directoryRoots(ctx context.Context, repos *Repositories, dir string) ([]manifest.Document, error) {
	docs, err := directory(ctx, repos, dir, source.Application{})
	if err != nil {
		return nil, err
	}
	return docs, anyRoot(dir, docs)
}

// Manifests are the objects of a file, or of a directory: a Kustomization, a chart or plain manifests. A chart is rendered for a namespace.
func (p *Planner) Manifests(ctx context.Context, arg, namespace string) ([]manifest.Document, error) {
	if info, err := os.Stat(arg); arg != "-" && err == nil && info.IsDir() {
		return directory(ctx, p.Repositories, arg, source.Application{Name: "argocd", Namespace: namespace})
	}
	data, err := input.FileOr(p.Stdin, arg)
	if err != nil {
		return nil, err
	}
	docs, _, err := manifest.DecodeLoose(arg, data)
	return docs, err
}

// directory are the objects of a directory: a Kustomization, a chart or plain manifests.
func directory(ctx context.Context, repos *Repositories, dir string, app source.Application) ([]manifest.Document, error) {
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
	loader := repos.Loader()
	loader.Environment.Remote = loader.Remote
	result := source.Render(ctx, source.Request{
		Application: app, Environment: loader.Environment, Repository: source.Repository{View: view},
		Spec: map[string]any{"path": name}, URL: func(file string) string { return input.Near(filepath.Join(top, file)) },
	})
	if err := result.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return result.Documents, nil
}

// find finds the Applications and sets in the local repositories that deploy others and that no other deploys.
func (p *Planner) find(ctx context.Context) ([]manifest.Document, error) {
	repos := p.Repositories
	candidates, err := repos.applications(ctx)
	if err != nil {
		return nil, err
	}
	if len(candidates.docs) == 0 {
		var urls []string
		for _, l := range repos.local {
			urls = append(urls, giturl.Redact(l.URL))
		}
		return nil, fmt.Errorf("no Application in the local repositories has its source in one of them (%s); name the file of the root, "+
			"or the URL of a repository as its Applications do, --repo URL=PATH",
			strings.Join(slices.Compact(slices.Sorted(slices.Values(urls))), ", "))
	}
	roots, err := p.among(ctx, repos, candidates.docs)
	switch {
	case err != nil:
		return nil, err
	case len(roots) == 0:
		return nil, errors.New("there is no Application in the local repositories that deploys others; name the file of the root")
	case len(roots) == 1 || p.All:
		repos.noteRoots(roots, candidates)
		return candidates.beside(roots), nil
	}
	lines := []string{"there are several roots; name one, or plan all of them with --all:"}
	for rest := roots; len(rest) > 0; {
		argument, names := candidates.argument(rest[0]), []string{}
		for len(rest) > 0 && candidates.argument(rest[0]) == argument { // one argument plans all of them
			names = append(names, manifest.String(rest[0].Object, "kind")+" "+manifest.String(rest[0].Object, "metadata", "name"))
			rest = rest[1:]
		}
		lines = append(lines, fmt.Sprintf("  %s   %s", argument, words.Some(names)))
	}
	return nil, errors.New(strings.Join(lines, "\n"))
}

// candidates are Applications and sets in local repositories.
type candidates struct {
	docs []manifest.Document
	// changed are the positions of objects that a Kustomization changes, with the directory of that.
	changed map[manifest.Position]string
	// others are the other objects of their files.
	others map[string][]manifest.Document
}

// beside adds the other objects of the files of roots, such as their AppProject: whoever applies a file applies them, too. Roots can be
// those of several clusters, so an object that two files have in two forms is left out.
func (c candidates) beside(roots []manifest.Document) []manifest.Document {
	of := func(o manifest.Object) plan.ID {
		return plan.ID{
			Group: manifest.Group(o), Kind: manifest.String(o, "kind"),
			Namespace: manifest.String(o, "metadata", "namespace"), Name: manifest.String(o, "metadata", "name"),
		}
	}
	forms, files := map[plan.ID][]manifest.Object{}, map[string]bool{}
	for _, root := range roots {
		if root.Made != "" || c.argument(root) != root.Name() || files[root.File] {
			continue
		}
		files[root.File] = true
		for _, d := range c.others[root.File] {
			forms[of(d.Object)] = append(forms[of(d.Object)], d.Object)
		}
	}
	var out []manifest.Document
	for _, root := range roots {
		if files[root.File] {
			for _, d := range c.others[root.File] {
				id := of(d.Object)
				if !slices.ContainsFunc(forms[id], func(o manifest.Object) bool { return !reflect.DeepEqual(o, d.Object) }) {
					out = append(out, d)
					forms[id] = []manifest.Object{nil} // it is there now, and differs from all others
				}
			}
		}
		out = append(out, root)
	}
	return out
}

// argument is the argument that names a root: its file, or the directory of the Kustomization that makes or changes it.
func (c candidates) argument(d manifest.Document) string {
	if dir, ok := c.changed[d.Position]; ok {
		return dir
	}
	if d.Made == manifest.Built {
		return filepath.Dir(d.File)
	}
	return d.Name()
}

// noteRoots says which roots were found.
func (r *Repositories) noteRoots(roots []manifest.Document, among candidates) {
	for _, d := range roots {
		r.cfg.Note(fmt.Sprintf("found the root %s %s in %s, one of %d Applications and sets with a source in the local repositories",
			manifest.String(d.Object, "kind"), words.Printable(manifest.String(d.Object, "metadata", "name")),
			words.Printable(among.argument(d)), len(among.docs)))
	}
}

// among returns the roots among candidates, which it plans as if they were applied by hand.
func (p *Planner) among(ctx context.Context, repos *Repositories, candidates []manifest.Document) ([]manifest.Document, error) {
	all := *p
	all.Deprecated = nil                    // of roots only
	all.Config.Sets = plan.SetsByController // so that sets are seen
	return plan.RootsAmong(candidates, func(docs []manifest.Document) (*plan.Plan, error) {
		return all.Plan(ctx, &Roots{Documents: docs, Repositories: repos})
	})
}

// applications returns all Applications and sets in manifests of the local repositories, the Applications only if one of their sources is
// in one of them. Other files, such as templates, have none.
func (r *Repositories) applications(ctx context.Context) (candidates, error) {
	out := candidates{changed: map[manifest.Position]string{}, others: map[string][]manifest.Document{}}
	if err := r.ready(ctx); err != nil {
		return out, err
	}
	if len(r.local) == 0 {
		return out, errors.New("there is no local repository to look for a root in; name the file of the root, or a repository with --repo")
	}
	ours := func(url string) bool {
		return slices.ContainsFunc(r.local, func(l gitsource.Local) bool { return giturl.Key(l.URL) == giturl.Key(url) })
	}
	var charts []string       // with Applications in templates
	seen := map[string]bool{} // a repository can be there under several URLs, or in another
	for _, l := range r.local {
		if strings.HasPrefix(l.URL, "s3://") {
			continue
		}
		t, err := r.source.Tree(ctx, l.URL, "HEAD")
		if err != nil {
			return out, err
		}
		files, err := t.Manifests(ctx)
		if err != nil {
			return out, err
		}
		users := newOverlays(files)
		under := map[string][]deployed{} // by applied Kustomization: the documents of its files
		for _, f := range files {
			name := input.Near(filepath.Join(l.Path, f.Name))
			if seen[name] || !mentions(f.Data) || users.patches[f.Name] {
				continue
			}
			seen[name] = true
			docs, others, chart := r.inFile(name, f.Data)
			if chart != "" {
				charts = append(charts, chart)
			}
			above := users.above(f.Name)
			for _, dir := range above {
				for _, d := range docs {
					under[dir] = append(under[dir], deployed{d, len(above) == 1})
				}
			}
			if len(above) == 0 {
				out.docs, out.others[name] = append(out.docs, docs...), others
			}
		}
		for _, dir := range slices.Sorted(maps.Keys(under)) {
			if len(under[dir]) > 0 {
				r.patched(ctx, filepath.Join(l.Path, dir), under[dir], &out)
			}
		}
	}
	if charts = slices.Compact(charts); len(charts) > 0 {
		r.cfg.Note("templates of charts have Applications, too, but are not searched for a root; plan such a chart by its directory: " +
			words.Printable(words.Some(charts)))
	}
	out.docs = slices.DeleteFunc(out.docs, func(d manifest.Document) bool {
		return argo.IsApplication(d.Object) && !slices.ContainsFunc(argo.Repositories(d.Object), ours)
	})
	return out, nil
}

// inFile returns the Applications and sets of a file and its other objects, or the chart to which the file belongs as a template.
func (r *Repositories) inFile(name string, data []byte) (docs, others []manifest.Document, chart string) {
	docs, _, err := manifest.DecodeLoose(name, data)
	if err != nil {
		if chart, _, ok := strings.Cut(name, "/templates/"); ok && bytes.Contains(data, []byte("{{")) {
			return nil, nil, chart
		}
		r.cfg.Note(fmt.Sprintf("skipped, although it may be the root: %s", strings.ReplaceAll(err.Error(), "\n", "; ")))
		return nil, nil, ""
	}
	others = slices.DeleteFunc(slices.Clone(docs), deploys)
	return slices.DeleteFunc(docs, func(d manifest.Document) bool { return !deploys(d) }), others, ""
}

// deploys reports whether an object is an Application or a set.
func deploys(d manifest.Document) bool {
	return argo.IsApplication(d.Object) || argo.IsApplicationSet(d.Object)
}

// mentions reports whether a file may have an Application or a set in it.
func mentions(data []byte) bool {
	return bytes.Contains(data, []byte(argo.KindApplication)) && bytes.Contains(data, []byte(argo.Group))
}
