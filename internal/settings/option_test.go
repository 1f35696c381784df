package settings

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
)

func TestOption(t *testing.T) {
	const (
		params     = "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cmd-params-cm}, data: {"
		controller = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: argocd-application-controller}, spec: {template: {spec: {containers: [{"
		app        = "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {chart: argo-cd, helm: {valuesObject: {"
	)
	for name, c := range map[string]struct{ in, timeout, delay string }{
		"params":            {params + "controller.sync.timeout.seconds: '60', controller.sync.wave.delay.seconds: '9'}}", "60", "9"},
		"no number":         {params + "controller.sync.timeout.seconds: 1m}}", "?", "?"},
		"arguments":         {controller + "args: [x, --sync-timeout, '60'], env: [{name: ARGOCD_SYNC_WAVE_DELAY, value: '9'}]}]}}}}", "60", "9"},
		"one argument":      {controller + "args: [--sync-timeout=60]}]}}}}", "60", "2"},
		"nothing said":      {controller + "args: [x]}]}}}}", "0", "2"},
		"read from params":  {controller + "env: [{name: ARGOCD_SYNC_WAVE_DELAY, valueFrom: {configMapKeyRef: {name: x}}}]}]}}}}", "0", "?"},
		"values":            {app + "configs: {params: {controller.sync.timeout.seconds: 60}}, controller: {env: [{name: ARGOCD_SYNC_WAVE_DELAY, value: '9'}]}}}}}}", "60", "9"},
		"the operator":      {"{apiVersion: argoproj.io/v1beta1, kind: ArgoCD, spec: {controller: {extraCommandArgs: [--sync-timeout=60], env: [{name: ARGOCD_SYNC_WAVE_DELAY, value: '9'}]}}}", "60", "9"},
		"another component": {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: argocd-applicationset-controller}, spec: {template: {spec: {containers: [{args: [--sync-timeout=60]}]}}}}", "?", "?"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := manifest.Decode("x.yaml", []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			timeout, delay := SyncTimeout(), WaveDelay()
			for o, want := range map[*Option]string{&timeout: c.timeout, &delay: c.delay} {
				o.Learn(docs[0].Object)
				got, ok := o.Known()
				if !ok {
					got = "?"
				}
				if got != want {
					t.Errorf("%s: got %s, want %s", o.env, got, want)
				}
			}
		})
	}
}
