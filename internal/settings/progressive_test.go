package settings

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

func TestProgressive(t *testing.T) {
	const (
		params   = "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cmd-params-cm}, data: {"
		deployed = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: argo-argocd-applicationset-controller}, spec: {template: {spec: {containers: [{"
		reading  = deployed + "env: [{name: ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS, valueFrom: {configMapKeyRef: {name: argocd-cmd-params-cm}}}]}]}}}}"
		app      = "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {chart: argo-cd, helm: {valuesObject: {"
	)
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"nothing":                    {[]string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {applicationsetcontroller.enable.progressive.syncs: 'true'}}"}, "unknown"},
		"params":                     {[]string{params + "applicationsetcontroller.enable.progressive.syncs: 'True'}}"}, "on"},
		"params, off":                {[]string{params + "applicationsetcontroller.enable.progressive.syncs: 'false'}}"}, "off"},
		"params without it":          {[]string{params + "a: b}}"}, "unknown"},
		"and a Deployment reads it":  {[]string{params + "a: b}}", reading}, "off"},
		"and the other way round":    {[]string{reading, params + "applicationsetcontroller.enable.progressive.syncs: 'true'}}"}, "on"},
		"a Deployment alone":         {[]string{reading}, "unknown"},
		"an argument":                {[]string{deployed + "args: [x, --enable-progressive-syncs]}]}}}}"}, "on"},
		"an argument in the command": {[]string{deployed + "command: [x, --enable-progressive-syncs=true]}]}}}}"}, "on"},
		"an argument that is off":    {[]string{deployed + "args: [--enable-progressive-syncs=false]}]}}}}"}, "off"},
		"no argument":                {[]string{deployed + "args: [x]}]}}}}"}, "off"},
		"a variable": {[]string{deployed +
			"env: [{name: ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS, value: 'true'}]}]}}}}"}, "on"},
		"the operator":          {[]string{"{apiVersion: argoproj.io/v1beta1, kind: ArgoCD, spec: {applicationSet: {extraCommandArgs: [--enable-progressive-syncs]}}}"}, "on"},
		"the operator's params": {[]string{"{apiVersion: argoproj.io/v1beta1, kind: ArgoCD, spec: {cmdParams: {applicationsetcontroller.enable.progressive.syncs: 'true'}}}"}, "on"},
		"values": {
			[]string{app + "configs: {params: {applicationsetcontroller.enable.progressive.syncs: true}}}}}}}"},
			"on",
		},
		"values of an umbrella": {[]string{app + "argo-cd: {applicationSet: {extraArgs: [--enable-progressive-syncs]}}}}}}}"}, "on"},
		"a variable in values": {[]string{app +
			"applicationSet: {extraEnv: [{name: ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS, value: 'false'}]}}}}}}"}, "off"},
		"values without it": {[]string{app + "configs: {params: {a: b}}}}}}}"}, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			var p Progressive
			for _, text := range c.in {
				docs, err := manifest.Decode("x.yaml", []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				p.Learn(docs[0].Object)
			}
			got := "unknown"
			if on := p.Known(); on != nil {
				got = map[bool]string{true: "on", false: "off"}[*on]
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestPolicy: the policy that the applicationset-controller forces on sets.
func TestPolicy(t *testing.T) {
	const params = "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cmd-params-cm}, data: {"
	for text, want := range map[string]argo.ApplicationsSync{
		params + "applicationsetcontroller.policy: create-only}}":                                                    "create-only",
		params + "applicationsetcontroller.policy: sync, applicationsetcontroller.enable.policy.override: 'true'}}":  "",
		params + "applicationsetcontroller.policy: sync, applicationsetcontroller.enable.policy.override: 'false'}}": "sync",
		params + "a: b}}": "",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: argocd-applicationset-controller}, spec: {template: {spec: {containers: [{args: [--policy=create-update]}]}}}}":                  "create-update",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: argocd-applicationset-controller}, spec: {template: {spec: {containers: [{args: [--policy=sync, --enable-policy-override]}]}}}}": "",
		"{apiVersion: argoproj.io/v1beta1, kind: ArgoCD, spec: {cmdParams: {applicationsetcontroller.policy: create-delete}}}":                                                                     "create-delete",
		"{apiVersion: argoproj.io/v1beta1, kind: ArgoCD, spec: {applicationSet: {env: [{name: ARGOCD_APPLICATIONSET_CONTROLLER_POLICY, value: sync}]}}}":                                           "sync",
	} {
		docs, err := manifest.Decode("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var p Progressive
		p.Learn(docs[0].Object)
		if got := p.Policy(); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
