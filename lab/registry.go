package lab

import (
	"slices"
	"sync"
)

// registry guards the running labs and the lists of their processes.
var registry struct {
	sync.Mutex
	labs []*Lab
}

func (l *Lab) register(p *Process) {
	registry.Lock()
	defer registry.Unlock()
	l.processes = append(l.processes, p)
}

// StopAll stops every lab of this process, for programs that are interrupted.
func StopAll() {
	registry.Lock()
	labs := slices.Clone(registry.labs)
	registry.Unlock()
	for _, l := range labs {
		l.Stop()
	}
}
