package plan

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
)

// newSource is a source as an Application has it, before it is rendered.
func newSource(spec map[string]any) Source {
	return Source{
		Repository: manifest.String(spec, "repoURL"), Revision: manifest.String(spec, "targetRevision"),
		Path: manifest.String(spec, "path"), Chart: manifest.String(spec, "chart"), Spec: spec,
	}
}

// InGit reports whether a source is in Git, where commits change it.
func (s Source) InGit() bool { return s.Chart == "" && !strings.HasPrefix(s.Repository, "oci://") }

// Git is the Git repository of a source, "" if it is in none.
func (s Source) Git() string {
	if !s.InGit() {
		return ""
	}
	return s.Repository
}

// inRepository notes the Git repository of a source in the positions of its documents: two repositories may have files of the same name.
func inRepository(r *source.Result, spec map[string]any) {
	for i := range r.Documents {
		r.Documents[i].Repository = newSource(spec).Git()
	}
}
