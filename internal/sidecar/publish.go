package sidecar

import (
	"context"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/s3source"
)

// publication stores published reads.
type publication interface {
	// Publish returns the places to retry, and the error.
	Publish(ctx context.Context, reads map[refresh.Place]s3source.Reads) (again []refresh.Place, err error)
}

// publisher publishes the reads of applications from S3, for other processes.
type publisher struct {
	to        publication
	namespace string // of applications that name none: Argo CD's own
	now       func() time.Time
	after     func(time.Duration) <-chan time.Time
	failed    func(error)

	mu      sync.Mutex
	pending map[refresh.Place]s3source.Reads
	wake    chan struct{}
}

func newPublisher(api *kube.Client, now func() time.Time, failed func(error)) *publisher {
	return &publisher{
		to: api, namespace: api.Namespace, now: now, after: time.After, failed: failed,
		pending: map[refresh.Place]s3source.Reads{}, wake: make(chan struct{}, 1),
	}
}

const (
	publishPause = 200 * time.Millisecond
	maxPending   = 20_000
)

var publishBackoff = retry.Backoff{First: time.Second, Last: 30 * time.Second}

func (p *publisher) add(call argo.Call, reads s3source.Reads) {
	place := refresh.Place{App: argo.Ref{Namespace: call.AppNamespace, Name: call.App}, Origin: call.Origin()}
	if place.App.Namespace == "" {
		place.App.Namespace = p.namespace
	}
	reads.At, reads.Project = p.now(), call.Project
	p.mu.Lock()
	defer p.mu.Unlock()
	old, ok := p.pending[place]
	if ok && len(reads.Marks) == 0 && old.Same(reads) {
		return
	}
	if !ok && len(p.pending) >= maxPending {
		return // the cluster does not take them; each is told again with the next request of its application
	}
	p.pending[place] = reads
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run publishes what was added, several at once, until the context ends. A repeated problem is reported once.
func (p *publisher) run(ctx context.Context) {
	last := ""
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		if !retry.Wait(ctx, p.after(max(publishPause, publishBackoff.After(failures)))) {
			return
		}
		p.mu.Lock()
		taken := p.pending
		p.pending = map[refresh.Place]s3source.Reads{}
		p.mu.Unlock()
		again, err := p.to.Publish(ctx, taken)
		if ctx.Err() != nil {
			return
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != last {
			p.failed(err)
		}
		last = text
		failures++
		if len(again) == 0 {
			failures = 0
			continue
		}
		p.again(taken, again)
	}
}

// again puts back failed entries, unless there are newer ones.
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
