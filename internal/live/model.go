package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// maxObjects bounds the objects beside Applications and sets that a model keeps.
const maxObjects = 50_000

// Source is a part of the cluster that is watched, and its state.
type Source struct {
	Scope
	// Listed says that the source was listed, Lost why it is not watched; nil if it is. A source that was listed and then lost keeps its
	// last state.
	Listed bool
	Lost   error
	Since  time.Time
}

// Model is the known state of a boot. It is safe for concurrent use.
type Model struct {
	namespace string

	mu      sync.Mutex
	at      time.Time
	apps    map[Key]*Application
	objects map[Key]manifest.Object
	sources map[Scope]Source
	last    *Snapshot // nil after a change
	changed chan struct{}
}

// New returns a model of the Argo CD in a namespace.
func New(namespace string) *Model {
	return &Model{
		namespace: namespace, apps: map[Key]*Application{}, objects: map[Key]manifest.Object{}, sources: map[Scope]Source{},
		changed: make(chan struct{}),
	}
}

// Apply adds an event.
func (m *Model) Apply(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.At.After(m.at) {
		m.at = e.At
	}
	key := KeyOf(e.Object)
	switch e.What {
	case Seen:
		m.seen(key, e)
		m.found(key)
	case Gone:
		delete(m.apps, key)
		delete(m.objects, key)
		m.found(key)
	case Listed:
		m.sources[e.Source] = Source{Scope: e.Source, Listed: true, Since: e.At}
	case Lost:
		s := m.sources[e.Source]
		if s.Lost == nil {
			s.Since = e.At
		}
		s.Scope, s.Lost = e.Source, Refusal(e.Reason, e.Lacks)
		m.sources[e.Source] = s
	}
	m.last = nil
	close(m.changed)
	m.changed = make(chan struct{})
}

// found removes the lost source of a single Application or set: it can be read again, or is gone.
func (m *Model) found(key Key) {
	if key.isArgo() {
		delete(m.sources, Scope{key.Kind, key.Namespace, key.Name})
	}
}

func (m *Model) seen(key Key, e Event) {
	if key.isArgo() {
		a := newApplication(e.Object)
		a.since(m.apps[key], e.At)
		m.apps[key] = a
		return
	}
	if _, known := m.objects[key]; !known && len(m.objects) >= maxObjects {
		source := Scope{Name: "objects"}
		m.sources[source] = Source{Scope: source, Lost: fmt.Errorf("there are more than %d of them", maxObjects), Since: e.At}
		return
	}
	m.objects[key] = e.Object
}

// Changed returns a channel that is closed when the next event is applied.
func (m *Model) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// Snapshot returns the current state. Without an event in between, it returns the same snapshot.
func (m *Model) Snapshot() *Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		sources := slices.SortedFunc(maps.Values(m.sources), func(a, b Source) int { return strings.Compare(a.String(), b.String()) })
		m.last = newSnapshot(m.namespace, m.at, m.apps, sources)
	}
	return m.last
}

// Objects returns the seen objects that are no Applications or sets. They must not be changed.
func (m *Model) Objects() []manifest.Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]manifest.Object, 0, len(m.objects))
	for _, o := range m.objects {
		out = append(out, o)
	}
	return out
}
