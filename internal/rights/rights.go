// Package rights decides what an application may use of what Argo CD has: which of its credentials for which repository, and which of its
// clusters. A credential or a cluster of a project is for that project and for nobody else. A credential or cluster of no project is for
// administrators, for the application's own repository, and for what the policy allows.
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
	// Project is the one that it is for; "" is all.
	Project string
	// Complete says that it needs no template: it has secrets, or cannot be read.
	Complete bool
}

// Choose returns which credentials a project reads a repository with, -1 for none: that of the repository itself, of the project first, and
// that of the longest template. Those of other projects are nobody else's. The template is asked for only if there is no credential for the
// repository, or if that is not complete.
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
	// Policy is what projects may do. Nil is what they may without one.
	Policy *policy.Policy
}

// ReadRepository returns nil if the application may have a repository read for it. Project is that of the credential that it would be read
// with; "" is of none, or that there is no credential. Its own repository was read for it by Argo CD, and a credential of its project is
// its own; for all others the policy decides.
func (a Asker) ReadRepository(url, project string) error {
	if giturl.Same(url, a.Repository) || project != "" && project == a.Project {
		return nil
	}
	return a.Policy.Generator(a.Parent, url)
}

// Cluster reports whether the application may know a cluster that belongs to a project; "" is to none.
func (a Asker) Cluster(project string) bool { return a.Admin || project == "" || project == a.Project }
