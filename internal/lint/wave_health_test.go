package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/settings"
)

// TestHealthChecks runs the rules on health checks as users have them.
func TestHealthChecks(t *testing.T) {
	const (
		documented = "hs = {}\nhs.status = 'Progressing'\nhs.message = ''\nif obj.status ~= nil then\n  if obj.status.health ~= nil " +
			"then\n    hs.status = obj.status.health.status\n  end\nend\nreturn hs"
		running = "if obj.status.operationState ~= nil and obj.status.operationState.phase == 'Running' then return {status = " +
			"'Progressing'} end\n"
	)
	copies, ignores, without := ruleHealthCopies.Name, ruleHealthIgnoresSync.Name, ruleHealthWithoutStatus.Name
	for name, c := range map[string]struct {
		script  string
		version versions.Version
		synced  bool // the check sees syncs
		want    []string
	}{
		"ours":               {health.NamedScript("applications"), 4, true, nil},
		"as documented, 3.2": {documented, 2, false, []string{copies}},
		"as documented, 3.4": {documented, 4, false, []string{ignores}},
		"it sees syncs": {"if obj.status == nil or obj.status.health == nil then return {status = 'Progressing'} " +
			"end\n" + running + "return obj.status.health", 4, true, []string{copies}},
		"an Application without status": {running + "return obj.status.health", 4, true, []string{copies, without}},
		"Healthy without status": {"if obj.status == nil then return {status = 'Healthy'} " +
			"end\n" + health.NamedScript("applications"), 4, true, []string{without}},
		"always Healthy": {"return {status = 'Healthy'}", 4, false, []string{ruleAlwaysHealthy.Name}},
		"none":           {"", 4, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string]any{"resource.customizations.health.argoproj.io_Application": c.script}
			if c.script == "" {
				data = map[string]any{"resource.exclusions": ""}
			}
			s, ok, err := settings.FromObject(manifest.Object{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "argocd-cm"}, "data": data,
			})
			if !ok || err != nil {
				t.Fatal(err)
			}
			web := &plan.Application{Object: manifest.Object{}, Items: []*plan.Item{{Phase: plan.Sync}, {Phase: plan.Sync, Wave: 1}}}
			root := &plan.Application{Object: manifest.Object{}, Items: []*plan.Item{
				{Phase: plan.Sync, Application: web, Waits: c.script != ""}, {Phase: plan.Sync, Wave: 1},
			}}
			p := &plan.Plan{Root: root, Applications: []*plan.Application{root, web}, Settings: s, Version: c.version, SyncAware: c.synced}
			var got []string
			found, _ := Check(p)
			for _, f := range found {
				if r, _ := Find(f.Rule.Name); r.Family == Waves {
					got = append(got, f.Rule.Name)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHealthCheckAt: a finding about the health check is at the ConfigMap that the settings are from, or else at the root.
func TestHealthCheckAt(t *testing.T) {
	for name, c := range map[string]struct {
		settings settings.Settings
		deployed string
		want     string
	}{
		"the same":               {settings.Settings{Kind: settings.InConfigMap, Name: "argocd-cm", Origin: "argocd-cm at x.yaml:1"}, "argocd-cm", "cm.yaml"},
		"the beginning of it":    {settings.Settings{Kind: settings.InConfigMap, Name: "argocd-cm", Origin: "argocd-cm"}, "argocd", "root.yaml"},
		"another name":           {settings.Settings{Kind: settings.InConfigMap, Name: "mine", Origin: "mine"}, "argocd-cm", "root.yaml"},
		"values":                 {settings.Settings{Kind: settings.InValues, Origin: "values of the chart argo-cd"}, "values", "root.yaml"},
		"the operator's of that": {settings.Settings{Kind: settings.InOperator, Name: "argocd-cm", Origin: "ArgoCD"}, "argocd-cm", "root.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			root := &plan.Application{Position: manifest.Position{File: "root.yaml"}, Items: []*plan.Item{{
				Kind: "ConfigMap", Name: c.deployed, Position: manifest.Position{File: "cm.yaml"},
				Object: manifest.Object{"data": map[string]any{health.ApplicationKey: ""}},
			}}}
			p := &pass{Plan: &plan.Plan{Root: root, Applications: []*plan.Application{root}, Settings: &c.settings}}
			p.script("x")
			if got := p.found[0].Position.File; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
