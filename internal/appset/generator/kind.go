package generator

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/strict"
)

// Kind is a kind of generator: its field in an entry of spec.generators.
type Kind string

// Kinds of generators.
const (
	KindList        Kind = "list"
	KindClusters    Kind = "clusters"
	KindGit         Kind = "git"
	KindSCMProvider Kind = "scmProvider"
	KindDecision    Kind = "clusterDecisionResource"
	KindPullRequest Kind = "pullRequest"
	KindMatrix      Kind = "matrix"
	KindMerge       Kind = "merge"
	KindPlugin      Kind = "plugin"
)

var kinds = []Kind{
	KindList, KindClusters, KindGit, KindSCMProvider, KindDecision, KindPullRequest, KindMatrix, KindMerge, KindPlugin,
}

// Kinds are all kinds, in the order in which Argo CD evaluates those of one entry.
func Kinds() []Kind { return slices.Clone(kinds) }

// GoTemplate reports whether the spec of a set wants Go templates.
func GoTemplate(spec map[string]any) bool {
	on, _ := spec["goTemplate"].(bool)
	return on
}

// Nests reports whether a kind has generators inside.
func (k Kind) Nests() bool { return k == KindMatrix || k == KindMerge }

// AsksAPI reports whether a kind asks one of APIs. Its answer changes without a commit and without a new Secret.
func (k Kind) AsksAPI() bool {
	return k == KindSCMProvider || k == KindDecision || k == KindPullRequest || k == KindPlugin
}

// FromRepositories reports whether the parameters of a kind are from repositories: whoever may push there, or open a pull
// request, sets them.
func (k Kind) FromRepositories() bool {
	return k == KindGit || k == KindSCMProvider || k == KindPullRequest
}

// join is a list of kinds in a text.
func join(list []Kind, separator string) string {
	texts := make([]string, len(list))
	for i, k := range list {
		texts[i] = string(k)
	}
	return strings.Join(texts, separator)
}

// Node is a generator of a set, in its place.
type Node struct {
	Kind Kind
	// Spec is nil unless it is an object.
	Spec map[string]any
	// Entry is the list entry that contains the generator, with its selector. Path is the path of the entry in the spec of the set.
	Entry map[string]any
	Path  []string
	// Parent is the matrix or merge that the generator is in; nil is none. Index is its place in the list.
	Parent *Node
	Index  int
}

// At is the path of a field of a generator in the spec of the set.
func (n *Node) At(field ...string) []string {
	return slices.Concat(n.Path, []string{string(n.Kind)}, field)
}

// Nodes returns the generators in the value of spec.generators, nested ones behind those that they are in. The value need not be valid.
func Nodes(generators any) []*Node { return nodes(generators, []string{"generators"}, nil) }

func nodes(generators any, path []string, parent *Node) []*Node {
	var out []*Node
	list, _ := generators.([]any)
	for i, e := range list {
		entry, _ := e.(map[string]any)
		for _, kind := range kinds {
			if entry[string(kind)] == nil {
				continue
			}
			spec, _ := entry[string(kind)].(map[string]any)
			n := &Node{kind, spec, entry, append(slices.Clone(path), strict.Index(i)), parent, i}
			out = append(append(out, n), n.Inside()...)
		}
	}
	return out
}

// Inside returns the generators inside of a matrix or merge, as Nodes does.
func (n *Node) Inside() []*Node {
	if !n.Kind.Nests() {
		return nil
	}
	return nodes(n.Spec["generators"], n.At("generators"), n)
}
