package render

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// errAliases says that a document would be far larger than its text.
var errAliases = errors.New("document contains excessive aliasing")

var (
	alias = regexp.MustCompile(`&\S[\s\S]*\*\S`)
	// cut is where Kustomize cuts documents.
	cut = regexp.MustCompile(`\n---.*\n`)
)

// boundAliases refuses resources whose aliases multiply, or lead in a circle: Kustomize expands them without a limit. It uses Kustomize's
// parser: Kustomize itself refuses a text that this cannot read.
func boundAliases(data []byte) error {
	if err := manifest.Check(data); err != nil {
		return err
	}
	if !alias.Match(data) {
		return nil
	}
	for _, text := range cut.Split(string(data), -1) {
		dec := yaml.NewDecoder(strings.NewReader(text))
		for {
			var n yaml.Node
			if err := dec.Decode(&n); err != nil {
				break
			}
			var plain extent
			expanded := plain.of(&n, map[*yaml.Node]extent{})
			if expanded.nodes-plain.nodes > maxAliased || expanded.bytes-plain.bytes > maxAliasedBytes {
				return errAliases
			}
		}
	}
	return nil
}

// extent is the size of a document.
type extent struct{ nodes, bytes int }

// of measures a document with its aliases expanded, and adds the size as written to plain. A circle counts as too large.
func (plain *extent) of(n *yaml.Node, known map[*yaml.Node]extent) extent {
	if n.Alias != nil {
		if size, ok := known[n.Alias]; ok && size.nodes > 0 {
			return size
		}
		return extent{2 * maxAliased, 0} // it is being measured
	}
	plain.nodes++
	plain.bytes += len(n.Value)
	known[n] = extent{}
	size := extent{1, len(n.Value)}
	for _, child := range n.Content {
		below := plain.of(child, known)
		size.nodes = min(size.nodes+below.nodes, 4*maxAliased+plain.nodes)
		size.bytes = min(size.bytes+below.bytes, 4*maxAliasedBytes+plain.bytes)
	}
	known[n] = size
	return size
}

// work is the size of a build: Kustomizations, resulting resources, and comparisons of resources in all Kustomizations together.
type work struct{ builds, out, comparisons int }

// work measures the build of a directory. A directory that is reached in several ways counts each time.
func (l *localCheck) work(top string) work {
	known := map[string]work{}
	var measure func(dir string) work
	measure = func(dir string) work {
		if w, ok := known[dir]; ok {
			return w
		}
		known[dir] = work{builds: 1} // Kustomize refuses circles
		w := work{1, l.resourcesIn[dir], 0}
		for _, below := range l.below[dir] {
			b := measure(below)
			w = work{
				min(w.builds+b.builds, maxBuilds+1), min(w.out+b.out, maxComparisons),
				min(w.comparisons+b.comparisons, maxComparisons+1),
			}
		}
		w.comparisons = min(w.comparisons+w.out*w.out, maxComparisons+1)
		known[dir] = w
		return w
	}
	return measure(top)
}

// boundBuilds refuses a build that would take too long: a running build cannot be stopped.
func (l *localCheck) boundBuilds(top string) (small bool, err error) {
	w := l.work(top)
	switch {
	case w.builds > maxBuilds:
		return false, fmt.Errorf("it builds more than %d Kustomizations, counting those that it includes several times", maxBuilds)
	case w.comparisons > maxComparisons:
		return false, fmt.Errorf("its Kustomizations compare resources too often: %d resources at the end, and more than %d comparisons",
			w.out, maxComparisons)
	}
	small = w.builds <= maxAlone && w.comparisons <= maxAloneComparisons
	if l.schema && !small {
		return false, fmt.Errorf("one of its Kustomizations has a schema of its own (openapi), so that no other build can run meanwhile; "+
			"the limits for that are %d Kustomizations and %d comparisons of resources", maxAlone, maxAloneComparisons)
	}
	return small, nil
}
