package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// binary builds the command.
func binary(b testing.TB) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "argosy")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return file
}

// BenchmarkCommand runs the command as a user does: it starts, and it plans and lints work trees with many Applications of two objects each.
func BenchmarkCommand(b *testing.B) {
	argosy := binary(b)
	run := func(b *testing.B, args ...string) {
		b.Helper()
		var most int64
		var used time.Duration
		for b.Loop() {
			cmd := exec.Command(argosy, args...)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
				most = max(most, usage.Maxrss)
			}
		}
		b.ReportMetric(float64(most)/1024, "MB")
		b.ReportMetric(used.Seconds()*1000/float64(b.N), "cpu-ms/op") // which other processes hardly change
	}
	b.Run("start", func(b *testing.B) { run(b, "--version") })
	for _, n := range []int{1_000, 5_000} {
		dir := b.TempDir()
		write := func(name, content string) {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		application := func(name, path string, wave int) string {
			return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, annotations: {argocd.argoproj.io/sync-wave: %q}}\nspec: {project: default, source: {repoURL: https://x/y, path: %s}, destination: {name: in-cluster, namespace: argocd}, syncPolicy: {automated: {}}}\n", name, fmt.Sprint(wave), path)
		}
		write("root.yaml", application("root", "root", 0))
		for i := range n {
			write(fmt.Sprintf("root/%d.yaml", i), application(fmt.Sprintf("app-%d", i), fmt.Sprintf("apps/%d", i), i%7))
			write(fmt.Sprintf("apps/%d/a.yaml", i),
				fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a%d}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a%d}\n", i, i))
		}
		b.Run(fmt.Sprintf("plan of %d Applications", n), func(b *testing.B) {
			run(b, "plan", "--repo", "https://x/y="+dir, filepath.Join(dir, "root.yaml"))
		})
		// The peer of lint is the plan: what the rules cost, with three objects for each Application.
		b.Run(fmt.Sprintf("lint of %d Applications", n), func(b *testing.B) {
			run(b, "lint", "--fail-on", "never", "--repo", "https://x/y="+dir, filepath.Join(dir, "root.yaml"))
		})
	}
}
