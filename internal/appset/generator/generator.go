// Package generator turns the generators of an ApplicationSet into sets of parameters.
//
// It answers as Argo CD does, 3.2 to 3.5: all generators, and matrix and merge of them, with selectors, in both template
// modes. Clusters, Git trees and the answers of APIs come from the caller. It differs from Argo CD where that would be silent: an unknown
// generator, a field of the wrong type and a bad pattern are errors, and the order of the answer is always the same. A generator
// that is valid but cannot be evaluated here is the error Unknown.
package generator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Params is one set of parameters. Besides the types of package manifest it holds, as in Argo CD, map[string]string
// (values, labels, annotations), []string (path segments) and []map[string]any (the flat list of clusters); selectors
// and template functions see the difference. Numbers are float64.
type Params = map[string]any

// Set is a set of parameters and where it came from.
type Set struct {
	Params Params
	Origin Origin
}

// Origin names the source of a parameter set for messages.
type Origin struct {
	What  string  // "element 3", "directory apps/web", "cluster prod"
	Other *Origin // the second child of a matrix
}

// String joins the origins of a matrix.
func (o Origin) String() string {
	if o.Other == nil {
		return o.What
	}
	return o.What + " × " + o.Other.String()
}

// Tree is a Git repository at a revision.
type Tree interface {
	// Directories returns every directory that contains a file, parents before children, in the order of a walk.
	Directories(ctx context.Context) ([]string, error)
	// Files returns the content of the files that match a pattern as Git matches path specifications.
	Files(ctx context.Context, pattern string) (map[string][]byte, error)
}

// Committed is a Tree whose commit is known. What wraps a Tree must be Committed, too: sets are pinned and refreshed by commits.
type Committed interface {
	Tree
	// Commit is the commit of the revision; "" is a work tree.
	Commit() string
}

// Repositories finds the Git repositories that generators name.
type Repositories interface {
	Tree(ctx context.Context, url, revision string) (Tree, error)
}

// Config configures generators.
type Config struct {
	// Engine interpolates values and the children of a matrix; its mode is that of the set.
	Engine *template.Engine
	// Clusters are the clusters that Argo CD knows, without the local one unless it has a Secret. Nil is none; UnknownClusters is
	// for a list that is not available.
	Clusters Clusters
	// Git answers Git generators. Nil refuses them.
	Git Repositories
	// APIs answers generators that ask hosts of repositories, plugins or the cluster. Nil makes them Unknown.
	APIs APIs
	// Set is the ApplicationSet of the generators.
	Set SetName
	// MaxSets bounds the parameter sets of one generator. Zero is DefaultMaxSets.
	MaxSets int
	// Version is the version of Argo CD that decides the parameters. Zero is the newest.
	Version versions.Version
}

// Result is the result of one generator of one entry of spec.generators.
type Result struct {
	Kind     Kind
	Path     string // spec.generators[0].list
	Template any    // the generator's own template, if any
	Sets     []Set
}

// Run evaluates one entry of spec.generators. The warnings are about fields that are ignored.
func Run(ctx context.Context, cfg Config, path string, spec any) (results []Result, warnings []Warning, err error) {
	if cfg.MaxSets == 0 {
		cfg.MaxSets = DefaultMaxSets
	}
	r := &run{Config: cfg, ctx: ctx, warned: map[string]Topic{}}
	results, err = r.transform(path, spec, 0)
	for _, text := range manifest.Keys(r.warned) {
		warnings = append(warnings, Warning{Topic: r.warned[text], Text: text})
	}
	return results, warnings, err
}

type run struct {
	Config
	ctx    context.Context
	warned map[string]Topic // by the text
	// parameters counts the parameters of all sets so far.
	parameters int
}

// maxNesting is how deep matrix and merge nest: a matrix of a matrix of lists, and no deeper.
const maxNesting = 2

// transform evaluates one entry at a nesting level.
func (r *run) transform(path string, spec any, level int) ([]Result, error) {
	entry, ok := spec.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: must be an object, it is %s", path, manifest.TypeName(spec))
	}
	used, err := usedKinds(path, entry, level)
	if err != nil {
		return nil, err
	}
	selector, err := newSelector(path+".selector", entry["selector"], anyValue)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, kind := range used {
		kindPath := path + "." + string(kind)
		f := newFields(kindPath, entry[string(kind)], r)
		sets, err := r.generate(kind, f, level)
		if err != nil {
			return nil, err
		}
		if entry["selector"] != nil {
			if sets, err = r.selected(kindPath, sets, selector); err != nil {
				return nil, err
			}
		}
		if len(sets) > r.MaxSets {
			return nil, r.tooMany(kindPath)
		}
		own := f.value["template"]
		results = append(results, Result{Kind: kind, Path: kindPath, Template: own, Sets: sets})
	}
	return results, nil
}

// selected returns the sets that a selector matches.
func (r *run) selected(path string, sets []Set, s selector) ([]Set, error) {
	var failed error
	sets = slices.DeleteFunc(sets, func(set Set) bool {
		if failed != nil {
			return false
		}
		flat, err := r.selectable(set.Params)
		if err == nil {
			err = r.ctx.Err()
		}
		if err != nil {
			failed = fmt.Errorf("%s: %s: %w", path, set.Origin, err)
		}
		return !s.matches(flat)
	})
	return sets, failed
}

func (r *run) tooMany(path string) error {
	return fmt.Errorf("%s: more than %d parameter sets", path, r.MaxSets)
}

// usedKinds returns the kinds of generator in an entry, which at the top may be several.
func usedKinds(path string, entry map[string]any, level int) ([]Kind, error) {
	var used []Kind
	for _, kind := range kinds {
		if entry[string(kind)] != nil {
			used = append(used, kind)
		}
	}
	for _, key := range manifest.Keys(entry) {
		if key != "selector" && !slices.Contains(kinds, Kind(key)) {
			return nil, fmt.Errorf("%s.%s: not a generator; they are %s", path, key, join(kinds, ", "))
		}
	}
	switch {
	case len(used) == 0:
		return nil, fmt.Errorf("%s: no generator; it needs one of %s", path, join(kinds, ", "))
	case level > 0 && len(used) > 1:
		return nil, fmt.Errorf("%s: one generator is allowed inside matrix and merge, there are %s", path, join(used, " and "))
	case level == maxNesting && used[0].Nests():
		return nil, fmt.Errorf("%s.%s: matrix and merge nest two deep at most", path, used[0])
	}
	return used, nil
}

func (r *run) generate(kind Kind, f *fields, level int) ([]Set, error) {
	switch kind {
	case KindList:
		return r.list(f)
	case KindClusters:
		return r.clusters(f)
	case KindGit:
		return r.git(f)
	case KindMatrix:
		return r.matrix(f, level)
	case KindMerge:
		return r.merge(f, level)
	case KindSCMProvider:
		return r.scmProvider(f)
	case KindPullRequest:
		return r.pullRequest(f)
	case KindPlugin:
		return r.plugin(f)
	default:
		return r.decision(f)
	}
}

// child evaluates a generator inside a matrix or merge.
func (r *run) child(path string, spec any, level int) ([]Set, error) {
	results, err := r.transform(path, spec, level+1)
	if err != nil {
		return nil, err
	}
	return results[0].Sets, nil
}

// CopyParams returns a deep copy, for templates that change their parameters.
func CopyParams(p Params) Params {
	if p == nil {
		return nil
	}
	return copyValue(p).(map[string]any)
}

func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = copyValue(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = copyValue(e)
		}
		return l
	case []map[string]any:
		l := make([]map[string]any, len(v))
		for i, e := range v {
			l[i] = CopyParams(e)
		}
		return l
	case map[string]string:
		return maps.Clone(v)
	case []string:
		return slices.Clone(v)
	default:
		return v
	}
}
