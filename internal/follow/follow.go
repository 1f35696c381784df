// Package follow is argosy status, wait and why: it feeds a model from a live cluster or from a recording, and prints its state. It only
// reads.
package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/words"
)

// Config is how a boot is followed.
type Config struct {
	// Client is the cluster. Nil is a recording.
	Client *kube.Client
	// Namespaces are namespaces with Applications, beside Argo CD's own; they may be patterns, as in Argo CD.
	Namespaces []string
	// Recording is read instead of a cluster; Name is its name in errors. Namespace is Argo CD's.
	Recording       io.Reader
	Name, Namespace string

	Now      func() time.Time
	Out, Err io.Writer
	Format   report.Format
	// Size returns the size of the terminal Out. Nil means that Out is no terminal.
	Size func() (width, height int)
	// Record receives a recording of the cluster's events. Nil records nothing.
	Record io.Writer
	// Patience is how long Open waits for an API server that does not answer. Zero gives up at the first error.
	Patience time.Duration
}

// Boot is a boot that is followed.
type Boot struct {
	cfg     Config
	model   *live.Model
	cluster cause.Cluster
	now     func() time.Time
	stop    func()
	record  *recorder // nil for a recording
}

// Open returns when everything is known that may be. The caller closes it.
func Open(ctx context.Context, cfg Config) (*Boot, error) {
	if cfg.Client != nil {
		return openCluster(ctx, cfg)
	}
	b := &Boot{cfg: cfg, model: live.New(cfg.Namespace), stop: func() {}}
	if err := live.Read(cfg.Name, cfg.Recording, b.model.Apply); err != nil {
		return nil, err
	}
	b.cluster = cause.Recorded(b.model.Objects())
	b.now = func() time.Time { return b.model.Snapshot().At }
	return b, nil
}

func openCluster(ctx context.Context, cfg Config) (*Boot, error) {
	ctx, cancel := context.WithCancel(ctx)
	lookup := &kube.Lookup{Client: cfg.Client, Now: cfg.Now}
	record := &recorder{Cluster: lookup, now: cfg.Now, namespace: cfg.Client.Namespace, to: cfg.Record}
	b := &Boot{cfg: cfg, model: live.New(cfg.Client.Namespace), cluster: record, now: cfg.Now, record: record}
	ready, failed := make(chan struct{}), make(chan error, 1)
	var group sync.WaitGroup
	group.Go(func() {
		cfg.Client.Live(ctx, kube.LiveWatch{
			Namespaces: cfg.Namespaces, Now: cfg.Now, Ready: func() { close(ready) },
			Apply: func(e live.Event) { record.write(e); b.model.Apply(e) },
			Failed: func(err error) {
				if !errors.Is(err, kube.ErrForbidden) {
					select {
					case failed <- err:
					default:
					}
				}
			},
		})
	})
	b.stop = func() { cancel(); group.Wait() }
	if err := b.opened(ctx, ready, failed); err != nil {
		b.stop()
		return nil, err
	}
	return b, nil
}

// opened waits until everything is known that may be. The watches try again by themselves.
func (b *Boot) opened(ctx context.Context, ready <-chan struct{}, failed <-chan error) error {
	var last error
	var expired <-chan time.Time
	for {
		select {
		case <-ready:
			return b.readable()
		case err := <-failed:
			if b.cfg.Patience == 0 || !kube.Passing(err) {
				return err
			}
			if last = err; expired == nil {
				expired = time.After(b.cfg.Patience)
			}
		case <-expired:
			return last
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// readable returns an error if the Applications of the cluster cannot be read at all.
func (b *Boot) readable() error {
	var lost []error
	for _, s := range b.model.Snapshot().Sources {
		if s.Listed && s.Kind == argo.KindApplication {
			return nil
		}
		if s.Lost != nil {
			lost = append(lost, fmt.Errorf("watching %s: %w", s, s.Lost))
		}
	}
	return errors.Join(lost...)
}

// Model returns the model of the boot. It keeps changing while a cluster is followed.
func (b *Boot) Model() *live.Model { return b.model }

// Cluster has the objects that Applications deploy.
func (b *Boot) Cluster() cause.Cluster { return b.cluster }

// Now is the time of the boot: the clock's, or that of the last event of a recording.
func (b *Boot) Now() time.Time { return b.now() }

// Close ends the watches. It returns the error of the recording.
func (b *Boot) Close() error {
	b.stop()
	if b.record == nil {
		return nil
	}
	return b.record.failed()
}

// Snapshot returns the current state.
func (b *Boot) Snapshot() *live.Snapshot { return b.model.Snapshot() }

// Changed returns a channel that is closed when something happens.
func (b *Boot) Changed() <-chan struct{} { return b.model.Changed() }

// Explain finds out why some Applications of a snapshot wait.
func (b *Boot) Explain(ctx context.Context, s *live.Snapshot, asked ...*live.Node) *cause.Report {
	ctx, cancel := context.WithTimeout(ctx, Looking)
	defer cancel()
	if len(asked) == 1 {
		return cause.ExplainOne(ctx, b.now(), s, b.cluster, asked[0])
	}
	return cause.ExplainAll(ctx, b.now(), s, b.cluster, asked...)
}

// roots returns the Applications of a name; "" means all that nothing deploys.
func (b *Boot) roots(s *live.Snapshot, name string) ([]*live.Node, error) {
	if name == "" {
		return s.Roots, nil
	}
	n, err := s.Find(name)
	if err == nil && n == nil {
		err = fmt.Errorf("there is no Application %q; argosy status lists all", name)
	}
	if err != nil {
		return nil, err
	}
	return []*live.Node{n}, nil
}

// Status prints where a boot stands.
func (b *Boot) Status(root string) error {
	s := b.model.Snapshot()
	roots, err := b.roots(s, root)
	if err != nil {
		return err
	}
	return report.Status(b.cfg.Out, b.cfg.Format, s, roots, b.now())
}

// Pauses: how long changes are collected, and when ages are drawn again.
const (
	collect = 300 * time.Millisecond
	redraw  = 5 * time.Second
)

// Watch prints where a boot stands again each time that it changes, until the context ends: as JSON a line for each state, on a terminal
// one screen.
func (b *Boot) Watch(ctx context.Context, root string) error {
	last := ""
	for {
		changed := b.model.Changed()
		s := b.model.Snapshot()
		roots, err := b.roots(s, root)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if b.cfg.Format == report.JSON {
			err = report.ObjectLine(&text, report.StatusObject(s, roots))
		} else {
			err = report.Status(&text, b.cfg.Format, s, roots, b.now())
		}
		if err != nil {
			return err
		}
		if text.String() != last {
			last = text.String()
			if err := b.show(last); err != nil {
				return err
			}
		}
		if b.cfg.Client == nil {
			return nil // a recording does not change
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-time.After(redraw):
		}
		if !retry.Wait(ctx, time.After(collect)) {
			return nil
		}
	}
}

// show prints a state, on a terminal over the one before.
func (b *Boot) show(text string) error {
	if b.cfg.Size != nil && b.cfg.Format == report.Text {
		width, height := b.cfg.Size()
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if more := len(lines) - (height - 1); more > 0 {
			lines = append(lines[:max(height-2, 0)], fmt.Sprintf("and %d more lines", more+1))
		}
		for i, line := range lines {
			lines[i] = words.Cut(line, width)
		}
		text = "\x1b[H\x1b[J" + strings.Join(lines, "\n") + "\n"
	} else if b.cfg.Format == report.Text {
		text += "\n"
	}
	if _, err := io.WriteString(b.cfg.Out, text); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// Why prints why an Application waits; "" is all that are not healthy and synced.
func (b *Boot) Why(ctx context.Context, app string) error {
	s := b.model.Snapshot()
	asked, err := b.roots(s, app)
	if err != nil {
		return err
	}
	var r *cause.Report
	if app == "" {
		r = cause.ExplainAll(ctx, b.now(), s, b.cluster, asked...)
	} else {
		r = cause.ExplainOne(ctx, b.now(), s, b.cluster, asked[0])
	}
	if err := report.Why(b.cfg.Out, b.cfg.Format, s, r, b.now()); err != nil {
		return err
	}
	if !r.Good() {
		return problem.ErrFound
	}
	return nil
}
