// Package trigger holds the repositories that make Argo CD refresh: clocks, whose ticks are empty commits, and buckets and files, whose
// commits are their content.
//
// Clocks and buckets are stateless. A commit of a clock depends on the name of the repository, its interval and its tick, so a restart
// changes nothing and any number of replicas agree. History is linear and bounded: the parent of a tick is the one before it, or, at every
// 64th, the one 64 before, and so on, back to the first of all. If the system clock jumps back, served ticks stay.
package trigger

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/trigger/triggerurl"
)

const (
	base = 64
	// recent is the number of ticks that can be requested by their hash: a client may have an older one.
	recent = 4096
	// kept is how many commits a clock remembers between requests. The history of one is at most some hundred.
	kept = 1024
)

// emptyTree is the tree of every commit.
var emptyTree = gitserver.Object{Kind: gitserver.KindTree}

// Clock is a repository whose branch gets a new, empty commit at each tick.
type Clock struct {
	name     string
	interval time.Duration
	phase    time.Duration
	now      func() time.Time

	mu     sync.Mutex
	served int64 // the latest tick
	// hashes are those of commits by their ticks, and ticks the reverse. The commits themselves are rebuilt for each history, to save
	// memory: there may be a thousand clocks, and any client may request any of them.
	hashes map[int64]gitserver.Hash
	ticks  map[gitserver.Hash]int64
}

// NewClock returns a clock. With spread, its ticks are moved by a part of the interval that comes from its name, so that a
// hundred clocks do not tick at once.
func NewClock(name string, interval time.Duration, spread bool, now func() time.Time) (*Clock, error) {
	if err := triggerurl.CheckInterval(interval); err != nil {
		return nil, err
	}
	c := &Clock{name: name, interval: interval, now: now, hashes: map[int64]gitserver.Hash{}, ticks: map[gitserver.Hash]int64{}}
	if spread {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		c.phase = time.Duration(h.Sum64()%uint64(interval/time.Second)) * time.Second
	}
	return c, nil
}

// tick returns the latest tick, which never goes back.
func (c *Clock) tick() int64 {
	seconds := c.now().Add(-c.phase).Unix()
	c.served = max(c.served, seconds/int64(c.interval/time.Second))
	return c.served
}

// At is when a tick is.
func (c *Clock) at(tick int64) time.Time {
	return time.Unix(tick*int64(c.interval/time.Second), 0).Add(c.phase).UTC()
}

// Tick returns the latest tick and when it was.
func (c *Clock) Tick() (tick int64, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tick = c.tick()
	return tick, c.at(tick)
}

// Interval is the time between ticks.
func (c *Clock) Interval() time.Duration { return c.interval }

// Name is the path of its repository, without .git.
func (c *Clock) Name() string { return c.name }

// Next returns when the clock ticks next.
func (c *Clock) Next() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at(c.tick() + 1)
}

// parent is the tick before one in its history; the first has none.
func parent(tick int64) (int64, bool) {
	if tick == 0 {
		return 0, false
	}
	step := int64(1)
	for tick%(step*base) == 0 {
		step *= base
	}
	return tick - step, true
}

// commit returns the commit of a tick.
func (c *Clock) commit(tick int64) gitserver.Object {
	spec := gitserver.Commit{
		Tree: emptyTree.Hash(), Date: c.at(tick),
		Message: fmt.Sprintf("%s: tick %d, every %s", c.name, tick, c.interval),
	}
	if p, ok := parent(tick); ok {
		h := c.hash(p)
		spec.Parent = &h
	}
	return spec.Object()
}

// hash returns the hash of the commit of a tick.
func (c *Clock) hash(tick int64) gitserver.Hash {
	h, ok := c.hashes[tick]
	if !ok {
		h = c.commit(tick).Hash()
		c.hashes[tick], c.ticks[h] = h, tick
	}
	return h
}

// Head implements gitserver.Repository.
func (c *Clock) Head(context.Context) (gitserver.Hash, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.forget()
	return c.hash(c.tick()), nil
}

// forget bounds the memory of a clock.
func (c *Clock) forget() {
	if len(c.hashes) > kept {
		c.hashes, c.ticks = map[int64]gitserver.Hash{}, map[gitserver.Hash]int64{}
		c.hash(c.served)
	}
}

// History implements gitserver.Repository.
func (c *Clock) History(_ context.Context, want gitserver.Hash) (gitserver.History, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.forget()
	latest := c.tick()
	tick, ok := c.ticks[want]
	for t := latest; !ok && t >= 0 && t > latest-recent; t-- {
		c.hash(t)
		tick, ok = c.ticks[want]
	}
	if !ok || tick > latest {
		return gitserver.History{}, false, nil
	}
	var h gitserver.History
	for more := true; more; tick, more = parent(tick) {
		h.Commits = append(h.Commits, c.commit(tick))
	}
	h.Content = func(int) ([]gitserver.Object, error) { return []gitserver.Object{emptyTree}, nil }
	return h, true, nil
}

// Clocks opens clocks by their path: appset.git, every/10m/team-a.git. The URL is the schedule.
type Clocks struct {
	Interval time.Duration // of appset.git
	Now      func() time.Time

	mu   sync.Mutex
	open map[string]*Clock
}

// maxClocks bounds the cached clocks; others are created again.
const maxClocks = 1000

// Open returns the clock at a path.
func (c *Clocks) Open(path string) (*Clock, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.open[path]; x != nil {
		return x, nil
	}
	x, err := c.parse(path)
	if err != nil {
		return nil, err
	}
	if c.open == nil || len(c.open) >= maxClocks {
		c.open = map[string]*Clock{}
	}
	c.open[path] = x
	return x, nil
}

// All gives the clocks that were opened, by path.
func (c *Clocks) All() iter.Seq2[string, *Clock] {
	c.mu.Lock()
	open := maps.Clone(c.open)
	c.mu.Unlock()
	return func(yield func(string, *Clock) bool) {
		for _, path := range slices.Sorted(maps.Keys(open)) {
			if !yield(path, open[path]) {
				return
			}
		}
	}
}

func (c *Clocks) parse(path string) (*Clock, error) {
	p, err := triggerurl.Parse(path)
	if errors.Is(err, triggerurl.ErrNone) {
		return nil, gitserver.ErrNotFound
	}
	if err != nil {
		return nil, &gitserver.NotFoundError{Reason: err.Error()}
	}
	name := strings.TrimSuffix(path, ".git")
	switch {
	case p.Place != "":
		return nil, gitserver.ErrNotFound
	case p.Name == "":
		return NewClock(name, c.Interval, false, c.Now)
	}
	return NewClock(name, p.Every, true, c.Now)
}
