package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/health"
)

// inValues are settings as values of the chart give them.
func inValues(options string) *Settings {
	return &Settings{
		Health: health.Customizations{}, BuildOptions: &options, ValueFileSchemes: schemes,
		KustomizeVersions: none, Origin: "values of the chart argo-cd",
	}
}

// inPart are settings without what a value file may have.
func inPart(options *string) *Settings {
	return &Settings{Health: health.Customizations{}, BuildOptions: options, Partial: true, Origin: "values of the chart argo-cd"}
}

func TestFromValues(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want *Settings
		err  string
	}{
		"configs.cm": {
			in:   "configs: {cm: {create: true, annotations: {a: b}, kustomize.buildOptions: a}}",
			want: inValues("a"),
		},
		"without options": {in: "configs: {cm: {url: x}}", want: inValues("")},
		"empty":           {in: "configs: {cm: {}}", want: inValues("")},
		"scalars": {
			in:   "configs: {cm: {kustomize.buildOptions: 5, helm.valuesFileSchemes: null, admin.enabled: true}}",
			want: inValues("5"),
		},
		"an empty value is left out": {in: "configs: {cm: {helm.valuesFileSchemes: ''}}", want: inValues("")},
		"a list, which the chart breaks": {
			in: "configs: {cm: {resource.exclusions: [{kinds: [Pod]}]}}", want: inValues(""),
			err: "resource.exclusions: must be a string, it is a list",
		},
		"older": {in: "server: {config: {kustomize.buildOptions: a}}", want: inValues("a")},
		"both": {
			in:   "{server: {config: {kustomize.buildOptions: a}}, configs: {cm: {kustomize.buildOptions: b}}}",
			want: inValues("b"),
		},
		"a dependency":                 {in: "{x: {}, argo-cd: {configs: {cm: {url: x}}}}", want: inValues("")},
		"its alias":                    {in: "{x: 1, argocd: {server: {config: {kustomize.buildOptions: a}}}}", want: inValues("a")},
		"any alias":                    {in: "{x: 1, gitops: {configs: {cm: {kustomize.buildOptions: a}}}}", want: inValues("a")},
		"a dependency that is off":     {in: "argo-cd: {enabled: false, configs: {cm: {kustomize.buildOptions: a}}}"},
		"a ConfigMap that is not made": {in: "configs: {cm: {create: false, kustomize.buildOptions: a}}"},
		"nor by the older chart":       {in: "server: {configEnabled: false, config: {kustomize.buildOptions: a}}"},
		"another chart":                {in: "{server: {config: {port: 80}}, other: {configs: {cm: {a: b}}}}"},
		"no settings":                  {in: "{server: {replicas: 2}, configs: {params: {a: b}}}"},
		"nothing":                      {in: "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := FromValues(object(t, c.in))
			check(t, got, ok, err, c.want, c.err)
		})
	}
}

func TestFromApplication(t *testing.T) {
	const app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: "
	for name, c := range map[string]struct {
		in   string
		want *Settings
		err  string
	}{
		"object": {
			in:   "{source: {chart: argo-cd, helm: {values: 'x: [', valuesObject: {configs: {cm: {kustomize.buildOptions: a}}}}}}",
			want: inValues("a"),
		},
		"text": {
			in:   "{source: {chart: argo-cd, helm: {values: 'configs: {cm: {kustomize.buildOptions: a}}'}}}",
			want: inValues("a"),
		},
		"several sources":    {in: "{sources: [{ref: values}, {chart: argo-cd, helm: {values: 'configs: {cm: {url: x}}', valueFiles: [$values/a.yaml]}}]}", want: inPart(nil)},
		"known for all that": {in: "{source: {chart: argo-cd, helm: {values: 'configs: {cm: {kustomize.buildOptions: a}}', valueFiles: [a.yaml]}}}", want: inPart(ptr("a"))},
		"parameters": {
			in:   `{source: {chart: argo-cd, helm: {values: 'configs: {cm: {kustomize.buildOptions: a}}', parameters: [{name: x, value: y}, {name: 'configs.cm.kustomize\.buildOptions', value: b}]}}}`,
			want: inValues("b"),
		},
		"parameters alone": {
			in:   `{source: {chart: argo-cd, helm: {parameters: [{name: 'configs.cm.kustomize\.buildOptions', value: b}]}}}`,
			want: inValues("b"),
		},
		"an umbrella": {
			in:   "{source: {path: argocd, helm: {valuesObject: {argo-cd: {configs: {cm: {url: x}}}}}}}",
			want: inValues(""),
		},
		"values that are none": {
			in:   "{source: {repoURL: 'oci://ghcr.io/argoproj/argo-helm/argo-cd', path: ., helm: {values: '['}}}",
			want: inPart(nil), err: "helm.values: line 1: did not find expected node content",
		},
		"another chart's":       {in: "{source: {chart: web, helm: {values: '['}}}"},
		"value files alone":     {in: "{source: {chart: argo-cd, helm: {valueFiles: [a.yaml]}}}"},
		"no values":             {in: "{source: {chart: argo-cd}}"},
		"no chart, and no spec": {in: "null"},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(t, app+c.in)
			before := object(t, app+c.in)
			got, ok, err := FromApplication(o)
			check(t, got, ok, err, c.want, c.err)
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the Application was changed\n%s", diff)
			}
		})
	}
}

func TestFromKustomization(t *testing.T) {
	for in, want := range map[string]*Settings{
		"helmCharts: [{name: web}, {name: argo-cd, valuesInline: {configs: {cm: {kustomize.buildOptions: a}}}}]":  inValues("a"),
		"helmCharts: [{name: argo-cd, valuesFile: v.yaml, valuesInline: {configs: {cm: {url: x}}}}]":              inPart(nil),
		"helmCharts: [{name: argo-cd, additionalValuesFiles: [v.yaml], valuesInline: {configs: {cm: {url: x}}}}]": inPart(nil),
		"helmCharts: [{name: argo-cd, valuesFile: v.yaml}]":                                                       nil,
		"resources: [x.yaml]": nil,
		"helmCharts: x":       nil,
	} {
		got, ok, err := FromKustomization(object(t, in))
		t.Run(in, func(t *testing.T) { check(t, got, ok, err, want, "") })
	}
}
