package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/retry"
)

// Lease makes one of many processes work: its holder. A holder that stops renewing loses the Lease after Duration, measured on the
// waiter's clock. A holder that cannot reach the API server stops its work before that.
//
// It is the protocol of client-go's leader election, without the hundreds of packages that come with that.
type Lease struct {
	Client *Client
	Name   string
	Holder string // of this process alone
	// Duration is how long a holder is believed to live, Patience after which it gives up, and Pause is between attempts.
	Duration, Patience, Pause time.Duration
	Now                       func() time.Time
	After                     func(time.Duration) <-chan time.Time
	Failed                    func(error)

	began  time.Time // when it was asked for last
	seen   string    // version of another's Lease
	seenAt time.Time // when it was seen first
}

// Hold calls work whenever this process holds the Lease, with a context that ends when it no longer does, until the context ends.
// It gives the Lease back then, and whenever work returns or panics, and tries again after Pause.
func (l *Lease) Hold(ctx context.Context, work func(ctx context.Context)) {
	last := ""
	for ctx.Err() == nil {
		held, err := l.acquire(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != last {
			last = err.Error()
			l.Failed(err)
		}
		if held {
			last = ""
			l.lead(ctx, work)
		}
		l.wait(ctx)
	}
}

func (l *Lease) wait(ctx context.Context) { retry.Wait(ctx, l.After(l.Pause)) }

// lead works, and renews the Lease, until that fails for too long or the work has ended.
func (l *Lease) lead(ctx context.Context, work func(ctx context.Context)) {
	inner, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel() // a holder that does nothing would keep others from working
		if _, err := flight.Safely(func() (any, error) { work(inner); return nil, nil }); err != nil {
			l.Failed(err)
		}
	}()
	err := l.renew(inner)
	lost := inner.Err() == nil
	if lost {
		l.Failed(err)
	}
	cancel()
	<-done
	if !lost {
		l.release(context.WithoutCancel(ctx))
	}
}

// renew renews the Lease until that fails for too long, or the context ends. Others count from when the API server was told, which is
// after it was asked: so it has stopped before any of them could begin.
func (l *Lease) renew(ctx context.Context) error {
	idle := errors.New("this process was paused")
	last := idle
	for renewed := l.began; ; {
		l.wait(ctx)
		age := l.Now().Sub(renewed)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if age >= l.Patience {
			return fmt.Errorf("the Lease %s could not be renewed for %s: %w", l.Name, age.Round(time.Second), last)
		}
		attempt, stop := context.WithTimeout(ctx, l.Patience-age)
		held, err := l.acquire(attempt)
		stop()
		if held {
			renewed, last = l.began, idle
			continue
		}
		if err == nil {
			return fmt.Errorf("another process has taken the Lease %s", l.Name)
		}
		last = err
	}
}

// acquire takes or renews the Lease. Without an error, false is that another one holds it.
func (l *Lease) acquire(ctx context.Context) (bool, error) {
	doing := "taking the Lease " + l.Name
	client := l.Client.api.Resource(leases).Namespace(l.Client.Namespace)
	l.began = l.Now()
	o, err := client.Get(ctx, l.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		// The Lease is not part of the installation, because Argo CD, which may install us, does not manage Leases.
		o, err = client.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{
				"name":      l.Name,
				"namespace": l.Client.Namespace,
			},
		}}, metav1.CreateOptions{FieldManager: manager})
	}
	if err != nil {
		return false, explain(doing, err)
	}
	spec := manifest.Map(o.Object, "spec")
	holder := manifest.String(spec, "holderIdentity")
	if holder != l.Holder && holder != "" && !l.expired(o, spec) {
		return false, nil
	}
	next := map[string]any{
		"holderIdentity": l.Holder, "leaseDurationSeconds": int64(l.Duration / time.Second), "renewTime": micro(l.Now()),
		"acquireTime": spec["acquireTime"], "leaseTransitions": spec["leaseTransitions"],
	}
	if holder != l.Holder {
		n, _ := spec["leaseTransitions"].(int64)
		next["acquireTime"], next["leaseTransitions"] = micro(l.Now()), n+1
	}
	o.Object["spec"] = next
	_, err = client.Update(ctx, o, metav1.UpdateOptions{FieldManager: manager})
	if apierrors.IsConflict(err) {
		return false, nil // another one was faster
	}
	if err != nil {
		return false, explain(doing, err)
	}
	return true, nil
}

// micro is a time as Kubernetes writes it in Leases.
func micro(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// expired reports whether a Lease was not renewed for the duration that its holder has set, measured on our own clock.
func (l *Lease) expired(o *unstructured.Unstructured, spec map[string]any) bool {
	now := l.Now()
	if version := o.GetResourceVersion(); version != l.seen {
		l.seen, l.seenAt = version, now
	}
	seconds, _ := spec["leaseDurationSeconds"].(int64)
	return now.Sub(l.seenAt) > time.Duration(seconds)*time.Second
}

// release gives the Lease back, so that another one need not wait.
func (l *Lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	client := l.Client.api.Resource(leases).Namespace(l.Client.Namespace)
	o, err := client.Get(ctx, l.Name, metav1.GetOptions{})
	if err == nil && manifest.String(o.Object, "spec", "holderIdentity") == l.Holder {
		manifest.Map(o.Object, "spec")["holderIdentity"] = ""
		_, err = client.Update(ctx, o, metav1.UpdateOptions{FieldManager: manager})
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		l.Failed(explain("giving back the Lease "+l.Name, err))
	}
}
