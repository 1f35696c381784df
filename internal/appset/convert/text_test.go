package convert_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset/convert"
)

const plain = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: web
spec:
  generators: [{list: {elements: [{name: a}]}}]
  template:
    metadata: {name: '{{name}}'}
    spec: {project: default, source: {repoURL: x}, destination: {name: in-cluster}}
`

// TestText: texts of all kinds come back byte for byte, or at least as the same set. If comments are lost, a warning says so.
func TestText(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		other bool // it is another text then
		warns bool
	}{
		"plain":               {text: plain},
		"line ends":           {text: strings.ReplaceAll(plain, "\n", "\r\n")},
		"a mark of the order": {text: "\uFEFF" + plain},
		"markers":             {text: "---\n" + plain + "...\n---\n# nothing\n"},
		"comment at the spec": {text: strings.Replace(plain, "spec:\n", "spec: # here\n", 1)},
		"odd indentation": {
			text:  strings.Replace(plain, "  generators", "   # three\n \n  # two\n  generators", 1),
			other: true, // the space in front of comments
		},
		"comment further out":  {text: strings.Replace(plain, "  template", "# far out\n  template", 1), other: true},
		"quoted kind":          {text: strings.Replace(plain, "kind: ApplicationSet", `kind: "ApplicationSet"`, 1)},
		"finalizers":           {text: strings.Replace(plain, "name: web\n", "name: web\n  finalizers:\n  - example.com/x\n", 1)},
		"finalizers in flow":   {text: strings.Replace(plain, "name: web\n", "name: web\n  finalizers: [example.com/x]\n", 1), other: true},
		"metadata behind":      {text: strings.Replace(plain, "metadata:\n  name: web\n", "", 1) + "metadata:\n  name: web\n"},
		"an anchor from above": {text: strings.NewReplacer("name: web", "name: &n web", "{name: a}", "{name: *n}").Replace(plain), other: true},
		"an anchor in the spec": {
			text: strings.NewReplacer("{name: a}", "&a {name: a}, *a").Replace(plain),
		},
		"trailing space": {text: strings.Replace(plain, "template:\n", "template:  \n", 1)},
		"brackets": {
			text:  "# stays\n{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, # goes\n metadata: {name: a}, spec: {generators: [], template: {}}}\n",
			other: true, warns: true,
		},
		"no newline":       {text: strings.TrimSuffix(plain, "\n"), other: true},
		"a block of text":  {text: strings.Replace(plain, "metadata: {name: '{{name}}'}", "metadata:\n      name: |-\n        {{name}}", 1)},
		"wide indentation": {text: strings.ReplaceAll(plain, "  ", "    ")},
	} {
		t.Run(name, func(t *testing.T) {
			there, err := convert.Options{}.File("x.yaml", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if warns := len(there.Warnings) > 0; warns != test.warns {
				t.Errorf("warnings: %v", there.Warnings)
			}
			back, err := convert.Reverse("x.yaml", there.Data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(objects(t, []byte(test.text)), objects(t, back.Data)); diff != "" {
				t.Error(diff)
			}
			if same := string(back.Data) == test.text; same == test.other {
				t.Errorf("the same text: %t\n%s\n%s", same, there.Data, back.Data)
			}
		})
	}
}

// TestRefused names what cannot be converted, and why.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"type": {
			strings.Replace(plain, "[{list: {elements: [{name: a}]}}]", "text", 1),
			`x.yaml:1: ApplicationSet "web": spec.generators: must be a list`,
		},
		"field": {plain + "more: 1\n", `more: not a field of an ApplicationSet`},
		"its own name": {
			strings.Replace(plain, "{name: '{{name}}'}", "{name: web}", 1),
			`spec.template.metadata.name: its Application is called "web", too, and would replace the new one; use --style folder, or rename the set if no cluster has it yet`,
		},
		"no spec":    {"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: web}\n", "spec must be an object"},
		"status":     {plain + "status: {}\n", "it was read from a cluster"},
		"a mistake":  {plain + " x\n", "x.yaml:"},
		"same line":  {"--- {apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: a}, spec: {generators: [], template: {}}}\n", "line of its own"},
		"some JSONs": {`{"kind": "A"} {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "a"}, "spec": {}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := convert.Options{}.File("x.yaml", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v", res, err)
			}
		})
	}
}
