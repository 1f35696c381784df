package render

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// errAliases says that a document would be far larger than its text.
var errAliases = errors.New("document contains excessive aliasing")

var alias = regexp.MustCompile(`&\w[\s\S]*\*\w`)

// boundAliases refuses YAML whose aliases multiply: Kustomize replaces them without a limit. Helm and Argo CD have one, which is used here.
func boundAliases(data []byte) error {
	if !alias.Match(data) {
		return nil
	}
	if _, _, err := manifest.Stream("", data); err != nil && strings.Contains(err.Error(), errAliases.Error()) {
		return errAliases
	}
	return nil
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
