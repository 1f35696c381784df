package sidecar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/s3source"
)

// published is a place to publish to that fails as often as it is told, and says what it was given.
type published struct {
	fail  []error
	taken chan []string // names of applications, in order
}

func (p *published) Publish(_ context.Context, reads map[refresh.Place]s3source.Reads) (again []refresh.Place, err error) {
	var names []string
	for place, r := range reads {
		names = append(names, fmt.Sprintf("%s/%s at %d", place.App.Namespace, place.App.Name, r.At.Unix()))
	}
	slices.Sort(names)
	if len(p.fail) > 0 {
		if err, p.fail = p.fail[0], p.fail[1:]; err != nil {
			for place := range reads {
				again = append(again, place)
			}
		}
	}
	p.taken <- names
	return again, err
}

// TestPublisher: what is added meanwhile is published together; what failed is tried again, ever later, and what is newer wins. A problem
// is told once.
func TestPublisher(t *testing.T) {
	now := time.Unix(1, 0)
	away := errors.New("away")
	to := &published{fail: []error{away, away, nil, away}, taken: make(chan []string)}
	waits, fire := make(chan time.Duration), make(chan time.Time)
	told := 0
	p := &publisher{
		to: to, namespace: "argocd", now: func() time.Time {
			return now
		}, failed: func(error) { told++ }, pending: map[refresh.Place]s3source.Reads{}, wake: make(chan struct{}, 1),
		after: func(d time.Duration) <-chan time.Time { waits <- d; return fire },
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { p.run(ctx); close(ended) }()
	add := func(namespace, name string) {
		p.add(argo.Call{App: name, AppNamespace: namespace}, s3source.Reads{Marks: []bucket.Mark{{}}})
	}
	step := func(wait time.Duration, meanwhile func(), want ...string) {
		t.Helper()
		if got := <-waits; got != wait {
			t.Errorf("waited %s, want %s", got, wait)
		}
		meanwhile()
		fire <- time.Time{}
		if got := <-to.taken; !slices.Equal(got, want) {
			t.Errorf("published %q, want %q", got, want)
		}
	}
	nothing := func() {}
	add("", "a")
	step(publishPause, func() { add("apps", "b") }, "apps/b at 1", "argocd/a at 1")
	step(time.Second, func() { now = time.Unix(2, 0); add("", "a") }, "apps/b at 1", "argocd/a at 2")
	step(2*time.Second, nothing, "apps/b at 1", "argocd/a at 2")
	add("", "c")
	step(publishPause, nothing, "argocd/c at 2")
	step(time.Second, nothing, "argocd/c at 2")
	cancel()
	<-ended
	if told != 2 {
		t.Errorf("two problems were told %d times", told)
	}
}

// TestPublisherBounded: what cannot be published does not fill the memory.
func TestPublisherBounded(t *testing.T) {
	p := &publisher{now: time.Now, pending: map[refresh.Place]s3source.Reads{}, wake: make(chan struct{}, 1)}
	for i := range maxPending + 10 {
		p.add(argo.Call{App: fmt.Sprint("app-", i)}, s3source.Reads{})
	}
	if len(p.pending) != maxPending {
		t.Errorf("%d are kept", len(p.pending))
	}
	// What waits already is brought up to date.
	first := argo.Call{App: "app-0"}
	p.add(first, s3source.Reads{Marks: []bucket.Mark{{}}})
	if got := p.pending[refresh.Place{App: argo.Ref{Name: first.App}, Origin: first.Origin()}]; len(got.Marks) != 1 {
		t.Error("an older state is kept")
	}
}
