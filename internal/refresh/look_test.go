package refresh_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/trigger"
)

// reader adds an application with a trigger file.
func (w *world) reader(name, file string) {
	w.Helper()
	w.change(name, func(a *refresh.App) {
		a.Sources = []refresh.Source{{URL: "https://git.example.com/" + name, Origin: "o"}}
	})
	w.generate(name, file)
}

// generate is the plugin: it reads, and publishes what it has read.
func (w *world) generate(name, file string) {
	w.Helper()
	sources, err := triggerfile.Parse("s3-source.yaml", []byte(file))
	if err != nil {
		w.Fatal(err)
	}
	quiet := w.store.OnList
	w.store.OnList = nil
	defer func() { w.store.OnList = quiet }()
	config := s3source.Config{
		Open: func(context.Context, triggerfile.Access) (*bucket.Reader, error) {
			return &bucket.Reader{Store: w.store, Bucket: "bkt", Limits: bucket.Limits{
				Objects: 1e4, ObjectBytes: 1e6, Bytes: 1e8,
				Parallel: 4, ParallelBytes: 1e8, Attempts: 1,
			}}, nil
		},
		App: argo.Call{Project: "default"},
	}
	fetched, err := config.Fetch(w.Context(), sources)
	if err != nil {
		fetched = nil
	}
	// By way of what is written down.
	data, err := s3source.ReadsOf(sources, fetched).Encode()
	if err != nil {
		w.Fatal(err)
	}
	reads, err := s3source.DecodeReads(data)
	if err != nil {
		w.Fatal(err)
	}
	w.reads[refresh.Place{App: ref(name), Origin: "o"}] = reads
}

// listed returns how many listings there were since it was asked.
func (w *world) listed() int {
	n := w.lists
	w.lists = 0
	return n
}

// TestOneList looks at a bucket that 300 applications read from by one listing in each tick.
func TestOneList(t *testing.T) {
	for name, path := range map[string]func(i int) string{
		"one path":   func(int) string { return "apps" },
		"own paths":  func(i int) string { return fmt.Sprintf("apps/%03d", i) },
		"own charts": func(i int) string { return fmt.Sprintf("apps/%03d/cm.yaml", i) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.controller()
			for i := range 300 {
				w.store.Set(fmt.Sprintf("apps/%03d/cm.yaml", i), "x: 1")
			}
			for i := range 300 {
				w.reader(fmt.Sprintf("app-%d", i), "bucket: bkt\npath: "+path(i))
			}
			for range 3 {
				w.pass(interval, c)
				if n := w.listed(); n != 1 {
					t.Errorf("%d listings", n)
				}
			}
			w.want("unchanged", map[string]int{})
			w.store.Set("apps/007/cm.yaml", "x: 2")
			w.pass(interval, c)
			if got := len(w.count()); got != 1 && name != "one path" || got != 300 && name == "one path" {
				t.Errorf("%d were asked for", got)
			}
		})
	}
	t.Run("a large bucket", func(t *testing.T) {
		w := newWorld(t)
		c := w.controller()
		for i := range 1500 {
			w.store.Set(fmt.Sprintf("apps/%d/%d", i%10, i), "x: 1")
		}
		for i := range 10 {
			w.reader(fmt.Sprintf("app-%d", i), fmt.Sprintf("bucket: bkt\npath: apps/%d\ntype: kustomize", i))
		}
		w.pass(interval, c)
		if n := w.listed(); n != 11 { // one attempt at all of it, then each
			t.Errorf("%d listings", n)
		}
	})
}

// TestChanged asks for a hard refresh of what has changed, once, and again later if that did not help.
func TestChanged(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	w.store.Set("a/cm.yaml", "x: 1")
	w.store.Set("a/README", "x")
	w.store.Set("b/cm.yaml", "x: 1")
	w.store.Set("b.tgz", "x: 1")
	files := map[string]string{
		"a": "bucket: bkt\npath: a", "filtered": "bucket: bkt\npath: a\ninclude: [other*.yaml]\nexclude: [cm.yaml]",
		"b": "bucket: bkt\npath: b", "archive": "bucket: bkt\npath: b.tgz",
		"both":   "sources: [{bucket: bkt, path: a}, {bucket: bkt, path: b}]",
		"pinned": "bucket: bkt\npath: a\ndigest: sha256:" + strings.Repeat("0", 64),
	}
	for name, file := range files {
		w.reader(name, file)
	}
	w.pass(2*interval, c)
	// Those two could not be read, and may be by now: they are tried again from time to time.
	w.want("unchanged", map[string]int{"filtered hard": 2, "pinned hard": 2})
	w.change("filtered", func(a *refresh.App) { a.Leave = true })
	w.change("pinned", func(a *refresh.App) { a.Leave = true })

	w.store.Set("a/README", "something else")
	w.pass(interval, c)
	w.want("a file that is no manifest", map[string]int{})

	w.store.Set("a/cm.yaml", "x: 2")
	w.change("both", func(a *refresh.App) { a.SyncsOnce = true })
	w.pass(interval, c)
	w.want("changed", map[string]int{"a hard": 1, "both hard": 1})
	if got := strings.Join(w.warned, ", "); got != "both NotDeployed" {
		t.Errorf("warnings: %s", got)
	}
	// Nobody has published anything, as if generating had failed: after one interval, two, four, …
	w.pass(15*interval, c)
	w.want("not deployed", map[string]int{"a hard": 4, "both hard": 4})
	w.generate("a", files["a"])
	w.generate("both", files["both"])
	w.pass(10*interval, c)
	w.want("deployed", map[string]int{})

	w.store.Set("b.tgz", "x: 2")
	w.pass(interval, c)
	w.want("archive", map[string]int{"archive hard": 1})
	w.generate("archive", files["archive"])
	w.store.Remove("b/cm.yaml")
	w.pass(interval, c)
	w.want("all gone", map[string]int{"b hard": 1, "both hard": 1})
}

// TestIndex is about a directory that argosy s3 push has written: what counts is the index.
func TestIndex(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	push := func(text string) {
		t.Helper()
		p := bucket.Publication{
			Store: w.store, Bucket: "bkt", Path: "apps", Limits: bucket.DefaultLimits,
			Files: []tree.File{{Name: "one/cm.yaml", Data: []byte(text)}, {Name: "two/cm.yaml", Data: []byte("x: 1")}},
		}
		if _, err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	push("x: 1")
	w.reader("all", "bucket: bkt\npath: apps")
	w.reader("below", "bucket: bkt\npath: apps/one")
	w.pass(interval, c)
	w.want("unchanged", map[string]int{})
	w.store.Set("apps/three.yaml", "not in the index")
	w.pass(interval, c)
	w.want("beside the index", map[string]int{})
	push("x: 2")
	w.pass(interval, c)
	w.want("pushed", map[string]int{"all hard": 1, "below hard": 1})
}

// TestBucketRepository asks for a soft refresh where the commit is not the one that Argo CD knows.
func TestBucketRepository(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	const url, values = "http://appset-repo/s3/bkt/plain.git", "http://appset-repo/s3/bkt/values.git"
	w.heads[url], w.heads[values] = "1", "1"
	for i := range 3 {
		w.add(fmt.Sprintf("app-%d", i), url)
		w.change(fmt.Sprintf("app-%d", i), func(a *refresh.App) { a.Revisions = []string{"1"}; a.SyncsOnce = true })
	}
	w.change("multi", func(a *refresh.App) {
		a.Sources, a.Revisions = []refresh.Source{{URL: "https://git.example.com"}, {URL: values}}, []string{"x", "1"}
	})
	w.pass(2*interval, c)
	w.want("unchanged", map[string]int{})
	w.heads[values] = "2"
	w.pass(interval, c)
	w.want("values", map[string]int{"multi normal": 1})
	w.heads[url] = "2"
	w.pass(3*interval, c)
	w.want("plain", map[string]int{"app-0 normal": 1, "app-1 normal": 1, "app-2 normal": 1})
	w.heads[url] = ""
	w.failures = nil
	w.pass(interval, c)
	w.want("away", map[string]int{})
	if got := strings.Join(w.failures, "\n"); got != "argocd/app-0 look for 3 applications: "+url+" is away" &&
		!strings.Contains(got, "look for 3 applications: "+url+" is away") {
		t.Error(got)
	}
	if len(w.warned) > 0 {
		t.Error(w.warned)
	}
}

// TestHints looks when there is a hint, asks within a second for what has really changed, and once however many hints there are.
func TestHints(t *testing.T) {
	w := newWorld(t)
	c := w.controller(func(cfg *refresh.Config) { cfg.Hinted = true })
	w.store.Set("a/cm.yaml", "x: 1")
	w.store.Set("b/cm.yaml", "x: 1")
	w.reader("a", "bucket: bkt\npath: a")
	w.reader("b", "bucket: bkt\npath: b")
	const url = "http://appset-repo/s3/bkt/a.git"
	w.heads[url] = "1"
	w.add("git", url)
	w.change("git", func(a *refresh.App) { a.Revisions = []string{"1"} })
	w.add("clock", "http://appset-repo/appset.git")
	w.pass(3*interval, c)
	w.want("no hints", map[string]int{})
	if n := w.listed(); n != 0 {
		t.Errorf("%d listings", n)
	}
	for range 3 {
		c.Hint("bkt", "a/cm.yaml")
		c.Hint("bkt", "elsewhere")
		c.Hint("other", "a/cm.yaml")
		w.pass(2*time.Second, c)
	}
	w.want("nothing has changed", map[string]int{})

	w.store.Set("a/cm.yaml", "x: 2")
	w.heads[url] = "2"
	w.listed()
	for range 10_000 {
		c.Hint("bkt", "a/cm.yaml")
	}
	began := w.now
	w.pass(time.Second, c)
	for _, a := range w.asked {
		if late := a.at.Sub(began); late > 500*time.Millisecond {
			t.Errorf("%s: %s", a.app, late)
		}
	}
	for range 100 {
		c.Hint("bkt", "a/cm.yaml")
		w.pass(250*time.Millisecond, c)
	}
	w.want("flood", map[string]int{"a hard": 1, "git normal": 1})
	if n := w.listed(); n > 30 {
		t.Errorf("%d listings", n)
	}
	w.generate("a", "bucket: bkt\npath: a")

	// So many keys that the whole bucket is looked at.
	w.store.Set("b/cm.yaml", "x: 2")
	for i := range 2000 {
		c.Hint("bkt", fmt.Sprint("elsewhere/", i))
	}
	w.pass(time.Second, c)
	w.want("many keys", map[string]int{"b hard": 1})
	w.generate("b", "bucket: bkt\npath: b")

	// A refresh runs when more is written. When it is over it is looked at again, and asked for only if it was too early.
	for _, late := range []bool{false, true} {
		w.store.Set("b/cm.yaml", fmt.Sprint("x: 3 ", late))
		w.change("b", func(a *refresh.App) { a.Pending = true })
		c.Hint("bkt", "b/cm.yaml")
		for range 20 {
			c.LookStep(t.Context())
			c.Step(t.Context())
			w.now = w.now.Add(250 * time.Millisecond)
		}
		w.want("while it is asked for", map[string]int{})
		if !late {
			w.generate("b", "bucket: bkt\npath: b")
		}
		w.change("b", func(a *refresh.App) { a.Pending = false })
		w.pass(5*time.Second, c)
		if late {
			w.want("too early", map[string]int{"b hard": 1})
		} else {
			w.want("early enough", map[string]int{})
		}
	}

	// S3 cannot be looked at: the hint is believed.
	w.generate("b", "bucket: bkt\npath: b")
	w.store.OnList = func(string) error { return errors.New("denied") }
	for range 100 {
		c.Hint("bkt", "b/cm.yaml")
		w.pass(50*time.Millisecond, c)
	}
	if n := w.count()["b hard"]; n < 1 || n > 3 {
		t.Errorf("%d refreshes in 25 s", n)
	}
}

// TestPolicy does not look where a project may not read.
func TestPolicy(t *testing.T) {
	w := newWorld(t)
	rules, err := policy.Parse("policy.yaml", []byte("projects: [{name: other, s3: [{buckets: [bkt]}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	c := w.controller(func(cfg *refresh.Config) {
		cfg.Looks.Policy = func() (*policy.Policy, error) { return rules, nil }
	})
	w.store.Set("a/cm.yaml", "x: 1")
	w.reader("a", "bucket: bkt\npath: a")
	w.store.Set("a/cm.yaml", "x: 2")
	w.pass(interval, c)
	w.want("refused", map[string]int{})
	if n := w.listed(); n != 0 || len(w.failures) != 1 || !strings.Contains(w.failures[0],
		`no entry of projects is for project "default"`) {
		t.Errorf("%d listings, %v", n, w.failures)
	}
}

// TestForget removes what is published of sources that are gone, when they are still gone a look later.
func TestForget(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	w.store.Set("a/cm.yaml", "x: 1")
	for _, name := range []string{"stays", "goes", "moves"} {
		w.reader(name, "bucket: bkt\npath: a")
	}
	w.pass(interval, c)
	c.Gone(ref("goes"))
	delete(w.apps, ref("goes"))
	w.change("moves", func(a *refresh.App) { a.Sources = []refresh.Source{{URL: "https://git.example.com", Origin: "new"}} })
	w.pass(interval, c)
	if len(w.reads) != 3 {
		t.Errorf("%d are left after one look", len(w.reads))
	}
	w.pass(interval, c)
	if _, ok := w.reads[refresh.Place{App: ref("stays"), Origin: "o"}]; !ok || len(w.reads) != 1 {
		t.Errorf("%v", w.reads)
	}
}

// TestMoved forgets what was found in places that an application no longer reads.
func TestMoved(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	w.store.Set("right/cm.yaml", "x: 1")
	w.reader("file", "bucket: bkt\npath: wrnog")
	const one, two = "http://appset-repo/s3/bkt/one.git", "http://appset-repo/s3/bkt/two.git"
	w.heads[one], w.heads[two] = "2", "5"
	w.add("git", one)
	w.change("git", func(a *refresh.App) { a.Revisions = []string{"1"} })
	for range 10 { // found, not asked for
		c.LookStep(t.Context())
	}
	w.generate("file", "bucket: bkt\npath: right")
	w.add("git", two)
	w.change("git", func(a *refresh.App) { a.Revisions = []string{"5"} })
	w.pass(2*interval, c)
	w.count()
	w.pass(3*time.Hour, c)
	w.want("nothing changes", map[string]int{})
}

// TestPlain: an application that needs no plugin any more is no longer looked at.
func TestPlain(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	w.store.Set("a/cm.yaml", "x: 1")
	w.reader("a", "bucket: bkt\npath: a")
	w.pass(2*interval, c)
	w.change("a", func(a *refresh.App) {
		a.Sources = []refresh.Source{{URL: "https://git.example.com/a", Origin: "o", Plain: true}}
	})
	w.store.Remove("a/cm.yaml")
	w.pass(3*interval, c)
	w.want("plain", map[string]int{})
	if len(w.reads) != 0 {
		t.Error("it is still published")
	}
}

// TestHintAbove: the index of a directory around what an application reads is what decides.
func TestHintAbove(t *testing.T) {
	w := newWorld(t)
	c := w.controller(func(cfg *refresh.Config) { cfg.Hinted = true })
	const url = "http://appset-repo/s3/bkt/apps/one.git"
	w.heads[url] = "2"
	w.add("a", url)
	w.change("a", func(a *refresh.App) { a.Revisions = []string{"1"} })
	for _, key := range []string{"other/" + bucket.IndexName, "apps/oneself/" + bucket.IndexName, "ap" + bucket.IndexName} {
		c.Hint("bkt", key)
	}
	w.pass(2*time.Second, c)
	w.want("elsewhere", map[string]int{})
	c.Hint("bkt", "apps/"+bucket.IndexName)
	w.pass(2*time.Second, c)
	w.want("above", map[string]int{"a normal": 1})
}

// TestUnknownNamespace does not forget what Applications read of which it only may not know.
func TestUnknownNamespace(t *testing.T) {
	w := newWorld(t)
	c := w.controller(func(cfg *refresh.Config) {
		cfg.Knows = func(namespace string) bool { return namespace == "argocd" }
	})
	w.store.Set("a/cm.yaml", "x: 1")
	w.reader("a", "bucket: bkt\npath: a")
	reads := w.reads[refresh.Place{App: ref("a"), Origin: "o"}]
	w.reads[refresh.Place{App: argo.Ref{Namespace: "team", Name: "b"}, Origin: "o"}] = reads
	w.reads[refresh.Place{App: ref("gone"), Origin: "o"}] = reads
	w.pass(4*interval, c)
	if _, ok := w.reads[refresh.Place{App: argo.Ref{Namespace: "team", Name: "b"}, Origin: "o"}]; !ok || len(w.reads) != 2 {
		t.Errorf("%v", w.reads)
	}
}

// TestHangingLook: a look that does not end is given up.
func TestHangingLook(t *testing.T) {
	w := newWorld(t)
	c := w.controller(func(cfg *refresh.Config) {
		cfg.Looks.Head = func(ctx context.Context, _ string) (string, error) {
			if _, ok := ctx.Deadline(); !ok {
				t.Error("a look has no deadline")
			}
			return "", context.DeadlineExceeded
		}
	})
	w.add("a", "http://appset-repo/s3/bkt/a.git")
	w.pass(interval, c)
	w.want("no answer", map[string]int{})
}

// TestHostThatNeverAnswers: a project whose repositories never answer keeps no other project from being looked at, in this tick or the
// next, and is asked less often.
func TestHostThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const good = "http://good.example.com/s3/bkt/good.git"
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		asked, running, most := map[string]int{}, 0, 0
		w := newWorld(t)
		now := time.Now
		c := w.controller(func(cfg *refresh.Config) {
			cfg.Now, cfg.Triggers.Clocks, cfg.Triggers.Hosts = now, &trigger.Clocks{Interval: interval, Now: now}, []string{"*.example.com"}
			cfg.Looks.Head = func(ctx context.Context, url string) (string, error) {
				mu.Lock()
				asked[url]++
				mu.Unlock()
				if url == good {
					return "head", nil
				}
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				<-ctx.Done()
				mu.Lock()
				running--
				mu.Unlock()
				return "", context.Cause(ctx)
			}
		})
		c.Seen(refresh.App{Ref: ref("good"), Project: "good", Sources: []refresh.Source{{URL: good}}})
		for i := range 100 {
			c.Seen(refresh.App{
				Ref: ref(fmt.Sprint("evil-", i)), Project: "evil",
				Sources: []refresh.Source{{URL: fmt.Sprintf("http://evil-%d.example.com/s3/bkt/x.git", i)}},
			})
		}
		done := make(chan struct{})
		go func() { defer close(done); c.RunLooks(ctx) }()
		time.Sleep(10*interval + time.Second)
		cancel()
		<-done
		if asked[good] < 10 || asked[good] > 11 {
			t.Errorf("the good one was asked %d times in 10 ticks", asked[good])
		}
		if most > 8 {
			t.Errorf("%d slots of one project", most)
		}
		for i := range 100 {
			if n := asked[fmt.Sprintf("http://evil-%d.example.com/s3/bkt/x.git", i)]; n < 1 || n > 3 {
				t.Errorf("%d was asked %d times", i, n)
			}
		}
	})
}

// TestPauseEnds: where only hints make it look, the pause after a look without an answer ends with the Application, too.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := newWorld(t)
		c := w.controller(func(cfg *refresh.Config) {
			cfg.Now, cfg.Hinted = time.Now, true
			cfg.Looks.Head = func(ctx context.Context, _ string) (string, error) {
				asked++
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
		})
		look := func(bucket string, want int) {
			t.Helper()
			c.Hint(bucket, "a/cm.yaml")
			time.Sleep(2 * time.Second)
			c.LookStep(t.Context())
			if asked != want {
				t.Errorf("asked %d times, want %d", asked, want)
			}
		}
		app := refresh.App{Ref: ref("a"), Project: "p", Sources: []refresh.Source{{URL: "http://appset-repo/s3/bkt/a.git"}}}
		c.Seen(app)
		look("bkt", 1)
		look("bkt", 1)   // not so soon
		look("other", 1) // it is still there
		look("bkt", 1)
		c.Gone(app.Ref)
		look("other", 1)
		c.Seen(app)
		look("bkt", 2)
	})
}

func TestDefaultHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"appset-repo": true, "appset-repo.argo": true, "appset-repo.argo.svc": true, "appset-repo.argo.svc.cluster.local:8080": true,
		"appset-repo.team": false, "appset-repo.team.svc": false, "appset-repo.argo.team.svc": false, "appset-repo.example.com": false,
	} {
		w := newWorld(t)
		asked := false
		c := w.controller(func(cfg *refresh.Config) {
			cfg.Triggers.Hosts = refresh.DefaultHosts("argo")
			cfg.Looks.Head = func(context.Context, string) (string, error) { asked = true; return "head", nil }
		})
		c.Seen(refresh.App{Ref: ref("a"), Sources: []refresh.Source{{URL: "http://" + host + "/s3/bkt/a.git"}}})
		c.LookStep(t.Context())
		if asked != want {
			t.Errorf("%s: %t", host, asked)
		}
	}
}
