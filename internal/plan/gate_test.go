package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
)

// customized are the settings of an argocd-cm with these health checks.
func customized(t *testing.T, checks map[string]any) *settings.Settings {
	t.Helper()
	s, ok, err := settings.FromObject(manifest.Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "argocd-cm"}, "data": checks,
	})
	if !ok || err != nil {
		t.Fatal(err)
	}
	return s
}

// TestGates: for which objects the next wave waits, by the settings of Argo CD, and why.
func TestGates(t *testing.T) {
	const (
		healthy = "return {status = 'Healthy'}"
		copies  = "return {status = obj.status.health.status}"
		looks   = "for _, r in ipairs(obj.status.resources) do if r.status ~= 'Synced' then return {status = 'Progressing'} end end " +
			"return {status = 'Healthy'}"
		app = "resource.customizations.health.argoproj.io_Application"
		set = "resource.customizations.health.argoproj.io_ApplicationSet"
	)
	list := "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x, namespace: argocd}\n" +
		"spec: {STRATEGY generators: [{list: {elements: [{a: b}]}}], template: {metadata: {name: '{{a}}'}, spec: {project: default, " +
		"source: {repoURL: https://x/y, path: b}, destination: {name: in-cluster, namespace: argocd}}}}\n"
	plain := with(list, "STRATEGY", "")
	rolling := with(list, "STRATEGY", "strategy: {type: RollingSync, rollingSync: {steps: [{matchExpressions: []}]}},")
	object := func(text string) string {
		version, kind, _ := strings.Cut(text, " ")
		return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: x}}\n"
	}
	on, off := true, false
	for name, c := range map[string]struct {
		object      string
		settings    map[string]any
		progressive *bool
		waits       bool
		why         string
	}{
		"Application":            {application("x", "b", "0"), map[string]any{app: copies}, nil, true, "health check argoproj.io/Application"},
		"without a check":        {application("x", "b", "0"), map[string]any{}, nil, false, "Argo CD's settings have no health check for Applications"},
		"without settings":       {application("x", "b", "0"), nil, nil, false, "Argo CD's settings are not known"},
		"Deployment":             {object("apps/v1 Deployment"), map[string]any{}, nil, true, "built-in health check"},
		"ConfigMap":              {object("v1 ConfigMap"), map[string]any{}, nil, false, "Argo CD has no health check for ConfigMap"},
		"Certificate":            {object("cert-manager.io/v1 Certificate"), map[string]any{}, nil, true, "health check of Argo CD's own"},
		"with a check of a user": {object("v1 ConfigMap"), map[string]any{"resource.customizations.health.ConfigMap": healthy}, nil, true, "health check ConfigMap"},
		"set":                    {plain, map[string]any{app: copies}, nil, false, setHealthy},
		"set, looked into":       {plain, map[string]any{set: looks}, nil, true, "health check argoproj.io/ApplicationSet"},
		"set, not looked into":   {plain, map[string]any{set: healthy}, nil, false, setHealthy},
		"rollout":                {rolling, map[string]any{}, &on, true, "it is Progressing until the last step of its RollingSync is healthy, except for a moment after it was created"},
		"rollout, ignored":       {rolling, map[string]any{}, &off, false, "the applicationset-controller ignores RollingSync without --enable-progressive-syncs, and " + setHealthy},
		"rollout, not known": {
			rolling, map[string]any{}, nil, false, "it is not known whether the applicationset-controller has --enable-progressive-syncs, " +
				"without which it ignores RollingSync, and " + setHealthy,
		},
		"broken set": {
			with(plain, "{a: b}", "{a: 'A B'}"),
			map[string]any{},
			nil, true,
			"its Applications cannot be generated (ErrorOccurred), so it is Degraded, which fails the wave",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(memory{"root/a.yaml": c.object, "b/a.yaml": object("v1 ConfigMap")})
			cfg.ExistsAll, cfg.ProgressiveSyncs, cfg.Version = true, c.progressive, versions.Newest
			if c.settings != nil {
				cfg.Settings = customized(t, c.settings)
			}
			p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
			if err != nil {
				t.Fatal(err)
			}
			item := p.Root.Items[0]
			if item.Name != "x" || item.Waits != c.waits || item.Why != c.why {
				t.Errorf("%s: %t, %q; want %t, %q", item.Name, item.Waits, item.Why, c.waits, c.why)
			}
		})
	}
}

// TestHealthCheckNotices: what a plan knows about the health check of Applications.
func TestHealthCheckNotices(t *testing.T) {
	const app = "resource.customizations.health.argoproj.io_Application"
	for name, c := range map[string]struct {
		script                        string
		syncAware, broken, knowItself bool
	}{
		"copies":     {"return {status = obj.status.health.status}", false, false, false},
		"sync":       {"if obj.status.sync.status ~= 'Synced' then return {status = 'Progressing'} end return {status = obj.status.health.status}", true, true, false},
		"operation":  {"if obj.status.operationState ~= nil and obj.status.operationState.phase == 'Running' then return {status = 'Progressing'} end return {status = 'Healthy'}", true, false, false},
		"conditions": {"if obj.status.conditions ~= nil then return {status = 'Degraded'} end return {status = 'Healthy'}", false, true, true},
		"always":     {"return {status = 'Healthy'}", false, false, true},
		"fails":      {"return {status = obj.nothing.x}", false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(memory{"root/a.yaml": application("x", "b", "0"), "b/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n"})
			cfg.ExistsAll, cfg.Settings = true, customized(t, map[string]any{app: c.script})
			p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
			if err != nil {
				t.Fatal(err)
			}
			if p.SyncAware != c.syncAware || p.SeesBroken != c.broken || p.KnowsItself != c.knowItself {
				t.Errorf("sync %t, broken %t, itself %t", p.SyncAware, p.SeesBroken, p.KnowsItself)
			}
		})
	}
}

// TestCounts: which objects make their Application Missing before Argo CD 3.4, by the settings.
func TestCounts(t *testing.T) {
	const ignored = "resource.customizations.ignoreResourceUpdates."
	values, ok, err := settings.FromValues(map[string]any{"configs": map[string]any{"cm": map[string]any{"timeout.reconciliation": "60s"}}})
	if !ok || err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		settings *settings.Settings
		want     string
	}{
		"argocd-cm that names no kind": {customized(t, map[string]any{ignored + "all": "{}", "resource.customizations.health.v*/Secret": "return {}"}), "Deployment"},
		"argocd-cm that names kinds": {
			customized(t, map[string]any{ignored + "ConfigMap": "{}", "resource.customizations.actions.cert-manager.io_Certificate": "{}"}),
			"Certificate ConfigMap Deployment",
		},
		"combined":    {customized(t, map[string]any{"resource.customizations": "Secret: {ignoreDifferences: ''}"}), "Deployment Secret"},
		"values":      {values, "ConfigMap Deployment"},
		"not known":   {nil, "ConfigMap Deployment"},
		"of operator": {operated(t), "Deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			files := memory{}
			for kind, version := range map[string]string{"Deployment": "apps/v1", "ConfigMap": "v1", "Secret": "v1", "Certificate": "cert-manager.io/v1"} {
				files["root/"+kind+".yaml"] = "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: x}}\n"
			}
			cfg := config(files)
			cfg.ExistsAll, cfg.Settings = true, c.settings
			p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, item := range p.Root.Items {
				if item.Counts {
					got = append(got, item.Kind)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func operated(t *testing.T) *settings.Settings {
	t.Helper()
	s, ok, err := settings.FromObject(manifest.Object{"apiVersion": "argoproj.io/v1beta1", "kind": "ArgoCD", "spec": map[string]any{}})
	if !ok || err != nil {
		t.Fatal(err)
	}
	return s
}

// TestByHand: whether the waves behind an Application wait until somebody syncs it, by the version and by what it deploys.
func TestByHand(t *testing.T) {
	settings := customized(t, map[string]any{
		"resource.customizations.health.argoproj.io_Application":  "return {status = obj.status.health.status}",
		"resource.customizations.ignoreResourceUpdates.ConfigMap": "{}",
	})
	for name, c := range map[string]struct {
		version versions.Version
		deploys string
		want    string
	}{
		"3.3, no check": {3, "v1, kind: Secret", "begin at once"},
		"3.3, named":    {3, "v1, kind: ConfigMap", "wait until somebody syncs by hand"},
		"3.3, a check":  {3, "apps/v1, kind: Deployment", "wait until somebody syncs by hand"},
		"3.4, no check": {4, "v1, kind: Secret", "wait until somebody syncs by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(memory{
				"root/a.yaml": with(application("x", "b", "0"), "syncPolicy: {automated: {}}", "syncPolicy: {}"),
				"root/b.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: y, annotations: {argocd.argoproj.io/sync-wave: '1'}}}\n",
				"b/a.yaml":    "{apiVersion: " + c.deploys + ", metadata: {name: x}}\n",
			})
			cfg.ExistsAll, cfg.Version, cfg.Settings = true, c.version, settings
			p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range p.Findings {
				if f.Rule.Name == RuleSyncByHand.Name {
					got = append(got, f.Message)
				}
			}
			if len(got) != 1 || !strings.HasSuffix(got[0], c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
