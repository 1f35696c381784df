package source

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

var refName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// validRefs holds the refs of sources to the rules of Argo CD (GetRefSources).
func validRefs(sources []map[string]any) error {
	seen := map[string]bool{}
	for _, s := range sources {
		switch ref := manifest.String(s, "ref"); {
		case ref == "":
		case !refName.MatchString(ref):
			return fmt.Errorf("sources: ref %q cannot contain any special characters except '_' and '-'", ref)
		case seen[ref]:
			return fmt.Errorf("sources: several of them have the ref %q", ref)
		default:
			seen[ref] = true
		}
	}
	return nil
}

// checkRefs demands that every $name at the beginning of a value file is a ref. Argo CD looks at the source of the Application, before
// .argocd-source.yaml changes it, and takes variables for refs, too.
func (j *job) checkRefs() error {
	for _, name := range manifest.Keys(j.Refs) {
		if err := j.Refs[name].Err; err != nil {
			return err
		}
	}
	if !j.Several {
		return nil
	}
	own := giturl.Normal(manifest.String(j.Spec, "repoURL"))
	j.fetched[own] = true
	revisions := map[string]string{}
	var errs []error
	for _, file := range candidates(j.Spec) {
		first, _, _ := strings.Cut(file, "/")
		if !strings.HasPrefix(file, "$") {
			continue
		}
		r, ok := j.Refs[first]
		before, twice := revisions[r.Ref.URL]
		switch {
		case !ok && len(j.Refs) == 0:
			errs = append(errs, fmt.Errorf("source referenced %q, but no source has a 'ref' field defined", first))
		case !ok:
			errs = append(errs, fmt.Errorf("source referenced %q, which is not one of the available sources (%s)", first,
				strings.Join(manifest.Keys(j.Refs), ", ")))
		case r.Ref.Chart:
			errs = append(errs, fmt.Errorf("source referenced %q, which is a chart; Argo CD takes value files from Git only", first))
		case twice && before != r.Ref.Revision:
			errs = append(errs, fmt.Errorf("cannot reference multiple revisions for the same repository: %s references %q, another %q",
				first, r.Ref.Revision, before))
		case r.Ref.URL == own && r.Commit != "" && j.Commit != "" && r.Commit != j.Commit:
			errs = append(errs, fmt.Errorf("cannot reference a different revision of the same repository: %s references %q", first,
				r.Ref.Revision))
		case r.View != nil:
			errs = append(errs, j.checkLinks(first, r.View))
		}
		j.fetched[r.Ref.URL], revisions[r.Ref.URL] = true, r.Ref.Revision
	}
	return errors.Join(errs...)
}

// candidates are the names of files that may be of other sources.
func candidates(spec map[string]any) []string {
	helm := manifest.Map(spec, "helm")
	names := manifest.Strings(helm["valueFiles"])
	list, _ := helm["fileParameters"].([]any)
	for _, p := range list {
		m, _ := p.(map[string]any)
		names = append(names, manifest.String(m, "path"))
	}
	return names
}

// checkLinks refuses a repository with a link out of it, wherever the link is, as Argo CD does (CheckOutOfBoundsSymlinks).
func (j *job) checkLinks(ref string, view *tree.View) error {
	if j.Strict || j.Plugin {
		return nil
	}
	name, err := view.Outside(j.ctx)
	switch {
	case err != nil:
		return err
	case name == "":
		return nil
	case ref == "":
		return manifest.Errorf(j.URL(name), "it is a symbolic link out of the repository, and Argo CD refuses a repository with one")
	}
	return fmt.Errorf("%s: %s is a symbolic link out of the repository, and Argo CD refuses a repository with one", ref, name)
}

// Elsewhere returns the refs, as "$name", that the value files of a source begin with.
func Elsewhere(spec map[string]any) []string {
	var out []string
	for _, name := range candidates(spec) {
		if first, _, _ := strings.Cut(name, "/"); strings.HasPrefix(first, "$") {
			out = append(out, first)
		}
	}
	return out
}
