package cmp_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/cmp/client"
	"github.com/argosy-cd/argosy/internal/cmp/cmptest"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// fixture is a server with one plugin.
type fixture struct {
	*cmp.Server
	socket string
	temp   string
	stop   func() // and wait

	mu     sync.Mutex
	events []cmp.Event
}

func (f *fixture) seen() []cmp.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events
}

func serve(t *testing.T, p cmp.Plugin, cfg cmp.Config) *fixture {
	t.Helper()
	f := &fixture{temp: t.TempDir()}
	// The names of sockets are limited to some hundred characters.
	dir, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if p.Name == "" {
		p.Name = "test"
	}
	cfg.Dir, cfg.Plugins, cfg.TempDir, cfg.Now = dir, append([]cmp.Plugin{p}, cfg.Plugins...), f.temp, time.Now
	cfg.Observe = func(e cmp.Event) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.events = append(f.events, e)
	}
	if f.Server, err = cmp.Listen(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	f.socket = f.Paths()[0]
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Serve(ctx, 10*time.Second) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		f.stop()
		if left, _ := os.ReadDir(f.temp); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return f
}

func object(name, value string) manifest.Object {
	return manifest.Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
		"data": map[string]any{"value": value},
	}
}

// files is a plugin that answers with an object for each file in the application's directory.
func files(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
	found, err := r.Files(ctx, tree.In(r.Dir, nil))
	if err != nil {
		return nil, err
	}
	var out []manifest.Object
	for _, f := range found {
		out = append(out, object(strings.TrimPrefix(f.Name, r.Dir+"/"), string(f.Data)))
	}
	return out, nil
}

func TestGenerate(t *testing.T) {
	f := serve(t, cmp.Plugin{Generate: files, Parameters: []argo.Parameter{{Name: "spec", Title: "Spec", Help: "help", Default: "none"}}},
		cmp.Config{})
	got, err := cmptest.Generate(t.Context(), f.socket, cmptest.Request{
		Dir: "app", Files: map[string]string{"app/a": "<1>", "app/b": "-> ../x/y", "x/y": "2", "z": "3"},
		Env: map[string]string{"ARGOCD_APP_NAME": "web", "ARGOCD_APP_REVISION": "abc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"apiVersion":"v1","data":{"value":"<1>"},"kind":"ConfigMap","metadata":{"name":"a"}}`,
		`{"apiVersion":"v1","data":{"value":"2"},"kind":"ConfigMap","metadata":{"name":"b"}}`,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e := f.seen()[0]
	if e.Plugin != "test" || e.Method != "generate" || e.App != "web" || e.Revision != "abc" || e.Objects != 2 || e.Err != nil ||
		e.Bytes == 0 {
		t.Errorf("%+v", e)
	}
	_, err = cmptest.Generate(t.Context(), f.socket, cmptest.Request{
		Files: map[string]string{"a": ""},
		Env:   map[string]string{"ARGOCD_APP_PARAMETERS": `[{"name":"sepc"}]`},
	})
	if status.Convert(err).Message() != `plugin.parameters: there is no parameter "sepc"; they are spec` {
		t.Error(err)
	}
	parameters, err := cmptest.Parameters(t.Context(), f.socket, cmptest.Request{Files: map[string]string{"a": ""}})
	if err != nil || len(parameters) != 1 || parameters[0].GetName() != "spec" || parameters[0].GetTooltip() != "help" ||
		parameters[0].GetString_() != "none" {
		t.Errorf("%v, %v", parameters, err)
	}
}

// TestMatch: a plugin is found by a file. Where it is not there, discovery is said to be off, so that Argo CD still asks a
// plugin that is named.
func TestMatch(t *testing.T) {
	f := serve(t, cmp.Plugin{Discover: "s3-source.yaml"}, cmp.Config{})
	for dir, want := range map[string]bool{"app": true, "other": false, ".": false, "linked": true} {
		got, err := cmptest.Match(t.Context(), f.socket, cmptest.Request{
			Dir:   dir,
			Files: map[string]string{"app/s3-source.yaml": "x", "other/s3-source.yaml/x": "", "linked": "-> app"},
		})
		if err != nil || got.GetIsSupported() != want || got.GetIsDiscoveryEnabled() != want {
			t.Errorf("%s: %v, %v", dir, got, err)
		}
	}
	if ok, err := cmptest.Discovers(t.Context(), f.socket); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	// What cannot be read is said to be ours: else Argo CD would take it for plain manifests.
	for _, r := range []cmptest.Request{{Packed: []byte("x")}, {Files: map[string]string{"../x": ""}}} {
		if got, err := cmptest.Match(t.Context(), f.socket, r); err != nil || !got.GetIsSupported() {
			t.Errorf("%v, %v", got, err)
		}
	}
	// A repository may be too large for an answer, but not for a look at it.
	large := serve(t, cmp.Plugin{Discover: "t.yaml"}, cmp.Config{MaxUpload: 10})
	for dir, want := range map[string]bool{"app": true, "other": false} {
		if got, err := cmptest.Match(t.Context(), large.socket, cmptest.Request{
			Dir:   dir,
			Files: map[string]string{"app/t.yaml": "x", "z": strings.Repeat("0123456789", 100)},
		}); err != nil ||
			got.GetIsSupported() != want {
			t.Errorf("%s: %v, %v", dir, got, err)
		}
	}
	named := serve(t, cmp.Plugin{}, cmp.Config{})
	if ok, err := cmptest.Discovers(t.Context(), named.socket); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if got, err := cmptest.Match(t.Context(), named.socket, cmptest.Request{Files: map[string]string{"a": ""}}); err != nil ||
		got.GetIsSupported() || got.GetIsDiscoveryEnabled() {
		t.Errorf("%v, %v", got, err)
	}
}

// TestBadRequests sends what is not right. Each has its error, and the server goes on.
func TestBadRequests(t *testing.T) {
	f := serve(t, cmp.Plugin{Generate: files}, cmp.Config{MaxUpload: 64 << 10})
	good := cmptest.Request{Dir: "app", Files: map[string]string{"app/a": "1"}}
	noise := make([]byte, 100<<10)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	packed := cmptest.Pack(good.Files)
	for name, test := range map[string]struct {
		request cmptest.Request
		code    codes.Code
		message string
	}{
		"checksum": {
			cmptest.Request{Dir: "app", Files: good.Files, Checksum: strings.Repeat("0", 64)},
			codes.DataLoss,
			"the repository that Argo CD sent is damaged: its checksum does not match",
		},
		"empty": {
			cmptest.Request{Dir: "app", Packed: []byte{}},
			codes.InvalidArgument,
			"the repository that Argo CD sent is empty",
		},
		"not an archive": {
			cmptest.Request{Dir: "app", Packed: []byte("hello")},
			codes.Unknown,
			"the repository that Argo CD sent: damaged archive: not gzip",
		},
		"truncated": {
			cmptest.Request{Dir: "app", Packed: packed[:len(packed)/2]},
			codes.Unknown,
			"the repository that Argo CD sent: damaged archive: unexpected EOF",
		},
		"too large": {
			cmptest.Request{Dir: "app", Packed: noise},
			codes.ResourceExhausted,
			"the repository has 102400 bytes, packed, and the limit is 65536 (--max-repository)",
		},
		"larger than it says": {
			cmptest.Request{Dir: "app", Packed: noise, Size: 10},
			codes.ResourceExhausted,
			"bytes, packed, and the limit is 65536 (--max-repository)",
		},
		"traversal": {
			cmptest.Request{Dir: "app", Files: map[string]string{"../x": "1"}},
			codes.Unknown,
			`the repository that Argo CD sent: "../x": not a name in a repository`,
		},
		"link out": {
			cmptest.Request{Dir: "app", Files: map[string]string{"app/x": "-> /etc/passwd"}},
			codes.Unknown,
			"app/x: it is a symbolic link out of the repository",
		},
		"directory": {
			cmptest.Request{Dir: "../..", Files: good.Files},
			codes.Unknown,
			`path "../.." is outside of the repository`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cmptest.Generate(t.Context(), f.socket, test.request)
			if s := status.Convert(err); s.Code() != test.code || !strings.Contains(s.Message(), test.message) ||
				strings.Contains(s.Message(), "\n") {
				t.Errorf("%v %q, want %v %q", s.Code(), s.Message(), test.code, test.message)
			}
			if got, err := cmptest.Generate(t.Context(), f.socket, good); err != nil || len(got) != 1 {
				t.Errorf("then: %v, %v", got, err)
			}
		})
	}
}

// TestErrors: what users see is one line, bounded, with all problems.
func TestErrors(t *testing.T) {
	var many []error
	for i := range 30 {
		many = append(many, fmt.Errorf("spec.generators[%d]: bad", i))
	}
	for name, test := range map[string]struct {
		generate func() error
		code     codes.Code
		want     string
	}{
		"lines":   {func() error { return errors.New("one\ntwo\x00") }, codes.Unknown, "one two "},
		"several": {func() error { return errors.Join(errors.New("one"), errors.New("two")) }, codes.Unknown, "one; two"},
		"many":    {func() error { return errors.Join(many...) }, codes.Unknown, "spec.generators[7]: bad; and 22 more problems"},
		"long":    {func() error { return errors.New(strings.Repeat("é", 4000)) }, codes.Unknown, "é …"},
		"panic":   {func() error { panic("oh\nno") }, codes.Internal, "this is a bug in argosy, please report it: panic: oh no"},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, cmp.Plugin{Generate: func(context.Context, *cmp.Request) ([]manifest.Object, error) {
				return nil, test.generate()
			}}, cmp.Config{})
			_, err := cmptest.Generate(t.Context(), f.socket, cmptest.Request{Files: map[string]string{"a": ""}})
			s := status.Convert(err)
			if s.Code() != test.code || !strings.HasSuffix(s.Message(), test.want) || len(s.Message()) > 4010 ||
				strings.ContainsAny(s.Message(), "\n\x00") {
				t.Errorf("%v %q", s.Code(), s.Message())
			}
			if e := f.seen()[0]; e.Code != test.code || (name == "panic") != (len(e.Stack) > 0) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestConcurrent: 200 requests at once, each with its own answer, no more than so many calls at a time.
func TestConcurrent(t *testing.T) {
	var running, most atomic.Int64
	f := serve(t, cmp.Plugin{Generate: func(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		runtime.Gosched()
		return files(ctx, r)
	}}, cmp.Config{Parallel: 5})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			value := fmt.Sprint(i)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := cmptest.Request{Dir: "app", Files: map[string]string{"app/a": value, "app/b": strings.Repeat(value, 5000)}}
			switch i % 10 {
			case 3: // goes away in the middle
				r.Stop = 100
			case 7: // goes away while it waits for the answer
				r.Sent = cancel
			}
			got, err := cmptest.Generate(ctx, f.socket, r)
			if i%10 == 3 || i%10 == 7 {
				if err != nil && status.Code(err) != codes.Canceled {
					t.Errorf("%d: %v", i, err)
				}
				return
			}
			if err != nil || len(got) != 2 || !strings.Contains(got[0], `"`+value+`"`) {
				t.Errorf("%d: %d objects, %v", i, len(got), err)
			}
		})
	}
	wg.Wait()
	if n := most.Load(); n < 1 || n > 5 {
		t.Errorf("%d calls at a time", n)
	}
	f.stop()
	if running, waiting, left := f.Load(); running+waiting+left != 0 {
		t.Errorf("%d running, %d waiting, %d left", running, waiting, left)
	}
}

// TestIdentical: 200 identical requests are two calls: one for the first, one for all that came while it ran.
func TestIdentical(t *testing.T) {
	var calls atomic.Int64
	first, release := make(chan struct{}), make(chan struct{})
	f := serve(t, cmp.Plugin{Generate: func(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
		if calls.Add(1) == 1 {
			close(first)
			<-release
		}
		return files(ctx, r)
	}}, cmp.Config{})
	r := cmptest.Request{Dir: "app", Files: map[string]string{"app/a": "1"}, Env: map[string]string{"ARGOCD_APP_NAME": "web"}}
	var wg sync.WaitGroup
	var sent atomic.Int64
	r.Sent = func() { sent.Add(1) }
	ask := func() {
		if got, err := cmptest.Generate(t.Context(), f.socket, r); err != nil || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	}
	wg.Go(ask)
	<-first
	for range 199 {
		wg.Go(ask)
	}
	for sent.Load() < 200 {
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
	shared := 0
	for _, e := range f.seen() {
		if e.Shared {
			shared++
		}
	}
	// Those whose request arrived after the release have begun other calls: on a busy machine, many.
	if n := calls.Load(); n < 2 || shared < 20 || int(n)+shared != 200 {
		t.Errorf("%d calls, %d shared", n, shared)
	}
}

// TestLeaderLeaves: the request whose call others wait for goes away before that has begun, and with it its repository. They get their
// answer all the same, from their own.
func TestLeaderLeaves(t *testing.T) {
	var calls atomic.Int64
	entered, release := make(chan struct{}), make(chan struct{})
	f := serve(t, cmp.Plugin{Generate: func(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
		if calls.Add(1) == 1 {
			close(entered)
			<-release
		}
		return files(ctx, r)
	}}, cmp.Config{})
	noise := make([]byte, 5<<20) // in a file
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	r := cmptest.Request{Dir: "app", Packed: cmptest.Pack(map[string]string{"app/a": "1", "big": string(noise)})}
	var wg sync.WaitGroup
	ask := func(ctx context.Context, code codes.Code) {
		wg.Go(func() {
			if got, err := cmptest.Generate(ctx, f.socket, r); status.Code(err) != code || err == nil && len(got) != 1 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	held := func(n int) {
		for {
			if held, _ := f.Uploads(); held == n {
				return
			}
			runtime.Gosched()
		}
	}
	ask(t.Context(), codes.OK)
	<-entered
	ctx, leave := context.WithCancel(t.Context())
	ask(ctx, codes.Canceled)
	held(2)
	ask(t.Context(), codes.OK)
	held(3)
	leave()
	held(2)
	close(release)
	wg.Wait()
}

// TestCancelled: the caller goes away, and the plugin is told.
func TestCancelled(t *testing.T) {
	entered, told := make(chan struct{}), make(chan struct{})
	f := serve(t, cmp.Plugin{Generate: func(ctx context.Context, _ *cmp.Request) ([]manifest.Object, error) {
		close(entered)
		<-ctx.Done()
		close(told)
		return nil, ctx.Err()
	}}, cmp.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if _, err := cmptest.Generate(ctx, f.socket, cmptest.Request{Files: map[string]string{"a": ""}}); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	<-told
	f.stop()
	if e := f.seen()[0]; e.Code != codes.Canceled {
		t.Errorf("%+v", e)
	}
}

// TestDeadline: a plugin that does not end is left behind, and the message says what it did.
func TestDeadline(t *testing.T) {
	never := make(chan struct{})
	f := serve(t, cmp.Plugin{Generate: func(_ context.Context, r *cmp.Request) ([]manifest.Object, error) {
		r.Doing("rendering a chart")
		<-never
		return nil, nil
	}}, cmp.Config{Timeout: time.Second, Parallel: 1})
	_, err := cmptest.Generate(t.Context(), f.socket, cmptest.Request{Files: map[string]string{"a": ""}})
	if s := status.Convert(err); s.Code() != codes.DeadlineExceeded || s.Message() != "not finished after 1s: it was rendering a chart" {
		t.Errorf("%v %q", s.Code(), s.Message())
	}
	// It is the one call that a project may have left with one slot: its next request waits, and others do not.
	_, err = cmptest.Generate(t.Context(), f.socket, cmptest.Request{Files: map[string]string{"b": ""}})
	if s := status.Convert(err); s.Message() != "not finished after 1s: it was waiting for its turn behind other requests" {
		t.Errorf("%v %q", s.Code(), s.Message())
	}
	if err := f.Healthy(); err != nil {
		t.Errorf("at first: %v", err)
	}
	if _, _, left := f.Load(); left != 1 || f.Degraded() != "1 call of ended requests still running" {
		t.Errorf("%d left, %q", left, f.Degraded())
	}
	close(never)
	for {
		if running, _, left := f.Load(); running+left == 0 {
			break
		}
		runtime.Gosched()
	}
	// The deadline of the client is an earlier one.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := cmptest.Generate(ctx, f.socket, cmptest.Request{Files: map[string]string{"a": ""}}); err != nil {
		t.Error(err)
	}
}

// TestLargeRepository: 100 MB that do not pack go through a file that has no name; the plugin gets what it wants.
func TestLargeRepository(t *testing.T) {
	hostile.Unraced(t)
	f := serve(t, cmp.Plugin{Generate: files}, cmp.Config{})
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	repository := map[string]string{"app/a": "1"}
	for i := range 100 {
		noise[i]++
		repository[fmt.Sprintf("big/%03d", i)] = string(noise)
	}
	packed := cmptest.Pack(repository)
	got, err := cmptest.Generate(t.Context(), f.socket, cmptest.Request{Dir: "app", Packed: packed, Chunk: 16 << 10})
	if err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if e := f.seen()[0]; e.Bytes < 100<<20 {
		t.Errorf("%d bytes", e.Bytes)
	}
	// Nobody wants it: not even the checksum is looked at.
	unread := serve(t, cmp.Plugin{
		Reads: func(argo.Call) bool { return false },
		Generate: func(context.Context, *cmp.Request) ([]manifest.Object, error) {
			return []manifest.Object{object("a", "1")}, nil
		},
	}, cmp.Config{MaxUpload: 10})
	if got, err := cmptest.Generate(t.Context(), unread.socket, cmptest.Request{
		Packed: packed, Chunk: 64 << 10,
		Checksum: "x",
	}); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestSockets: one that is left over is replaced, a live one and anything else is not.
func TestSockets(t *testing.T) {
	f := serve(t, cmp.Plugin{Generate: files}, cmp.Config{})
	dir := filepath.Dir(f.socket)
	listen := func(name, version string) error {
		s, err := cmp.Listen(t.Context(), cmp.Config{Dir: dir, Plugins: []cmp.Plugin{{Name: name, Version: version}}, Now: time.Now})
		if err == nil {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err = s.Serve(ctx, time.Second)
		}
		return err
	}
	if err := listen("test", ""); err == nil || !strings.HasSuffix(err.Error(), "test.sock: another process serves it") {
		t.Error(err)
	}
	if err := f.Healthy(); err != nil {
		t.Error(err)
	}
	stale, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "stale-v1.sock"))
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	stale.Close()
	if err := listen("stale", "v1"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := listen("file", ""); err == nil || !strings.HasSuffix(err.Error(), "file.sock: there is something else of this name, which is not a socket; remove it") {
		t.Error(err)
	}
	// Someone takes the socket away: only a restart helps, and what has its name now stays.
	if err := os.Remove(f.socket); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Healthy(); err == nil {
		t.Error("a socket that is gone is healthy")
	}
	f.stop()
	if _, err := os.Stat(f.socket); err != nil {
		t.Error(err)
	}
}

// TestStop: what runs is finished, nothing new is begun, the socket is gone.
func TestStop(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	f := serve(t, cmp.Plugin{Generate: func(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
		close(entered)
		<-release
		return files(ctx, r)
	}}, cmp.Config{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if got, err := cmptest.Generate(t.Context(), f.socket, cmptest.Request{
			Dir:   "app",
			Files: map[string]string{"app/a": "1"},
		}); err != nil || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
	<-entered
	wg.Go(f.stop)
	for {
		if _, err := os.Stat(f.socket); err != nil {
			break
		}
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
}

// TestServices: health, as tools expect it, and no reflection.
func TestServices(t *testing.T) {
	f := serve(t, cmp.Plugin{Generate: files}, cmp.Config{})
	conn, err := client.Dial(f.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	res, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || res.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", res, err)
	}
	// Argo CD asks for no reflection, and nobody else is meant to ask.
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unimplemented {
		t.Errorf("reflection: %v", err)
	}
}
