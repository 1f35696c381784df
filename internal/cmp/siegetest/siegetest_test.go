package siegetest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/argosy-cd/argosy/internal/cmp/siegetest"
	"github.com/argosy-cd/argosy/internal/hostile"
)

// built is argosy, built once.
var built = sync.OnceValues(func() (string, error) { return siegetest.Build(context.Background(), dir) })

var dir string // of what was built

func TestMain(m *testing.M) {
	var err error
	if dir, err = os.MkdirTemp("", "siege"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// sidecar is a real one with the memory of a deployed one.
type sidecar struct {
	*siegetest.Program
	world   *siegetest.World
	sockets string
	honest  []siegetest.Request
}

// newWorld returns the program, and a world for it.
func newWorld(t *testing.T) (file string, w *siegetest.World) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the program")
	}
	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	if w, err = siegetest.NewWorld(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return file, w
}

// run runs the program until the test ends. It must not end by itself, nor have all of its memory.
func run(t *testing.T, r siegetest.Run) *siegetest.Program {
	t.Helper()
	p, err := siegetest.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		peaks := p.Peaks()
		t.Logf("memory, by %s: the process %d MiB, all %d MiB of %d", peaks.By, peaks.Process>>20, peaks.Container>>20, r.Memory>>20)
		if peaks.Killed > 0 {
			t.Errorf("the container had no memory left: the system ended %d processes", peaks.Killed)
		}
		if !p.Alive() {
			t.Errorf("the process has ended: %v\n%s", p.Err(), p.Log())
		}
		_ = p.Stop() // attackers may be in its way
	})
	return p
}

func start(t *testing.T, timeout time.Duration) *sidecar {
	t.Helper()
	file, world := newWorld(t)
	s := &sidecar{world: world}
	var err error
	if s.sockets, err = os.MkdirTemp("", "cmp"); err != nil { // paths of sockets are short
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.sockets) })
	s.Program = run(t, world.Sidecar(file, s.sockets, timeout))
	if s.honest, err = world.Honest(); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHonest: the answers that the honest project wants. UPDATE=1 writes them.
func TestHonest(t *testing.T) {
	s := start(t, time.Minute)
	got := map[string][]string{}
	for _, r := range s.honest {
		answer, err := r.Send(t.Context(), s.sockets, siegetest.Good, 0)
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		if err := r.Check(t.Context(), s.sockets, 1); err != nil && os.Getenv("UPDATE") == "" {
			t.Error(err)
		}
		got[r.Name] = answer
	}
	if os.Getenv("UPDATE") == "" {
		return
	}
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "answers.json"), []byte(strings.ReplaceAll(string(text), s.world.Git, "GIT")+"\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
}

// neighbour asks for all honest answers, again and again, until the test ends.
type neighbour struct {
	rounds atomic.Int64
	failed atomic.Bool
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

func (s *sidecar) neighbour(t *testing.T) *neighbour {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	n := &neighbour{stop: stop}
	n.wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			for _, r := range s.honest {
				if err := r.Check(context.Background(), s.sockets, i); err != nil {
					t.Errorf("the neighbour, round %d: %v", i, err)
					n.failed.Store(true)
					return
				}
			}
			n.rounds.Add(1)
		}
	})
	return n
}

// await waits until the neighbour has got so many more rounds of answers. It waits as long as a test may take: only a neighbour that gets
// none fails.
func (n *neighbour) await(rounds int64) {
	for want := n.rounds.Load() + rounds; n.rounds.Load() < want && !n.failed.Load(); {
		time.Sleep(time.Millisecond)
	}
}

// patience only ends a test in which the sidecar does not answer.
const patience = 3 * time.Minute

// TestHostileTenants sends requests that once ended the process, stalled it, or passed its guard, while a neighbour keeps asking.
func TestHostileTenants(t *testing.T) {
	hostile.Unraced(t) // the detector would see nothing of the process that is attacked
	s := start(t, 2*time.Second)
	n := s.neighbour(t)
	defer func() { n.stop(); n.wg.Wait() }()
	requests := 0.0
	for _, a := range s.world.Attacks() {
		t.Run(a.Name, func(t *testing.T) {
			if a.Before != nil {
				a.Before()
			}
			began := n.rounds.Load()
			if a.Held != "" {
				s.hold(t, n, a)
			} else {
				s.send(t, a)
			}
			n.await(1 - min(1, n.rounds.Load()-began))
			m, err := s.Metrics(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if total := m["argosy_cmp_requests_total"]; total <= requests {
				t.Errorf("%v requests were counted, and %v before: it has restarted", total, requests)
			} else {
				requests = total
			}
			if !s.Alive() {
				t.Fatalf("the process has ended\n%s", s.Log())
			}
		})
	}
	if code, body, err := s.Get(t.Context(), "/healthz"); code != 200 || err != nil {
		t.Errorf("%d %s %v", code, body, err)
	}
	_, body, _ := s.Get(t.Context(), "/metrics")
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "argosy_workers_") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// send sends an attack, and wants an answer to each of its requests.
func (s *sidecar) send(t *testing.T, a siegetest.Attack) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	errs := make([]error, max(1, a.Times))
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = a.Send(ctx, s.sockets, siegetest.Evil, i) })
	}
	wg.Wait()
	for _, err := range errs {
		text := siegetest.Message(err)
		switch {
		case ctx.Err() != nil:
			t.Fatal("there is no answer")
		case err == nil && a.Error != "":
			t.Error("it was answered")
		case strings.Contains(text, "\n") || len(text) > 4100:
			t.Errorf("not one line: %q", text)
		case err != nil && !strings.Contains(text, a.Error) && !strings.HasPrefix(text, "not finished after"): // on a slow machine
			t.Errorf("got %.600s\nwant %s", text, a.Error)
		case status.Code(err) == codes.Unavailable || status.Code(err) == codes.Internal:
			t.Errorf("%s", text)
		}
	}
	t.Logf("%.300s", siegetest.Message(errs[0]))
}

// hold sends requests that do not go on, lets the neighbour ask while they are in their places, and waits until the sidecar has ended them.
func (s *sidecar) hold(t *testing.T, n *neighbour, a siegetest.Attack) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	held := func() float64 {
		m, err := s.Metrics(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return m[a.Held]
	}
	errs := make([]error, a.Times)
	var wg sync.WaitGroup
	for placed := false; !placed; { // again, if some of them have ended before all were there
		ended := make(chan struct{})
		for i := range errs {
			wg.Go(func() { _, errs[i] = a.Send(ctx, s.sockets, siegetest.Evil, i) })
		}
		go func() { wg.Wait(); close(ended) }()
		for waiting := true; waiting && !placed; {
			select {
			case <-ended:
				waiting = false
			case <-time.After(time.Millisecond):
				placed = held() >= a.Places
			}
		}
	}
	n.await(1)
	for held() >= a.Places {
		time.Sleep(time.Millisecond)
	}
	if a.Stop > 0 {
		cancel() // they do not listen
	}
	wg.Wait()
	for _, err := range errs {
		if text := siegetest.Message(err); a.Stop == 0 && (err == nil || ctx.Err() != nil || strings.Contains(text, "\n") ||
			!strings.Contains(text, a.Error)) {
			t.Errorf("got %s\nwant %s", text, a.Error)
		}
	}
	t.Log(siegetest.Message(errs[0]))
}
