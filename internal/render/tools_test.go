package render_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestAgainstTools compares with what helm and kustomize make of the same directories. They are built if need be.
func TestAgainstTools(t *testing.T) {
	helm, kustomize := tools(t)
	for _, g := range goldens(t) {
		kind := kindOf(g.files)
		if kind == "manifests" || strings.Contains(g.dir, "broken") {
			continue
		}
		t.Run(filepath.Base(g.dir), func(t *testing.T) {
			docs, err := directory(g.files, g.options)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			write(t, dir, g.files)
			cmd := exec.CommandContext(t.Context(), kustomize, "build", dir)
			if kind == "helm" {
				o := g.options
				cmd = exec.CommandContext(t.Context(), helm, "template", o.Chart.ReleaseName, dir, "--namespace", o.Chart.Namespace,
					"--include-crds", "--kube-version", o.KubeVersion)
				for _, f := range o.Chart.ValueFiles {
					cmd.Args = append(cmd.Args, "--values", filepath.Join(g.dir, f.Name))
				}
				if o.Chart.Values != nil {
					cmd.Args = append(cmd.Args, "--values", filepath.Join(g.dir, "object.yaml"))
				}
			}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %v\n%s", cmd.Args, err, &stderr)
			}
			theirs, err := manifest.Decode(cmd.Args[0], out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(set(t, theirs), set(t, docs)); diff != "" {
				t.Errorf("(-%s +ours):\n%s", filepath.Base(cmd.Args[0]), diff)
			}
		})
	}
}

// set has objects by what identifies them.
func set(t *testing.T, docs []manifest.Document) map[string]manifest.Object {
	t.Helper()
	out := map[string]manifest.Object{}
	for _, d := range docs {
		id := fmt.Sprint(d.Object["apiVersion"], " ", d.Object["kind"], " ", manifest.String(d.Object, "metadata", "namespace"), "/",
			manifest.String(d.Object, "metadata", "name"))
		if out[id] != nil {
			t.Errorf("%s: %s is there twice", d, id)
		}
		out[id] = d.Object
	}
	return out
}

// tools returns the paths of helm and kustomize.
func tools(t *testing.T) (helm, kustomize string) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argosy-cd/argosy").Output()
	if err != nil {
		t.Fatal("finding the repository: ", err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/program", "helm", "kustomize")
	cmd.Dir, cmd.Stderr = filepath.Join(strings.TrimSpace(string(root)), "lab"), os.Stderr
	out, err := cmd.Output()
	paths := strings.Fields(string(out))
	if err != nil || len(paths) != 2 {
		t.Fatalf("building helm and kustomize: %v: %q", err, out)
	}
	return paths[0], paths[1]
}

func write(t *testing.T, dir string, files []tree.File) {
	t.Helper()
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
