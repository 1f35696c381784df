package appsetplugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Tree is a repository at a commit.
type Tree interface {
	View() *tree.View
	// ID is the same for files of the same content, in any commit; "" if there is no such file.
	ID(name string) string
}

// Commits opens repositories at commits, as far as the application of a request may read them.
type Commits func(ctx context.Context, url, commit string) (Tree, error)

// maxCommits bounds the commits that are opened for one answer.
const maxCommits = 16

// group is the sources of a child that follow one revision. They move together.
type group struct {
	key, revision string
	url           string // as the child names it
	pins          []*pinned
}

func (c *child) groups() []*group {
	var out []*group
	for _, s := range c.pins {
		key, revision := giturl.Canonical(s.read.URL), argo.Revision(s.read.Revision)
		i := slices.IndexFunc(out, func(g *group) bool { return g.key == key && g.revision == revision })
		if i < 0 {
			i = len(out)
			out = append(out, &group{key: key, revision: revision, url: manifest.String(s.source, "repoURL")})
		}
		out[i].pins = append(out[i].pins, s)
	}
	return out
}

// has reports whether a source is of the group.
func (g *group) has(source map[string]any) bool {
	return slices.ContainsFunc(g.pins, func(s *pinned) bool { return follows(source, s.read) })
}

// keep lets children stay at their commit if their content is the same at the new one. Unknown content counts as changed.
func (p *pinner) keep(ctx context.Context, children []*child) error {
	switch {
	case len(children) == 0:
		return nil
	case p.config.Live == nil:
		p.warn("pin: there is no access to a cluster, so the commits that Applications have now are not known; all of them get the new one")
		return nil
	case p.children == nil: // a new parent
		return nil
	case p.children.Remote:
		p.warn("pin: the Applications are in another cluster, so the commits that they have now are not known; all of them get the new one")
		return nil
	case p.config.Commits == nil:
		p.warn("pin: commits cannot be compared here; all Applications get the new one")
		return nil
	}
	refs := make([]argo.Ref, len(children))
	for i, c := range children {
		refs[i] = c.ref
	}
	specs, large, err := p.config.Live.Specs(ctx, refs)
	if err != nil {
		return fmt.Errorf("looking for the commits that Applications have now: %w", err)
	}
	if len(large) > 0 {
		p.warn(fmt.Sprintf("pin: Application %s is too large to be read, so the commits that it has now are not known; "+
			"Applications that get the new commit for this reason: %d", large[0], len(large)))
	}
	k := &keeper{pinner: p, commits: p.config.Commits(p.work), trees: map[[2]string]opened{}, unread: map[string]int{}}
	for _, c := range children {
		k.child(c, manifest.Object{"spec": specs[c.ref]})
	}
	if err := k.compare(ctx); err != nil {
		return err
	}
	for _, why := range slices.Sorted(maps.Keys(k.unread)) {
		p.warn(fmt.Sprintf("pin: %s; Applications that get the new commit for this reason: %d", why, k.unread[why]))
	}
	return nil
}

func (p *pinner) warn(line string) { p.warnings = append(p.warnings, line) }

// keeper compares the contents of children.
type keeper struct {
	*pinner
	commits Commits
	trees   map[[2]string]opened
	unread  map[string]int // why commits could not be read, and how many children that concerns
	pairs   []pair
}

// pair is a group of sources that may stay at a commit.
type pair struct {
	group    *group
	old      string
	contents [2]Content
	ids      [2][32]byte
}

type opened struct {
	tree Tree
	err  error
}

// child adds the contents of a child to the comparison.
func (k *keeper) child(c *child, live manifest.Object) {
	if manifest.String(live, "spec", "project") != manifest.String(c.object, "spec", "project") {
		return // another one of its name, or none
	}
	for _, g := range c.groups() {
		old := g.present(c.object, live)
		if old == "" || old == g.pins[0].commit {
			continue
		}
		p := pair{group: g, old: old}
		var nowErr, oldErr error
		p.contents[0], p.ids[0], nowErr = k.content(c, g, g.pins[0].commit)
		p.contents[1], p.ids[1], oldErr = k.content(c, g, old)
		if nowErr == nil && oldErr == nil {
			k.pairs = append(k.pairs, p)
		}
	}
}

// compare keeps the commits of children whose content is the same.
func (k *keeper) compare(ctx context.Context) error {
	if len(k.pairs) == 0 {
		return nil
	}
	c := Comparison{KubeVersion: k.request.KubeVersion, APIVersions: k.request.APIVersions, Open: k.open}
	for _, p := range k.pairs {
		c.Pairs = append(c.Pairs, p.contents)
	}
	sums, err := k.config.Evaluator.Compare(ctx, c)
	if err != nil {
		return fmt.Errorf("comparing commits: %w", err)
	}
	for i, p := range k.pairs {
		var unread *unreadError
		if errors.As(sums[i].Err, &unread) {
			k.unread[unread.Error()]++
		}
		for j, sum := range sums[i].Sum {
			if sum != "" && p.contents[j].Sum == "" {
				k.config.Compared.add(p.ids[j], sum)
			}
		}
		if sums[i].Err == nil && sums[i].Sum[0] != "" && sums[i].Sum[0] == sums[i].Sum[1] {
			for _, s := range p.group.pins {
				s.commit = p.old
			}
		}
	}
	return nil
}

// present is the commit that the sources of a group have in the cluster, "" if they have none, or several. Only sources of the same
// repository are believed, and commits that the child itself names are no pins.
func (g *group) present(object, live manifest.Object) string {
	named := map[string]bool{}
	for _, s := range argo.Sources(object) {
		if !g.has(s) {
			named[manifest.String(s, "targetRevision")] = true
		}
	}
	found := ""
	for _, s := range argo.Sources(live) {
		commit := manifest.String(s, "targetRevision")
		if manifest.String(s, "chart") != "" || !argo.IsCommit(commit) || named[commit] ||
			giturl.Canonical(manifest.String(s, "repoURL")) != g.key {
			continue
		}
		if found != "" && found != commit {
			return ""
		}
		found = commit
	}
	return found
}

// unreadError says that a commit could not be read.
type unreadError struct{ error }

// open opens a commit, once.
func (k *keeper) open(ctx context.Context, url, commit string) (Tree, error) {
	id := [2]string{giturl.Canonical(url), commit}
	if o, ok := k.trees[id]; ok {
		return o.tree, o.err
	}
	if len(k.trees) >= maxCommits {
		return nil, &unreadError{fmt.Errorf("no more than %d commits are compared for one answer", maxCommits)}
	}
	t, err := k.commits(ctx, url, commit)
	if err != nil {
		err = &unreadError{fmt.Errorf("commit %.12s cannot be compared: %w", commit, err)}
	}
	k.trees[id] = opened{t, err}
	return t, err
}
