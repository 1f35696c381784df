package settings

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
)

func TestVersion(t *testing.T) {
	workload := func(kind, image string) string {
		return "{apiVersion: apps/v1, kind: " + kind + ", spec: {template: {spec: {containers: [{image: 'redis:7.2.1'}, {image: '" + image +
			"'}]}}}}"
	}
	application := func(source string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: " + source + "}}"
	}
	for in, want := range map[string]string{
		workload("Deployment", "quay.io/argoproj/argocd:v3.4.2"):                                           "v3.4.2",
		workload("StatefulSet", "registry.example.com:5000/mirror/argocd:v3.2.11@sha256:00"):               "v3.2.11",
		workload("Deployment", "argocd:v3.5.0-rc1"):                                                        "v3.5.0-rc1",
		workload("Deployment", "quay.io/argoproj/argocd:latest"):                                           "",
		workload("Deployment", "quay.io/argoproj/argocd"):                                                  "",
		workload("Deployment", "quay.io/argoprojlabs/argocd-image-updater:v0.16.0"):                        "",
		workload("DaemonSet", "quay.io/argoproj/argocd:v3.4.2"):                                            "",
		"{apiVersion: argoproj.io/v1beta1, kind: ArgoCD, spec: {version: v3.1.5}}":                         "v3.1.5",
		"{apiVersion: argoproj.io/v1beta1, kind: ArgoCD, spec: {version: 'sha256:00'}}":                    "",
		"{apiVersion: argoproj.io/v1beta1, kind: ArgoCD}":                                                  "",
		application("{chart: argo-cd, helm: {valuesObject: {global: {image: {tag: v3.3.1}}}}}"):            "v3.3.1",
		application("{chart: argo-cd, helm: {values: 'global: {image: {tag: v3.3.1}}'}}"):                  "v3.3.1",
		application("{chart: argo-cd, helm: {parameters: [{name: global.image.tag, value: v3.3.1}]}}"):     "v3.3.1",
		application("{chart: argo-cd, helm: {values: '{'}}"):                                               "",
		application("{chart: other, helm: {valuesObject: {global: {image: {tag: v3.3.1}}}}}"):              "",
		application("{repoURL: 'https://github.com/argoproj/argo-cd', targetRevision: v3.4.0, path: x}"):   "v3.4.0",
		application("{repoURL: 'https://github.com/argoproj/argo-cd', targetRevision: stable, path: x}"):   "",
		application("{repoURL: 'https://github.com/fork/argo-cd.git', targetRevision: v3.4.0, path: x}"):   "",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm}, data: {version: v3.4.2}}":          "",
		"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [1, {image: 2}]}}}}": "",
	} {
		v, err := manifest.Value([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		o := v.(map[string]any)
		if got := VersionOf(o) + VersionOfApplication(o); got != want {
			t.Errorf("%s: %q, not %q", in, got, want)
		}
	}
	pod := map[string]any{"containers": []any{map[string]any{"image": "redis:8.2"}, map[string]any{"image": "quay.io/argoproj/argocd:v3.4.2"}}}
	if got := VersionOfPod(pod) + VersionOfPod(nil); got != "v3.4.2" {
		t.Errorf("a Pod: %q", got)
	}
	for in, want := range map[string]string{
		"https://github.com/argoproj/argo-cd//manifests/cluster-install?ref=v3.4.1":                        "v3.4.1",
		"k.yaml: github.com/argoproj/argo-cd/manifests/ha/base?timeout=90s&ref=v3.2.0: nothing is fetched": "v3.2.0",
		"https://raw.githubusercontent.com/argoproj/argo-cd/v3.3.2/manifests/install.yaml":                 "v3.3.2",
		"https://raw.githubusercontent.com/argoproj/argo-cd/refs/tags/v3.3.2/manifests/install.yaml":       "v3.3.2",
		"https://raw.githubusercontent.com/argoproj/argo-cd/stable/manifests/install.yaml":                 "",
		"https://github.com/argoproj/argo-cd//manifests/crds?ref=stable":                                   "",
		"https://github.com/argoproj/argo-cd-extensions//manifests?ref=v3.4.1":                             "",
		"https://github.com/argoproj/argo-rollouts//manifests?ref=v1.4.1":                                  "",
	} {
		if got := VersionOfBase(in); got != want {
			t.Errorf("%s: %q, not %q", in, got, want)
		}
	}
	if got := VersionOfValues(map[string]any{"argo-cd": map[string]any{"global": map[string]any{"image": map[string]any{"tag": "v3.4.9"}}}}); got != "v3.4.9" {
		t.Errorf("values of a chart that depends on argo-cd: %q", got)
	}
}
