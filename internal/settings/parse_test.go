package settings

import "testing"

func TestParse(t *testing.T) {
	const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {kustomize.buildOptions: a}\n"
	const none = "f.yaml: no settings of Argo CD in it; it must have the ConfigMap argocd-cm or its data, an ArgoCD resource, or values of the chart argo-cd (configs.cm)"
	for name, c := range map[string]struct{ in, origin, options, err string }{
		"argocd-cm": {in: cm, origin: "argocd-cm at f.yaml:1", options: "a"},
		"among others": {
			in: "kind: Namespace\n---\n" + cm +
				"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {timeout.x: y}}\n", origin: "argocd-cm at f.yaml:3",
			options: "a",
		},
		"in a List": {
			in:     "{kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm}}]}",
			origin: "argocd-cm at f.yaml:1 items[0]",
		},
		"data": {in: "kustomize.buildOptions: a", origin: "argocd-cm at f.yaml:1", options: "a"},
		"a ConfigMap of no name": {
			in:     "{apiVersion: v1, kind: ConfigMap, data: {kustomize.buildOptions: a}}",
			origin: "argocd-cm at f.yaml:1", options: "a",
		},
		"of another name": {
			in:     "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}, data: {kustomize.buildOptions: a}}",
			origin: "mine at f.yaml:1", options: "a",
		},
		"the operator's": {
			in:     "{apiVersion: argoproj.io/v1beta1, kind: ArgoCD, metadata: {name: x}, spec: {kustomizeBuildOptions: a}}",
			origin: `ArgoCD "x" at f.yaml:1`, options: "a",
		},
		"values": {
			in:     "# values\nconfigs: {cm: {kustomize.buildOptions: a}}",
			origin: "values of the chart argo-cd at f.yaml:2", options: "a",
		},
		"values of an umbrella": {
			in:     "argo-cd: {configs: {cm: {kustomize.buildOptions: a}}}",
			origin: "values of the chart argo-cd at f.yaml:1", options: "a",
		},
		"an Application": {in: "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {chart: argo-cd, helm: {valuesObject: {configs: {cm: {kustomize.buildOptions: a}}}}}}}", origin: "values of the chart argo-cd at f.yaml:1", options: "a"},
		"a Kustomization": {
			in:     "helmCharts: [{name: argo-cd, valuesInline: {configs: {cm: {kustomize.buildOptions: a}}}}]",
			origin: "values of the chart argo-cd at f.yaml:1", options: "a",
		},
		"of a kind": {in: "{kind: Kustomization, helmCharts: [{name: argo-cd, valuesInline: {configs: {cm: {kustomize.buildOptions: a}}}}]}", origin: "values of the chart argo-cd at f.yaml:1", options: "a"},

		"a wrong setting": {
			in:     "resource.customizations.useOpenLibs.X: maybe\nkustomize.buildOptions: a",
			origin: "argocd-cm at f.yaml:1", options: "a", err: "f.yaml: resource.customizations.useOpenLibs.X: must be true or false",
		},
		"among other documents": {
			in:     "a: b\n---\nresource.exclusions: x\nresource.inclusions: '['",
			origin: "argocd-cm at f.yaml:3",
			err:    "f.yaml:3: resource.exclusions: must be a list of objects, as YAML, whose apiGroups, kinds and clusters are lists of strings\nf.yaml:3: resource.inclusions: line 1: did not find expected node content",
		},
		"nothing":        {in: "", err: none},
		"another object": {in: "kind: Deployment\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}", err: none},
		"other values":   {in: "image: {tag: x}", err: none},
		"an Application of another chart": {
			in:  "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {path: x}}}",
			err: none,
		},
		"two": {
			in:  cm + "---\n" + cm,
			err: "f.yaml: settings of two Argo CDs, argocd-cm at f.yaml:1 and argocd-cm at f.yaml:6; keep one",
		},
		"a list":   {in: "[]", err: "f.yaml:1: the document must be an object, it is a list"},
		"not YAML": {in: "a: [", err: "f.yaml:1: did not find expected node content"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("f.yaml", []byte(c.in))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.err {
				t.Errorf("error\ngot  %s\nwant %s", got, c.err)
			}
			if s == nil {
				s = &Settings{}
			}
			options := ""
			if s.BuildOptions != nil {
				options = *s.BuildOptions
			}
			if s.Origin != c.origin || options != c.options {
				t.Errorf("got %q, %q", s.Origin, options)
			}
		})
	}
}
