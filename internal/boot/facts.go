package boot

import (
	"context"
	"fmt"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/words"
)

// facts are what is known about the Argo CD of a cluster. An error is why something is not.
type facts struct {
	// served says that the API server serves its kinds.
	served    bool
	servedErr error
	// workloads are its Deployments and StatefulSets.
	workloads    []manifest.Object
	workloadsErr error
	version      string // of an image, "" is not known
	// settings are argocd-cm, nil if there is none; hasCheck says that they have a health check for Applications.
	settings    *settings.Settings
	settingsErr error
	hasCheck    bool
}

// partOf is the label of everything that belongs to Argo CD.
const partOf = "app.kubernetes.io/part-of=argocd"

// gather finds out what is known about Argo CD.
func (b *boot) gather(ctx context.Context) facts {
	var f facts
	b.lookup.Forget()
	f.served = true
	for _, kind := range []string{argo.KindApplication, argo.KindAppProject} {
		ok, err := b.lookup.Serves(ctx, argo.Group, kind)
		if f.served = f.served && ok; err != nil {
			f.servedErr = err
		}
	}
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		list, err := b.lookup.Labelled(ctx, "apps", kind, b.client.Namespace, partOf)
		f.workloads = append(f.workloads, list...)
		if err != nil {
			f.workloadsErr = err
		}
	}
	for _, o := range f.workloads {
		if v := settings.VersionOf(o); v != "" {
			f.version = v
		}
	}
	b.tracking, _ = b.client.Tracking(ctx) // the next request says why not
	o, err := b.lookup.Get(ctx, live.Key{Kind: "ConfigMap", Namespace: b.client.Namespace, Name: settings.ConfigMap})
	if f.settingsErr = err; err == nil && o != nil {
		f.settings, _, f.settingsErr = settings.FromObject(o)
	}
	if f.settings != nil {
		key, err := f.settings.Health.Covers(sample(""))
		f.hasCheck = key != "" && err == nil
	}
	return f
}

// known is the version of Argo CD that is nearest to the one in the cluster, 0 if that is not known.
func (f facts) known() versions.Version {
	v, _, _ := versions.Nearest(f.version)
	return v
}

// maxLooks bounds the things that are looked for one by one.
const maxLooks = 500

// existing returns those things that a plan requires that are in the cluster.
func (b *boot) existing(ctx context.Context, p *plan.Plan) []plan.Thing {
	seen := map[plan.Thing]bool{}
	var out []plan.Thing
	look := func(list []plan.Thing) {
		for _, t := range list {
			if seen[t] {
				continue
			}
			if t.Cluster != generator.InClusterServer {
				// The plan must not call it missing.
				seen[t], b.distant[t.What] = true, t.Cluster
				out = append(out, t)
				continue
			}
			if len(seen) >= maxLooks {
				b.blind(t, fmt.Errorf("only %d things of a plan are looked for", maxLooks))
				continue
			}
			seen[t] = true
			if b.isThere(ctx, t) {
				out = append(out, t)
			}
		}
	}
	look(p.Doubts)
	for _, app := range p.Applications {
		look(app.Requires)
		for _, item := range app.Items {
			look(item.Requires)
		}
	}
	return out
}

// isThere reports whether a thing is in the cluster. One that cannot be looked at is not, and the check of things says so.
func (b *boot) isThere(ctx context.Context, t plan.Thing) bool {
	switch t.What {
	case plan.ThingKind:
		group, kind := splitKind(t.Name)
		ok, err := b.lookup.Serves(ctx, group, kind)
		b.blind(t, err)
		return ok
	case plan.ThingNamespace:
		o, err := b.lookup.Get(ctx, live.Key{Kind: "Namespace", Name: t.Name})
		b.blind(t, err)
		return o != nil
	case plan.ThingProject:
		o, err := b.project(ctx, t.Name)
		b.blind(t, err)
		return o != nil
	}
	return false
}

// blind notes the first reason why things like this one could not be looked at.
func (b *boot) blind(t plan.Thing, err error) {
	if err != nil && b.unseen[t.What] == "" {
		b.unseen[t.What] = live.Lacking(err.Error())
	}
}

// missing are the findings of a rule: things that the plan needs and nobody brings. It is not known whether they are missing if not all
// could be looked at. The second result says whether there are any.
func (b *boot) missing(c Check, what string, rule plan.Rule) (Check, bool) {
	var texts []string
	for _, f := range b.found.Plan.Findings {
		if f.Rule.Name == rule.Name {
			texts = append(texts, f.Message)
		}
	}
	if len(texts) == 0 {
		return c, false
	}
	c.Verdict, c.Text = Failed, first(texts)
	if reason := b.unseen[what]; reason != "" {
		c.Verdict, c.Text = Unknown, fmt.Sprintf("%s; not all could be looked at: %s", c.Text, reason)
	}
	return c, true
}

func (b *boot) project(ctx context.Context, name string) (manifest.Object, error) {
	if !b.facts.served {
		return nil, nil
	}
	return b.lookup.Get(ctx, live.Key{Group: argo.Group, Kind: argo.KindAppProject, Namespace: b.client.Namespace, Name: name})
}

// checkThings says which kinds and namespaces the plan needs and nobody brings.
func (b *boot) checkThings() {
	for _, t := range []struct {
		name, noun, what, fix string
		rule                  plan.Rule
	}{
		{
			"crds", "CRD", plan.ThingKind, "deploy it in an earlier wave, or install it before the boot", plan.RuleKindMissing,
		},
		{
			"namespaces", "namespace", plan.ThingNamespace, "set CreateNamespace=true, or create it before the boot",
			plan.RuleNamespaceMissing,
		},
	} {
		c, found := b.missing(Check{Name: t.name, Fix: t.fix}, t.what, t.rule)
		if !found {
			c = b.present(Check{Name: t.name, Verdict: OK}, t.noun, t.what)
		}
		b.check(c)
	}
}

// present says that nothing of a sort is missing, as far as that is known.
func (b *boot) present(c Check, noun, what string) Check {
	c.Text = fmt.Sprintf("every %s that the plan needs is in the cluster, or the plan brings it", noun)
	var doubts []string
	for _, t := range b.found.Plan.Doubts {
		if t.What == what {
			doubts = append(doubts, t.Name)
		}
	}
	switch {
	case len(doubts) > 0 && b.unseen[what] != "":
		c.Verdict, c.Text = Unknown, fmt.Sprintf("%s %s could not be looked at: %s", noun, words.Some(doubts), b.unseen[what])
	case len(doubts) > 0:
		c.Verdict = Unknown
		c.Text = fmt.Sprintf("%s %s is not in the cluster, and it is not known whether the plan brings it", noun, words.Some(doubts))
	case b.distant[what] != "":
		c.Verdict, c.Text = Unknown, fmt.Sprintf("nothing is missing in this cluster; %s was not looked at", b.distant[what])
	}
	return c
}

// first is the first of several texts, and how many more there are.
func first(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	return fmt.Sprintf("%s; and %d more", texts[0], len(texts)-1)
}

// checkArgoCD says whether Argo CD is there and runs, and which version it is.
func (b *boot) checkArgoCD() {
	f := b.facts
	install := "install Argo CD, or give its manifests to argosy boot --install"
	switch {
	case f.served:
		b.check(Check{Name: "argocd", Verdict: OK, Text: "the API server serves Argo CD's kinds"})
	case f.servedErr != nil:
		b.check(Check{Name: "argocd", Verdict: Failed, Text: "Argo CD's kinds cannot be looked for: " + f.servedErr.Error(), Fix: install})
		return
	default:
		b.check(Check{
			Name: "argocd", Verdict: Failed, Fix: install,
			Text: "the API server does not serve Applications and AppProjects: Argo CD is not installed",
		})
		return
	}
	b.check(b.controllers())
	c := Check{Name: "version", Verdict: OK, Text: "Argo CD " + f.version}
	if _, exact, ok := versions.Nearest(f.version); !ok {
		c.Verdict = Unknown
		c.Text = fmt.Sprintf("no workload in namespace %s has an image with a version of Argo CD; the plan is for %s", b.client.Namespace,
			b.found.Plan.Version)
		c.Fix = "set it with --argocd-version"
	} else if !exact {
		c.Verdict = Unknown
		c.Text = fmt.Sprintf("Argo CD %s is not known here (%s); the plan is for %s", f.version, versions.Range(), b.found.Plan.Version)
	}
	b.check(c)
}

// controllers says whether Argo CD runs: by its workloads, or else by what it has reconciled.
func (b *boot) controllers() Check {
	c := Check{Name: "controllers", Verdict: Unknown}
	ready := map[string]bool{}
	for _, o := range b.facts.workloads {
		// A workload without replicas is healthy, and does nothing. Another one may do its work.
		replicas, stated := manifest.Map(o, "spec")["replicas"].(int64)
		name := component(o)
		ready[name] = ready[name] || isReady(o) && (!stated || replicas > 0)
	}
	var down []string
	for _, name := range []string{"application-controller", "repo-server"} {
		if is, known := ready[name]; known && !is {
			down = append(down, name)
		}
	}
	_, controller := ready["application-controller"]
	_, server := ready["repo-server"]
	switch {
	case len(down) > 0:
		c.Verdict, c.Text = Failed, fmt.Sprintf("Argo CD's %s is not ready", words.Some(down))
		c.Fix = fmt.Sprintf("kubectl -n %s get pods -l %s", b.client.Namespace, partOf)
	case controller && server:
		c.Verdict, c.Text = OK, "application-controller and repo-server are ready"
	case b.facts.workloadsErr != nil:
		c.Text = "Argo CD's workloads cannot be looked at: " + live.Lacking(b.facts.workloadsErr.Error())
	default:
		c.Text = fmt.Sprintf("no application-controller and repo-server with the label %s are in namespace %s; they may run elsewhere",
			partOf, b.client.Namespace)
	}
	if c.Verdict == Unknown {
		if at := b.reconciled(); !at.IsZero() {
			c.Text += fmt.Sprintf("; an Application was reconciled %s ago", words.Age(b.Follow.Now().Sub(at)))
		}
	}
	return c
}

// reconciled is when Argo CD has last compared an Application.
func (b *boot) reconciled() (last time.Time) {
	for _, n := range b.follow.Snapshot().Nodes {
		if n.Compared.After(last) {
			last = n.Compared
		}
	}
	return last
}

func component(o manifest.Object) string {
	return manifest.String(o, "metadata", "labels", "app.kubernetes.io/component")
}
