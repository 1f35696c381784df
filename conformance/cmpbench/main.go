// Command cmpbench asks our plugins the same things with the client of Argo CD's repo-server: by the sockets of "argosy cmp",
// by the same with --workers 0, and by Argo CD's own plugin server with our plugin.yaml. It prints what each took, in the format of
// Go's benchmarks.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
)

func main() {
	logrus.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "cmpbench")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var started []*exec.Cmd
	defer func() {
		cancel()
		for _, c := range started {
			_ = c.Wait()
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	b := &bench{ctx: ctx, dir: dir, start: func(c *exec.Cmd) error {
		log, err := os.Create(filepath.Join(dir, strconv.Itoa(len(started))+".log"))
		if err != nil {
			return err
		}
		c.Stdout, c.Stderr = log, log
		started = append(started, c)
		return c.Start()
	}}
	if err := b.programs(); err != nil {
		return err
	}
	if err := b.s3(); err != nil {
		return err
	}
	scenarios, err := b.scenarios()
	if err != nil {
		return err
	}
	native, err := b.native("n")
	if err != nil {
		return err
	}
	inside, err := b.native("i", "--workers", "0")
	if err != nil {
		return err
	}
	if err := b.workers(w, scenarios, native, inside); err != nil {
		return err
	}
	stock, err := b.stock()
	if err != nil {
		return err
	}
	for _, s := range scenarios {
		theirs, err := measure(ctx, stock, s, 15)
		if err != nil {
			return fmt.Errorf("%s, stock: %w", s.name, err)
		}
		ours, err := measure(ctx, native, s, 100)
		if err != nil {
			return fmt.Errorf("%s, native: %w", s.name, err)
		}
		theirs.print(w, "Call/"+s.name+"/by=argocd-cmp-server", 15)
		ours.print(w, "Call/"+s.name+"/by=argosy", 100)
	}
	return nil
}

func (r result) print(w io.Writer, name string, n int) {
	fmt.Fprintf(w, "Benchmark%s %d %d ns/op %d cpu-ns/op %.1f calls/s\n", name, n, r.median.Nanoseconds(), r.cpu.Nanoseconds(), r.rate)
}

type bench struct {
	ctx      context.Context
	dir      string
	start    func(*exec.Cmd) error
	argosy   string
	argocd   string
	versity  string
	endpoint string
}

// programs builds ours, and finds those of the lab.
func (b *bench) programs() error {
	build := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(b.dir, "argosy"), "./cmd/argosy")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building argosy: %w\n%s", err, out)
	}
	b.argosy = filepath.Join(b.dir, "argosy")
	tools := exec.CommandContext(b.ctx, "go", "run", "./cmd/program", "argocd", "versitygw")
	tools.Dir, tools.Stderr = "../lab", os.Stderr
	out, err := tools.Output()
	if err != nil {
		return err
	}
	paths := strings.Fields(string(out))
	b.argocd, b.versity = paths[0], paths[1]
	return nil
}

// s3 starts an S3 server with ten manifests in it.
func (b *bench) s3() error {
	l, err := (&net.ListenConfig{}).Listen(b.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	data := filepath.Join(b.dir, "s3")
	if err := os.MkdirAll(filepath.Join(data, "bench"), 0o755); err != nil {
		return err
	}
	c := exec.CommandContext(b.ctx, b.versity, "--port", address, "posix", data)
	c.Env = append(os.Environ(), "ROOT_ACCESS_KEY=bench-access", "ROOT_SECRET_KEY=bench-secret-key")
	if err := b.start(c); err != nil {
		return err
	}
	b.endpoint = "http://" + address
	files := map[string]string{}
	for i := range 10 {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm-%d}\ndata: {text: %q}\n", i,
			strings.Repeat("x", 2000))
	}
	source, err := b.write("manifests", files)
	if err != nil {
		return err
	}
	for range 100 {
		push := exec.CommandContext(b.ctx, b.argosy, "s3", "push", source, "s3://bench/app")
		push.Env = b.environment()
		if err = push.Run(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("pushing to the S3 server: %w", err)
}

func (b *bench) environment() []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL_S3="+b.endpoint, "AWS_ACCESS_KEY_ID=bench-access",
		"AWS_SECRET_ACCESS_KEY=bench-secret-key", "AWS_REGION=us-east-1",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "ARGOSY_CACHE_DIR="+filepath.Join(b.dir, "cache"),
		"KUBERNETES_SERVICE_HOST=",
		"PATH="+b.dir+":"+os.Getenv("PATH"))
}

// workers prints what it costs to evaluate in workers. Both servers are asked in turns, so that whatever else the machine does hits both.
func (b *bench) workers(w io.Writer, scenarios []scenario, native, inside server) error {
	const n, rounds = 400, 5
	for _, s := range scenarios {
		if s.name == "appset-large-repository" { // that is Argo CD's time
			continue
		}
		var times [2][]time.Duration
		var rates [2][]float64
		var used [2]time.Duration
		for j, server := range []server{inside, native} {
			used[j] = -cpu(server.pids[s.plugin])
		}
		for i := range n {
			for j, server := range []server{inside, native} {
				began := time.Now()
				if err := call(b.ctx, server.sockets[s.plugin], s, 100_000+i); err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, server.name, err)
				}
				times[j] = append(times[j], time.Since(began))
			}
		}
		for j, server := range []server{inside, native} {
			used[j] = (used[j] + cpu(server.pids[s.plugin])) / n
		}
		for i := range rounds {
			for j, server := range []server{inside, native} {
				rate, err := crowd(b.ctx, server, s, 200, 200_000+10_000*i)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, server.name, err)
				}
				rates[j] = append(rates[j], rate)
			}
		}
		for j := range times {
			slices.Sort(times[j])
			slices.Sort(rates[j])
		}
		for j, by := range []string{"no-workers", "workers"} {
			fmt.Fprintf(w, "BenchmarkWorkers/%s/by=%s %d %d ns/op %d p99-ns/op %d cpu-ns/op %.1f calls/s\n", s.name, by, n,
				times[j][n/2].Nanoseconds(), times[j][n*99/100].Nanoseconds(), used[j].Nanoseconds(), rates[j][rounds/2])
		}
	}
	return nil
}
