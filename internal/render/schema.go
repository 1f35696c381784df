package render

import (
	"context"

	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// kinds guards the schema of types, which Kustomize keeps in globals. It reads one of them without a lock while it fills another when a
// build first needs it (kyaml 0.20, IsNamespaceScoped), so builds run at the same time only after it was filled.
var kinds = newSchema()

// schema is a lock for many readers or one writer, which callers can stop to wait for.
type schema struct {
	// state is a one-element channel: receive to lock, send to unlock. Each change closes changed.
	state chan *state
}

type state struct {
	filled  bool
	readers int
	large   int // readers that may take long
	alone   bool
	waiting int           // writers: new readers wait for them, or they would never run; but not while they wait for a large one
	changed chan struct{} // closed and replaced at each change
}

func newSchema() *schema {
	s := &schema{make(chan *state, 1)}
	s.state <- &state{changed: make(chan struct{})}
	return s
}

// enter waits until a build may run. The caller calls leave when it ends. A build that changes the schema runs alone, and the schema is
// reset afterwards. small marks a short build.
func (s *schema) enter(ctx context.Context, changes, small bool) (leave func(), err error) {
	waited := false
	for {
		st := <-s.state
		idle := st.readers == 0 && !st.alone
		switch {
		case changes && idle:
			if waited {
				st.waiting--
			}
			return s.alone(st, func(st *state) {
				openapi.ResetOpenAPI()
				st.filled = false
			}), nil
		case !changes && st.filled && !st.alone && (st.waiting == 0 || st.large > 0):
			return s.read(st, small), nil
		case !changes && !st.filled && idle && small && !waited:
			// Filling takes longer than most builds, so one that is alone goes without.
			return s.alone(st, func(*state) {}), nil
		case !changes && !st.filled && idle:
			filled := s.alone(st, func(st *state) { st.filled = true })
			openapi.Schema()
			filled()
			continue
		}
		if changes && !waited {
			st.waiting++
		}
		waited = true
		changed := st.changed
		s.state <- st
		select {
		case <-changed:
		case <-ctx.Done():
			if changes {
				s.update(func(st *state) { st.waiting-- })
			}
			return nil, ctx.Err()
		}
	}
}

// read starts a build that runs beside others, and unlocks the state.
func (s *schema) read(st *state, small bool) (leave func()) {
	large := 0
	if !small {
		large = 1
	}
	st.readers++
	st.large += large
	s.state <- st
	return func() {
		s.update(func(st *state) {
			st.readers--
			st.large -= large
		})
	}
}

// alone starts a build that runs alone, and unlocks the state.
func (s *schema) alone(st *state, after func(*state)) (leave func()) {
	st.alone = true
	s.state <- st
	return func() {
		s.update(func(st *state) {
			after(st)
			st.alone = false
		})
	}
}

// update changes the state, and wakes the waiting builds.
func (s *schema) update(change func(*state)) {
	st := <-s.state
	change(st)
	close(st.changed)
	st.changed = make(chan struct{})
	s.state <- st
}
