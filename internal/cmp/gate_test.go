package cmp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// queues puts requests of a project of a plugin into line, and names them.
type queues struct {
	t    *testing.T
	gate *gate
	all  map[*pass]string
}

func (q *queues) add(plugin, project string, n, weight int) (out []*pass) {
	q.t.Helper()
	for i := range n {
		p, err := q.gate.queue(tenantKey{plugin, project}, weight)
		if err != nil {
			q.t.Fatal(err)
		}
		q.all[p] = fmt.Sprintf("%s/%s%d", plugin, project, i)
		out = append(out, p)
	}
	return out
}

// run lets one request after the other end, and returns the order in which they were admitted.
func (q *queues) run(t *testing.T) string {
	t.Helper()
	var order []string
	for len(q.all) > 0 {
		var next *pass
		for p := range q.all {
			if p.granted && (next == nil || q.all[p] < q.all[next]) {
				next = p
			}
		}
		if next == nil {
			t.Fatalf("nobody is admitted, %d wait", len(q.all))
		}
		order = append(order, q.all[next])
		delete(q.all, next)
		next.leave()
	}
	if q.gate.used != 0 || len(q.gate.tenants) != 0 || len(q.gate.running) != 0 {
		t.Errorf("left behind: %+v", q.gate)
	}
	for _, l := range q.gate.lanes {
		if l.extra != 0 || l.held != 0 {
			t.Errorf("left behind: %+v", l)
		}
	}
	return strings.Join(order, " ")
}

func newQueues(t *testing.T, g *gate) *queues {
	t.Helper()
	g.now, g.line, g.maxLeft = time.Now, 1000, 1
	if g.most == 0 {
		g.most = g.size
	}
	return &queues{t: t, gate: g, all: map[*pass]string{}}
}

// TestTurns: first come, first served in a project, in turns between projects and between plugins.
func TestTurns(t *testing.T) {
	q := newQueues(t, &gate{size: 1})
	q.add("s3", "a", 4, 1)
	q.add("s3", "b", 2, 1)
	q.add("appset", "a", 2, 1)
	if diff := gocmp.Diff("s3/a0 appset/a0 s3/a1 appset/a1 s3/b0 s3/a2 s3/b1 s3/a3", q.run(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// 100 requests of one project, and one of another: it waits for one turn.
	q = newQueues(t, &gate{size: 1})
	q.add("s3", "many", 100, 1)
	q.add("s3", "one", 1, 1)
	if got := strings.Fields(q.run(t)); got[2] != "s3/one0" {
		t.Error(got)
	}
}

// TestExtra: whoever has nothing does not wait for others, as far as there are extra passes, and idle room is for anybody.
func TestExtra(t *testing.T) {
	q := newQueues(t, &gate{size: 3, extra: 1})
	granted := func(passes ...*pass) (n int) {
		for _, p := range passes {
			if p.granted {
				n++
			}
		}
		return n
	}
	hog := q.add("s3", "hog", 10, 1)
	if n := granted(hog...); n != 3 {
		t.Errorf("%d of an idle pool of 3", n)
	}
	b, c, other := q.add("s3", "b", 2, 1), q.add("s3", "c", 1, 1), q.add("appset", "hog", 2, 1)
	if granted(b...) != 1 || granted(c...) != 0 || granted(other...) != 1 {
		t.Errorf("%d, %d, %d", granted(b...), granted(c...), granted(other...))
	}
	// The next rooms are for the plugin, and then for the project, that has the least.
	for i, want := range []string{"0 1 0 2", "0 1 1 2", "1 1 1 2"} {
		delete(q.all, hog[i])
		hog[i].leave()
		if got := fmt.Sprint(granted(hog[3:]...), granted(b...), granted(c...), granted(other...)); got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
	q.run(t)
}

// TestSpare: whatever one project has, in all plugins and in any order, another one with no work going on does not wait.
func TestSpare(t *testing.T) {
	for _, c := range []struct{ size, extra int }{{3, 1}, {2, 1}, {2, 0}, {3, 0}, {8, 4}} {
		for seed := range uint64(50) {
			random := rand.New(rand.NewPCG(seed, 0))
			q := newQueues(t, &gate{size: c.size, extra: c.extra, spare: 1})
			var passes []*pass
			for step := range 200 {
				switch project := []string{"hog", "hog", "hog", "good"}[random.IntN(4)]; {
				case random.IntN(2) == 0 || len(passes) == 0:
					passes = append(passes, q.add([]string{"appset", "s3"}[random.IntN(2)], project, 1, 1)...)
				default:
					i := random.IntN(len(passes))
					delete(q.all, passes[i])
					passes[i].leave()
					passes = slices.Delete(passes, i, i+1)
				}
				waiting := 0
				for _, plugin := range []string{"appset", "s3"} {
					if tenant := q.gate.tenants[tenantKey{plugin, "good"}]; tenant != nil {
						waiting += len(tenant.waiting)
					}
				}
				if q.gate.running["good"] == 0 && waiting > 0 {
					t.Fatalf("%d of the pool, %d extra, seed %d, step %d: it waits, and has nothing", c.size, c.extra, seed, step)
				}
			}
			q.run(t)
		}
	}
}

// TestWeight: a project holds no more than its part, and a large request is not overtaken for ever by small ones.
func TestWeight(t *testing.T) {
	q := newQueues(t, &gate{size: 8, most: 4, extra: 1})
	small := q.add("s3", "a", 6, 1)
	if !small[3].granted || small[4].granted {
		t.Error("a project may hold 4")
	}
	q.add("s3", "b", 4, 1)
	if big := q.add("s3", "c", 1, 99); !big[0].granted || big[0].weight != 4 {
		t.Errorf("%+v", big[0])
	}
	q.run(t)
}

// TestLeft: left work gives its room back, holds up its own project only, and not for ever.
func TestLeft(t *testing.T) {
	q := newQueues(t, &gate{size: 1})
	now := time.Now()
	q.gate.now = func() time.Time { return now }
	hung := q.add("s3", "bad", 2, 1)
	delete(q.all, hung[0])
	hung[0].abandon()
	hung[0].abandon()
	if hung[1].granted {
		t.Error("a project with work left began more")
	}
	if good := q.add("s3", "good", 1, 1); !good[0].granted {
		t.Error("the room is not free")
	}
	if _, _, left := q.gate.load(); left != 1 {
		t.Errorf("%d left", left)
	}
	now = now.Add(leftCounts)
	q.add("s3", "bad", 1, 1)
	if hung[1].granted {
		t.Error("the room is not free, and it was given")
	}
	for p, name := range q.all {
		if name == "s3/good0" {
			delete(q.all, p)
			p.leave()
		}
	}
	if !hung[1].granted {
		t.Error("left work counts for ever")
	}
	hung[0].leave()
	hung[0].leave()
	q.run(t)
}

// TestFewBesideLeft: a project with work left has no more going on than it may have left, with that: all of it may be left in the end.
// Others begin as much as they like.
func TestFewBesideLeft(t *testing.T) {
	q := newQueues(t, &gate{size: 8})
	q.gate.maxLeft = 3
	bad := q.add("s3", "bad", 8, 1)
	delete(q.all, bad[0])
	bad[0].abandon()
	for _, p := range bad[1:5] {
		delete(q.all, p)
		p.leave()
	}
	// Three run, and one is left.
	more := q.add("s3", "bad", 4, 1)
	for _, p := range bad[5:7] {
		if more[0].granted {
			t.Error("a project with work left began more")
		}
		delete(q.all, p)
		p.leave()
	}
	if !more[0].granted || more[1].granted {
		t.Error("a project may have three going on, one of them left")
	}
	for i, p := range q.add("s3", "good", 6, 1) {
		if !p.granted {
			t.Errorf("the %dth request of another project waits", i+1)
		}
	}
	bad[0].leave()
	q.run(t)
}

// TestHealth: calls of one project that are left, in all plugins, are no reason for a restart; those of several projects are, after a
// while.
func TestHealth(t *testing.T) {
	for _, parallel := range []int{1, 3, 8} {
		now := time.Now()
		clock := func() time.Time { return now }
		s := &Server{cfg: Config{Parallel: parallel, Now: clock}, slots: newSlots(Config{Parallel: parallel, Now: clock})}
		var passes []*pass
		leave := func(project string) {
			for _, plugin := range []string{"appset", "s3"} {
				var begun []*pass
				for range parallel {
					p, err := s.slots.queue(tenantKey{plugin, project}, 1)
					if err != nil {
						t.Fatal(err)
					}
					begun = append(begun, p)
				}
				for _, p := range begun {
					if p.granted {
						p.abandon()
					}
				}
				passes = append(passes, begun...)
			}
		}
		healthy := func() error {
			if err := s.Healthy(); err != nil {
				t.Errorf("at once: %v", err)
			}
			now = now.Add(stuckAfter)
			return s.Healthy()
		}
		for range 3 {
			leave("bad")
			now = now.Add(leftCounts)
		}
		if _, _, left := s.slots.load(); left < parallel {
			t.Errorf("%d at once: only %d left", parallel, left)
		}
		if err := healthy(); err != nil {
			t.Errorf("%d at once, one project: %v", parallel, err)
		}
		for i := range parallel {
			leave(fmt.Sprint("worse-", i))
		}
		if err := healthy(); err == nil {
			t.Errorf("%d at once: calls of all projects do not end, and it is healthy", parallel)
		}
		for _, p := range passes {
			p.leave()
		}
		if err := healthy(); err != nil {
			t.Errorf("%d at once, then: %v", parallel, err)
		}
	}
}

// TestWaitingEnds: a wait ends with its context, and a full line is an error.
func TestWaitingEnds(t *testing.T) {
	g := &gate{size: 1, most: 1, line: 1, maxLeft: 1, now: time.Now}
	key := tenantKey{"s3", "a"}
	first, err := g.enter(t.Context(), key, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := g.enter(ctx, key, 1)
		done <- err
	}()
	for {
		if _, waiting, _ := g.load(); waiting == 1 {
			break
		}
	}
	if _, err := g.enter(t.Context(), key, 1); err == nil || err.Error() != `1 requests of project "a" are waiting for the plugin already` {
		t.Error(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	first.leave()
	if len(g.tenants) != 0 {
		t.Errorf("%v", g.tenants)
	}
}
