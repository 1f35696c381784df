package generator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

func value(t *testing.T, text string) any {
	t.Helper()
	v, err := manifest.Value([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLocal(t *testing.T) {
	list, err := ParseClusters("clusters.yaml", []byte(`
- {name: home, server: https://kubernetes.default.svc/}
- {name: in-cluster, server: https://api.example.com}
- {name: front, server: https://api.example.com/}
- {name: away, server: https://away.example.com}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, server string
		unlisted     bool
		listed       bool
	}{
		{"", "", true, true},
		{"in-cluster", "", true, true},
		{"", argo.InClusterServer, true, true},
		{"", argo.InClusterServer + "/", true, true},
		{"in-cluster", argo.InClusterServer, true, true},
		{"home", "", false, true},
		{"home", argo.InClusterServer, false, true},
		{"front", "", false, true},
		{"", "https://api.example.com/", false, true},
		{"away", "", false, false},
		{"away", argo.InClusterServer, false, false},
		{"in-cluster", "https://away.example.com", false, false},
		{"", "https://away.example.com", false, false},
		{"nowhere", "", false, false},
	} {
		if got := ClusterList(nil).Local(c.name, c.server); got != c.unlisted {
			t.Errorf("%q %q: %v without a list", c.name, c.server, got)
		}
		if got := ClusterList(list).Local(c.name, c.server); got != c.listed {
			t.Errorf("%q %q: %v", c.name, c.server, got)
		}
	}
}

func TestClusterFromSecret(t *testing.T) {
	const label = "metadata: {name: x, labels: {argocd.argoproj.io/secret-type: cluster, env: prod}, annotations: {team: a}}"
	want := Cluster{
		Name: "prod", Server: "https://prod", Project: "infra",
		Labels: map[string]string{argo.SecretTypeLabel: "cluster", "env": "prod"}, Annotations: map[string]string{"team": "a"},
	}
	broken := want
	broken.ConfigError = "data.config: not JSON"
	for name, c := range map[string]struct {
		in   string
		want *Cluster
		err  string
	}{
		"stringData": {
			in:   "{kind: Secret, " + label + ", stringData: {name: prod, server: https://prod, project: infra, config: '{}'}}",
			want: &want,
		},
		"data": {
			in:   "{kind: Secret, " + label + ", data: {name: cHJvZA==, server: aHR0cHM6Ly9wcm9k, project: aW5mcmE=}}",
			want: &want,
		},
		"both": {in: "{kind: Secret, " + label +
			", data: {name: b3RoZXI=, server: aHR0cHM6Ly9wcm9k}, stringData: {name: prod, project: infra}}", want: &want},
		"applied": {
			in: "{kind: Secret, " + strings.Replace(label, "{team: a}",
				`{team: a, kubectl.kubernetes.io/last-applied-configuration: '{"stringData": {"config": "s3cret"}}'}`, 1) +
				", stringData: {name: prod, server: https://prod, project: infra}}",
			want: &want,
		},
		"not base64": {in: "{kind: Secret, " + label + ", data: {server: s3cret!}}", err: "data.server: not base64"},
		"no server": {
			in:  "{kind: Secret, " + label + ", stringData: {name: s3cret}}",
			err: "data.server must be set in a cluster Secret",
		},
		"not JSON": {in: "{kind: Secret, " + label +
			", stringData: {name: prod, server: https://prod, project: infra, config: s3cret}}", want: &broken},
		"another kind":  {in: "{kind: SealedSecret, " + label + ", stringData: {server: x}}"},
		"another label": {in: "{kind: Secret, metadata: {labels: {argocd.argoproj.io/secret-type: repository}}, stringData: {server: x}}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := ClusterFromSecret(value(t, c.in).(map[string]any))
			if ok != (c.want != nil || c.err != "") {
				t.Errorf("ok is %v", ok)
			}
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("%v", err)
				}
				return
			}
			if c.want == nil {
				c.want = &Cluster{}
			}
			if diff := cmp.Diff(*c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	engine, err := template.New(template.Config{Go: true})
	if err != nil {
		t.Fatal(err)
	}
	const clusters = "clusters: the clusters of Argo CD are not known; list them with --clusters"
	const api = "this generator asks an API, and no API can be asked here"
	for in, c := range map[string]struct {
		want    string // the end of the error; "" is no error
		unknown bool   // the error is Unknown
	}{
		"clusters: {}": {clusters, true},
		"clusters: {selector: {matchLabels: {env: prod}}}":                     {clusters, true},
		"clusters: {selector: {matchExpressions: [{key: a, operator: What}]}}": {`a: operator "What": must be In, NotIn, Exists or DoesNotExist`, false},
		"{clusters: {}, selector: {matchLabels: {a: b}}}":                      {clusters, true},
		"matrix: {generators: [{list: {elements: [{a: b}, {a: c}]}}, {clusters: {values: {x: '{{.a}}'}}}]}": {
			clusters + " (for element 1)",
			true,
		},
		"matrix: {generators: [{list: {elements: []}}, {clusters: {}}]}":                     {"", false},
		"merge: {mergeKeys: [server], generators: [{clusters: {}}, {list: {elements: []}}]}": {clusters, true},
		"scmProvider: {github: {organization: x}}":                                           {api, true},
		"pullRequest: {github: {owner: x, repo: z}}":                                         {api, true},
		"pullRequest: {github: {owner: x}}": {
			"pullRequest.github: repo must be set",
			false,
		},
		"plugin: {configMapRef: {name: x}}":          {api, true},
		"clusterDecisionResource: {configMapRef: x}": {"name or labelSelector must be set, and not both", false},
		"scmProvider: {github: {organization: [x]}}": {"scmProvider.github.organization: must be a string, it is a list", false},
		"scmProvider: {}":                            {"it needs one of github, gitlab, gitea, bitbucketServer, azureDevOps, bitbucket, awsCodeCommit", false},
		"matrix: {generators: [{scmProvider: {gitlab: {group: x}}}, {list: {elements: [{a: b}]}}]}": {api, true},
		"list: {elements: [{a: b}]}": {"", false},
		"nothing: {}":                {"git, scmProvider, clusterDecisionResource, pullRequest, matrix, merge, plugin", false},
	} {
		t.Run(in, func(t *testing.T) {
			_, _, err := Run(context.Background(), Config{Engine: engine, Clusters: UnknownClusters{}}, "spec.generators[0]", value(t, in))
			if c.want == "" {
				if err != nil {
					t.Errorf("%v", err)
				}
				return
			}
			if err == nil || !strings.HasSuffix(err.Error(), c.want) || errors.As(err, new(Unknown)) != c.unknown ||
				OnlyUnknown(err) != c.unknown {
				t.Errorf("%v", err)
			}
		})
	}
	wrapped := fmt.Errorf("x: %w", ErrClustersUnknown)
	var u Unknown
	if !errors.Is(wrapped, ErrClustersUnknown) || !errors.As(wrapped, &u) || u.Reason == "" {
		t.Errorf("%v", wrapped)
	}
	if OnlyUnknown(nil) || OnlyUnknown(errors.Join(wrapped, errors.New("wrong"))) || !OnlyUnknown(errors.Join(wrapped, wrapped)) {
		t.Error("a set is unknown only if all of its problems are")
	}
}
