package convert_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/appsettest"
	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// environment is what the plugin gets for an Application.
func environment(t *testing.T, app manifest.Object) func(string) string {
	t.Helper()
	source := manifest.Map(app, "spec", "source")
	vars := map[string]string{
		"ARGOCD_APP_NAME": manifest.String(app, "metadata", "name"), "ARGOCD_APP_NAMESPACE": manifest.String(app, "spec", "destination", "namespace"),
		"ARGOCD_APP_PROJECT_NAME":    manifest.String(app, "spec", "project"),
		"ARGOCD_APP_SOURCE_REPO_URL": manifest.String(source, "repoURL"), "ARGOCD_APP_SOURCE_PATH": manifest.String(source, "path"),
		"PARAM_SPEC": argo.PluginParameter(manifest.Map(source, "plugin"), "spec"),
	}
	return func(name string) string { return vars[name] }
}

// plugin renders an Application as the plugin does.
func plugin(t *testing.T, engine appset.Engine, namespace string, app manifest.Object) ([]manifest.Object, error) {
	t.Helper()
	call, err := argo.NewCall(environment(t, app), appsetplugin.Parameters())
	if err != nil {
		t.Fatal(err)
	}
	cfg := appsetplugin.Config{
		Engine: func(appsetplugin.For) appset.Engine { return engine }, Admins: []string{"default"}, Namespace: namespace,
	}
	// The policy is not what is tested: administrators may do anything.
	answer, err := cfg.Generate(t.Context(), appsetplugin.Request{Call: call})
	return answer.Objects, err
}

// TestConformance converts every set of the cases that compare us with Argo CD. What the plugin renders for the Application is what the set
// renders, and the way back gives the same set.
func TestConformance(t *testing.T) {
	hostile.Unraced(t)
	suite := appsettest.Load(t, "../testdata")
	converted, rendered := 0, 0
	for _, c := range suite.Cases {
		t.Run(c.Name, func(t *testing.T) {
			res, err := convert.Options{}.File("in.yaml", c.Input)
			if err != nil {
				if _, ours := suite.Ours(c, 0); ours == nil {
					t.Fatalf("the set renders, and cannot be converted: %v", err)
				}
				return
			}
			converted++
			back, err := convert.Reverse("in.yaml", res.Data)
			if err != nil {
				t.Fatalf("%v\n%s", err, res.Data)
			}
			want, got := objects(t, c.Input), objects(t, back.Data)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("there and back (-want +got):\n%s\n%s", diff, res.Data)
			}
			engine := engineOf(t, suite, c)
			for i, app := range objects(t, res.Data) {
				if !argo.IsApplication(app) {
					continue
				}
				if engine != nil && same(t, engine, want[i], app) {
					rendered++
				}
			}
		})
	}
	t.Logf("%d cases converted, %d sets rendered", converted, rendered)
	if converted < 600 || rendered < 450 {
		t.Errorf("only %d cases were converted, and %d of the sets in them were rendered", converted, rendered)
	}
}

func engineOf(t *testing.T, suite *appsettest.Suite, c appsettest.Case) appset.Engine {
	t.Helper()
	secrets, err := manifest.Decode("clusters.yaml", c.Clusters)
	if err != nil {
		t.Fatal(err)
	}
	clusters, err := generator.SecretClusters(secrets)
	if err != nil { // a case about broken Secrets
		if _, ours := suite.Ours(c, 0); ours == nil {
			t.Fatal(err)
		}
		return nil
	}
	return appset.Embedded{Clusters: generator.ClusterList(clusters), Git: suite, AllowEmpty: true, MaxSets: 1000}
}

// same compares what a set and its Application render, and reports whether they render.
func same(t *testing.T, engine appset.Engine, set, app manifest.Object) bool {
	t.Helper()
	namespace := manifest.String(set, "metadata", "namespace")
	if namespace == "" {
		namespace = "argocd"
	}
	parsed, _, err := appset.Parse(manifest.Document{Object: set})
	if err != nil {
		t.Fatal(err)
	}
	parsed.Namespace = namespace
	want, wantErr := engine.Generate(context.Background(), parsed)
	got, err := plugin(t, engine, namespace, app)
	if wantErr != nil {
		if err == nil {
			t.Errorf("the set is refused, its Application is not: %v", wantErr)
		}
		return false
	}
	if len(want.Applications[0]) == 0 {
		if err == nil || !strings.Contains(err.Error(), "there are no manifests") {
			t.Errorf("an empty answer: %v", err)
		}
		return false
	}
	if err != nil {
		t.Errorf("the plugin: %v", err)
		return false
	}
	for _, o := range got { // the plugin's own way to keep Applications
		notes := manifest.Map(o, "metadata", "annotations")
		keeps, _ := notes[argo.SyncOptionsAnnotation].(string)
		if strings.HasPrefix(keeps, "Prune=false") && manifest.String(set, "spec", "syncPolicy", "applicationsSync") != "" {
			delete(notes, argo.SyncOptionsAnnotation)
			if len(notes) == 0 {
				delete(manifest.Map(o, "metadata"), "annotations")
			}
		}
	}
	if diff := cmp.Diff(want.Applications[0], got); diff != "" {
		t.Errorf("(-set +Application):\n%s", diff)
	}
	return true
}

func objects(t *testing.T, data []byte) []manifest.Object {
	t.Helper()
	docs, err := manifest.Decode("in.yaml", data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return manifest.Objects(docs)
}

// TestGoTemplate rewrites every set of the cases in the older mode. Those that are rewritten render the same, because that is proven before;
// how many are is what is tested, and that the text is kept.
func TestGoTemplate(t *testing.T) {
	suite := appsettest.Load(t, "../testdata")
	rewritten, refused := 0, 0
	for _, c := range suite.Cases {
		if strings.Contains(string(c.Input), "goTemplate: true") {
			continue
		}
		if _, err := suite.Ours(c, 0); err != nil {
			continue
		}
		engine := engineOf(t, suite, c)
		render := func(ctx context.Context, set manifest.Object) ([]manifest.Object, error) {
			parsed, _, err := appset.Parse(manifest.Document{Object: set})
			if err != nil {
				return nil, err
			}
			res, err := engine.Generate(ctx, parsed)
			if err != nil {
				return nil, err
			}
			return res.Applications[0], nil
		}
		res, err := convert.GoTemplate(t.Context(), "in.yaml", c.Input, render)
		if err != nil {
			refused++
			continue
		}
		rewritten++
		after := c
		after.Input = res.Data
		want, _ := suite.Ours(c, 0)
		got, err := suite.Ours(after, 0)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s\n%s", c.Name, err, diff, res.Data)
		}
	}
	// Most of the cases are about parameters that are missing, which the older mode leaves as text.
	if rewritten < 18 {
		t.Errorf("%d rewritten, %d refused", rewritten, refused)
	}
}
