package cmp_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/cmp/cmptest"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// of is a request of a project whose answer is known.
func of(project string, n int) cmptest.Request {
	return cmptest.Request{
		Dir: "app", Files: map[string]string{"app/a": fmt.Sprintf("%s-%d", project, n)},
		Env: map[string]string{"ARGOCD_APP_NAME": "web", "ARGOCD_APP_PROJECT_NAME": project},
	}
}

// neighbour asks again and again, and wants its own answers.
func neighbour(t *testing.T, socket, project string) {
	t.Helper()
	for i := range 20 {
		got, err := cmptest.Generate(t.Context(), socket, of(project, i))
		if err != nil || len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf(`"%s-%d"`, project, i)) {
			t.Fatalf("request %d of %s: %v, %v", i, project, got, err)
		}
	}
}

// hanging is a plugin whose calls for projects that begin with "bad" wait, with or without an ear for their context.
type hanging struct {
	deaf    bool
	release chan struct{}
}

func (h hanging) generate(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
	if !strings.HasPrefix(r.Project, "bad") {
		return files(ctx, r)
	}
	ended := ctx.Done()
	if h.deaf {
		ended = nil
	}
	select {
	case <-h.release:
	case <-ended:
	}
	return files(ctx, r)
}

// await waits until something holds.
func await(holds func() bool) {
	for !holds() {
		runtime.Gosched()
	}
}

// attack sends requests that nobody wants an answer to, and returns how to end them.
func attack(t *testing.T, socket string, requests []cmptest.Request) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, r := range requests {
		wg.Go(func() { _, _ = cmptest.Generate(ctx, socket, r) })
	}
	return func() { cancel(); wg.Wait() }
}

// TestStalledUploads: clients that stop in the middle take no slot.
func TestStalledUploads(t *testing.T) {
	f := serve(t, cmp.Plugin{Generate: files}, cmp.Config{Parallel: 2})
	hold := make(chan struct{})
	var requests []cmptest.Request
	for i := range 20 {
		r := of("bad", i)
		r.Stop, r.Stopping = 10, func() { <-hold }
		requests = append(requests, r)
	}
	end := attack(t, f.socket, requests)
	await(func() bool { held, _ := f.Uploads(); return held == len(requests) })
	neighbour(t, f.socket, "good")
	neighbour(t, f.socket, "bad") // also others of the same project
	close(hold)
	end()
}

// TestStall: nothing comes for too long.
func TestStall(t *testing.T) {
	f := serve(t, cmp.Plugin{Generate: files, Discover: "x"}, cmp.Config{Stall: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := of("bad", 0)
	r.Stop, r.Stopping = 10, func() { <-ctx.Done() }
	for _, ask := range []func(){
		func() { _, _ = cmptest.Generate(ctx, f.socket, r) },
		func() { _, _ = cmptest.Match(ctx, f.socket, r) },
	} {
		before := len(f.seen())
		go ask()
		await(func() bool { return len(f.seen()) > before })
		if e := f.seen()[before]; e.Code != codes.DeadlineExceeded ||
			e.Err.Error() != "the repository is not complete, and Argo CD has sent nothing for 20ms" {
			t.Errorf("%s: %v %v", e.Method, e.Code, e.Err)
		}
	}
	await(func() bool { held, _ := f.Uploads(); return held == 0 })
}

// TestHangingProject: calls of one project hang, as on an S3 that does not answer. Another one gets its answers.
func TestHangingProject(t *testing.T) {
	h := hanging{release: make(chan struct{})}
	f := serve(t, cmp.Plugin{Generate: h.generate}, cmp.Config{Parallel: 2})
	var requests []cmptest.Request
	for i := range 20 {
		requests = append(requests, of("bad", i))
	}
	end := attack(t, f.socket, requests)
	await(func() bool { running, waiting, _ := f.Load(); return running == 2 && waiting == 18 })
	neighbour(t, f.socket, "good")
	close(h.release)
	end()
}

// TestHangingPlugin: all calls of one plugin hang, of all projects. The other plugin answers.
func TestHangingPlugin(t *testing.T) {
	h := hanging{release: make(chan struct{})}
	f := serve(t, cmp.Plugin{Name: "s3", Generate: h.generate}, cmp.Config{
		Parallel: 4,
		Plugins:  []cmp.Plugin{{Name: "appset", Generate: files}},
	})
	var requests []cmptest.Request
	for i := range 40 {
		requests = append(requests, of(fmt.Sprintf("bad-%d", i%10), i))
	}
	end := attack(t, f.socket, requests)
	await(func() bool { running, waiting, _ := f.Load(); return running == 6 && waiting == 34 })
	neighbour(t, f.Paths()[1], "good")
	neighbour(t, f.Paths()[1], "bad-1") // a project that hangs in s3 does not in appset
	close(h.release)
	end()
}

// TestDeafCalls: calls that go on after their requests take no slots from others, and not the health of the process while they are few.
func TestDeafCalls(t *testing.T) {
	h := hanging{deaf: true, release: make(chan struct{})}
	f := serve(t, cmp.Plugin{Generate: h.generate}, cmp.Config{Parallel: 4})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if _, err := cmptest.Generate(ctx, f.socket, of("bad", i)); status.Code(err) != codes.Canceled {
				t.Error(err)
			}
		})
	}
	await(func() bool { running, _, _ := f.Load(); return running == 4 })
	cancel()
	wg.Wait()
	await(func() bool { running, _, left := f.Load(); return running == 0 && left == 4 })
	if got := f.Degraded(); got != "4 calls of ended requests still running" {
		t.Error(got)
	}
	if err := f.Healthy(); err != nil {
		t.Error(err)
	}
	// The project itself may not begin more.
	end := attack(t, f.socket, []cmptest.Request{of("bad", 9)})
	await(func() bool { _, waiting, _ := f.Load(); return waiting == 1 })
	neighbour(t, f.socket, "good")
	if running, waiting, _ := f.Load(); running != 0 || waiting != 1 {
		t.Errorf("%d running, %d waiting", running, waiting)
	}
	end()
	close(h.release)
	await(func() bool { running, waiting, left := f.Load(); return running+waiting+left == 0 })
	if got := f.Degraded(); got != "" {
		t.Error(got)
	}
}

// TestFair: 100 applications of one project wait, and one of another is next. Neither needs its repository to be kept.
func TestFair(t *testing.T) {
	var mu sync.Mutex
	var order []string
	begun := 0
	step := make(chan struct{})
	f := serve(t, cmp.Plugin{
		Reads: func(argo.Call) bool { return false },
		Generate: func(_ context.Context, r *cmp.Request) ([]manifest.Object, error) {
			mu.Lock()
			begun++
			mu.Unlock()
			<-step
			mu.Lock()
			defer mu.Unlock()
			order = append(order, r.Project)
			return []manifest.Object{object("a", r.Project)}, nil
		},
	}, cmp.Config{Parallel: 1})
	var wg sync.WaitGroup
	ask := func(project string, n int) {
		wg.Go(func() {
			got, err := cmptest.Generate(t.Context(), f.socket, of(project, n))
			if err != nil || len(got) != 1 || !strings.Contains(got[0], `"`+project+`"`) {
				t.Errorf("%s: %v, %v", project, got, err)
			}
		})
	}
	for i := range 100 {
		ask("many", i)
	}
	await(func() bool { running, waiting, _ := f.Load(); return running == 1 && waiting == 99 })
	ask("extra", 0) // takes the extra pass
	await(func() bool { running, _, _ := f.Load(); return running == 2 })
	ask("one", 0)
	await(func() bool { _, waiting, _ := f.Load(); return waiting == 100 })
	// One by one, so that the order of calls is the order of their beginnings.
	for n := 1; n <= 4 && !slices.Contains(order, "one"); n++ {
		step <- struct{}{}
		await(func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(order) == n && (begun == n+2 || slices.Contains(order, "one"))
		})
	}
	if !slices.Contains(order, "one") {
		t.Errorf("it is not one of the first: %v", order)
	}
	close(step)
	wg.Wait()
	if len(order) != 102 {
		t.Errorf("%d were answered", len(order))
	}
}

// TestLargeHeads: what Argo CD says about the applications of requests that wait is bounded, and little of it is kept. A project that sends
// more is refused, and says so; another one is not.
func TestLargeHeads(t *testing.T) {
	h := hanging{release: make(chan struct{})}
	f := serve(t, cmp.Plugin{Generate: h.generate, Discover: "app/a", Parameters: []argo.Parameter{{Name: "spec"}}},
		cmp.Config{Parallel: 2, Timeout: time.Hour, Stall: time.Hour})
	parameters := `[{"name":"spec","string":"` + strings.Repeat("x", 3<<20) + `"}]`
	large := func(i int) cmptest.Request {
		r := of("bad", i)
		r.Env["ARGOCD_APP_PARAMETERS"], r.Env["PARAM_SPEC"] = parameters, "x"
		return r
	}
	heap := func() int64 {
		var m runtime.MemStats
		for range 3 { // pools of buffers, too
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	const fit = 5 // of 3 MiB and a little, in 16 MiB
	var requests []cmptest.Request
	for i := range fit {
		requests = append(requests, large(i))
	}
	end := attack(t, f.socket, requests)
	await(func() bool { running, waiting, _ := f.Load(); return running+waiting == fit })
	if kept := heap() - before; kept > fit<<20 {
		t.Errorf("%d bytes are kept for %d requests", kept, fit)
	}
	for i := range 3 {
		_, err := cmptest.Generate(t.Context(), f.socket, large(fit+i))
		if s := status.Convert(err); s.Code() != codes.ResourceExhausted ||
			!strings.HasPrefix(s.Message(), `unanswered requests of project "bad" have 15`) {
			t.Fatalf("%v %q", s.Code(), s.Message())
		}
	}
	// A look that is refused must not make Argo CD deploy something else.
	if got, err := cmptest.Match(t.Context(), f.socket, large(0)); err != nil || !got.GetIsSupported() {
		t.Errorf("%v, %v", got, err)
	}
	neighbour(t, f.socket, "good")
	close(h.release)
	await(func() bool { running, waiting, _ := f.Load(); return running+waiting == 0 })
	end()
	// All of it is free again.
	for i := range 2 {
		if got, err := cmptest.Generate(t.Context(), f.socket, large(i)); err != nil || len(got) != 1 {
			t.Fatalf("then: %v, %v", got, err)
		}
	}
	r := of("bad", 0)
	r.Env["ARGOCD_APP_PARAMETERS"] = parameters + parameters
	if _, err := cmptest.Generate(t.Context(), f.socket, r); err == nil {
		t.Error("a message of 6 MiB was accepted")
	}
	await(func() bool {
		e := f.seen()[len(f.seen())-1]
		return e.Err != nil && e.Code == codes.ResourceExhausted &&
			e.Err.Error() == "the parameters of the application have more than 4 MiB, as Argo CD sends them"
	})
}

// TestLooks: discovery of one project takes a few places, and another project does not wait for it.
func TestLooks(t *testing.T) {
	f := serve(t, cmp.Plugin{Generate: files, Discover: "t.yaml"}, cmp.Config{})
	hold := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	most := runtime.GOMAXPROCS(0)
	for i := range most + 10 {
		r := of("bad", i)
		r.Stop, r.Stopping = 10, func() { <-hold }
		wg.Go(func() { _, _ = cmptest.Match(ctx, f.socket, r) })
	}
	await(func() bool { running, waiting := f.Looks(); return running == most && waiting == 10 })
	good := of("good", 0)
	for name, want := range map[string]bool{"app/t.yaml": true, "app/u.yaml": false} {
		good.Files = map[string]string{name: ""}
		if got, err := cmptest.Match(t.Context(), f.socket, good); err != nil || got.GetIsSupported() != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	neighbour(t, f.socket, "bad") // answers are not discovery
	close(hold)
	cancel()
	wg.Wait()
	await(func() bool { running, waiting := f.Looks(); return running+waiting == 0 })
}
