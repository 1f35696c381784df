package source_test

import (
	"context"
	"errors"
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// abroad has things that are fetched, and a repository of the user's own.
type abroad struct{}

func (abroad) Git(_ context.Context, url, _ string) (*tree.View, error) {
	v := view("kustomization.yaml", "resources: [cm.yaml]\n", "cm.yaml", configMap("base")).View
	switch url {
	case "https://git.example.com/own":
		return v, nil
	case "https://git.example.com/other":
		v.Foreign = true
		return v, nil
	}
	return nil, errors.New("no route to host")
}

func (abroad) File(_ context.Context, url string) ([]byte, error) {
	if url == "https://files.example.com/cm.yaml" {
		return []byte(configMap("file")), nil
	}
	return nil, errors.New("no route to host")
}

func (abroad) Chart(_ context.Context, repository, name, _ string) ([]tree.File, error) {
	if repository != "https://charts.example.com" {
		return nil, errors.New("no route to host")
	}
	return []tree.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n")},
		{Name: "templates/x.yaml", Data: []byte(configMap(name))},
		{Name: "values.yaml"},
	}, nil
}

func (abroad) Artifact(context.Context, string, string) ([]tree.File, error) {
	return []tree.File{{Name: "cm.yaml", Data: []byte(configMap("artifact"))}}, nil
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

// TestForeign: what is the user's own is rendered here, and everything else elsewhere.
func TestForeign(t *testing.T) {
	chart := "apiVersion: v2\nname: own\nversion: 1.0.0\ndependencies: [{name: dep, version: 1.0.0, repository: "
	other := view("values.yaml", "a: b\n")
	other.View.Foreign = true
	for name, tt := range map[string]struct {
		files   []string
		spec    map[string]any
		refs    map[string]source.Repository
		fetched bool // so is the repository
		foreign bool
		verdict source.Verdict
	}{
		"a directory":         {files: []string{"cm.yaml", configMap("x")}},
		"a fetched directory": {files: []string{"cm.yaml", configMap("x")}, fetched: true, foreign: true},
		"a kustomization":     {files: []string{"kustomization.yaml", "resources: [cm.yaml]\n", "cm.yaml", configMap("x")}},
		"a base of the user":  {files: []string{"kustomization.yaml", "resources: ['https://git.example.com/own//.']\n"}},
		"a fetched base": {
			files:   []string{"kustomization.yaml", "resources: ['https://git.example.com/other//.']\n"},
			foreign: true,
		},
		"a base that is not available": {
			files:   []string{"kustomization.yaml", "resources: ['https://git.example.com/nobody//.']\n"},
			verdict: source.Unknown,
		},
		"a fetched file": {
			files:   []string{"kustomization.yaml", "resources: ['https://files.example.com/cm.yaml']\n"},
			foreign: true,
		},
		"a chart in a kustomization": {files: []string{
			"kustomization.yaml",
			"helmCharts: [{name: c, version: 1.0.0, repo: 'https://charts.example.com'}]\n",
		}, foreign: true},
		"a chart": {files: []string{
			"Chart.yaml", "apiVersion: v2\nname: own\nversion: 1.0.0\n",
			"templates/x.yaml", configMap("x"),
		}},
		"a fetched dependency": {files: []string{"Chart.yaml", chart + "'https://charts.example.com'}]\n"}, foreign: true},
		"a dependency that is not available": {files: []string{
			"Chart.yaml", chart + "'https://nobody.example.com'}]\n", "templates/x.yaml",
			configMap("x"),
		}, verdict: source.Partly},
		"a fetched value file": {
			files: []string{"Chart.yaml", "apiVersion: v2\nname: own\nversion: 1.0.0\n"},
			spec:  map[string]any{"helm": map[string]any{"valueFiles": []any{"https://files.example.com/cm.yaml"}}}, foreign: true,
		},
		"values of a fetched repository": {
			files: []string{"Chart.yaml", "apiVersion: v2\nname: own\nversion: 1.0.0\n"},
			refs:  map[string]source.Repository{"$values": other}, foreign: true,
		},
		"values of the user's repository": {
			files: []string{"Chart.yaml", "apiVersion: v2\nname: own\nversion: 1.0.0\n"},
			refs:  map[string]source.Repository{"$values": view("values.yaml", "a: b\n")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			elsewhere := func(ctx context.Context, r source.Request) *source.Result {
				calls++
				r.Foreign = nil
				return source.Render(ctx, r)
			}
			repo := view(tt.files...)
			repo.View.Foreign = tt.fetched
			r := source.Request{
				Environment: source.Environment{Remote: abroad{}, Foreign: elsewhere}, Repository: repo, Spec: tt.spec,
				Refs: tt.refs,
			}
			got := source.Render(t.Context(), r)
			if (calls == 1) != tt.foreign || calls > 1 {
				t.Errorf("it was rendered elsewhere %d times", calls)
			}
			if got.Verdict != tt.verdict {
				t.Errorf("it is %s, want %s: %v", got.Verdict, tt.verdict, got.Problems)
			}
		})
	}
}

// TestForeignLoad: what is fetched for a source is not the user's own.
func TestForeignLoad(t *testing.T) {
	for _, spec := range []string{
		"{repoURL: https://charts.example.com, chart: c, targetRevision: 1.0.0}",
		"{repoURL: 'oci://registry.example.com/x', targetRevision: 1.0.0}",
	} {
		calls := 0
		loader := source.Loader{Remote: abroad{}, Environment: source.Environment{Foreign: func(_ context.Context,
			r source.Request,
		) *source.Result {
			calls++
			return source.Stopped(r, errors.New("stopped"))
		}}}
		v, err := manifest.Value([]byte(spec))
		if err != nil {
			t.Fatal(err)
		}
		got := loader.Load(t.Context(), source.Application{Name: "x"}, v.(map[string]any), nil)
		if calls != 1 || got.Verdict != source.Unknown || !got.Mentions || len(got.Documents) != 0 || got.Err() == nil ||
			got.Err().Error() != "stopped" {
			t.Errorf("%s: rendered elsewhere %d times: %+v", spec, calls, got)
		}
	}
}
