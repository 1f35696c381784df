package plan

import (
	"fmt"
	"slices"
	"sync"

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
	p.rules = argo.Installation{Namespace: p.cfg.Namespace, Owned: p.owned()}
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

// refused names the part of an Application that its project certainly does not permit: namespace, source or destination; "" if there is
// none.
func (p *prerequisites) refused(app *Application, project argo.Project) string {
	to := p.destination(app, app.namespace())
	answer := project.Permits(argo.Subject{Namespace: app.Namespace, Sources: argo.Deployed(app.Object), Destination: to}, p.rules)
	if answer.Doubt != "" {
		return ""
	}
	switch answer.Refused {
	case argo.PartNamespace:
		return fmt.Sprintf("%s %s", answer.Refused, app.Namespace)
	case argo.PartDestination:
		return fmt.Sprintf("%s %s/%s", answer.Refused, to.Name, to.Namespace)
	}
	return string(answer.Refused)
}

// allowed reports whether a project permits a destination, or may.
func (p *prerequisites) allowed(project argo.Project, to argo.Destination) bool {
	key := [...]string{project.Name, to.Server, to.Name, to.Namespace}
	yes, ok := p.permitted[key] // thousands of objects ask the same
	if !ok {
		answer := project.PermitsDestination(to, p.rules)
		yes = answer.Refused == "" || answer.Doubt != ""
		p.permitted[key] = yes
	}
	return yes
}

// destination is a namespace of the cluster that an Application deploys to.
func (p *prerequisites) destination(app *Application, namespace string) argo.Destination {
	to := argo.Destination{Server: p.server(app), Name: argo.InClusterName, Namespace: namespace}
	to.Known = to.Server == argo.InClusterServer
	for _, c := range p.cfg.Clusters {
		if c.Server == to.Server {
			to.Name, to.Known = c.Name, true
			break
		}
	}
	return to
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
	if namespaced && !p.allowed(project, p.destination(app, app.spaceOf(item))) {
		return "the namespace " + app.spaceOf(item)
	}
	return ""
}

// owned returns a function that reports whether the plan has a Secret that gives a project the repository or the cluster with a URL.
func (p *prerequisites) owned() func(project string, kind argo.SecretType, url string) bool {
	type given struct {
		project string
		kind    argo.SecretType
		url     string
	}
	all := sync.OnceValue(func() map[given]bool {
		out := map[given]bool{}
		text := func(o manifest.Object, key string) string {
			value, _ := manifest.SecretValue(o, key) // one that is wrong gives nothing
			return value.Reveal()
		}
		for _, app := range p.plan.Applications {
			for _, item := range app.Items {
				if item.Group != "" || item.Kind != "Secret" {
					continue
				}
				o := item.Object
				switch kind := argo.SecretTypeOf(o); kind {
				case argo.SecretRepository:
					out[given{text(o, "project"), kind, text(o, "url")}] = true
				case argo.SecretCluster:
					out[given{text(o, "project"), kind, text(o, "server")}] = true
				}
			}
		}
		return out
	})
	return func(project string, kind argo.SecretType, url string) bool { return all()[given{project, kind, url}] }
}
