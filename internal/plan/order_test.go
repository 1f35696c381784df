package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// objectText is an object with annotations, as YAML.
func objectText(apiVersion, kind, name string, annotations ...string) string {
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, annotations: {%s}}}\n", apiVersion, kind, name,
		strings.Join(annotations, ", "))
}

const (
	wave = "argocd.argoproj.io/sync-wave: "
	hook = "argocd.argoproj.io/hook: "
)

// itemsOf is what an Application deploys, in its order.
func itemsOf(t *testing.T, cfg Config, files memory) []*Item {
	t.Helper()
	c := config(files)
	c.Exists, c.ProgressiveSyncs = cfg.Exists, cfg.ProgressiveSyncs
	p, err := New(t.Context(), c, document(t, application("root", "root", "0")))
	if err != nil {
		t.Fatal(err)
	}
	return p.Root.Items
}

// TestSettle: Namespaces and CRDs are where the first object that needs them is.
func TestSettle(t *testing.T) {
	crd := func(kind string, annotations ...string) string {
		return strings.Replace(objectText("apiextensions.k8s.io/v1", "CustomResourceDefinition", strings.ToLower(kind)+"s.example.com",
			annotations...), "}}\n", "}, spec: {group: example.com, names: {kind: "+kind+"}, scope: Namespaced}}\n", 1)
	}
	in := func(namespace, object string) string {
		return strings.Replace(object, "metadata: {", "metadata: {namespace: "+namespace+", ", 1)
	}
	for name, c := range map[string]struct {
		objects []string
		want    []string
	}{
		"a namespace behind its objects": {
			[]string{objectText("v1", "Namespace", "web", wave+"'3'"), in("web", objectText("v1", "ConfigMap", "a", wave+"'1'"))},
			[]string{"Sync 1 Namespace web (wave 3)", "Sync 1 ConfigMap a"},
		},
		"for a hook": {
			[]string{objectText("v1", "Namespace", "web"), in("web", objectText("batch/v1", "Job", "a", hook+"PreSync", wave+"'-1'"))},
			[]string{"PreSync -1 Namespace web (wave 0)", "PreSync -1 Job a"},
		},
		"a hook that provides it": {
			[]string{objectText("v1", "Namespace", "web", hook+"PostSync", wave+"'1'"), in("web", objectText("v1", "ConfigMap", "a"))},
			[]string{"Sync 0 Namespace web (PostSync wave 1)", "Sync 0 ConfigMap a"},
		},
		"the destination's, for a ClusterRole": {
			[]string{objectText("v1", "Namespace", "argocd", wave+"'1'"), objectText("rbac.authorization.k8s.io/v1", "ClusterRole", "a")},
			[]string{"Sync 0 Namespace argocd (wave 1)", "Sync 0 ClusterRole a"},
		},
		"the namespace that a ClusterRole names does not count": {
			[]string{objectText("v1", "Namespace", "web", wave+"'1'"), in("web",
				objectText("rbac.authorization.k8s.io/v1", "ClusterRole", "a"))},
			[]string{"Sync 0 ClusterRole a", "Sync 1 Namespace web"},
		},
		"inside a wave": {
			[]string{objectText("v1", "Namespace", "web"), objectText("v1", "ConfigMap", "a"), in("web", objectText("v1", "Service", "b"))},
			[]string{"Sync 0 Namespace web", "Sync 0 ConfigMap a", "Sync 0 Service b"},
		},
		"a CRD, and the namespace of both": {
			[]string{
				crd("Web", wave+"'5'"), objectText("v1", "Namespace", "web", wave+"'9'"),
				in("web", objectText("example.com/v1", "Web", "a", wave+"'2'")), objectText("v1", "ConfigMap", "b", wave+"'2'"),
			},
			[]string{
				"Sync 2 ConfigMap b", "Sync 2 Namespace web (wave 9)", "Sync 2 CustomResourceDefinition webs.example.com (wave 5)",
				"Sync 2 Web a",
			},
		},
		"nobody needs it": {
			[]string{objectText("v1", "Namespace", "web", wave+"'3'"), crd("Web", wave+"'2'")},
			[]string{"Sync 2 CustomResourceDefinition webs.example.com", "Sync 3 Namespace web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, i := range itemsOf(t, Config{}, memory{"root/a.yaml": strings.Join(c.objects, "---\n")}) {
				text := fmt.Sprintf("%s %d %s %s", i.Phase, i.Wave, i.Kind, i.Name)
				if i.Moved != "" {
					text += " (" + i.Moved + ")"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
