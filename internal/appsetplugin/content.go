package appsetplugin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// errContent means that the content of an Application is unknown here, or that Argo CD cannot render it.
var errContent = errors.New("its content is not known")

// content returns the content that a child has from a repository at a commit. Its Sum is set if it is cached; id is the key in the cache.
func (k *keeper) content(c *child, g *group, commit string) (content Content, id [32]byte, err error) {
	if manifest.Map(c.object, "spec", "sourceHydrator") != nil {
		return Content{}, id, errContent
	}
	list := argo.Deployed(c.object)
	about := source.Application{
		Name: c.ref.Instance(k.config.Namespace), Namespace: manifest.String(c.object, "spec", "destination", "namespace"),
		Project: manifest.String(c.object, "spec", "project"),
		Several: argo.HasList(manifest.Map(c.object, "spec")),
	}
	text, err := json.Marshal([]any{g.key, commit, about, k.request.KubeVersion, k.request.APIVersions, list})
	if err != nil {
		return Content{}, id, err
	}
	id = sha256.Sum256(text)
	content = Content{URL: g.url, Key: g.key, Commit: commit, Application: about, Sources: at(list, g, commit)}
	content.Sum, _ = k.config.Compared.get(id)
	return content, id, nil
}

// content identifies what an Application has from a repository at a commit: the files below its paths, and all files that its sources
// reach. Nothing is fetched besides the repository: a chart from elsewhere is the same whatever the commit is.
func (c Comparison) content(ctx context.Context, content Content) (string, error) {
	t, err := c.Open(ctx, content.URL, content.Commit)
	if err != nil {
		return "", err
	}
	r := reach{key: content.Key, tree: t, hash: sha256.New()}
	if err := r.all(ctx, c, content); err != nil {
		return "", err
	}
	return hex.EncodeToString(r.hash.Sum(nil)), nil
}

// at returns sources, with the sources of a group at a commit.
func at(list []map[string]any, g *group, commit string) []map[string]any {
	out := make([]map[string]any, len(list))
	for i, s := range list {
		if out[i] = s; g.has(s) {
			out[i] = maps.Clone(s)
			out[i]["targetRevision"] = commit
		}
	}
	return out
}

// reach sums up the files that sources reach in a repository.
type reach struct {
	key  string
	tree Tree
	hash hash.Hash
}

// all adds all sources of a child.
func (r *reach) all(ctx context.Context, c Comparison, content Content) error {
	sources := content.Sources
	in := func(s map[string]any) bool {
		return manifest.String(s, "chart") == "" && giturl.Canonical(manifest.String(s, "repoURL")) == r.key
	}
	refs := map[string]bool{}
	commits := map[string]bool{}
	for _, s := range sources {
		if in(s) {
			commits[manifest.String(s, "targetRevision")] = true
			refs["$"+manifest.String(s, "ref")] = true
		}
	}
	if len(commits) != 1 {
		return errContent // it has sources at another revision, which is not available
	}
	loader := source.Loader{
		Environment: source.Environment{KubeVersion: c.KubeVersion, APIVersions: c.APIVersions},
		Open: func(_ context.Context, url, revision string) (source.Repository, error) {
			if giturl.Canonical(url) != r.key || !commits[revision] {
				return source.Repository{}, errors.New("it is another repository")
			}
			return source.Repository{View: r.tree.View(), Commit: revision}, nil
		},
	}
	others := loader.Refs(ctx, sources)
	for i, s := range sources {
		switch {
		case manifest.String(s, "ref") != "" && manifest.String(s, "path") == "" && manifest.String(s, "chart") == "":
			continue // it deploys nothing itself
		case !in(s) && !slices.ContainsFunc(source.Elsewhere(s), func(ref string) bool { return refs[ref] }):
			continue // it reads nothing from the repository
		}
		fmt.Fprintf(r.hash, "source %d\x00", i)
		if err := r.one(ctx, loader.Load(ctx, content.Application, s, others), in(s), refs); err != nil {
			return err
		}
		if in(s) {
			if err := r.below(ctx, path.Clean(cmp.Or(manifest.String(s, "path"), "."))); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// one adds the files that a source was made of.
func (r *reach) one(ctx context.Context, result *source.Result, in bool, refs map[string]bool) error {
	for _, p := range result.Problems {
		// A chart that is not in the repository does not change with it. Its value files were read.
		if p.Class != source.Lenient && p.Class != source.Deprecated && (p.Class != source.Missing || p.Chart == "") {
			return errContent
		}
	}
	fmt.Fprintf(r.hash, "%s\x00", result.Kind)
	for _, input := range result.Inputs {
		if input.Ref == "" && !in || input.Ref != "" && !refs[input.Ref] {
			continue
		}
		real, kind, err := r.tree.View().Resolve(ctx, input.Path)
		if err != nil || kind != tree.Regular || r.tree.ID(real) == "" {
			return errContent
		}
		r.add(input.Ref+"/"+input.Path, r.tree.ID(real))
	}
	return nil
}

// below adds all files below a directory, whether or not they were read.
func (r *reach) below(ctx context.Context, dir string) error {
	real, _, err := r.tree.View().Resolve(ctx, dir)
	if err == nil {
		err = r.tree.View().Walk(ctx, real, false, func(name string, kind tree.Kind) error {
			if kind != tree.Directory {
				r.add(name, r.tree.ID(name))
			}
			return nil
		})
	}
	if err != nil { // such as a submodule
		return errContent
	}
	return nil
}

func (r *reach) add(name, id string) { fmt.Fprintf(r.hash, "%s\x00%s\x00", name, id) }

// Compared caches the contents of Applications, so that a commit is not fetched again to compare it. Nil caches nothing. It is safe for
// concurrent use.
type Compared struct {
	mu           sync.Mutex
	young, older map[[32]byte]string
}

// maxCompared bounds the entries of each half of the cache.
const maxCompared = 20_000

func (c *Compared) get(id [32]byte) (string, bool) {
	if c == nil {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sum, ok := c.young[id]
	if !ok {
		if sum, ok = c.older[id]; ok {
			c.put(id, sum)
		}
	}
	return sum, ok
}

func (c *Compared) add(id [32]byte, sum string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(id, sum)
}

func (c *Compared) put(id [32]byte, sum string) {
	if len(c.young) >= maxCompared || c.young == nil {
		c.young, c.older = map[[32]byte]string{}, c.young
	}
	c.young[id] = sum
}
