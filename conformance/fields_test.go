package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	argoversions "github.com/argosy-cd/argosy/internal/argo/versions"
)

// fieldsFile lists the fields of Argo CD's own kinds. UPDATE=1 writes it.
const fieldsFile = "../internal/argo/fields.txt"

// releases are those whose CRDs are compared: of each minor version one.
var releases = map[argoversions.Version]string{2: "v3.2.11", 3: "v3.3.18", 4: "v3.4.12", 5: "v3.5.6"}

// crdSchema is the part of a CRD's schema that names fields.
type crdSchema struct {
	Properties map[string]*crdSchema
	Items      *crdSchema
	Open       bool `json:"x-kubernetes-preserve-unknown-fields"`
}

// kind is an object of some fields, in all versions together. No fields are any fields.
type kind struct {
	fields map[string]*member
}

type member struct {
	since argoversions.Version
	list  int // lists in lists
	kind  *kind
}

// add adds the fields of a version.
func (k *kind) add(s *crdSchema, v argoversions.Version, since argoversions.Version) {
	for name, p := range s.Properties {
		lists := 0
		for ; p.Items != nil; p = p.Items {
			lists++
		}
		m := k.fields[name]
		if m == nil {
			m = &member{since: v, list: lists, kind: &kind{map[string]*member{}}}
			k.fields[name] = m
		}
		if !p.Open {
			m.kind.add(p, v, max(since, m.since))
		}
	}
}

// writer writes kinds, equal ones once.
type writer struct {
	names map[string]string
	lines []string
}

func (w *writer) text(k *kind, since argoversions.Version) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(k.fields)) {
		m := k.fields[name]
		text := name
		if len(m.kind.fields) > 0 {
			text += ":" + strings.Repeat("[", m.list) + w.name(m.kind, max(since, m.since))
		}
		if m.since > max(since, argoversions.Oldest) {
			text += fmt.Sprintf("@%d", m.since)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func (w *writer) name(k *kind, since argoversions.Version) string {
	text := w.text(k, since)
	if w.names[text] == "" {
		w.names[text] = fmt.Sprint(len(w.names) + 1)
		w.lines = append(w.lines, w.names[text]+" = "+text)
	}
	return w.names[text]
}

// TestFields compares the fields that we know of Argo CD's own kinds with its CRDs.
func TestFields(t *testing.T) {
	w := &writer{names: map[string]string{}}
	var tops []string
	for _, name := range []string{"application", "applicationset", "appproject"} {
		all, title := &kind{map[string]*member{}}, ""
		for _, v := range argoversions.All() {
			var crd struct {
				Spec struct {
					Names    struct{ Kind string }
					Versions []struct {
						Schema struct {
							Schema crdSchema `json:"openAPIV3Schema"`
						}
					}
				}
			}
			data, err := os.ReadFile(filepath.Join(release(t, v), "manifests", "crds", name+"-crd.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal(data, &crd); err != nil {
				t.Fatal(err)
			}
			s := &crd.Spec.Versions[0].Schema.Schema
			delete(s.Properties, "status") // written by Argo CD
			s.Properties["status"] = &crdSchema{}
			all.add(s, v, 0)
			title = crd.Spec.Names.Kind
		}
		tops = append(tops, title+" = "+w.text(all, 0))
	}
	got := "# Fields of Argo CD's own kinds, from the CRDs of 3.2 to 3.5: name, :number of its type, [ for a list, @minor version that has it first.\n" +
		strings.Join(append(w.lines, tops...), "\n") + "\n"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(fieldsFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(fieldsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the CRDs have; run with UPDATE=1 (-have +want):\n%s", fieldsFile, diff)
	}
}

// release is the directory of a release of Argo CD.
func release(t *testing.T, v argoversions.Version) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", "github.com/argoproj/argo-cd/v3@"+releases[v])
	cmd.Dir = t.TempDir() // of no module
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	return module.Dir
}
