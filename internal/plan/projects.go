package plan

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// refusal is a violation of a project, and the Applications with it.
type refusal struct {
	project, what string
	begins        bool // the Application is refused, otherwise its syncs
	users         []place
}

// permissions finds violations of the projects in the plan. Other projects count as permitting everything.
func (p *prerequisites) permissions() {
	if s := p.plan.Settings; s != nil && s.GlobalProjects {
		return // they may permit more
	}
	var found []*refusal
	note := func(app *Application, item *Item, project, what string, begins bool) {
		i := slices.IndexFunc(found, func(r *refusal) bool { return r.project == project && r.what == what && r.begins == begins })
		if i < 0 {
			found, i = append(found, &refusal{project: project, what: what, begins: begins}), len(found)
		}
		r := found[i]
		if n := len(r.users); n == 0 || r.users[n-1].app != app {
			r.users = append(r.users, place{app, item})
		}
	}
	for _, app := range p.plan.Applications {
		name := app.Project
		if name == "" {
			name = argo.DefaultProject
		}
		providers := p.providers[Thing{ThingProject, argo.InClusterServer, name}]
		if len(providers) == 0 || app.Applied {
			continue
		}
		project := argo.NewProject(providers[0].item.Object)
		if what := p.refused(app, project); what != "" {
			note(app, nil, name, what, true)
			// Until the plan deploys it, the default project permits everything.
			if name != argo.DefaultProject {
				app.Refused = fmt.Sprintf("the project %s does not permit %s", name, what)
			}
			continue
		}
		for _, item := range app.Items {
			what := p.forbidden(app, item, project)
			if what == "" {
				continue
			}
			note(app, item, name, what, false)
			if name != argo.DefaultProject {
				item.Forbidden = fmt.Sprintf("the project %s does not permit %s", name, what)
			}
		}
	}
	for _, r := range found {
		p.refuse(r)
	}
}

func (p *prerequisites) refuse(r *refusal) {
	d := &demand{users: r.users}
	effect := "no sync of %s begins"
	if r.begins {
		effect = "Argo CD refuses %s (InvalidSpecError)"
	}
	effect = fmt.Sprintf(effect, d.names(r.users))
	if r.project == argo.DefaultProject {
		effect = "once it is deployed, " + effect
	}
	p.say(RuleProjectForbids, d, "the project %s does not permit %s: %s", r.project, r.what, effect)
}

// refused names the part of an Application that its project does not permit: namespace, source or destination; "" if there is none.
func (p *prerequisites) refused(app *Application, project argo.Project) string {
	if app.Namespace != p.cfg.Namespace && !project.AllowsNamespace(app.Namespace) {
		return "Applications in the namespace " + app.Namespace
	}
	for _, s := range argo.Deployed(app.Object) {
		repo := manifest.String(s, "repoURL")
		if !project.AllowsSource(repo) && !p.scoped(project.Name, "repository", "url", repo) {
			return "the repository of a source" // not which: a URL may have a password in it
		}
	}
	server, name, known := p.cluster(app)
	if known && !p.allowed(project, server, name, app.namespace()) {
		return fmt.Sprintf("the destination %s/%s", name, app.namespace())
	}
	return ""
}

// allowed reports whether a project permits a namespace of a cluster, or may.
func (p *prerequisites) allowed(project argo.Project, server, name, namespace string) bool {
	key := [...]string{project.Name, server, name, namespace}
	yes, ok := p.permitted[key] // thousands of objects ask the same
	if !ok {
		yes = project.ScopedClusters() || project.AllowsDestination(server, name, namespace) ||
			p.scoped(project.Name, "cluster", "server", server)
		p.permitted[key] = yes
	}
	return yes
}

// cluster returns the address and the name of the cluster that an Application deploys to, and whether both are known.
func (p *prerequisites) cluster(app *Application) (server, name string, known bool) {
	server = p.server(app)
	for _, c := range p.cfg.Clusters {
		if c.Server == server {
			return c.Server, c.Name, true
		}
	}
	return server, argo.InClusterName, server == argo.InClusterServer
}

// forbidden says why the project does not permit an item, if the scope of its kind is known; "" if it does.
func (p *prerequisites) forbidden(app *Application, item *Item, project argo.Project) string {
	// Argo CD checks the namespace that it creates itself, too.
	if item == app.Items[0] && len(app.Provides) > 0 && !p.isThere(app.Provides[0]) && !project.AllowsKind("", "Namespace", false) {
		return "Namespaces, such as the one that CreateNamespace=true creates"
	}
	namespaced, known := p.namespaced(item)
	if !known {
		return ""
	}
	if !project.AllowsKind(item.Group, item.Kind, namespaced) {
		kind := item.Kind
		if item.Group != "" {
			kind = item.Group + "/" + kind
		}
		return "the kind " + kind
	}
	server, name, ok := p.cluster(app)
	if ok && namespaced && !p.allowed(project, server, name, app.spaceOf(item)) {
		return "the namespace " + app.spaceOf(item)
	}
	return ""
}

// scoped reports whether the plan has a Secret that gives a project a repository or a cluster of its own.
func (p *prerequisites) scoped(project, kind, field, value string) bool {
	for _, app := range p.plan.Applications {
		for _, item := range app.Items {
			if item.Group != "" || item.Kind != "Secret" || manifest.String(item.Object, "metadata", "labels",
				argo.SecretTypeLabel) != kind {
				continue
			}
			if secret(item.Object, "project") == project && secret(item.Object, field) == value {
				return true
			}
		}
	}
	return false
}

// secret is a value of a Secret that is no secret.
func secret(o manifest.Object, key string) string {
	if text := manifest.String(o, "stringData", key); text != "" {
		return text
	}
	text, err := base64.StdEncoding.DecodeString(manifest.String(o, "data", key))
	if err != nil {
		return ""
	}
	return string(text)
}
