package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/policy"
)

// policyFile is a policy that is read again when its file changes. While it cannot be read, nothing is allowed.
type policyFile struct {
	file string // "" is none

	mu     sync.Mutex
	time   time.Time
	size   int64
	policy *policy.Policy
}

func (p *policyFile) current() (*policy.Policy, error) {
	if p.file == "" {
		return nil, nil
	}
	info, err := os.Stat(p.file)
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", pathError(err))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.policy != nil && info.ModTime().Equal(p.time) && info.Size() == p.size {
		return p.policy, nil
	}
	p.policy = nil
	read, err := readPolicy(p.file)
	if err != nil {
		return nil, err
	}
	p.policy, p.time, p.size = read, info.ModTime(), info.Size()
	return read, nil
}
