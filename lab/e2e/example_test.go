package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// exampleRepo commits examples/cluster to a repository of a lab, with that repository's URL in all manifests, and with the CRDs that nothing in it needs if it is whole.
func exampleRepo(ctx context.Context, t *testing.T, l *lab.Lab, whole bool) (repo *lab.Repo, dir string) {
	t.Helper()
	repo, err := l.Repo(ctx, "cluster")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	files := map[string]string{}
	source := os.DirFS("../../examples/cluster")
	err = fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(source, path)
		if err != nil {
			return err
		}
		files[path] = unvalidated(strings.ReplaceAll(string(data), "https://git.example.com/home/cluster.git", repo.URL))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !whole {
		withoutCRDs(files)
	}
	for path, content := range files {
		target := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := repo.Commit(ctx, files); err != nil {
		t.Fatal(err)
	}
	return repo, dir
}

var ofKind = regexp.MustCompile(`\bkind: (\w+)`)

// withoutCRDs leaves out the CRDs of which the example has no object, except for the first one of each file. For each CRD, Argo CD reads the
// schema of the whole cluster several times, which takes half of the processor time of a boot.
func withoutCRDs(files map[string]string) {
	used := map[string]bool{}
	for name, content := range files {
		if path.Base(name) == "crds.yaml" {
			continue
		}
		for _, m := range ofKind.FindAllStringSubmatch(content, -1) {
			used[m[1]] = true
		}
	}
	for name, content := range files {
		if path.Base(name) != "crds.yaml" {
			continue
		}
		docs := strings.Split(content, "\n---\n")
		files[name] = strings.Join(slices.DeleteFunc(docs, func(doc string) bool {
			_, names, _ := strings.Cut(doc, "names:")
			kind := ofKind.FindStringSubmatch(names)
			return doc != docs[0] && kind != nil && !used[kind[1]]
		}), "\n---\n")
	}
}

// asTheController checks that the Applications that the stock controller has made are those that "argosy appset generate" prints, and that
// there are no others but the ones in Git.
func (x *exampleLab) asTheController() {
	x.Helper()
	rendered := generate(x.ctx, x.T, x.repo.URL+"="+x.dir, filepath.Join(x.dir, "infrastructure/controllers/argocd/apps"))
	live, err := x.lab.Names(x.ctx, application, lab.Namespace)
	x.must(err)
	if want := len(rendered) + 10; len(live) != want {
		x.Errorf("%d Applications, want %d: %v", len(live), want, live)
	}
	for name, want := range rendered {
		o, err := x.lab.Get(x.ctx, application, lab.Namespace, name)
		if err != nil || o == nil {
			x.Errorf("%s: %v, %v", name, o, err)
			continue
		}
		for _, path := range [][]string{{"spec"}, {"metadata", "labels"}, {"metadata", "finalizers"}} {
			w, _, _ := unstructured.NestedFieldNoCopy(want, path...)
			g, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
			if !reflect.DeepEqual(w, g) {
				x.Errorf("%s: %v is\n%v\nof the controller, and\n%v\nof ours", name, path, g, w)
			}
		}
	}
}

// generate runs "argosy appset generate" and returns the Applications by name.
func generate(ctx context.Context, t *testing.T, repo, dir string) map[string]map[string]any {
	t.Helper()
	cmd := exec.CommandContext(ctx, argosy, "appset", "generate", "--argocd-version", argocdVersion(), "--offline", "-o", "json", "--repo", repo, dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var list struct {
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	apps := map[string]map[string]any{}
	for _, o := range list.Items {
		apps[(&unstructured.Unstructured{Object: o}).GetName()] = o
	}
	if len(apps) == 0 {
		t.Fatal("no Applications")
	}
	return apps
}

var (
	createNamespace = regexp.MustCompile(`(?m)^( *)- CreateNamespace=true$`)
	automatedFirst  = regexp.MustCompile(`(?m)^( *)syncPolicy:\n( *)automated:$`)
)

// unvalidated lets the Application of a file apply its manifests without validation, as those of a kit do.
func unvalidated(text string) string {
	if createNamespace.MatchString(text) {
		return createNamespace.ReplaceAllString(text, "$0\n$1- Validate=false")
	}
	return automatedFirst.ReplaceAllString(text, "${1}syncPolicy:\n${2}syncOptions: [Validate=false]\n${2}automated:")
}
