// Package rights decides what an application may use of Argo CD: which credentials for which repository, which clusters, which APIs, and
// which engine. A credential or a cluster of a project is for that project only. A credential or cluster of no project is for
// administrators, for the application's own repository, and for what the policy allows.
package rights

import (
	"fmt"

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

// Target is the subject of a generator's question to an API.
type Target struct {
	// Resource is the address of the API and below it the owner, as in https://api.github.com/acme, or configmap/NAME for a plugin and a
	// decision.
	Resource string
	// Namespace is the namespace of the Secrets; "" if there are none.
	Namespace string
	// Role is an AWS role to assume.
	Role string
}

// AskAPI returns nil if generators of the application may ask an API. The policy decides about the API. Secrets of the application's
// namespace are its own; those of Argo CD's namespace come with the permission to ask. A role of AWS may be assumed for administrators
// only.
func (a Asker) AskAPI(t Target, argocdNamespace string) error {
	if err := a.Policy.API(a.Parent, t.Resource); err != nil {
		return err
	}
	if t.Namespace != "" && t.Namespace != a.Namespace && t.Namespace != argocdNamespace && !a.Policy.Unrestricted(a.Parent) {
		return fmt.Errorf("the Secrets of namespace %q are refused: a set may use those of its parent's namespace, %q, and of "+
			"Argo CD's", t.Namespace, a.Namespace)
	}
	if t.Role != "" && !a.Admin {
		return fmt.Errorf("role %q is refused: only applications of administrators' projects may assume roles", t.Role)
	}
	return nil
}

// MarkedTokens reports whether generators of the application may only use Secrets with tokens that an administrator has marked for that.
func (a Asker) MarkedTokens() bool { return !a.Admin }

// ServerEngine returns nil if Argo CD's API server may render sets for the application. The server reads with rights of its own.
func (a Asker) ServerEngine() error {
	if a.Admin {
		return nil
	}
	return fmt.Errorf("the engine argocd reads with rights of its own, and so bypasses the policy: it is only for applications of "+
		"administrators' projects (--admin-projects), and this one is in project %q", a.Project)
}
