package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
)

func TestDiffObjects(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{
			"order of objects and fields", "kind: A\nmetadata: {name: a}\nx: 1\n---\nkind: B\nmetadata: {name: b}\n",
			"kind: B\nmetadata: {name: b}\n---\nx: 1.0\nmetadata: {name: a}\nkind: A\n", nil,
		},
		{
			"status and the time of creation", "kind: A\nmetadata: {name: a}\nstatus: {x: 1}\n",
			"kind: A\nmetadata: {name: a, creationTimestamp: null}\nstatus: {x: 2}\n", nil,
		},
		{
			"a time of creation that is one", "kind: A\nmetadata: {name: a}\n",
			"kind: A\nmetadata: {name: a, creationTimestamp: '2026-01-01T00:00:00Z'}\n",
			[]string{"~ A a"},
		},
		{
			"another version of the API", "apiVersion: x/v1beta1\nkind: A\nmetadata: {name: a}\n",
			"apiVersion: x/v1\nkind: A\nmetadata: {name: a}\n",
			[]string{"~ A a"},
		},
		{
			"another group", "apiVersion: x/v1\nkind: A\nmetadata: {name: a}\n", "apiVersion: y/v1\nkind: A\nmetadata: {name: a}\n",
			[]string{"- A a", "+ A a"},
		},
		{
			"generated names", "kind: Job\nmetadata: {generateName: j-}\nx: 1\n---\nkind: Job\nmetadata: {generateName: j-}\nx: 2\n",
			"kind: Job\nmetadata: {generateName: j-}\nx: 1\n---\nkind: Job\nmetadata: {generateName: j-}\nx: 3\n---\nkind: Job\nmetadata: {generateName: j-}\n",
			[]string{"~ Job j-*", "+ Job j-*"},
		},
		{
			"a name with a hash", "kind: ConfigMap\nmetadata: {name: web-7f8k2m4t6b}\nx: 1\n",
			"kind: ConfigMap\nmetadata: {name: web-2456789bcd}\nx: 2\n",
			[]string{"~ ConfigMap web-2456789bcd was web-7f8k2m4t6b"},
		},
		{
			"names with hashes of two bases", "kind: ConfigMap\nmetadata: {name: web-7f8k2m4t6b}\n",
			"kind: ConfigMap\nmetadata: {name: api-2456789bcd}\n",
			[]string{"+ ConfigMap api-2456789bcd", "- ConfigMap web-7f8k2m4t6b"},
		},
		{
			"a word that is no hash", "kind: ConfigMap\nmetadata: {name: web-production}\n",
			"kind: ConfigMap\nmetadata: {name: web-2456789bcd}\n",
			[]string{"+ ConfigMap web-2456789bcd", "- ConfigMap web-production"},
		},
		{
			"a hash in another kind", "kind: Secret\nmetadata: {name: web-7f8k2m4t6b}\n",
			"kind: ConfigMap\nmetadata: {name: web-2456789bcd}\n",
			[]string{"+ ConfigMap web-2456789bcd", "- Secret web-7f8k2m4t6b"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, o := range diffObjects(objectsOf(t, c.before), objectsOf(t, c.after)) {
				sign, name := "~", o.Name
				switch {
				case o.Old == nil:
					sign = "+"
				case o.New == nil:
					sign = "-"
				}
				if o.Renamed != "" {
					name += " was " + o.Renamed
				}
				got = append(got, sign+" "+o.Kind+" "+name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func objectsOf(t *testing.T, text string) []manifest.Object {
	t.Helper()
	docs, err := manifest.Decode("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []manifest.Object
	for _, d := range docs {
		out = append(out, d.Object)
	}
	return out
}

// TestSecretsAreMasked: values never leave a comparison, and a change of one is visible.
func TestSecretsAreMasked(t *testing.T) {
	secret := func(data string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2}}\n" + data
	}
	for _, c := range []struct{ name, before, after string }{
		{"values", "data: {a: hunter2, b: same}\n", "data: {a: hunter3, b: same}\n"},
		{"text", "stringData: {a: hunter2}\n", "stringData: {a: hunter3}\n"},
		{"values that are none", "data: hunter2\nstringData: {a: [hunter2]}\n", "data: hunter3\nstringData: {a: {b: hunter3}}\n"},
		{"a new one", "data: {}\n", "data: {a: hunter3}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := objectsOf(t, secret(c.before)), objectsOf(t, secret(c.after))
			whole := string(manifest.AppendYAML(nil, before[0]))
			changes := diffObjects(before, after)
			if len(changes) != 1 {
				t.Fatal(changes)
			}
			old, now := string(manifest.AppendYAML(nil, changes[0].Old)), string(manifest.AppendYAML(nil, changes[0].New))
			if strings.Contains(old+now, "hunter") || old == now || !strings.Contains(now, "<hidden, new value>") {
				t.Errorf("%s%s", old, now)
			}
			if string(manifest.AppendYAML(nil, before[0])) != whole {
				t.Error("the object itself was changed")
			}
		})
	}
}

// TestPasswordsAreMasked: a password in a URL of an Argo CD object never leaves a comparison, and a change of one is visible.
func TestPasswordsAreMasked(t *testing.T) {
	app := func(spec string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: " + spec + "\n"
	}
	for _, c := range []struct{ name, before, after, want string }{
		{
			"another path", "{source: {repoURL: 'https://me:hunter2@git.example.com/x', path: a}}",
			"{source: {repoURL: 'https://me:hunter2@git.example.com/x', path: b}}", "repoURL: https://git.example.com/x\n",
		},
		{
			"another password", "{source: {repoURL: 'https://me:hunter2@git.example.com/x'}}",
			"{source: {repoURL: 'https://me:hunter3@git.example.com/x'}}", "https://git.example.com/x <hidden, new value>",
		},
		{
			"in a list", "{sources: [{repoURL: 'https://me:hunter2@git.example.com/x'}]}",
			"{sources: [{repoURL: 'https://me:hunter3@git.example.com/x'}, {repoURL: 'https://hunter4@git.example.com/y'}]}",
			"https://git.example.com/x <hidden, new value>",
		},
		{
			"in values of Helm", "{source: {helm: {values: 'url: https://hunter2@git.example.com/x'}}}",
			"{source: {helm: {values: 'url: https://hunter2@git.example.com/y'}}}", "https://git.example.com/y",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := objectsOf(t, app(c.before)), objectsOf(t, app(c.after))
			whole := string(manifest.AppendYAML(nil, before[0]))
			changes := diffObjects(before, after)
			if len(changes) != 1 {
				t.Fatal(changes)
			}
			old, now := string(manifest.AppendYAML(nil, changes[0].Old)), string(manifest.AppendYAML(nil, changes[0].New))
			if strings.Contains(old+now, "hunter") || old == now || !strings.Contains(now, c.want) {
				t.Errorf("%s%s", old, now)
			}
			if string(manifest.AppendYAML(nil, before[0])) != whole {
				t.Error("the object itself was changed")
			}
		})
	}
}
