package source

import (
	"bytes"
	"regexp"

	"github.com/argosy-cd/argosy/internal/tree"
)

// applicationKind matches the kind of an Application or a set, in YAML, JSON or a template of them.
var applicationKind = regexp.MustCompile(`kind"?\s*:\s*\\?["']?Application(Set)?\b`)

// Mentions reports whether a text names Applications or ApplicationSets of Argo CD.
func Mentions(text []byte) bool {
	return bytes.Contains(text, []byte("argoproj.io")) && applicationKind.Match(text)
}

// mentions reports whether the known part of an incomplete source mentions Applications or sets.
func (j *job) mentions() bool {
	names := map[string]bool{}
	for input := range j.inputs {
		if input.Ref == "" {
			names[input.Path] = true
		}
	}
	if j.result.Kind == Plugin && j.View != nil { // a plugin may read any file of its directory
		err := j.View.Walk(j.ctx, j.dir, false, func(name string, kind tree.Kind) error {
			if kind == tree.Regular && tree.IsManifest(name) && len(names) < maxMentions {
				names[name] = true
			}
			return nil
		})
		if err != nil {
			return true // unknown counts as yes
		}
	}
	for name := range names {
		if data, err := j.View.Read(j.ctx, name); err == nil && Mentions(data) {
			return true
		}
	}
	return false
}

// maxMentions bounds the files that are searched.
const maxMentions = 10_000
