package lab

import "sync"

// registry guards the list of processes of every lab.
var registry sync.Mutex

func (l *Lab) register(p *Process) {
	registry.Lock()
	defer registry.Unlock()
	l.processes = append(l.processes, p)
}
