package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/tree"
)

// findRoot looks through the local repositories for the one Application that deploys others and is deployed by none.
func findRoot(ctx context.Context, repos *repositories, opts planInput) (manifest.Document, string, error) {
	candidates, err := repos.applications(ctx)
	if err != nil {
		return manifest.Document{}, "", err
	}
	if len(candidates) == 0 {
		var urls []string
		for _, l := range repos.local {
			urls = append(urls, gitsource.Redact(l.URL))
		}
		return manifest.Document{}, "", fmt.Errorf("no Application in the local repositories has its source in one of them (%s); name the file of the root, or the URL of a repository as its Applications do, --repo URL=PATH", strings.Join(slices.Compact(slices.Sorted(slices.Values(urls))), ", "))
	}
	type root struct {
		doc  manifest.Document
		plan *plan.Plan
	}
	var roots []root
	deployed := map[plan.Ref]bool{}
	for _, d := range candidates {
		ref := plan.Ref{Namespace: manifest.String(d.Object, "metadata", "namespace"), Name: manifest.String(d.Object, "metadata", "name")}
		if ref.Namespace == "" {
			ref.Namespace = opts.namespace
		}
		if deployed[ref] {
			continue
		}
		p, err := opts.newPlan(ctx, repos, d)
		if err != nil {
			return manifest.Document{}, "", err
		}
		for _, app := range p.Applications[1:] {
			deployed[app.Ref] = true
		}
		if deploysOthers(p.Root) || slices.ContainsFunc(p.Root.Sources, func(s plan.Source) bool { return s.Kind == "appset" }) {
			roots = append(roots, root{d, p})
		}
	}
	// One that was found before its parent.
	roots = slices.DeleteFunc(roots, func(r root) bool { return deployed[r.plan.Root.Ref] })
	switch len(roots) {
	case 0:
		return manifest.Document{}, "", errors.New("there is no Application in the local repositories that deploys others; name the file of the root")
	case 1:
		return roots[0].doc, roots[0].doc.File, nil
	}
	var names, why []string
	for _, r := range roots {
		names = append(names, r.doc.File)
		if r.plan.Root.Broken != "" {
			why = append(why, fmt.Sprintf("; %s is broken: %s", r.doc.File, r.plan.Root.Broken))
		}
	}
	return manifest.Document{}, "", fmt.Errorf("there are several roots, name one: %s%s", strings.Join(names, ", "), strings.Join(why, ""))
}

// applications returns all Applications in manifests of the local repositories whose source is one of them. What is not a
// manifest, such as a template, is none.
func (r *repositories) applications(ctx context.Context) ([]manifest.Document, error) {
	r.once.Do(func() { r.err = r.open(ctx) })
	if r.err != nil {
		return nil, r.err
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
		t, err := r.source.Tree(ctx, l.URL, "HEAD")
		if err != nil {
			return nil, err
		}
		files, _, err := t.Most(ctx, 1<<20)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if !tree.IsManifest(f.Name) || !bytes.Contains(f.Data, []byte(argo.KindApplication)) || !bytes.Contains(f.Data, []byte(argo.Group)) {
				continue
			}
			name := nearName(filepath.Join(l.Path, f.Name))
			docs, err := manifest.Decode(name, f.Data)
			if err != nil && !bytes.Contains(f.Data, []byte("{{")) && !seen[name] { // and so no template
				fmt.Fprintf(r.std.err, "note: not looked at, though it may be the root: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
			}
			if err != nil || seen[name] {
				continue
			}
			seen[name] = true
			for _, d := range docs {
				if argo.IsApplication(d.Object) && slices.ContainsFunc(argo.Repositories(d.Object), ours) {
					out = append(out, d)
				}
			}
		}
	}
	return out, nil
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
