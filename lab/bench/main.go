// Command bench copies the same objects from the same S3 server with argosy, with rclone and, where it is installed, with the AWS CLI, and
// prints what each took, in the format of Go's benchmarks.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	bucket    = "bench"
	accessKey = "bench-access"
	secretKey = "bench-secret-key"
	runs      = 5
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

// bench is a server with objects, and those who copy them.
type bench struct {
	dir      string
	endpoint string
	argosy   string
	tools    []tool
}

// tool copies s3://bench/<prefix> to a directory.
type tool struct {
	name string
	path string
	args func(prefix, to string) []string
}

func run(ctx context.Context, w io.Writer) (err error) {
	b := &bench{}
	if b.dir, err = os.MkdirTemp("", "argosy-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	stop, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	sizes := []int{100, 1_000, 10_000}
	for _, n := range sizes {
		if err := b.upload(ctx, n); err != nil {
			return err
		}
	}
	for _, t := range b.tools {
		version, err := exec.CommandContext(ctx, t.path, "--version").Output()
		if err != nil {
			return fmt.Errorf("%s: %w", t.path, err)
		}
		if name := filepath.Base(t.path); name != "argosy" {
			first, _, _ := strings.Cut(strings.TrimPrefix(string(version), name+" "), "\n")
			first, _, _ = strings.Cut(first, " ") // the AWS CLI goes on with the machine
			fmt.Fprintf(w, "%s: %s\n", name, strings.TrimPrefix(first, "aws-cli/"))
		}
		for _, n := range sizes {
			if n != 1_000 && t.name != b.tools[0].name {
				continue
			}
			cold, unchanged, err := b.copy(ctx, t, n)
			if err != nil {
				return err
			}
			cold.print(w, fmt.Sprintf("Copy/n=%d/cold/by=%s", n, t.name))
			unchanged.print(w, fmt.Sprintf("Copy/n=%d/unchanged/by=%s", n, t.name))
		}
	}
	return nil
}

func (m measure) print(w io.Writer, name string) {
	fmt.Fprintf(w, "Benchmark%s %d %d ns/op %d peak-B\n", name, runs, m.elapsed.Nanoseconds(), m.memory)
}

// start builds everything and starts the server.
func (b *bench) start(ctx context.Context) (stop func(), err error) {
	programs, err := program.Build(ctx, os.Stderr, "versitygw", "rclone")
	if err != nil {
		return nil, err
	}
	b.argosy = filepath.Join(b.dir, "argosy")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.argosy, "./cmd/argosy")
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building argosy: %w\n%s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(b.dir, "s3", bucket), 0o755); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	_ = l.Close()
	server := exec.CommandContext(ctx, programs.Path("versitygw"), "--quiet", "--port", address, "posix", filepath.Join(b.dir, "s3"))
	server.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	if err := server.Start(); err != nil {
		return nil, err
	}
	b.endpoint = "http://" + address
	b.tools = []tool{
		{name: "argosy", path: b.argosy, args: func(prefix, to string) []string {
			return []string{"s3", "pull", "--timeout", "10m", "s3://" + bucket + "/" + prefix, to}
		}},
		{name: "rclone", path: programs.Path("rclone"), args: func(prefix, to string) []string {
			return []string{"sync", "r:" + bucket + "/" + prefix, to}
		}},
		{name: "rclone-tuned", path: programs.Path("rclone"), args: func(prefix, to string) []string {
			return []string{"sync", "--transfers", "32", "--checkers", "32", "--fast-list", "--checksum", "r:" + bucket + "/" + prefix, to}
		}},
	}
	if path, err := exec.LookPath("aws"); err == nil {
		b.tools = append(b.tools, tool{name: "aws", path: path, args: func(prefix, to string) []string {
			return []string{"s3", "sync", "--only-show-errors", "s3://" + bucket + "/" + prefix, to}
		}})
	}
	return func() { _ = server.Process.Kill(); _ = server.Wait() }, awaitPort(ctx, address)
}

func awaitPort(ctx context.Context, address string) error {
	for range 200 {
		if c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
			return c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("the S3 server does not answer")
}

func (b *bench) environment() []string {
	return append(os.Environ(),
		"AWS_ENDPOINT_URL_S3="+b.endpoint, "AWS_ENDPOINT_URL="+b.endpoint, "AWS_ACCESS_KEY_ID="+accessKey,
		"AWS_SECRET_ACCESS_KEY="+secretKey, "AWS_REGION=us-east-1",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_EC2_METADATA_DISABLED=true",
		"ARGOSY_CACHE_DIR="+filepath.Join(b.dir, "cache"), "RCLONE_CONFIG="+os.DevNull,
		"RCLONE_CONFIG_R_TYPE=s3", "RCLONE_CONFIG_R_PROVIDER=Other", "RCLONE_CONFIG_R_ENDPOINT="+b.endpoint,
		"RCLONE_CONFIG_R_ACCESS_KEY_ID="+accessKey, "RCLONE_CONFIG_R_SECRET_ACCESS_KEY="+secretKey,
	)
}

// upload puts n objects under a prefix of that name, without an index, which others do not know.
func (b *bench) upload(ctx context.Context, n int) error {
	dir := filepath.Join(b.dir, "source", fmt.Sprint(n))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm-%05d\ndata:\n", i)
		for j := 0; len(text) < 2000; j++ {
			text += fmt.Sprintf("  key%02d: value-%05d-%02d-abcdefghijklmnopqrstuvwxyz\n", j, i, j)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("cm-%05d.yaml", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, b.argosy, "s3", "push", dir, fmt.Sprintf("s3://%s/%d", bucket, n))
	cmd.Env = b.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("uploading: %w\n%s", err, out)
	}
	return os.Remove(filepath.Join(b.dir, "s3", bucket, fmt.Sprint(n), ".argosy-index.json"))
}

type measure struct {
	elapsed time.Duration
	memory  int64 // bytes
}

// copy runs a tool to an empty directory and then again, several times, and returns the best of each.
func (b *bench) copy(ctx context.Context, t tool, n int) (cold, unchanged measure, err error) {
	to := filepath.Join(b.dir, "to")
	for range runs {
		for _, dir := range []string{to, filepath.Join(b.dir, "cache")} {
			if err := os.RemoveAll(dir); err != nil {
				return cold, unchanged, err
			}
		}
		for _, m := range []*measure{&cold, &unchanged} {
			got, err := b.once(ctx, t, fmt.Sprint(n), to)
			if err != nil {
				return cold, unchanged, fmt.Errorf("%s: %w", t.name, err)
			}
			m.elapsed = min(cmp.Or(m.elapsed, got.elapsed), got.elapsed)
			m.memory = max(m.memory, got.memory)
		}
		entries, err := os.ReadDir(to)
		if err != nil || len(entries) != n {
			return cold, unchanged, fmt.Errorf("%s: %d files, want %d: %w", t.name, len(entries), n, err)
		}
	}
	return cold, unchanged, nil
}

func (b *bench) once(ctx context.Context, t tool, prefix, to string) (measure, error) {
	cmd := exec.CommandContext(ctx, t.path, t.args(prefix, to)...)
	cmd.Env = b.environment()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return measure{}, fmt.Errorf("%w\n%s", err, stderr.String())
	}
	m := measure{elapsed: time.Since(start)}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.memory = usage.Maxrss * 1024
	}
	return m, nil
}
