package render

import (
	"sync"

	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// kinds guards the schema of types, which Kustomize keeps in globals. It reads one of them without a lock while it fills another when a
// build first needs it (kyaml 0.20, IsNamespaceScoped), so builds run at the same time only after it was filled.
var kinds schema

type schema struct {
	sync.RWMutex
	filled bool
}

// enter waits until a build may run, and returns what ends it. One that changes the schema runs alone, and leaves nothing behind.
func (s *schema) enter(changes bool) (leave func()) {
	if changes {
		s.Lock()
		return func() {
			openapi.ResetOpenAPI()
			s.filled = false
			s.Unlock()
		}
	}
	for {
		s.RLock()
		if s.filled {
			return s.RUnlock
		}
		s.RUnlock()
		// Filling takes longer than most builds, so one that is alone goes without.
		if s.TryLock() {
			return s.Unlock
		}
		s.Lock()
		if !s.filled {
			openapi.Schema()
			s.filled = true
		}
		s.Unlock()
	}
}
