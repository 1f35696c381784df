package source

import (
	"cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// environment returns Argo CD's build environment: variables such as $ARGOCD_APP_NAME in parameters, value files and more.
func (j *job) environment() func(string) string {
	short := func(n int) string { return j.revision()[:min(n, len(j.revision()))] }
	variables := map[string]func() string{
		"ARGOCD_APP_NAME":                   func() string { return j.Name },
		"ARGOCD_APP_NAMESPACE":              func() string { return j.Namespace },
		"ARGOCD_APP_PROJECT_NAME":           func() string { return cmp.Or(j.Project, argo.DefaultProject) },
		"ARGOCD_APP_REVISION":               j.revision,
		"ARGOCD_APP_REVISION_SHORT":         func() string { return short(7) },
		"ARGOCD_APP_REVISION_SHORT_8":       func() string { return short(8) },
		"ARGOCD_APP_SOURCE_REPO_URL":        func() string { return manifest.String(j.Spec, "repoURL") },
		"ARGOCD_APP_SOURCE_PATH":            func() string { return manifest.String(j.Spec, "path") },
		"ARGOCD_APP_SOURCE_TARGET_REVISION": func() string { return manifest.String(j.Spec, "targetRevision") },
	}
	return func(name string) string {
		if name == "$" {
			return "$" // written as $$
		}
		if f := variables[name]; f != nil {
			return f()
		}
		return ""
	}
}

// revision is the commit. A work tree has none before it is committed.
func (j *job) revision() string {
	if j.Commit == "" {
		j.note(Lenient, "it uses $ARGOCD_APP_REVISION, the commit that is deployed, which a work tree does not have yet; HEAD stands for "+
			"it here")
	}
	return cmp.Or(j.Commit, "HEAD")
}

// expand replaces variables.
func (j *job) expand(s string) string {
	return expand(s, j.env)
}
