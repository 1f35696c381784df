package e2e

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/lab"
)

// tree is the failing example of a rule of argosy lint, with names of its own, so that many of them boot beside each other.
type tree struct {
	*kit
	rule string
	// names are those of objects, and of namespaces that its Applications deploy to, as the example has them.
	names, namespaces map[string]bool
	files             map[string]string // as the example has them
	settings          map[string]string
	// after are files that come with a second commit; the example has the first one in before/.
	after map[string]string

	discovered *lab.Process
	hidden     *atomic.Bool
}

// exampleURL is the repository of a root, appsURL that of Applications that must not follow the root's. They are one here.
const (
	exampleURL = "https://git.example.com/cluster"
	appsURL    = "https://git.example.com/apps"
)

// newTree reads the failing example of a rule.
func (k *kit) newTree(rule string) *tree {
	k.Helper()
	own := *k // with a repository of its own: a commit is a new revision for all that is in it
	var err error
	own.repo, err = k.lab.Repo(k.ctx, "lint-"+rule)
	k.must(err)
	t := &tree{kit: &own, rule: rule, names: map[string]bool{}, namespaces: map[string]bool{}}
	t.files, t.settings = k.example(rule)
	for file, content := range maps.Clone(t.files) {
		if name, ok := strings.CutPrefix(file, "before/"); ok {
			t.after = map[string]string{name: t.files[name]}
			t.files[name] = content
			delete(t.files, file)
		}
	}
	return t
}

// example returns the files of a failing example, and the settings in argocd-cm that it has; nil is none.
func (k *kit) example(rule string) (files, settings map[string]string) {
	k.Helper()
	data, err := os.ReadFile("../../cmd/argosy/testdata/lint/" + rule + ".txtar")
	k.must(err)
	files = map[string]string{}
	_, rest, _ := strings.Cut("\n"+string(data), "\n-- ")
	for _, part := range strings.Split(rest, "\n-- ") {
		name, content, _ := strings.Cut(part, " --\n")
		for _, side := range []string{"both/", "fails/"} {
			if file, ok := strings.CutPrefix(name, side); ok {
				files[file] = strings.TrimSuffix(content, "\n") + "\n"
			}
		}
	}
	if text, ok := files["settings.yaml"]; ok {
		text, _, _ = strings.Cut(text, "\n---\n") // argocd-cmd-params-cm comes behind it
		k.must(yaml.Unmarshal([]byte(text), &settings))
		delete(files, "settings.yaml")
	}
	delete(files, "clusters.yaml") // of the command line
	return files, settings
}

// own is the name that an object of the example has in the lab.
func (t *tree) own(name string) string { return "lint-" + t.rule + "-" + name }

// learn notes the names of objects, and the namespaces of Applications.
func (t *tree) learn() {
	for file := range t.files {
		for _, o := range t.documents(file) {
			kind, _ := o["kind"].(string)
			meta, _ := o["metadata"].(map[string]any)
			if name, ok := meta["name"].(string); ok && kind != "CustomResourceDefinition" &&
				(kind != "ConfigMap" || !strings.HasPrefix(name, "argocd-")) {
				t.names[name] = true
			}
			if kind == "Namespace" {
				t.namespaces[meta["name"].(string)] = false
			}
		}
	}
}

func (t *tree) documents(file string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, text := range strings.Split(t.files[file], "\n---\n") {
		var o map[string]any
		t.must(yaml.Unmarshal([]byte(text), &o))
		out = append(out, o)
	}
	return out
}

// rename gives names of this test to a part of a manifest. Key is that of the part.
func (t *tree) rename(key string, part any) any {
	switch v := part.(type) {
	case map[string]any:
		for k, child := range v {
			if k == "generators" { // parameters are as they are; repositories are not
				t.sources(child)
				continue
			}
			v[k] = t.rename(k, child)
		}
	case []any:
		for i, child := range v {
			v[i] = t.rename(key, child)
		}
	case string:
		switch {
		case v == exampleURL || v == appsURL:
			return t.repo.URL
		case key == "path" && !strings.HasPrefix(v, "{{") && !strings.HasPrefix(v, "/"):
			return path.Join(t.rule, v)
		case key == "namespace" && v != lab.Namespace && v != "default" && v != "*":
			if _, made := t.namespaces[v]; !made {
				t.namespaces[v] = true
			}
			return t.own(v)
		case t.names[v] && slices.Contains([]string{
			"name", "project", "storageClassName", "claimName", "argosy.dev/depends-on", "ingressClassName", "gatewayClassName",
			"priorityClassName", "serviceAccountName",
		}, key):
			return t.own(v)
		case key == "name" && strings.Contains(v, "{{"):
			return t.own(v)
		case strings.HasPrefix(v, "example.com/v"):
			return t.rule + "." + v
		case key == "group" && v == "example.com":
			return t.rule + "." + v
		case strings.HasSuffix(v, ".example.com") && key == "name":
			plural, _, _ := strings.Cut(v, ".")
			return plural + "." + t.rule + ".example.com"
		}
	}
	return part
}

// sources renames repositories and paths in generators.
func (t *tree) sources(part any) {
	switch v := part.(type) {
	case map[string]any:
		for k, child := range v {
			if k == "repoURL" || k == "path" {
				v[k] = t.rename(k, child)
			} else {
				t.sources(child)
			}
		}
	case []any:
		for _, child := range v {
			t.sources(child)
		}
	}
}

// manifest is a file with the names of this test.
func (t *tree) manifest(file string) string {
	t.Helper()
	var out []string
	for _, o := range t.documents(file) {
		text, err := yaml.Marshal(t.rename("", o))
		t.must(err)
		out = append(out, string(text))
	}
	return strings.Join(out, "---\n")
}

// write commits files of the example, "" deletes one.
func (t *tree) write(files map[string]string) string {
	t.Helper()
	maps.Copy(t.files, files)
	commit := map[string]string{}
	for file := range files {
		commit[t.rule+"/"+file] = ""
		if t.files[file] != "" {
			commit[t.rule+"/"+file] = t.manifest(file)
		}
	}
	return t.commit(commit)
}

// boot commits the tree, makes the namespaces that it expects, and applies its root.
func (t *tree) boot() {
	t.Helper()
	t.learn()
	t.write(maps.Clone(t.files))
	for name, missing := range t.namespaces {
		if missing && !strings.Contains(t.rule, "namespace-") {
			t.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + t.own(name) + "}\n")
		}
	}
	t.apply(t.manifest("root.yaml"))
}

// application waits for an Application of the example.
func (t *tree) application(name string, cond func(o *unstructured.Unstructured) bool) *unstructured.Unstructured {
	t.Helper()
	return t.wait(t.own(name), cond)
}

// operation waits until the message of an Application's operation contains a text. Names in it are those of this test: {name}.
func (t *tree) operation(name, message string) {
	t.Helper()
	_, after, ok := strings.Cut(message, "{")
	if ok {
		inner, _, _ := strings.Cut(after, "}")
		message = strings.Replace(message, "{"+inner+"}", t.own(inner), 1)
	}
	o := t.application(name, func(o *unstructured.Unstructured) bool {
		return strings.Contains(text(o, "status", "operationState", "message"), message)
	})
	t.Logf("%s: %s: %s", t.rule, o.GetName(), text(o, "status", "operationState", "message"))
}

// condition waits until the Application web has a condition.
func (t *tree) condition(kind string) {
	t.Helper()
	t.conditionOf("web", kind)
}

// conditionOf waits until an Application has a condition, and returns its message.
func (t *tree) conditionOf(name, kind string) (message string) {
	t.Helper()
	t.application(name, func(o *unstructured.Unstructured) bool {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range list {
			if c, ok := c.(map[string]any); ok && c["type"] == kind {
				message, _ = c["message"].(string)
				t.Logf("%s: %s: %s", t.rule, o.GetName(), message)
				return true
			}
		}
		return false
	})
	return message
}

// appears waits for an object of the example, in Argo CD's namespace.
func (t *tree) appears(kind, name string) {
	t.Helper()
	t.appearsIn(kind, lab.Namespace, name)
}

func (t *tree) appearsIn(kind, namespace, name string) {
	t.Helper()
	_, err := t.lab.Wait(t.ctx, kind, namespace, t.own(name), func(o *unstructured.Unstructured) bool { return o != nil })
	t.must(err)
}

// absent fails the test if an object is there.
func (t *tree) absent(kind, name string) {
	t.Helper()
	if t.exists(kind, lab.Namespace, t.own(name)) {
		t.Errorf("%s: %s %s is there", t.rule, kind, t.own(name))
	}
}
