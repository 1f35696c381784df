// Command livebench measures what it costs to look at thousands of Applications on a real API server: argosy status, why and wait, beside
// kubectl and argocd, in the format of Go's benchmarks. Requests and bytes are counted by a proxy in front of the API server.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/argosy-cd/argosy/lab"
)

func main() {
	apps := flag.Int("apps", 2000, "number of Applications")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *apps); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		lab.StopAll()
		os.Exit(1)
	}
}

// bench is a cluster with Applications, and those who look at it.
type bench struct {
	lab    *lab.Lab
	counts *counter
	config string // a kubeconfig of the proxy
	argosy string
	apps   int
}

func run(ctx context.Context, w io.Writer, apps int) error {
	l, err := lab.Start(ctx, lab.Config{Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer l.Stop()
	// Nothing changes by itself, and argocd-server knows all Applications.
	for _, name := range []string{"argocd-application-controller", "argocd-applicationset-controller", "argocd-repo-server", "kwok"} {
		l.Process(name).Stop()
	}
	b := &bench{lab: l, apps: apps, argosy: filepath.Join(l.Dir, "argosy")}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.argosy, "./cmd/argosy")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building argosy: %w\n%s", err, out)
	}
	if b.counts, err = newCounter(l); err != nil {
		return err
	}
	defer b.counts.close()
	b.config = filepath.Join(l.Dir, "kubeconfig-counted")
	if err := os.WriteFile(b.config, []byte(b.counts.kubeconfig()), 0o600); err != nil {
		return err
	}
	size, err := b.create(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "live-applications: %d of %d KB each\n", apps, size>>10)
	if err := b.once(ctx, w); err != nil {
		return err
	}
	return b.followed(ctx, w)
}

const (
	runs    = 3
	changes = 200
)

// command is somebody who looks.
type command struct {
	name string
	path string
	args []string
	env  []string
	code int // exit code
}

func (b *bench) commands() []command {
	argocd := []string{"ARGOCD_BINARY_NAME=argocd", "HOME=" + b.lab.Dir}
	server := strings.TrimPrefix(b.lab.ArgoCDURL, "http://")
	return []command{
		{name: "argosy-status", path: b.argosy, args: []string{"status"}},
		{name: "argosy-wait", path: b.argosy, args: []string{"wait", "root-00", "--for", "healthy"}},
		{name: "argosy-why", path: b.argosy, args: []string{"why"}, code: 3},
		{name: "kubectl", path: "kubectl", args: []string{"get", "applications", "-A"}},
		{name: "kubectl-json", path: "kubectl", args: []string{"get", "applications", "-A", "-o", "json"}},
		{
			name: "argocd", path: b.lab.Tools.Path("argocd"), env: argocd,
			args: []string{"app", "list", "--plaintext", "--server", server, "--auth-token", b.lab.ArgoCDToken},
		},
	}
}

// once measures commands that look and end.
func (b *bench) once(ctx context.Context, w io.Writer) error {
	for _, c := range b.commands() {
		var best, cpu time.Duration
		var memory int64
		var requests, bytes int64
		for range runs {
			b.counts.reset()
			cmd := b.command(ctx, c)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			began := time.Now()
			if err := cmd.Run(); err != nil && (c.code == 0 || cmd.ProcessState.ExitCode() != c.code) {
				return fmt.Errorf("%s: %w\n%s", c.name, err, stderr.String())
			}
			took := time.Since(began)
			best = min(cmp.Or(best, took), took)
			used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			cpu = min(cmp.Or(cpu, used), used)
			memory = max(memory, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss*1024)
			requests, bytes = b.counts.read()
		}
		fmt.Fprintf(w, "BenchmarkLook/by=%s %d %d ns/op %d cpu-ns/op %d peak-B %d requests %d wire-B\n", c.name, runs, best.Nanoseconds(),
			cpu.Nanoseconds(), memory, requests, bytes)
	}
	return nil
}

func (b *bench) command(ctx context.Context, c command) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+b.config), c.env...)
	return cmd
}

// followed measures commands that go on, until they have seen all changes.
func (b *bench) followed(ctx context.Context, w io.Writer) error {
	for i, c := range []command{
		{name: "argosy-status", path: b.argosy, args: []string{"status", "--watch", "-o", "json"}},
		{name: "kubectl", path: "kubectl", args: []string{"get", "applications", "-A", "-w"}},
	} {
		b.counts.reset()
		cmd := b.command(ctx, c)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		seen := make(chan error, 1)
		mark := fmt.Sprintf("changed%d", i)
		go func() { seen <- until(out, mark) }()
		time.Sleep(5 * time.Second)
		err = b.change(ctx, mark)
		if err == nil {
			err = <-seen
		}
		if err != nil {
			_ = cmd.Process.Kill()
			return fmt.Errorf("%s: %w\n%s", c.name, errors.Join(err, cmd.Wait()), stderr.String())
		}
		memory, err := peak(cmd.Process.Pid)
		if err != nil {
			return err
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		requests, bytes := b.counts.read()
		fmt.Fprintf(w, "BenchmarkFollow/by=%s 1 %d peak-B %d requests %d wire-B\n", c.name, memory, requests, bytes)
	}
	return nil
}

// until reads lines until one has a text, and goes on reading.
func until(r io.Reader, text string) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, text) {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return nil
		}
		if err != nil {
			return fmt.Errorf("nothing says %q: %w", text, err)
		}
	}
}

// change gives some Applications a new health, and one of them last, by which those who follow are known to have seen all.
func (b *bench) change(ctx context.Context, mark string) error {
	var group errgroup.Group
	group.SetLimit(8)
	for i := range min(changes, b.apps/2) {
		group.Go(func() error {
			return b.lab.Patch(ctx, application, lab.Namespace, child(i), `{"status": {"health": {"status": "Progressing"}}}`)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return b.lab.Patch(ctx, application, lab.Namespace, child(0), `{"status": {"health": {"status": "`+mark+`"}}}`)
}

// peak is the largest memory that a process has had.
func peak(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n * 1024, err
		}
	}
	return 0, errors.New("no VmHWM")
}
