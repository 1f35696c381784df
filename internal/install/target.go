package install

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// additions are changes to Argo CD's own objects, and objects of ours.
type additions struct {
	deployment, settings manifest.Object
	rest                 []manifest.Object
}

// take removes an object from the rest, and returns it. The object exists, since package deploy has it.
func (a *additions) take(kind, name string) manifest.Object {
	i := slices.IndexFunc(a.rest, func(o manifest.Object) bool {
		return manifest.String(o, "kind") == kind && manifest.String(o, "metadata", "name") == name
	})
	o := a.rest[i]
	a.rest = slices.Delete(a.rest, i, i+1)
	return o
}

func (a *additions) restAny() []any {
	all := make([]any, len(a.rest))
	for i, o := range a.rest {
		all[i] = o
	}
	return all
}

func (a *additions) pod() map[string]any {
	return manifest.Map(a.deployment, "spec", "template", "spec")
}

func (a *additions) check() string { return manifest.String(a.settings, "data", health.ApplicationKey) }

// rename puts the namespace and the workloads of the Argo CD at hand where Kustomize does not: into the subjects of bindings and into
// the labels of network policies.
func (a *additions) rename(cfg Config) {
	all := append([]manifest.Object{a.deployment}, a.rest...)
	name := func(v any) any {
		s, ok := v.(string)
		switch {
		case ok && slices.Contains(workloads, s):
			return cfg.Name + strings.TrimPrefix(s, namespace)
		case s == clusterRole && cfg.Namespace != namespace:
			return s + "-" + cfg.Namespace // two Argo CDs in a cluster have one each
		}
		return v
	}
	walk(all, func(m map[string]any) {
		m["name"] = name(m["name"])
		if m["name"] == nil {
			delete(m, "name")
		}
		if values, ok := m["values"].([]any); ok {
			for i := range values {
				values[i] = name(values[i])
			}
		}
		if m["kind"] == "ServiceAccount" && m["namespace"] != nil {
			m["namespace"] = cfg.Namespace
		}
	})
}

// component returns a Kustomize component that needs only its own files.
func (a *additions) component() []tree.File {
	patch := func(file string, o manifest.Object) map[string]any {
		delete(manifest.Map(o, "metadata"), "namespace")
		return map[string]any{"path": file, "target": map[string]any{"kind": o["kind"], "name": manifest.String(o, "metadata", "name")}}
	}
	k := manifest.Object{
		"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component",
		"patches": []any{patch("repo-server.yaml", a.deployment), patch("argocd-cm.yaml", a.settings)},
	}
	use := "A part of the component in this directory."
	files := []tree.File{file("argocd-cm.yaml", use, a.settings), file("repo-server.yaml", use, a.deployment)}
	if len(a.rest) > 0 {
		k["resources"] = []any{"objects.yaml"}
		files = append(files, file("objects.yaml", use, a.rest...))
	}
	return append(files, file("kustomization.yaml", "Add this directory to the components of the kustomization that has your Argo CD.", k))
}

// Templates of the chart argo-cd for its service account and its namespace, independent of the release's name.
const (
	chartAccount   = `{{ include "argo-cd.repoServer.serviceAccountName" . }}`
	chartNamespace = `{{ include "argo-cd.namespace" . }}`
)

// values returns values for the chart argo-cd. The chart evaluates templates in them, so our texts that look like one are quoted.
func (a *additions) values() manifest.Object {
	pod := a.pod()
	walk([]any{a.deployment, a.restAny()}, func(m map[string]any) {
		for k, v := range m {
			if s, ok := v.(string); ok {
				m[k] = strings.ReplaceAll(s, "{{", `{{ "{{" }}`)
			}
		}
	})
	walk(a.rest, func(m map[string]any) {
		if m["kind"] == "ServiceAccount" && m["name"] == repoServer {
			m["name"] = chartAccount
		}
		if _, ok := m["namespace"].(string); ok {
			m["namespace"] = chartNamespace
		}
	})
	values := manifest.Object{
		"configs":    map[string]any{"cm": map[string]any{health.ApplicationKey: a.check()}},
		"repoServer": map[string]any{"extraContainers": pod["containers"], "volumes": pod["volumes"]},
	}
	if len(a.rest) > 0 {
		values["extraObjects"] = a.restAny()
	}
	return values
}

// operatorAccount is the service account of the repo-server, which the operator runs as the default one otherwise.
const operatorAccount = "argosy-repo-server"

// objects are additions to objects of Argo CD, or of its operator, and objects of ours.
func (a *additions) objects(cfg Config) (theirs, ours []manifest.Object) {
	if cfg.Target == Operator {
		all := a.operator(cfg)
		return all[:1:1], all[1:]
	}
	return []manifest.Object{a.settings, a.deployment}, a.rest
}

// operator is the part of the resource ArgoCD that is about us, and our own objects.
func (a *additions) operator(cfg Config) []manifest.Object {
	pod := a.pod()
	walk(a.rest, func(m map[string]any) {
		if m["kind"] == "ServiceAccount" && m["name"] == cfg.Name+strings.TrimPrefix(repoServer, namespace) {
			m["name"] = operatorAccount
		}
	})
	metadata := func(name string) map[string]any { return map[string]any{"name": name, "namespace": cfg.Namespace} }
	return append([]manifest.Object{
		{
			"apiVersion": "argoproj.io/v1beta1", "kind": "ArgoCD", "metadata": metadata(cfg.Name),
			"spec": map[string]any{
				"repo": map[string]any{
					"serviceaccount": operatorAccount, "sidecarContainers": pod["containers"], "volumes": pod["volumes"],
				},
				"resourceHealthChecks": []any{map[string]any{"group": argo.Group, "kind": argo.KindApplication, "check": a.check()}},
			},
		},
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(operatorAccount)},
	}, a.rest...)
}
