package e2e

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// exampleRepo commits examples/cluster to a repository of a lab, with that repository's URL in all manifests.
func exampleRepo(ctx context.Context, t *testing.T, l *lab.Lab) (repo *lab.Repo, dir string) {
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
		files[path] = strings.ReplaceAll(string(data), "https://git.example.com/home/cluster.git", repo.URL)
		target := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, []byte(files[path]), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Commit(ctx, files); err != nil {
		t.Fatal(err)
	}
	return repo, dir
}

// TestExampleCluster boots examples/cluster with stock Argo CD, applicationset-controller included: everything becomes
// healthy, and the Applications that the controller makes are those that "argosy appset generate" prints.
func TestExampleCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	// A lab of its own, because this cluster manages its Argo CD's settings.
	l, err := lab.Start(ctx, lab.Config{Settings: map[string]string{healthKey: seedLua}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			t.Log("logs:", l.KeepLogs())
		}
		l.Stop()
	}()
	repo, dir := exampleRepo(ctx, t, l)
	journal, err := l.Journal(ctx, application)
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Stop()
	root, err := os.ReadFile(filepath.Join(dir, "infrastructure/controllers/argocd/root.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Apply(ctx, string(root)); err != nil {
		t.Fatal(err)
	}

	rendered := generate(ctx, t, repo.URL+"="+dir, filepath.Join(dir, "infrastructure/controllers/argocd/apps"))
	names := []string{"cilium", "argocd", "1password-connect", "external-secrets", "projects", "longhorn", "snapshot-controller", "volsync", "pvc-plumber"}
	for name := range rendered {
		names = append(names, name)
	}
	for _, name := range append(names, "root") {
		if _, err := journal.Await(ctx, "Application", name, "health Healthy", 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, pair := range [][2]string{{"cilium", "longhorn"}, {"longhorn", "pvc-plumber"}, {"pvc-plumber", "cert-manager"}} {
		if !journal.Before(lab.Entry{Kind: "Application", Name: pair[0], What: "health Healthy"}, lab.Entry{Kind: "Application", Name: pair[1], What: "created"}) {
			t.Errorf("%s was created before %s was healthy", pair[1], pair[0])
		}
	}

	live, err := l.Names(ctx, application, lab.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	if len(live) != len(names)+1 {
		t.Errorf("%d Applications, want %d: %v", len(live), len(names)+1, live)
	}
	for name, want := range rendered {
		o, err := l.Get(ctx, application, lab.Namespace, name)
		if err != nil || o == nil {
			t.Errorf("%s: %v, %v", name, o, err)
			continue
		}
		for _, path := range [][]string{{"spec"}, {"metadata", "labels"}, {"metadata", "finalizers"}} {
			w, _, _ := unstructured.NestedFieldNoCopy(want, path...)
			g, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
			if !reflect.DeepEqual(w, g) {
				t.Errorf("%s: %v is\n%v\nof the controller, and\n%v\nof ours", name, path, g, w)
			}
		}
	}
}

// generate runs "argosy appset generate" and returns the Applications by name.
func generate(ctx context.Context, t *testing.T, repo, dir string) map[string]map[string]any {
	t.Helper()
	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/argosy", "appset", "generate", "--argocd-version", "3.2", "--offline", "-o", "json", "--repo", repo, dir)
	cmd.Dir = "../.."
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
