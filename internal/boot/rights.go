package boot

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/words"
)

// checkProjects checks that the projects of the plan exist, and that those in the cluster permit the Applications.
func (b *boot) checkProjects(ctx context.Context) {
	const name = "projects"
	const fix = "create the AppProject before the boot, or deploy it in an earlier wave"
	if c, found := b.missing(Check{Name: name, Fix: fix}, plan.ThingProject, plan.RuleProjectMissing); found {
		b.check(c)
		return
	}
	used := map[string][]*plan.Application{}
	brought := map[string]bool{}
	for _, app := range b.found.Plan.Applications {
		if !app.Applied {
			project := cmp.Or(app.Project, argo.DefaultProject)
			used[project] = append(used[project], app)
		}
		for _, item := range app.Items {
			if item.Kind == argo.KindAppProject {
				brought[item.Name] = true
			}
		}
	}
	doubt := ""
	for _, project := range slices.Sorted(maps.Keys(used)) {
		if brought[project] {
			continue // the plan knows what it permits
		}
		o, err := b.project(ctx, project)
		if err != nil {
			text := fmt.Sprintf("AppProject %s cannot be read: %s", project, live.Brief(err))
			b.check(Check{Name: name, Verdict: Unknown, Text: text})
			return
		}
		if o == nil {
			continue // Argo CD creates default; other missing projects are findings or doubts of the plan
		}
		text, unclear := b.forbids(argo.NewProject(o), used[project])
		if text != "" {
			b.check(Check{Name: name, Verdict: Failed, Text: text, Fix: fmt.Sprintf("permit it in AppProject %s", project)})
			return
		}
		doubt = cmp.Or(doubt, unclear)
	}
	if doubt != "" {
		b.check(Check{Name: name, Verdict: Unknown, Text: doubt})
		return
	}
	text := fmt.Sprintf("%s of the plan: all Applications are permitted", words.Count(len(used), "project"))
	b.check(Check{Name: name, Verdict: OK, Text: text})
}

// forbids returns the first violation of the project, "" if there is none, and the first possible one. Boot reads no Secrets, and knows
// only the name or the URL of another cluster.
func (b *boot) forbids(p argo.Project, apps []*plan.Application) (text, unclear string) {
	in := argo.Installation{Namespace: b.client.Namespace, GlobalProjects: b.facts.settings != nil && b.facts.settings.GlobalProjects}
	for _, app := range apps {
		to := manifest.Map(app.Object, "spec", "destination")
		d := argo.Destination{
			Server: manifest.String(to, "server"), Name: manifest.String(to, "name"), Namespace: manifest.String(to, "namespace"),
		}
		if generator.ClusterList(nil).Local(d.Name, d.Server) {
			d.Server, d.Name, d.Known = argo.InClusterServer, argo.InClusterName, true
		}
		answer := p.Permits(argo.Subject{Namespace: app.Namespace, Sources: argo.Deployed(app.Object), Destination: d}, in)
		what := fmt.Sprintf("%s of %s", answer.Refused, app.Name)
		if answer.Refused == argo.PartNamespace {
			what = fmt.Sprintf("%s %s, such as %s", answer.Refused, app.Namespace, app.Name)
		}
		switch {
		case answer.Refused == "":
		case answer.Doubt == "":
			return fmt.Sprintf("the project %s does not permit %s", p.Name, what), ""
		case unclear == "":
			unclear = fmt.Sprintf("it is not known whether the project %s permits %s: %s", p.Name, what, answer.Doubt)
		}
	}
	return "", unclear
}

// checkRights asks the API server whether the user has the rights that the boot needs.
func (b *boot) checkRights(ctx context.Context) {
	c := Check{Name: "permissions", Verdict: OK, Text: "all rights for the boot are there"}
	defer func() { b.check(c) }()
	const role = "grant the ClusterRole argosy-boot: docs/live.md"
	lacking := func(rights ...live.Right) (*live.Right, bool) {
		for _, r := range rights {
			ok, err := b.client.May(ctx, r)
			if err != nil {
				c.Verdict, c.Text = Unknown, live.Brief(err)
				return nil, false
			}
			if !ok {
				return &r, true
			}
		}
		return nil, true
	}
	var rights, wide []live.Right
	for _, resource := range []string{"applications", "applicationsets"} {
		for _, verb := range []string{"list", "watch"} {
			rights = append(rights, live.Right{Verb: verb, Group: argo.Group, Resource: resource, Namespace: b.client.Namespace})
			wide = append(wide, live.Right{Verb: verb, Group: argo.Group, Resource: resource})
		}
	}
	for _, d := range b.found.Roots {
		key := live.KeyOf(d.Object)
		resource, namespaced, err := b.lookup.Resource(ctx, key.Group, key.Kind)
		if err != nil {
			continue // applying it says so
		}
		r := live.Right{Group: key.Group, Resource: resource, Name: key.Name}
		if namespaced {
			r.Namespace = cmp.Or(key.Namespace, b.client.Namespace)
		}
		for _, verb := range []string{"get", "patch"} {
			r.Verb = verb
			rights = append(rights, r)
		}
		key.Namespace = r.Namespace
		if o, err := b.lookup.Get(ctx, key); o == nil && err == nil {
			r.Verb, r.Name = "create", ""
			rights = append(rights, r)
		}
	}
	if b.Fix {
		for _, verb := range []string{"get", "patch"} {
			rights = append(rights, live.Right{Verb: verb, Resource: "configmaps", Namespace: b.client.Namespace, Name: settings.ConfigMap})
		}
	}
	if b.Unwedge {
		for _, verb := range []string{"get", "patch"} {
			rights = append(rights, live.Right{Verb: verb, Group: argo.Group, Resource: "applications", Namespace: b.client.Namespace})
		}
	}
	r, ok := lacking(rights...)
	if !ok {
		return
	}
	if r != nil {
		c.Verdict, c.Text, c.Fix = Failed, (&live.NoRightError{Right: *r}).Error(), role
		return
	}
	if r, ok = lacking(wide...); ok && r != nil {
		c.Verdict, c.Fix = Unknown, role
		c.Text = fmt.Sprintf("%s: Applications in other namespaces are not followed", &live.NoRightError{Right: *r})
	}
}
