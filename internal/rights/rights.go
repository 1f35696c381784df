// Package rights decides what an application may use of Argo CD: which credentials for which repository, and which clusters. A credential
// or a cluster of a project is for that project only. A credential or cluster of no project is for administrators, for the application's
// own repository, and for what the policy allows.
package rights

import (
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/policy"
)

// Credential is a credential of Argo CD, without its secrets.
type Credential struct {
	URL string
	// Template says that it is for all repositories below URL.
	Template bool
	// Project is the project that may use it; "" is none in particular.
	Project string
	// Complete says that it needs no template: it has secrets, or cannot be read.
	Complete bool
}

// Choose returns the indexes of the credentials for a project's read of a repository, -1 for none: the repository's own credential,
// preferably the project's, and the longest matching template. Credentials of other projects are not used. The template is used only if
// there is no own credential, or if that is incomplete.
func Choose(all []Credential, repository, project string) (own, template int) {
	own, template = -1, -1
	for i, c := range all {
		switch {
		case c.Project != "" && c.Project != project:
		case !c.Template && c.URL != "" && giturl.Normal(c.URL) == giturl.Normal(repository):
			if own < 0 || all[own].Project == "" && c.Project != "" {
				own = i
			}
		case c.Template && giturl.Covers(c.URL, repository) && (template < 0 ||
			len(giturl.Normal(c.URL)) > len(giturl.Normal(all[template].URL))):
			template = i
		}
	}
	if own >= 0 && all[own].Complete {
		template = -1
	}
	return own, template
}

// Asker is the application that a request is for.
type Asker struct {
	policy.Parent
	// Repository is the URL of its own.
	Repository string
	// Policy has the rules for projects. Nil applies the defaults.
	Policy *policy.Policy
}

// ReadRepository returns nil if the application may have a repository read for it. project is the project of the credential for the read;
// "" if it has none, or there is no credential. Its own repository was read for it by Argo CD, and a credential of its project is its own;
// for all others the policy decides.
func (a Asker) ReadRepository(url, project string) error {
	if giturl.Same(url, a.Repository) || project != "" && project == a.Project {
		return nil
	}
	return a.Policy.Generator(a.Parent, url)
}

// Cluster reports whether the application may know a cluster that belongs to a project; "" is to none.
func (a Asker) Cluster(project string) bool { return a.Admin || project == "" || project == a.Project }
