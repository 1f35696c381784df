package render

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// errAliases says that a document would be far larger than its text.
var errAliases = errors.New("document contains excessive aliasing")

// maxAliased bounds the nodes that aliases add to a document.
const maxAliased = 500_000

var (
	alias = regexp.MustCompile(`&\S[\s\S]*\*\S`)
	// cut is where Kustomize cuts documents.
	cut = regexp.MustCompile(`\n---.*\n`)
)

// boundAliases refuses resources whose aliases multiply, or lead in a circle: Kustomize replaces them by what they stand for, without a limit.
// It reads them with the parser that Kustomize has. What that cannot read Kustomize refuses itself.
func boundAliases(data []byte) error {
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
			plain, all := 0, map[*yaml.Node]int{}
			if expanded := nodes(&n, all, &plain); expanded-plain > maxAliased {
				return errAliases
			}
		}
	}
	return nil
}

// nodes counts the nodes of a document with its aliases replaced, and those without. A circle has too many.
func nodes(n *yaml.Node, known map[*yaml.Node]int, plain *int) int {
	if n.Alias != nil {
		if size, ok := known[n.Alias]; ok && size > 0 {
			return size
		}
		return 2 * maxAliased // it is being counted
	}
	*plain++
	known[n] = 0
	size := 1
	for _, child := range n.Content {
		size = min(size+nodes(child, known, plain), 4*maxAliased+*plain)
	}
	known[n] = size
	return size
}

// maxBuilds bounds how many Kustomizations a build goes through. One that is reached in several ways is built each time, so a few files can
// take for ever.
const maxBuilds = 5_000

// boundBuilds refuses what leads to more Kustomizations than that.
func (l *localCheck) boundBuilds(top string) error {
	counts := map[string]int{}
	var count func(dir string) int
	count = func(dir string) int {
		if n, ok := counts[dir]; ok {
			return n
		}
		counts[dir] = 1 // Kustomize refuses circles
		n := 1
		for _, below := range l.below[dir] {
			n = min(n+count(below), maxBuilds+1)
		}
		counts[dir] = n
		return n
	}
	if count(top) > maxBuilds {
		return fmt.Errorf("it leads to more than %d Kustomizations, some of them in many ways", maxBuilds)
	}
	return nil
}
