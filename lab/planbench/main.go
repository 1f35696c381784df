// Command planbench plans trees of Kustomizations and of charts with argosy plan, lints them with argosy lint, and renders the same ones
// with "kustomize build" and "helm template", started once for each Application. It prints what each took, in the format of Go's
// benchmarks.
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

// shape is a tree: so many Applications, and so many Kustomizations below each, or charts.
type shape struct {
	name                string
	applications, parts int
	charts              bool
}

var shapes = []shape{
	{name: "97-kustomizations", applications: 97},
	{name: "1300-kustomizations", applications: 130, parts: 9},
	{name: "97-charts", applications: 97, charts: true},
}

func run(ctx context.Context, w io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "argosy-planbench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs, err := program.Build(ctx, os.Stderr, "kustomize", "helm")
	if err != nil {
		return err
	}
	argosy := filepath.Join(dir, "argosy")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", argosy, "./cmd/argosy")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building argosy: %w\n%s", err, out)
	}
	for _, s := range shapes {
		tree := filepath.Join(dir, s.name)
		if err := s.write(tree); err != nil {
			return err
		}
		peer := []string{programs.Path("kustomize"), "build"}
		if s.charts {
			peer = []string{programs.Path("helm"), "template", "x"}
		}
		for _, by := range []struct {
			name string
			once func() (time.Duration, int64, error)
		}{
			{"argosy-plan", func() (time.Duration, int64, error) { return plan(ctx, argosy, tree, s) }},
			{"argosy-lint", func() (time.Duration, int64, error) { return lint(ctx, argosy, tree) }},
			{"once-for-each", func() (time.Duration, int64, error) { return renderAll(ctx, peer, tree, s) }},
		} {
			elapsed, memory, err := best(by.once)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "BenchmarkTree/%s/by=%s %d %d ns/op %d peak-B\n", s.name, by.name, runs, elapsed.Nanoseconds(), memory)
		}
	}
	return versions(ctx, w, programs)
}

// versions prints those of the peers.
func versions(ctx context.Context, w io.Writer, programs *program.Tools) error {
	for _, args := range [][]string{{"kustomize", "version"}, {"helm", "version", "--short"}} {
		out, err := exec.CommandContext(ctx, programs.Path(args[0]), args[1:]...).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		fmt.Fprintf(w, "%s: %s\n", args[0], strings.TrimSpace(string(out)))
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

// renderAll renders each Application, one after the other. The memory is the most of one.
func renderAll(ctx context.Context, peer []string, tree string, s shape) (time.Duration, int64, error) {
	var memory int64
	start := time.Now()
	for i := range s.applications {
		cmd := exec.CommandContext(ctx, peer[0], append(peer[1:], filepath.Join(tree, "apps", fmt.Sprint(i)))...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, 0, fmt.Errorf("%w\n%s", err, out)
		}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			memory = max(memory, usage.Maxrss*1024)
		}
	}
	return time.Since(start), memory, nil
}

// write makes the tree: a chart for each Application, or an overlay with a Deployment, a Service and a generated ConfigMap, and parts of
// the same kind.
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
		if s.charts {
			if err := chart(app, fmt.Sprintf("app-%d", i)); err != nil {
				return err
			}
			continue
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

// chart writes one of the size that helm create makes: helpers, a Deployment, a Service and an account.
func chart(dir, name string) error {
	return errors.Join(
		writeFile(filepath.Join(dir, "Chart.yaml"), fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 1.0.0\n", name)),
		writeFile(filepath.Join(dir, "values.yaml"), "replicas: 2\nimage: {repository: registry.example.com/x, tag: 1.0.0}\n"+
			"ports: [8080, 8081, 8082]\nresources: {requests: {cpu: 10m, memory: 64Mi}}\n"),
		writeFile(filepath.Join(dir, "templates", "_helpers.tpl"), `{{- define "labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
`),
		writeFile(filepath.Join(dir, "templates", "all.yaml"), `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Name }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {{- include "labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "labels" . | nindent 8 }}
    spec:
      containers:
        - name: main
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          ports: {{- range .Values.ports }}
            - {containerPort: {{ . }}}
          {{- end }}
          resources: {{- toYaml .Values.resources | nindent 12 }}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name | quote }}, labels: {{ include "labels" . | fromYaml | toJson }}}
spec:
  selector: {{- include "labels" . | nindent 4 }}
  ports: [{port: 80}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name | quote }}}
`))
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
