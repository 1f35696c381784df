package cmp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// gate bounds work that goes on at once, and shares it between plugins and projects.
//
// There is a common pool for all projects of all plugins. When it is full, requests wait: first come, first served inside a project. The
// next to begin is of the plugin that has the least work going on, and in it of the project that has; among equals, of the one whose last
// turn, or whose arrival, is the longest ago. A project that has no work going on in a plugin does not have to wait for the common pool:
// each plugin has some extra passes for such projects. And the last of the common pool is spared for projects that have no work going on at
// all. So work that hangs in one project, be it in all plugins, does not stop another project, and a plugin whose work hangs in all
// projects does not stop the other plugin.
//
// Work that goes on after its request has ended gives its units back, and counts as left. While a project of a plugin has work left, no
// more than maxLeft of its work goes on at once, with the work that is left; the rest must wait, alone.
type gate struct {
	size    int // units of the common pool
	spare   int // of these, for projects that have no work going on; if there are any, extra passes are used first
	extra   int // passes of each plugin beyond the common pool
	most    int // units that a project of a plugin may hold
	line    int // requests of a project of a plugin that may wait
	maxLeft int // work that a project of a plugin may have left
	now     func() time.Time

	mu      sync.Mutex
	used    int // units of the common pool
	turn    int // counts arrivals and grants
	lanes   map[string]*lane
	tenants map[tenantKey]*tenant
	running map[string]int // work of each project, in all plugins
}

// lane is a plugin.
type lane struct {
	share
	extra int // passes beyond the common pool
}

// share is the units that a tenant or a plugin holds, and the number of its last turn.
type share struct{ held, turn int }

func (s share) compare(other share) int {
	return cmp.Or(cmp.Compare(s.held, other.held), cmp.Compare(s.turn, other.turn))
}

type tenantKey struct{ plugin, project string }

// tenant is a project in a plugin. It exists while it has something.
type tenant struct {
	share
	key     tenantKey
	lane    *lane
	running int
	waiting []*pass
	left    map[*pass]time.Time
}

// pass is the right to work.
type pass struct {
	gate    *gate
	tenant  *tenant
	weight  int
	extra   bool
	ready   chan struct{} // closed when it is granted
	granted bool
	left    bool
	gone    bool
}

// leftCounts is how long left work counts against its project. After that the project gets other work done again, and only the health of
// the process counts it.
const leftCounts = 10 * time.Minute

// enter waits until a project may do work of some weight in a plugin, or until ctx ends. The caller must leave.
func (g *gate) enter(ctx context.Context, key tenantKey, weight int) (*pass, error) {
	p, err := g.queue(key, weight)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.ready:
		return p, nil
	case <-ctx.Done():
		p.leave()
		return nil, ctx.Err()
	}
}

// queue puts a request at the end of its project's line.
func (g *gate) queue(key tenantKey, weight int) (*pass, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn++
	l := g.lanes[key.plugin]
	if l == nil {
		if g.lanes == nil {
			g.lanes, g.tenants, g.running = map[string]*lane{}, map[tenantKey]*tenant{}, map[string]int{}
		}
		l = &lane{}
		g.lanes[key.plugin] = l
	}
	t := g.tenants[key]
	if t == nil {
		t = &tenant{share: share{turn: g.turn}, key: key, lane: l, left: map[*pass]time.Time{}}
		g.tenants[key] = t
	}
	if len(t.waiting) >= g.line {
		return nil, &coded{codes.ResourceExhausted, fmt.Errorf("%d requests of project %q are waiting for the plugin already",
			len(t.waiting), key.project)}
	}
	p := &pass{gate: g, tenant: t, weight: min(max(weight, 1), g.most), ready: make(chan struct{})}
	t.waiting = append(t.waiting, p)
	g.serve()
	return p, nil
}

// serve grants passes as long as there are any.
func (g *gate) serve() {
	for g.serveOne() {
	}
}

func (g *gate) serveOne() bool {
	var next *tenant
	for _, t := range g.tenants {
		if _, ok := g.admits(t); ok && (next == nil || cmp.Or(t.lane.compare(next.lane.share), t.compare(next.share)) < 0) {
			next = t
		}
	}
	if next == nil {
		return false
	}
	l, p := next.lane, next.waiting[0]
	p.extra, _ = g.admits(next)
	next.waiting = next.waiting[1:]
	if p.extra {
		l.extra++
	} else {
		g.used += p.weight
	}
	g.turn++
	l.held, l.turn = l.held+p.weight, g.turn
	next.held, next.turn = next.held+p.weight, g.turn
	next.running++
	g.running[next.key.project]++
	p.granted = true
	close(p.ready)
	return true
}

// admits reports whether the first request of a project may begin, and whether it takes an extra pass.
func (g *gate) admits(t *tenant) (extra, ok bool) {
	if len(t.waiting) == 0 || g.stuck(t) {
		return false, false
	}
	weight := t.waiting[0].weight
	if t.held > 0 && t.held+weight > g.most {
		return false, false
	}
	size := g.size
	if g.running[t.key.project] > 0 {
		size -= g.spare
	}
	free := g.used+weight <= size
	extra = t.running == 0 && t.lane.extra < g.extra && (g.spare > 0 || !free)
	return extra, extra || free
}

// stuck reports whether a project has left work, and together with its running work as much as is allowed: running work may be left, too.
func (g *gate) stuck(t *tenant) bool {
	if t.running+len(t.left) < g.maxLeft {
		return false
	}
	n, now := 0, g.now()
	for _, since := range t.left {
		if now.Sub(since) < leftCounts {
			n++
		}
	}
	return n > 0 && t.running+n >= g.maxLeft
}

// abandon marks the work of a pass as left: its request has ended, and the work goes on.
func (p *pass) abandon() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if p.gone || p.left {
		return
	}
	p.left = true
	p.tenant.left[p] = p.gate.now()
	p.release()
}

// leave ends a pass: its work is done, or the request has left the queue.
func (p *pass) leave() {
	g, t := p.gate, p.tenant
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case p.gone:
		return
	case p.left:
		delete(t.left, p)
	case p.granted:
		p.release()
	default:
		t.waiting = slices.DeleteFunc(t.waiting, func(w *pass) bool { return w == p })
	}
	p.gone = true
	g.serve()
	if t.running+len(t.waiting)+len(t.left) == 0 {
		delete(g.tenants, t.key)
	}
}

// release gives back the units of a pass.
func (p *pass) release() {
	g, t := p.gate, p.tenant
	if p.extra {
		t.lane.extra--
	} else {
		g.used -= p.weight
	}
	t.held -= p.weight
	t.lane.held -= p.weight
	t.running--
	if g.running[t.key.project]--; g.running[t.key.project] == 0 {
		delete(g.running, t.key.project)
	}
	g.serve()
}

// load counts the running, waiting and left work.
func (g *gate) load() (running, waiting, left int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.tenants {
		running, waiting, left = running+t.running, waiting+len(t.waiting), left+len(t.left)
	}
	return running, waiting, left
}

// hung counts the left work of all plugins, with at most maxLeft of each project: one project alone must not cause a restart.
func (g *gate) hung() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	projects := map[string]int{}
	for _, t := range g.tenants {
		projects[t.key.project] += len(t.left)
	}
	for _, left := range projects {
		n += min(left, g.maxLeft)
	}
	return n
}
