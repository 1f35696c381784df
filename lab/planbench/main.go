// Command planbench plans trees of Kustomizations with argosy plan, lints them with argosy lint, and builds the same Kustomizations with
// "kustomize build", started once for each Application, and prints what each took.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/argosy-cd/argosy/lab/program"
)

const (
	runs = 3
	url  = "https://git.example.com/bench/cluster.git"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

// shape is a tree: so many Applications, and so many Kustomizations below each.
type shape struct {
	applications, parts int
}

func run(ctx context.Context, w io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "argosy-planbench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs, err := program.Build(ctx, os.Stderr, "kustomize")
	if err != nil {
		return err
	}
	argosy := filepath.Join(dir, "argosy")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", argosy, "./cmd/argosy")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building argosy: %w\n%s", err, out)
	}
	fmt.Fprintf(w, "A root with Applications that are Kustomizations, wall time and peak memory, best of %d runs.\n\n", runs)
	fmt.Fprintln(w, "| Applications, Kustomizations | `argosy plan` | memory | `argosy lint` | `kustomize build`, once for each | "+
		"ratio |\n|---|---|---|---|---|---|")
	for i, s := range []shape{{97, 0}, {130, 9}} {
		tree := filepath.Join(dir, fmt.Sprint(i))
		if err := s.write(tree); err != nil {
			return err
		}
		ours, memory, err := best(func() (time.Duration, int64, error) { return plan(ctx, argosy, tree, s) })
		if err != nil {
			return err
		}
		linted, _, err := best(func() (time.Duration, int64, error) { return lint(ctx, argosy, tree) })
		if err != nil {
			return err
		}
		theirs, _, err := best(func() (time.Duration, int64, error) { return buildAll(ctx, programs.Path("kustomize"), tree, s) })
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %d, %d | %s | %d MB | %s | %s | %.1f× |\n", s.applications, s.applications*(s.parts+1),
			ours.Round(time.Millisecond), memory/1e6, linted.Round(time.Millisecond), theirs.Round(time.Millisecond),
			float64(theirs)/float64(ours))
	}
	return nil
}

func best(once func() (time.Duration, int64, error)) (least time.Duration, memory int64, err error) {
	for i := range runs {
		elapsed, used, err := once()
		if err != nil {
			return 0, 0, err
		}
		if i == 0 || elapsed < least {
			least = elapsed
		}
		memory = max(memory, used)
	}
	return least, memory, nil
}

// plan plans the tree, and looks whether all of it is in the plan.
func plan(ctx context.Context, argosy, tree string, s shape) (time.Duration, int64, error) {
	return command(ctx, tree, fmt.Sprintf("%d Applications", s.applications+1), argosy, "plan")
}

// lint lints the tree, and looks whether there is a report.
func lint(ctx context.Context, argosy, tree string) (time.Duration, int64, error) {
	return command(ctx, tree, " for information", argosy, "lint", "--fail-on", "never")
}

// command runs a command of ours on the tree. Its output must have a text.
func command(ctx context.Context, tree, want string, args ...string) (time.Duration, int64, error) {
	cmd := exec.CommandContext(ctx, args[0], append(args[1:], "--offline", "--repo", url+"="+tree, filepath.Join(tree, "root.yaml"))...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%w\n%s", err, stderr.String())
	}
	elapsed := time.Since(start)
	if !strings.Contains(stdout.String(), want) {
		return 0, 0, fmt.Errorf("the output does not have %q", want)
	}
	var memory int64
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		memory = usage.Maxrss * 1024
	}
	return elapsed, memory, nil
}

// buildAll builds each Application, one after the other.
func buildAll(ctx context.Context, kustomize, tree string, s shape) (time.Duration, int64, error) {
	start := time.Now()
	for i := range s.applications {
		cmd := exec.CommandContext(ctx, kustomize, "build", filepath.Join(tree, "apps", fmt.Sprint(i)))
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, 0, fmt.Errorf("%w\n%s", err, out)
		}
	}
	return time.Since(start), 0, nil
}

// write makes the tree: an overlay for each Application, with a Deployment, a Service and a generated ConfigMap, and parts of the same
// kind.
func (s shape) write(dir string) error {
	var root strings.Builder
	for i := range s.applications {
		fmt.Fprintf(&root, `---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app-%[1]d, namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: "%[2]d"}}
spec:
  project: default
  source: {repoURL: %[3]s, path: apps/%[1]d}
  destination: {server: https://kubernetes.default.svc, namespace: ns-%[1]d}
`, i, i%7, url)
		app := filepath.Join(dir, "apps", fmt.Sprint(i))
		resources := "[manifests.yaml"
		for j := range s.parts {
			resources += fmt.Sprintf(", part-%d", j)
			if err := kustomization(filepath.Join(app, fmt.Sprintf("part-%d", j)), fmt.Sprintf("part-%d-%d", i, j),
				"[manifests.yaml]"); err != nil {
				return err
			}
		}
		if err := kustomization(app, fmt.Sprintf("app-%d", i), resources+"]"); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(dir, "apps.d", "apps.yaml"), root.String()); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "root.yaml"), fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root, namespace: argocd}
spec:
  project: default
  source: {repoURL: %s, path: apps.d}
  destination: {server: https://kubernetes.default.svc, namespace: argocd}
  syncPolicy: {automated: {}}
`, url))
}

func kustomization(dir, name, resources string) error {
	text := fmt.Sprintf("resources: %s\nnamespace: %s\nlabels:\n- pairs: {app.kubernetes.io/part-of: %s}\nconfigMapGenerator:\n- name: "+
		"%s\n  literals: [a=b]\npatches:\n- target: {kind: Deployment, name: %s}\n  patch: |-\n    - {op: replace, path: /spec/replicas, "+
		"value: 2}\n", resources, name, name, name, name)
	manifests := fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: main
        image: registry.example.com/%[1]s:1.0.0
        ports: [{containerPort: 8080}]
        envFrom: [{configMapRef: {name: %[1]s}}]
        resources: {requests: {cpu: 10m, memory: 64Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec:
  selector: {app: %[1]s}
  ports: [{port: 80, targetPort: 8080}]
`, name)
	return errors.Join(writeFile(filepath.Join(dir, "kustomization.yaml"), text),
		writeFile(filepath.Join(dir, "manifests.yaml"), manifests))
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
