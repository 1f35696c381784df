package boot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/words"
)

// facts are known about the Argo CD of a cluster. An error says why a fact is missing.
type facts struct {
	// served says that the API server serves its kinds.
	served    bool
	servedErr error
	// workloads are its Deployments and StatefulSets.
	workloads    []manifest.Object
	workloadsErr error
	version      string // of an image, "" if unknown
	// settings are argocd-cm, nil if there is none; hasCheck says that they have a health check for Applications.
	settings    *settings.Settings
	settingsErr error
	hasCheck    bool
}

// partOf is the label of everything that belongs to Argo CD.
const partOf = argo.PartOfLabel + "=" + argo.PartOf

// gather reads the facts about Argo CD.
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
		key, err := f.settings.Health.OfApplications()
		f.hasCheck = key != "" && err == nil
	}
	return f
}

// known returns the supported version that is nearest to the Argo CD in the cluster, 0 if that is unknown.
func (f facts) known() versions.Version {
	v, _, _ := versions.Nearest(f.version)
	return v
}

// maxLooks bounds the things that are looked for one by one.
const maxLooks = 500

// existing returns the required things of a plan that exist in the cluster.
func (b *boot) existing(ctx context.Context, p *plan.Plan) []plan.Thing {
	seen := map[plan.Thing]bool{}
	var out []plan.Thing
	look := func(list []plan.Thing) {
		for _, t := range list {
			if seen[t] {
				continue
			}
			if t.Cluster != argo.InClusterServer {
				// The plan must not call it missing.
				seen[t], b.distant[t.What] = true, t.Cluster
				out = append(out, t)
				continue
			}
			if len(seen) >= maxLooks {
				b.blind(t, fmt.Errorf("only the first %d prerequisites of the plan are checked", maxLooks))
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

// isThere reports whether a thing exists in the cluster. It is false for a thing that cannot be read; checkThings reports that.
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
		b.unseen[t.What] = live.Brief(err)
	}
}

// missing turns the findings of a rule about missing things into a check. Its verdict is Unknown if not all things could be read. The
// second result says whether there are any findings.
func (b *boot) missing(c Check, what string, rule plan.Rule) (Check, bool) {
	var texts, missing []string
	for _, f := range b.found.Plan.Findings {
		if f.Rule.Name == rule.Name {
			texts, missing = append(texts, f.Message), append(missing, f.Lacks+", and the cluster does not have it")
		}
	}
	if len(texts) == 0 {
		return c, false
	}
	if reason := b.unseen[what]; reason != "" {
		c.Verdict, c.Text = Unknown, fmt.Sprintf("%s; some could not be read: %s", first(texts), reason)
		return c, true
	}
	c.Verdict, c.Text = Failed, first(missing)
	return c, true
}

func (b *boot) project(ctx context.Context, name string) (manifest.Object, error) {
	if !b.facts.served {
		return nil, nil
	}
	return b.lookup.Get(ctx, live.Key{Group: argo.Group, Kind: argo.KindAppProject, Namespace: b.client.Namespace, Name: name})
}

// checkThings checks that the kinds and namespaces that the plan needs exist or are deployed.
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

// present completes a check without missing things: OK, or Unknown if there are doubts.
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
		c.Verdict, c.Text = Unknown, fmt.Sprintf("%s %s could not be read: %s", noun, words.Some(doubts), b.unseen[what])
	case len(doubts) > 0:
		c.Verdict = Unknown
		c.Text = fmt.Sprintf("%s %s is not in the cluster, and it is not known whether the plan brings it", noun, words.Some(doubts))
	case b.distant[what] != "":
		c.Verdict, c.Text = Unknown, fmt.Sprintf("nothing is missing in this cluster; cluster %s was not checked", b.distant[what])
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
		b.check(Check{
			Name: "argocd", Verdict: Failed, Text: "reading the kinds of the API server: " + f.servedErr.Error(),
			Fix: "check the connection and your rights, then run argosy boot again",
		})
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
		c.Text = fmt.Sprintf("the version of Argo CD is not known: no workload in namespace %s has it in its image; the plan is for %s",
			b.client.Namespace, b.found.Plan.Version)
		c.Fix = "set it with --argocd-version"
	} else if !exact {
		c.Verdict = Unknown
		c.Text = fmt.Sprintf("Argosy knows Argo CD %s, not %s; the plan is for %s", versions.Range(), f.version, b.found.Plan.Version)
	}
	b.check(c)
}

// controllers checks that Argo CD runs: by its workloads, or else by what it has reconciled.
func (b *boot) controllers() Check {
	c := Check{Name: "controllers", Verdict: Unknown}
	ready := map[string]bool{}
	for _, o := range b.facts.workloads {
		// A workload without replicas is healthy, and does nothing. Another one may do its work.
		replicas, stated := manifest.Map(o, "spec")["replicas"].(int64)
		name := component(o)
		ready[name] = ready[name] || isReady(o) && (!stated || replicas > 0)
	}
	var down, absent []string
	for _, name := range []string{"application-controller", "repo-server"} {
		if is, known := ready[name]; !known {
			absent = append(absent, "no "+name)
		} else if !is {
			down = append(down, name)
		}
	}
	switch {
	case len(down) > 0:
		c.Verdict, c.Text = Failed, fmt.Sprintf("Argo CD's %s is not ready", words.Some(down))
		c.Fix = fmt.Sprintf("find the cause: kubectl -n %s get pods -l %s", b.client.Namespace, partOf)
	case len(absent) == 0:
		c.Verdict, c.Text = OK, "application-controller and repo-server are ready"
	case b.facts.workloadsErr != nil:
		c.Text = "Argo CD's workloads cannot be read: " + live.Brief(b.facts.workloadsErr)
	default:
		c.Text = fmt.Sprintf("namespace %s has %s with the label %s; set --namespace if Argo CD is in another one", b.client.Namespace,
			strings.Join(absent, " and "), partOf)
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
	return manifest.String(o, "metadata", "labels", argo.ComponentLabel)
}
