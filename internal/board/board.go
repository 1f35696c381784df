// Package board is argosy board: the page that shows a boot, and the HTTP server for it. A source publishes scenes; the server sends each
// browser the first one whole, and then only what changes.
//
// The page only reads. Requests of other sites, and of names that are not the server's, are refused; the page runs no script and loads
// nothing that is not in the binary. The one request that changes something is about a simulation, and has a secret that only the page
// knows.
package board

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/board/scene"
)

// Source is a boot to show.
type Source interface {
	// Run publishes scenes until the context ends. A boot that does not change any more is no reason to return.
	Run(ctx context.Context, publish func(*scene.Scene)) error
	// Why explains an Application, or the boot if key is "". It names only visible Applications; a nil visible allows all.
	Why(ctx context.Context, key string, visible func(key string) bool) (any, error)
	// App returns the objects and the spec of an Application; nil if there is none.
	App(ctx context.Context, key string) (*Detail, error)
}

// Controls is a Source whose boot can be changed, because it is a simulation.
type Controls interface {
	Control(c Control) error
}

// Control is a change of a simulation.
type Control struct {
	// Speed is the speed as a multiple of real time; 0 keeps the current one.
	Speed float64 `json:"speed"`
	// Break and Repair are the keys of an Application; "" is none. At is when, in milliseconds after the start.
	Break  string `json:"break"`
	Repair string `json:"repair"`
	At     int64  `json:"at"`
	// Reset removes all faults.
	Reset bool `json:"reset"`
}

// Detail is what an Application deploys and how.
type Detail struct {
	Objects []Object `json:"objects"`
	// Cut is how many objects are left out.
	Cut int `json:"cut,omitempty"`
	// Spec is the Application as YAML, "" if it is unknown. Note says why it is unknown or incomplete.
	Spec string `json:"spec,omitempty"`
	Note string `json:"note,omitempty"`
}

// Object is one object of an Application.
type Object struct {
	Phase     string `json:"phase,omitempty"`
	Wave      int    `json:"wave"`
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Health    string `json:"health,omitempty"`
	Sync      string `json:"sync,omitempty"`
	Message   string `json:"message,omitempty"`
	Hook      bool   `json:"hook,omitempty"`
	// Waits says that the next wave waits for it.
	Waits bool `json:"waits,omitempty"`
}

// maxObjects bounds the objects of an Application that are sent.
const maxObjects = 2000

// ring is how many changes are kept for browsers that were away, or are slow, and ringBytes how large all of them may be.
const (
	ring      = 256
	ringBytes = 8 << 20
)

// store has the newest scene and the last changes. Each browser reads at its own pace: a slow one does not delay others.
type store struct {
	epoch string

	mu      sync.Mutex
	scene   *scene.Scene
	number  int // of the last change
	changes []numbered
	bytes   int // of all changes
	changed chan struct{}
	since   time.Time // when the scene was published
	now     func() time.Time
}

type numbered struct {
	number int
	data   []byte // a delta as JSON; nil is a new scene
}

func newStore(now func() time.Time) *store {
	return &store{epoch: strings.ToLower(rand.Text()), changed: make(chan struct{}), now: now}
}

// publish replaces the scene.
func (s *store) publish(next *scene.Scene) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delta, ok := scene.Diff(s.scene, next)
	change := numbered{number: s.number + 1}
	if ok {
		if data, err := json.Marshal(delta); err == nil {
			change.data = data
		}
	}
	s.number++
	s.scene, s.since = next, s.now()
	s.changes, s.bytes = append(s.changes, change), s.bytes+len(change.data)
	for len(s.changes) > ring || s.bytes > ringBytes {
		s.bytes -= len(s.changes[0].data)
		s.changes[0] = numbered{} // the array stays for a while
		s.changes = s.changes[1:]
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// current returns the newest scene, with the number of its change; nil before the first. The time of a live scene advances without changes.
func (s *store) current() (*scene.Scene, int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scene == nil || s.scene.Mode != scene.Live || s.scene.Stale != "" {
		return s.scene, s.number, s.changed
	}
	out := *s.scene
	out.Now += s.now().Sub(s.since).Milliseconds()
	out.End = max(out.End, out.Now)
	return &out, s.number, s.changed
}

// after returns the changes since a number, and false if the browser needs the whole scene.
func (s *store) after(number int) ([]numbered, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missed := s.number - number
	if missed < 0 || missed > len(s.changes) {
		return nil, false
	}
	out := slices.Clone(s.changes[len(s.changes)-missed:]) // the next one to publish forgets the oldest
	for _, c := range out {
		if c.data == nil {
			return nil, false
		}
	}
	return out, true
}

// id names a change to browsers, and number reads it; false is one of another process.
func (s *store) id(number int) string { return fmt.Sprintf("%s-%d", s.epoch, number) }

func (s *store) parse(id string) (int, bool) {
	epoch, text, ok := strings.Cut(id, "-")
	number, err := strconv.Atoi(text)
	return number, ok && err == nil && epoch == s.epoch
}
