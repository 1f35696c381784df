package refresh_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/trigger"
)

const interval = time.Minute

// world is an API server with Applications, and a time that passes when a test says so.
type world struct {
	*testing.T
	now    time.Time
	clocks *trigger.Clocks
	store  *buckettest.Memory
	lists  int
	reads  map[refresh.Place]s3source.Reads
	heads  map[string]string

	mu       sync.Mutex
	versions int
	apps     map[argo.Ref]*refresh.App
	asked    []ask
	away     error
	attempts int
	warned   []string
	failures []string
	watchers []*refresh.Controller
}

type ask struct {
	app  string
	kind refresh.Kind
	at   time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{
		T: t, now: time.Unix(1_700_000_040, 0).UTC(), apps: map[argo.Ref]*refresh.App{}, store: &buckettest.Memory{},
		reads: map[refresh.Place]s3source.Reads{}, heads: map[string]string{},
	}
	w.clocks = &trigger.Clocks{Interval: interval, Now: w.time}
	w.store.OnList = func(string) error { w.mu.Lock(); defer w.mu.Unlock(); w.lists++; return nil }
	return w
}

func (w *world) time() time.Time { return w.now }

// controller returns a replica that asks from now on.
func (w *world) controller(change ...func(*refresh.Config)) *refresh.Controller {
	reader := &bucket.Reader{Store: w.store, Bucket: "b", Limits: bucket.DefaultLimits}
	cfg := refresh.Config{
		API: w, Triggers: refresh.Triggers{Hosts: []string{"appset-repo", "appset-repo.*"}, Clocks: w.clocks}, Interval: interval,
		Spread: 15 * time.Second, Now: w.time,
		Observe: func(e refresh.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if e.Err != nil {
				w.failures = append(w.failures, fmt.Sprintf("%s %s %s: %v", e.App, e.Why, e.What, e.Err))
			}
		},
		Looks: refresh.Looks{
			Reads:  func(context.Context) (map[refresh.Place]s3source.Reads, error) { return w.reads, nil },
			Forget: func(_ context.Context, places []refresh.Place) error { w.forget(places); return nil },
			Open:   func(context.Context, triggerfile.Access) (*bucket.Reader, error) { return reader, nil },
			Policy: func() (*policy.Policy, error) { return nil, nil },
			Head: func(_ context.Context, url string) (string, error) {
				if w.heads[url] == "" {
					return "", errors.New(url + " is away")
				}
				return w.heads[url], nil
			},
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	c := refresh.New(cfg)
	for _, a := range w.apps {
		c.Seen(*a)
	}
	c.Begin()
	w.watchers = append(w.watchers, c)
	return c
}

func (w *world) forget(places []refresh.Place) {
	for _, p := range places {
		delete(w.reads, p)
	}
}

// Refresh implements refresh.API.
func (w *world) Refresh(_ context.Context, app argo.Ref, version string, kind refresh.Kind) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts++
	a := w.apps[app]
	switch {
	case w.away != nil:
		return "", w.away
	case a == nil:
		return "", refresh.ErrGone
	case a.Version != version:
		return "", refresh.ErrConflict
	}
	if a.Pending || a.Leave {
		w.Errorf("%s was touched", app)
	}
	w.asked = append(w.asked, ask{app.Name, kind, w.now})
	w.versions++
	a.Pending, a.Version = true, fmt.Sprint(w.versions)
	return a.Version, nil
}

// Warn implements refresh.API.
func (w *world) Warn(_ context.Context, app refresh.App, x refresh.Warning) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warned = append(w.warned, app.Ref.Name+" "+x.Reason)
	return nil
}

func ref(name string) argo.Ref { return argo.Ref{Namespace: "argocd", Name: name} }

// change changes an application, and tells everybody.
func (w *world) change(name string, f func(a *refresh.App)) {
	a := w.apps[ref(name)]
	if a == nil {
		a = &refresh.App{Ref: ref(name), UID: name, Project: "default", Looked: w.now.Add(-interval)}
		w.apps[a.Ref] = a
	}
	f(a)
	w.versions++
	a.Version = fmt.Sprint(w.versions)
	for _, c := range w.watchers {
		c.Seen(*a)
	}
}

// add makes an application with a source.
func (w *world) add(name, url string) {
	w.change(name, func(a *refresh.App) { a.Sources = []refresh.Source{{URL: url, Target: "main"}} })
}

// answer is Argo CD, which does what it was asked for.
func (w *world) answer() {
	for _, a := range w.apps {
		if !a.Pending {
			continue
		}
		w.change(a.Ref.Name, func(a *refresh.App) {
			a.Pending, a.Looked, a.Revisions = false, w.now, nil
			for _, s := range a.Sources {
				head := w.heads[s.URL]
				if _, path, ok := strings.Cut(s.URL, "appset-repo/"); ok && head == "" {
					c, err := w.clocks.Open(path)
					if err != nil {
						w.Fatal(err)
					}
					h, _ := c.Head(w.Context())
					head = h.String()
				}
				a.Revisions = append(a.Revisions, head)
			}
		})
	}
}

// pass lets time pass in steps, with replicas that work and Argo CD that answers.
func (w *world) pass(d time.Duration, replicas ...*refresh.Controller) {
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(250 * time.Millisecond) {
		for _, c := range replicas {
			c.LookStep(w.Context())
			c.Step(w.Context())
		}
		w.answer()
	}
}

// count returns how often applications were asked for since the last count.
func (w *world) count() map[string]int {
	out := map[string]int{}
	for _, a := range w.asked {
		out[a.app+" "+string(a.kind)]++
	}
	w.asked = nil
	return out
}

func (w *world) want(what string, want map[string]int) {
	w.Helper()
	if diff := cmp.Diff(want, w.count()); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestTicks asks for each application once in each tick, and not all at once.
func TestTicks(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	all := map[string]int{}
	for i := range 300 {
		name := fmt.Sprintf("app-%03d", i)
		w.add(name, "http://appset-repo/appset.git")
		all[name+" normal"] = 1
	}
	w.add("own", "http://appset-repo/every/2m/own.git")
	w.add("git", "https://git.example.com/x.git")
	w.add("else", "https://git.example.com/appset.git")
	w.change("pinned", func(a *refresh.App) {
		a.Sources = []refresh.Source{{URL: "http://appset-repo/appset.git", Target: strings.Repeat("a", 40)}}
	})
	w.pass(interval, c)
	w.count() // of the tick that was there before, and of the other clock, which has a time of its own
	for tick := range 3 {
		began := w.now
		w.pass(interval, c)
		seconds := map[time.Duration]int{}
		for _, a := range w.asked {
			if a.app == "own" {
				continue
			}
			late := a.at.Sub(began)
			if late < time.Second || late > 17*time.Second {
				t.Errorf("%s was asked for after %s", a.app, late)
			}
			seconds[late.Truncate(time.Second)]++
		}
		for second, n := range seconds {
			if n > 60 {
				t.Errorf("tick %d: %d in second %s", tick, n, second)
			}
		}
		got := w.count()
		delete(got, "own normal")
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("tick %d:\n%s", tick, diff)
		}
	}
	w.pass(2*interval, c)
	if n := w.count()["own normal"]; n != 1 {
		t.Errorf("%d refreshes in two minutes for every/2m", n)
	}
}

// TestLeft does not touch applications that are to be left alone.
func TestLeft(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	const url = "http://appset-repo.argocd.svc:80/appset.git"
	w.add("leave", url)
	w.change("leave", func(a *refresh.App) { a.Leave = true })
	w.add("new", url)
	w.change("new", func(a *refresh.App) { a.Looked = time.Time{} })
	w.add("asked", url)
	w.change("asked", func(a *refresh.App) { a.Pending = true })
	w.add("gone", url)
	c.Gone(ref("gone"))
	for range 200 {
		c.Step(t.Context())
		w.now = w.now.Add(250 * time.Millisecond)
	}
	w.want("left alone", map[string]int{})

	// What somebody else has asked for is good for the tick.
	w.change("asked", func(a *refresh.App) { a.Pending = false })
	c.Step(t.Context())
	w.want("asked for by somebody else", map[string]int{})
	w.change("leave", func(a *refresh.App) { a.Leave = false })
	c.Step(t.Context())
	w.want("no longer left alone", map[string]int{"leave normal": 1})
}

// TestConflict waits for the new state of an application that has changed, which may be one to leave alone.
func TestConflict(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	w.add("a", "http://appset-repo/appset.git")
	w.now = w.now.Add(30 * time.Second)
	stale := *w.apps[ref("a")]
	w.change("a", func(a *refresh.App) { a.Leave = true })
	c.Seen(stale)
	for range 5 {
		c.Step(t.Context())
	}
	if w.attempts != 1 {
		t.Errorf("%d attempts", w.attempts)
	}
	w.change("a", func(*refresh.App) {})
	c.Step(t.Context())
	w.want("conflict", map[string]int{})
	w.change("a", func(a *refresh.App) { a.Leave = false })
	c.Step(t.Context())
	w.want("after", map[string]int{"a normal": 1})
}

// TestOutage asks an API that is away less and less often, and then once for each application, however many ticks it has missed.
func TestOutage(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	all := map[string]int{}
	for i := range 100 {
		w.add(fmt.Sprintf("app-%d", i), "http://appset-repo/appset.git")
		all[fmt.Sprintf("app-%d normal", i)] = 1
	}
	w.pass(interval, c)
	w.want("before", all)
	w.away = errors.New("connection refused")
	w.attempts = 0
	w.pass(5*interval, c)
	// 1, 2, 4, 8, 16, 30, 30, … seconds, each with one step of at most 25.
	if steps := w.attempts / 25; steps < 5 || steps > 16 {
		t.Errorf("%d attempts in five minutes", w.attempts)
	}
	w.want("away", map[string]int{})
	w.away = nil
	w.pass(interval, c)
	w.want("back", all)
}

// TestRefused tries again at the next tick, not before, and others do not suffer.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	w.add("a", "http://appset-repo/appset.git")
	w.away = errors.Join(refresh.ErrRefused, errors.New("may not patch"))
	w.pass(interval, c)
	if w.attempts != 1 || len(w.failures) != 1 || !strings.Contains(w.failures[0], "may not patch") {
		t.Errorf("%d attempts: %v", w.attempts, w.failures)
	}
	w.away = nil
	w.pass(interval, c)
	w.want("allowed", map[string]int{"a normal": 1})
}

// TestHandOver goes on where another replica was killed: nobody is asked for twice in a tick, and nobody is forgotten.
func TestHandOver(t *testing.T) {
	w := newWorld(t)
	first := w.controller()
	all := map[string]int{}
	for i := range 60 {
		name := fmt.Sprintf("app-%d", i)
		w.add(name, "http://appset-repo/appset.git")
		if i%3 == 0 { // by the plugin, with a repository of its own
			w.change(name, func(a *refresh.App) {
				a.Sources = []refresh.Source{{URL: "https://git.example.com/x.git", Plugin: "appset"}}
			})
		}
		if i%5 == 0 { // with an answer that is an error
			w.change(name, func(a *refresh.App) { a.Failed = true })
		}
		all[name+" normal"] = 1
	}
	w.pass(interval, first)
	w.want("first", all)
	// It is killed in the middle of the window; the next one takes over seconds later.
	w.pass(9*time.Second, first)
	before := len(w.asked)
	if before < 10 || before > 50 {
		t.Fatalf("%d were asked for in the first 9 seconds", before)
	}
	w.watchers = nil
	w.pass(6 * time.Second)
	second := w.controller()
	w.pass(45*time.Second, second)
	w.want("both", all)
	w.pass(interval, second)
	w.want("second", all)

	// A third one that comes when all is done has nothing to do.
	w.pass(30*time.Second, second)
	w.count()
	w.watchers = nil
	third := w.controller()
	w.pass(30*time.Second, third)
	w.want("third", map[string]int{})
}

// TestTwoSources asks once for an application of which two sources have ticked.
func TestTwoSources(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	w.change("two", func(a *refresh.App) {
		a.Sources = []refresh.Source{
			{URL: "https://git.example.com/x.git"},
			{URL: "http://appset-repo/appset.git"},
			{URL: "http://appset-repo/appset.git", Plugin: "appset-v2"},
		}
	})
	w.pass(interval, c)
	w.want("first", map[string]int{"two normal": 1})
	w.pass(interval, c)
	w.want("second", map[string]int{"two normal": 1})
}

func TestApp(t *testing.T) {
	docs, err := manifest.Decode("app", []byte(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a, namespace: team, uid: u, resourceVersion: "7", annotations: {argocd.argoproj.io/refresh: hard}}
spec:
  project: p
  sources:
  - {repoURL: "http://appset-repo/appset.git", path: ., targetRevision: main, plugin: {name: appset}}
  - {repoURL: "http://x", path: dir/, plugin: {name: s3, parameters: [{name: source, string: "bucket: b"}]}}
  syncPolicy: {automated: {prune: true}}
status:
  reconciledAt: "2026-01-02T03:04:05Z"
  sync: {revisions: [r1, r2]}
  conditions: [{type: ComparisonError, message: m}]
---
metadata: {name: b, namespace: argocd, deletionTimestamp: "2026-01-02T03:04:05Z"}
spec: {source: {repoURL: "http://x"}, syncPolicy: {automated: {selfHeal: true}}}
status: {sync: {revision: r}, conditions: [{type: SyncError}, {type: SharedResourceWarning}]}
---
metadata: {name: c, annotations: {argocd.argoproj.io/skip-reconcile: "true"}}
spec: {syncPolicy: {automated: {enabled: false}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	call, err := argo.NewCall(func(name string) string {
		return map[string]string{
			"ARGOCD_APP_SOURCE_REPO_URL": "http://x", "ARGOCD_APP_SOURCE_PATH": "dir",
			"PARAM_SOURCE": "bucket: b",
		}[name]
	}, s3source.Parameters())
	if err != nil {
		t.Fatal(err)
	}
	want := []refresh.App{
		{
			Ref: argo.Ref{Namespace: "team", Name: "a"}, UID: "u", Version: "7", Project: "p", Revisions: []string{"r1", "r2"},
			Looked: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Failed: true, Pending: true, SyncsOnce: true,
			Sources: []refresh.Source{
				{URL: "http://appset-repo/appset.git", Target: "main", Plugin: "appset"},
				{URL: "http://x", Plugin: "s3", Origin: call.Origin()},
			},
		},
		{
			Ref: argo.Ref{Namespace: "argocd", Name: "b"}, Revisions: []string{"r"}, Leave: true,
			Sources: []refresh.Source{{URL: "http://x"}},
		},
		{Ref: argo.Ref{Name: "c"}, Leave: true},
	}
	for i, d := range docs {
		got := refresh.NewApp(d.Object)
		for j := range got.Sources {
			if want[i].Sources[j].Origin == "" {
				got.Sources[j].Origin = ""
			}
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("%d:\n%s", i, diff)
		}
		data, err := json.Marshal(d.Object)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := manifest.Pick(data, refresh.Fields(), 64<<10)
		if diff := cmp.Diff(refresh.NewApp(d.Object), refresh.NewApp(fields)); err != nil || diff != "" {
			t.Errorf("%d: of Fields alone: %v\n%s", i, err, diff)
		}
	}
}

// TestShortClocks asks in each tick also where the window is longer than the interval of a clock.
func TestShortClocks(t *testing.T) {
	for _, every := range []time.Duration{time.Second, 2 * time.Second, 10 * time.Second, 15 * time.Second, time.Minute} {
		w := newWorld(t)
		c := w.controller(func(cfg *refresh.Config) { cfg.Spread = time.Minute })
		for i := range 20 {
			w.add(fmt.Sprintf("app-%d", i), fmt.Sprintf("http://appset-repo/every/%s/x.git", every))
		}
		w.pass(every, c)
		w.count()
		const ticks = 10
		w.pass(ticks*every, c)
		for name, n := range w.count() {
			if n < ticks-1 || n > ticks+1 {
				t.Errorf("every %s: %s was asked for %d times in %d ticks", every, name, n, ticks)
			}
		}
		w.count()
	}
}

// failing is an API that has no answer for some applications.
type failing struct {
	*world
	bad func(argo.Ref) bool
}

func (f failing) Refresh(ctx context.Context, app argo.Ref, version string, kind refresh.Kind) (string, error) {
	if f.bad(app) {
		return "", errors.New("a webhook failed")
	}
	return f.world.Refresh(ctx, app, version, kind)
}

// TestSomeFail: applications that cannot be asked for do not keep the others waiting.
func TestSomeFail(t *testing.T) {
	w := newWorld(t)
	c := w.controller(func(cfg *refresh.Config) {
		cfg.API = failing{w, func(r argo.Ref) bool { return strings.HasPrefix(r.Name, "bad") }}
	})
	want := map[string]int{}
	for i := range 200 {
		w.add(fmt.Sprintf("good-%d", i), "http://appset-repo/appset.git")
		want[fmt.Sprintf("good-%d normal", i)] = 1
		if i%2 == 0 {
			w.add(fmt.Sprintf("bad-%d", i), "http://appset-repo/appset.git")
		}
	}
	w.pass(2*interval, c)
	w.count()
	for range 3 {
		w.pass(interval, c)
		w.want("a tick", want)
	}
}

// TestOrigin tells sources apart, and finds the same one however its URL is spelt.
func TestOrigin(t *testing.T) {
	origin := func(url, path, target string) (inCall, inSpec string) {
		call, err := argo.NewCall(func(name string) string {
			return map[string]string{
				"ARGOCD_APP_SOURCE_REPO_URL": url, "ARGOCD_APP_SOURCE_PATH": path,
				"ARGOCD_APP_SOURCE_TARGET_REVISION": target,
			}[name]
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return call.Origin(), argo.SourceOrigin(map[string]any{"repoURL": url, "path": path, "targetRevision": target})
	}
	all := map[string]string{}
	for name, group := range map[string][][3]string{
		"https": {
			{"https://git.example.com/Org/x.git", "apps", "main"},
			{"https://git.example.com/org/x", "apps/", "main"},
			{"https://user@git.example.com/org/x/", "./apps", "main"},
		},
		"ssh":      {{"git@git.example.com:org/x.git", "apps", "main"}, {"ssh://git@git.example.com/org/x", "apps", "main"}},
		"path":     {{"https://git.example.com/org/x", "other", "main"}},
		"revision": {{"https://git.example.com/org/x", "apps", "0123456789012345678901234567890123456789"}},
		"host":     {{"https://example.com/org/x", "apps", "main"}},
	} {
		for _, s := range group {
			inCall, inSpec := origin(s[0], s[1], s[2])
			if inCall != inSpec {
				t.Errorf("%v: %s and %s", s, inCall, inSpec)
			}
			if other, ok := all[inCall]; ok && other != name {
				t.Errorf("%s and %s are the same", name, other)
			}
			all[inCall] = name
		}
	}
	if len(all) != 5 {
		t.Errorf("%v", all)
	}
}

// BenchmarkStep is one step over 5,000 applications of which none is due.
func BenchmarkStep(b *testing.B) {
	w := newWorld(&testing.T{})
	c := w.controller()
	for i := range 5000 {
		w.add(fmt.Sprintf("app-%d", i), fmt.Sprintf("http://appset-repo/every/2h/x%d.git", i%50))
		w.change(fmt.Sprintf("app-%d", i), func(a *refresh.App) { a.Pending = true })
	}
	w.now = w.now.Add(2 * time.Hour)
	for b.Loop() {
		c.Step(context.Background())
	}
}
