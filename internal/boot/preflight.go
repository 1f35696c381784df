package boot

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/trigger/triggerurl"
	"github.com/argosy-cd/argosy/internal/words"
)

func splitKind(name string) (group, kind string) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

func isReady(o manifest.Object) bool {
	h, ok, err := health.Evaluate(o, nil, health.Limits{})
	return ok && err == nil && h.Status == health.Healthy
}

// checkHealth tries the health check of Applications on samples, such as a Progressing and a healthy one, and on one of the cluster.
func (b *boot) checkHealth(ctx context.Context) {
	const name = "health-check"
	f := b.facts
	switch {
	case f.settings == nil && f.settingsErr != nil:
		b.check(Check{Name: name, Verdict: Unknown, Text: "Argo CD's settings cannot be read: " + live.Brief(f.settingsErr)})
		return
	case f.settings == nil:
		b.check(Check{
			Name: name, Verdict: Failed,
			Text: fmt.Sprintf("there is no ConfigMap %s in namespace %s", settings.ConfigMap, b.client.Namespace),
			Fix:  "check --namespace; Argo CD comes with this ConfigMap",
		})
		return
	case !f.hasCheck:
		b.check(Check{
			Name: name, Verdict: Failed, mend: b.addHealthCheck,
			Text: settings.ConfigMap + " has no health check for Applications, so no wave waits for any",
			Fix: fmt.Sprintf("run argosy boot --fix, or put the output of \"argosy health script applications\" into %s, key %s; "+
				"if Argo CD deploys its own settings, into Git, too", settings.ConfigMap, health.ApplicationKey),
		})
		return
	}
	if wrong := b.tryHealth(ctx); wrong != "" {
		b.check(Check{
			Name: name, Verdict: Failed, Text: "the health check of Applications in " + settings.ConfigMap + " " + wrong,
			Fix: fmt.Sprintf("replace %s by the output of \"argosy health script applications\"", health.ApplicationKey),
		})
		return
	}
	b.check(Check{Name: name, Verdict: OK, Text: "the health check of Applications returns Healthy only for a healthy Application"})
}

// scripts is how long a health check may take here: this machine may be slower than Argo CD's, which allows a second.
const scripts = 20 * time.Second

// tryHealth runs the health check of Applications on samples and a real one. It returns the first problem, "" if there is none.
func (b *boot) tryHealth(ctx context.Context) string {
	limits := health.Limits{Now: b.Follow.Now, Version: b.facts.known(), Time: scripts}
	trial := health.Trial{Checks: b.facts.settings.Health, Limits: limits, Namespace: b.client.Namespace}
	for _, c := range []struct {
		what string
		o    health.Sample
		want bool
	}{
		{"an Application that Argo CD has not reconciled", health.SampleNew, false},
		{"a Progressing Application", health.SampleProgressing, false},
		{"a Degraded Application", health.SampleDegraded, false},
		{"a healthy and synced Application", health.SampleHealthy, true},
	} {
		h, _, err := trial.Run(c.o)
		if err != nil {
			return "does not work: " + err.Error()
		}
		if (h.Status == health.Healthy) != c.want {
			return fmt.Sprintf("returns %s for %s", words.OrDash(string(h.Status)), c.what)
		}
	}
	for _, n := range b.follow.Snapshot().Nodes {
		if n.Set || n.Missing {
			continue
		}
		o, err := b.lookup.Get(ctx, n.Key())
		if err != nil || o == nil {
			return "" // it works on the samples
		}
		if h, _, err := health.Evaluate(o, b.facts.settings.Health, limits); err != nil {
			return fmt.Sprintf("does not work on %s: %v", n.Ref, err)
		} else if h.Status == health.Healthy && !b.tracking.Marked(o) && n.Health != health.Healthy {
			return fmt.Sprintf("returns Healthy for %s, which is %s", n.Ref, words.OrDash(string(n.Health)))
		}
		return ""
	}
	return ""
}

// addHealthCheck writes the health check of Applications to argocd-cm. Nothing else of it changes.
func (b *boot) addHealthCheck(ctx context.Context) error {
	_, err := b.lookup.Apply(ctx, manifest.Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": settings.ConfigMap, "namespace": b.client.Namespace},
		"data": map[string]any{health.ApplicationKey: health.ApplicationScript},
	}, kube.Apply{Additions: true})
	if err == nil {
		b.say(eventFixed, map[string]any{"check": "health-check"}, "wrote %s to %s", health.ApplicationKey, settings.ConfigMap)
	}
	return err
}

// plugins are the names of the plugins that a plan needs.
func (b *boot) plugins() []string {
	names := map[string]bool{}
	for _, app := range b.found.Plan.Applications {
		for _, s := range app.Sources {
			plugin, named := s.Spec["plugin"].(map[string]any)
			name := manifest.String(plugin, "name")
			switch {
			case name != "":
			case s.Kind == source.AppSet || s.Kind == source.S3:
				name = string(s.Kind)
			case named:
				name = "(found by discovery)"
			default:
				continue
			}
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// checkPlugins looks for evidence that plugins answer: an Application that Argo CD has rendered with one, or a sidecar that is ready.
func (b *boot) checkPlugins(ctx context.Context) {
	names := b.plugins()
	if len(names) == 0 {
		return
	}
	pods, err := b.lookup.Labelled(ctx, "", "Pod", b.client.Namespace, argo.NameLabel+"="+argo.RepoServer)
	for _, name := range names {
		c := Check{Name: "plugin " + name, Verdict: Unknown}
		var rendered, failed string
		for _, n := range b.follow.Snapshot().Nodes {
			if n.Missing || n.Plugin != name || n.Sync == "" {
				continue
			}
			if _, wrong := n.Condition(argo.ComparisonError); wrong || n.Sync == argo.SyncUnknown {
				failed = n.Name
			} else {
				rendered = n.Name
			}
		}
		switch {
		case rendered != "":
			c.Verdict, c.Text = OK, fmt.Sprintf("Argo CD has rendered the Application %s with it", rendered)
		case err != nil:
			c.Text = notRendered + ", and the repo-server's Pods cannot be read: " + live.Brief(err)
		default:
			c.Verdict, c.Text, c.Fix = sidecars(pods, name)
		}
		if failed != "" && c.Verdict != OK {
			c.Text += fmt.Sprintf("; Argo CD could not render %s, argosy why %s says more", failed, failed)
		}
		b.check(c)
	}
}

const notRendered = "Argo CD has rendered no Application with it yet"

// sidecars derives the verdict on a plugin from the containers of the repo-server's Pods.
func sidecars(pods []manifest.Object, plugin string) (Verdict, string, string) {
	if len(pods) == 0 {
		return Unknown, notRendered + ", and no Pods of the repo-server can be seen", ""
	}
	ready, waiting, others := 0, "", 0
	for _, pod := range pods {
		list, _ := manifest.Map(pod, "status")["containerStatuses"].([]any)
		for _, item := range list {
			container, _ := item.(map[string]any)
			name := manifest.String(container, "name")
			switch {
			case strings.HasSuffix(name, "repo-server"):
			case strings.Contains(name, plugin) || strings.Contains(manifest.String(container, "image"), "argosy"):
				if container["ready"] == true {
					ready++
				} else {
					waiting = name
				}
			default:
				others++
			}
		}
	}
	switch {
	case waiting != "":
		return Failed, fmt.Sprintf("the container %s of a repo-server's Pod is not ready", waiting), "read the log of that container"
	case ready > 0:
		return OK, fmt.Sprintf("its container is ready in %s of the repo-server", words.Count(ready, "Pod")), ""
	case others > 0:
		return Unknown, notRendered + ", and no sidecar of the repo-server has its name; another one may serve it", ""
	}
	return Failed, "the repo-server's Pods have no sidecar", "add the plugins with argosy install: docs/install.md"
}

// checkTriggers checks trigger repositories as far as possible: only the repo-server knows whether it reaches them.
func (b *boot) checkTriggers(ctx context.Context) {
	urls := map[string]string{} // without passwords
	for _, app := range b.found.Plan.Applications {
		for _, s := range app.Sources {
			if triggerurl.Is(s.Repository) {
				urls[giturl.Redact(s.Repository)] = s.Repository
			}
		}
	}
	for _, shown := range slices.Sorted(maps.Keys(urls)) {
		b.check(b.trigger(ctx, shown, urls[shown]))
	}
}

func (b *boot) trigger(ctx context.Context, shown, address string) Check {
	c := Check{Name: "trigger " + shown, Verdict: Unknown}
	for _, n := range b.follow.Snapshot().Nodes {
		if _, wrong := n.Condition(argo.ComparisonError); !n.Missing && n.Repository == shown && len(n.Revisions) > 0 && !wrong {
			c.Verdict, c.Text = OK, fmt.Sprintf("Argo CD has compared the Application %s with it", n.Name)
			return c
		}
	}
	c.Text = "no Application of the cluster was compared with it yet; whether the repo-server reaches it is not known from here"
	u, err := url.Parse(address)
	if err != nil {
		return c
	}
	parts := strings.Split(u.Hostname(), ".")
	namespace, ok := b.namespaceOf(ctx, parts)
	if !ok {
		return c
	}
	service, err := b.lookup.Get(ctx, live.Key{Kind: "Service", Namespace: namespace, Name: parts[0]})
	switch {
	case err != nil:
		c.Text += "; its Service cannot be read: " + live.Brief(err)
	case service == nil:
		c.Verdict, c.Text = Failed, fmt.Sprintf("there is no Service %s in namespace %s", parts[0], namespace)
		c.Fix = "add it with argosy install --with repo: docs/install.md"
	default:
		c.Text += fmt.Sprintf("; the Service %s/%s exists", namespace, parts[0])
	}
	return c
}

// namespaceOf is the namespace of a host that is a Service, and whether it is one: SERVICE, SERVICE.NAMESPACE with a namespace that exists,
// or SERVICE.NAMESPACE.svc.
func (b *boot) namespaceOf(ctx context.Context, host []string) (string, bool) {
	switch {
	case len(host) == 1:
		return b.client.Namespace, host[0] != "localhost"
	case len(host) > 2:
		return host[1], host[2] == "svc"
	}
	o, err := b.lookup.Get(ctx, live.Key{Kind: "Namespace", Name: host[1]})
	return host[1], host[1] == b.client.Namespace || o != nil && err == nil
}
