package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// object decodes one document, or nil.
func object(t *testing.T, text string) manifest.Object {
	t.Helper()
	v, err := manifest.Value([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o, _ := v.(map[string]any)
	return o
}

func ptr(s string) *string { return &s }

var schemes = []string{"https", "http"}

// none are the versions of Kustomize that settings register which name none.
var none = []string{}

func TestFromObject(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want *Settings
		err  string
	}{
		"argocd-cm": {
			in: `
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: anywhere}
data:
  url: https://argocd.example.com
  kustomize.buildOptions: --enable-helm
  kustomize.path.v5.8.0: /custom-tools/kustomize_5_8
  kustomize.version.v4.5.7: /custom-tools/kustomize_4_5_7
  helm.valuesFileSchemes: s3, git,
  resource.customizations.health.argoproj.io_Application: return {}
  resource.customizations: |
    apps/Deployment: {health.lua: "return {}", health.lua.useOpenLibs: true}
  resource.exclusions: |
    - apiGroups: [cilium.io]
      kinds: [CiliumIdentity]
      clusters: ["*"]
  resource.inclusions: "[]"
`,
			want: &Settings{
				Health: health.Customizations{
					"argoproj.io/Application": {Health: "return {}"},
					"apps/Deployment":         {Health: "return {}", OpenLibs: true},
				},
				BuildOptions: ptr("--enable-helm"), Exclusions: []Filter{{
					[]string{"cilium.io"},
					[]string{"CiliumIdentity"},
					[]string{"*"},
				}}, Inclusions: []Filter{},
				ValueFileSchemes: []string{"s3", "git"}, KustomizeVersions: []string{"v4.5.7", "v5.8.0"}, Origin: "argocd-cm",
			},
		},
		"argocd-cm without data": {
			in:   "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm}}",
			want: &Settings{Health: health.Customizations{}, BuildOptions: ptr(""), ValueFileSchemes: schemes, KustomizeVersions: none, Origin: "argocd-cm"},
		},
		"no schemes": {
			in:   "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm}, data: {helm.valuesFileSchemes: ''}}",
			want: &Settings{Health: health.Customizations{}, BuildOptions: ptr(""), ValueFileSchemes: []string{}, KustomizeVersions: none, Origin: "argocd-cm"},
		},
		"wrong settings beside right ones": {
			in: `
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data:
  kustomize.buildOptions: true
  helm.valuesFileSchemes: [s3]
  resource.exclusions: "{}"
  resource.inclusions: '[{apiGroups: ["a{b"]}]'
  resource.customizations.health.a_b_c: x
  resource.customizations.health.A: return {
  resource.customizations.health.B: return {}
`,
			want: &Settings{
				Health:     health.Customizations{"A": {Health: "return {"}, "B": {Health: "return {}"}},
				Inclusions: []Filter{{APIGroups: []string{"a{b"}}}, KustomizeVersions: none, Origin: "argocd-cm",
			},
			err: `resource.customizations.health.a_b_c: "a_b_c" must be GROUP_KIND or KIND
health check A: <string> at EOF: syntax error
kustomize.buildOptions: must be a string, it is a boolean
resource.exclusions: must be a list of objects, as YAML, whose apiGroups, kinds and clusters are lists of strings
resource.inclusions: [0]: "a{b" is not a pattern: it has a { without its }
helm.valuesFileSchemes: must be a string, it is a list`,
		},
		"the operator's": {
			in: `
apiVersion: argoproj.io/v1beta1
kind: ArgoCD
metadata: {name: openshift-gitops}
spec:
  kustomizeBuildOptions: --enable-helm
  kustomizeVersions: [{version: v4.1, path: /path/to/kustomize-4.1}]
  resourceHealthChecks:
  - {group: argoproj.io, kind: Application, check: "return {}"}
  - {kind: Service, check: return nil}
  - {group: x}
  resourceCustomizations: 'a/B: {health.lua: return 1}'
  resourceExclusions: '[{kinds: [Pod]}]'
  resourceInclusions: ''
  extraConfig:
    kustomize.buildOptions: --load-restrictor LoadRestrictionsNone
`,
			want: &Settings{
				Health: health.Customizations{
					"argoproj.io/Application": {Health: "return {}"}, "Service": {Health: "return nil"},
					"a/B": {Health: "return 1"},
				},
				BuildOptions: ptr("--load-restrictor LoadRestrictionsNone"), Exclusions: []Filter{{Kinds: []string{"Pod"}}},
				ValueFileSchemes: schemes, KustomizeVersions: []string{"v4.1"}, Origin: `ArgoCD "openshift-gitops"`,
			},
			err: "spec.resourceHealthChecks[2]: kind and check must be set",
		},
		"the operator's, without a spec": {
			in:   "{apiVersion: argoproj.io/v1alpha1, kind: ArgoCD, metadata: {name: x}}",
			want: &Settings{Health: health.Customizations{}, BuildOptions: ptr(""), ValueFileSchemes: schemes, KustomizeVersions: none, Origin: `ArgoCD "x"`},
		},
		"another ConfigMap": {in: "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-rbac-cm}, data: {kustomize.buildOptions: x}}"},
		"another kind":      {in: "{apiVersion: example.com/v1, kind: ConfigMap, metadata: {name: argocd-cm}}"},
		"another's ArgoCD":  {in: "{apiVersion: example.com/v1, kind: ArgoCD, metadata: {name: argocd}}"},
		"nothing":           {in: "{}"},
		"no document":       {in: ""},
		"data of another type": {
			in:   "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm}, data: []}",
			want: &Settings{Health: health.Customizations{}, BuildOptions: ptr(""), ValueFileSchemes: schemes, KustomizeVersions: none, Origin: "argocd-cm"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := FromObject(object(t, c.in))
			check(t, got, ok, err, c.want, c.err)
		})
	}
}

func check(t *testing.T, got *Settings, ok bool, err error, want *Settings, wantErr string) {
	t.Helper()
	if want != nil {
		name, operator := strings.CutPrefix(want.Origin, "ArgoCD ")
		switch {
		case operator:
			want.Kind, want.Name = InOperator, strings.Trim(name, `"`)
		case strings.HasPrefix(want.Origin, valuesOrigin):
			want.Kind = InValues
		default:
			want.Kind, want.Name = InConfigMap, want.Origin
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
		t.Errorf("ok is %v (-want +got)\n%s", ok, diff)
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if diff := cmp.Diff(wantErr, text); diff != "" {
		t.Errorf("error (-want +got)\n%s", diff)
	}
}

func TestExcludes(t *testing.T) {
	s, err := Parse("cm.yaml", []byte(`
resource.exclusions: |
  - {apiGroups: ["", discovery.k8s.io], kinds: [Endpoints, EndpointSlice]}
  - {apiGroups: ["*.cattle.io", "{a,b}.example.com", "[!x]", "y?"]}
  - {kinds: ["*"], clusters: ["https://old-*"]}
  - {apiGroups: ["\\*\\*"], kinds: ["Po*"]}
resource.inclusions: |
  - {apiGroups: [apps], kinds: [Deployment], clusters: [https://small]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		group, kind, cluster string
		want                 bool
	}{
		{"", "Pod", "https://prod", false},
		{"", "Endpoints", "https://prod", true},
		{"discovery.k8s.io", "EndpointSlice", "", true},
		{"apps", "Endpoints", "https://prod", false},
		{"management.cattle.io", "Setting", "https://prod", true},
		{"cattle.io", "Setting", "https://prod", false},
		{"b.example.com", "X", "https://prod", true},
		{"c.example.com", "X", "https://prod", false},
		{"a", "X", "https://prod", true},
		{"x", "X", "https://prod", false},
		{"yz", "X", "https://prod", true},
		{"apps", "Deployment", "https://old-1/path", true},
		{"**", "Pod", "https://prod", false}, // kinds are no globs
		{"**", "Po*", "https://prod", true},
		{"apps", "Deployment", "https://small", false},
		{"apps", "StatefulSet", "https://small", true},
		{"", "Event", "https://prod", true},
		{"events.k8s.io", "Event", "https://prod", true},
		{"metrics.k8s.io", "PodMetrics", "https://prod", true},
		{"coordination.k8s.io", "Lease", "https://prod", true},
		{"coordination.k8s.io", "LeaseCandidate", "https://prod", false},
	} {
		if got := s.Excludes(c.group, c.kind, c.cluster); got != c.want {
			t.Errorf("%q %s at %q: %v", c.group, c.kind, c.cluster, got)
		}
	}
	if (Settings{}).Excludes("", "Pod", "") || !(Settings{}).Excludes("", "Event", "") {
		t.Error("settings that are not known have only the built-in exclusions")
	}
	bad := Settings{Exclusions: []Filter{{APIGroups: []string{"a[", "{b"}}}}
	if bad.Excludes("a[", "X", "") || bad.Excludes("{b", "X", "") {
		t.Error("a pattern that is none must not match")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("resource.exclusions: '[{apiGroups: [\"{a,[!b]}*\"]}]'\n")
	f.Add("configs: {cm: {kustomize.buildOptions: 1}}\n---\nkind: ConfigMap\n")
	f.Add("helmCharts: [{name: argo-cd, valuesInline: {argocd: {server: {config: {resource.x: {}}}}}}]\n")
	f.Add("{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {chart: argo-cd, helm: {values: '[', parameters: [1]}}}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x.yaml", []byte(text))
		if s == nil && err == nil {
			t.Fatal("neither settings nor an error")
		}
		if s == nil {
			return
		}
		if s.Health == nil || !strings.Contains(s.Origin, " at x.yaml") {
			t.Errorf("%+v", s)
		}
		s.Excludes("apps", "Deployment", "https://kubernetes.default.svc")
	})
}

func TestTrackingOf(t *testing.T) {
	data := map[string]any{"application.resourceTrackingMethod": "label", "application.instanceLabelKey": "example.com/x"}
	if got := TrackingOf(data); got != (argo.Tracking{Method: argo.TrackByLabel, Label: "example.com/x"}) {
		t.Errorf("%+v", got)
	}
	if got := TrackingOf(map[string]any{"application.resourceTrackingMethod": true}); got != (argo.Tracking{}) {
		t.Errorf("of another type: %+v", got)
	}
}
