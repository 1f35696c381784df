package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/manifest"
)

const plainSet = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: %s
spec:
  generators: [{list: {elements: [{name: a}]}}]
  template:
    metadata: {name: '{{name}}'}
    spec: {project: default, source: {repoURL: https://git.example.com/x, path: x}, destination: {server: https://kubernetes.default.svc}}
`

// TestHostile: files that want memory or time are refused in one line, or converted.
func TestHostile(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	var flat strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&flat, "  k%d: v\n", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"aliases":         {strings.Replace(fmt.Sprintf(plainSet, "x"), "spec:\n", "status:\n  "+strings.ReplaceAll(bomb, "\n", "\n  ")+"\nspec:\n", 1), "alias"},
		"depth":           {strings.Replace(fmt.Sprintf(plainSet, "x"), "elements: [{name: a}]", "elements: "+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000), 1), "depth"},
		"deep blocks":     {"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x}\nspec:\n" + blocks(3_000), "deeper"},
		"a long name":     {fmt.Sprintf(plainSet, strings.Repeat("x", 5<<20)), "metadata.name"},
		"equal keys":      {fmt.Sprintf(plainSet, "x") + strings.Repeat("kind: ApplicationSet\n", 100_000), "already"},
		"control":         {fmt.Sprintf(plainSet, `"x\e[2J\n"`), "metadata.name"},
		"an alias":        {strings.Replace(fmt.Sprintf(plainSet, "x"), "{project", "&a {project", 1) + "  again: *a\n", ""},
		"a merge":         {strings.Replace(fmt.Sprintf(plainSet, "x"), "metadata:\n", "metadata:\n  <<: {uid: x}\n", 1), "uid"},
		"a wide object":   {strings.Replace(fmt.Sprintf(plainSet, "x"), "spec:\n", "other:\n"+flat.String()+"spec:\n", 1), "other: not a field"},
		"no documents":    {strings.Repeat("---\n", 100_000), ""},
		"many directives": {strings.Repeat("%YAML 1.1\n---\n", 100_000), "any"},
		"many documents":  {many(2_000), ""},
		"many mistakes":   {strings.ReplaceAll(many(2_000), "  name: s", "  nom: s"), "metadata.name must be set"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Survived(t, func() {
				res, err := convert.Options{}.File("sets.yaml", []byte(c.text))
				switch {
				case c.want == "any":
				case c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("%.600v, want %q", err, c.want)
				case err != nil && (len(err.Error()) > 10_000 || strings.ContainsAny(err.Error(), "\x1b")):
					t.Errorf("the error has %d bytes: %.600q", len(err.Error()), err)
				}
				if name == "many documents" && err == nil {
					docs, err := manifest.Decode("sets.yaml", res.Data)
					if err != nil || len(res.Names) != 2_000 || len(docs) != 2_000 {
						t.Errorf("%d names, %d documents, %v", len(res.Names), len(docs), err)
					}
				}
			})
		})
	}
}

func blocks(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i+2) + "a:\n")
	}
	return b.String()
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\n# the set number %d\n"+plainSet, i, fmt.Sprintf("s%d", i))
	}
	return b.String()
}
