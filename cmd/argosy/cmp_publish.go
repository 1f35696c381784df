package main

import (
	"context"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/s3source"
)

// publisher tells other processes what applications read from S3.
type publisher struct {
	api    *kube.Client
	now    func() time.Time
	failed func(error)

	mu      sync.Mutex
	pending map[refresh.Place]s3source.Reads
	wake    chan struct{}
}

const (
	publishPause = 200 * time.Millisecond
	maxPending   = 20_000
)

func (p *publisher) add(call argo.Call, reads s3source.Reads) {
	place := refresh.Place{App: argo.Ref{Namespace: call.AppNamespace, Name: call.App}, Origin: call.Origin()}
	if place.App.Namespace == "" {
		place.App.Namespace = p.api.Namespace
	}
	reads.At = p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.pending[place]; ok && len(reads.Marks) == 0 && old.Same(reads) || len(p.pending) >= maxPending {
		return
	}
	p.pending[place] = reads
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run publishes what was added, several at once, until the context ends.
func (p *publisher) run(ctx context.Context) {
	last := ""
	var backoff time.Duration
	for wait := publishPause; ; {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		p.mu.Lock()
		taken := p.pending
		p.pending = map[refresh.Place]s3source.Reads{}
		p.mu.Unlock()
		again, err := p.api.Publish(ctx, taken)
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != last {
			p.failed(err)
		}
		wait, last = publishPause, ""
		if err != nil {
			last = err.Error()
		}
		if len(again) > 0 {
			backoff = min(max(2*backoff, time.Second), 30*time.Second)
			wait = backoff
			p.again(taken, again)
		} else {
			backoff = 0
		}
	}
}

// again puts back what could not be published, unless there is something newer.
func (p *publisher) again(taken map[refresh.Place]s3source.Reads, places []refresh.Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, place := range places {
		if _, ok := p.pending[place]; !ok {
			p.pending[place] = taken[place]
		}
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
