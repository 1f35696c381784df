package plan

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// memory is a repository in memory.
type memory map[string]string

func (m memory) view() *tree.View {
	var files []tree.File
	for name, text := range m {
		files = append(files, tree.File{Name: name, Data: []byte(text)})
	}
	return tree.Of(files)
}

func application(name, path, wave string) string {
	return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: %q}}\nspec: {project: default, source: {repoURL: https://x/y, path: %s}, destination: {name: in-cluster, namespace: argocd}, syncPolicy: {automated: {}}}\n", name, wave, path)
}

func document(tb testing.TB, text string) manifest.Document {
	tb.Helper()
	docs, err := manifest.Decode("root.yaml", []byte(text))
	if err != nil || len(docs) != 1 {
		tb.Fatal(err)
	}
	return docs[0]
}

func config(m memory) Config {
	view := m.view()
	return Config{Namespace: "argocd", Loader: source.Loader{Open: func(context.Context, string, string) (source.Repository, error) {
		return source.Repository{View: view}, nil
	}}}
}

// generated is a repository with n Applications in seven waves, of two objects each.
func generated(n int) memory {
	m := memory{}
	for i := range n {
		m[fmt.Sprintf("root/%05d.yaml", i)] = application(fmt.Sprintf("app-%d", i), fmt.Sprintf("apps/%d", i), fmt.Sprint(i%7))
		m[fmt.Sprintf("apps/%d/a.yaml",
			i)] = fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a%d}\nspec: {replicas: 1}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a%d}\n", i, i)
	}
	return m
}

func TestMany(t *testing.T) {
	p, err := New(t.Context(), config(generated(100)), document(t, application("root", "root", "0")))
	if err != nil || len(p.Applications) != 101 || len(p.Findings) != 1 || p.Findings[0].Rule.Name != RuleSettingsUnknown.Name {
		t.Fatalf("%d Applications, %v, %v", len(p.Applications), p.Findings, err)
	}
	waves := p.Root.Waves()
	if len(waves) != 7 || !slices.IsSortedFunc(waves, func(a, b Wave) int { return a.Wave - b.Wave }) {
		t.Errorf("%d waves", len(waves))
	}
	for _, app := range p.Applications[1:] {
		if len(app.Items) != 2 || app.Items[0].Kind != "Service" {
			t.Errorf("%s: %v", app.Name, app.Items)
		}
	}
}

// TestDiamonds: Applications that are deployed on many ways are planned once.
func TestDiamonds(t *testing.T) {
	m := memory{}
	for i := range 30 {
		next := application(fmt.Sprintf("l%d", i), fmt.Sprintf("d%d", i), "0") + "---\n" +
			application(fmt.Sprintf("r%d", i), fmt.Sprintf("d%d", i), "0")
		m[fmt.Sprintf("d%d/a.yaml", i-1)] = next
	}
	p, err := New(t.Context(), config(m), document(t, application("root", "d-1", "0")))
	if err != nil || len(p.Applications) != 61 {
		t.Errorf("%d Applications, %v", len(p.Applications), err)
	}
}

func TestNotARoot(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: app.k8s.io/v1beta1\nkind: Application\nmetadata: {name: x}\n": `root.yaml:1: it must be an Application or an ApplicationSet of argoproj.io, it is Application of "app.k8s.io/v1beta1"`,
	} {
		if _, err := New(t.Context(), config(nil), document(t, text)); err == nil || err.Error() != want {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, config(generated(3)), document(t, application("root", "root", "0"))); err == nil {
		t.Error("a plan that was cancelled")
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(application("root", "root", "0"), application("a", "root", "soon")+"---\n"+application("root", "root", "1"), "kind: List\n")
	f.Add(application("root", "root", "0"),
		"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s}\nspec: {generators: [{list: {elements: [{a: b}]}}], template: {metadata: {name: '{{a}}'}, spec: {project: x, destination: {name: y}, source: {path: root}}}}\n", "x: [")
	f.Fuzz(func(t *testing.T, root, a, b string) {
		docs, err := manifest.Decode("root.yaml", []byte(root))
		if err != nil || len(docs) == 0 {
			return
		}
		p, err := New(t.Context(), config(memory{"root/a.yaml": a, "root/b.yaml": b, "a.yaml": b}), docs...)
		if err != nil {
			return
		}
		for _, app := range p.Applications {
			if !slices.IsSortedFunc(app.Items, func(a, b *Item) int { return order.Compare(a.Phase, a.Wave, b.Phase, b.Wave) }) {
				t.Errorf("%s is not in order", app.Name)
			}
		}
	})
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1_000, 5_000} {
		b.Run(fmt.Sprintf("%d Applications", n), func(b *testing.B) {
			m, root := generated(n), document(b, application("root", "root", "0"))
			b.ReportAllocs()
			for b.Loop() {
				if p, err := New(b.Context(), config(m), root); err != nil || len(p.Applications) != n+1 {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestHealthScripts: what the plan finds out about health checks of Applications by asking them.
func TestHealthScripts(t *testing.T) {
	for name, c := range map[string]struct {
		script             string
		aware, sees, knows bool
	}{
		"none":   {},
		"copies": {script: "return obj.status.health"},
		"older": {
			script: `if obj.status.operationState ~= nil then return {status = "Progressing"} end return {status = "Healthy"}`,
			aware:  true,
		},
		"ours": {script: health.ApplicationScript, aware: true, sees: true, knows: true},
	} {
		cfg := config(memory{"apps/a.yaml": ""})
		cfg.Settings = &settings.Settings{Health: health.Customizations{}}
		if c.script != "" {
			cfg.Settings.Health["argoproj.io/Application"] = health.Script{Health: c.script}
		}
		p, err := New(t.Context(), cfg, document(t, application("root", "apps", "0")))
		if err != nil {
			t.Fatal(err)
		}
		if p.SyncAware != c.aware || p.SeesBroken != c.sees || p.KnowsItself != c.knows {
			t.Errorf("%s: %t %t %t", name, p.SyncAware, p.SeesBroken, p.KnowsItself)
		}
	}
}
