package follow

import (
	"context"
	"fmt"
	"time"

	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/words"
)

// tell is the interval at which Wait prints what is missing.
const tell = 10 * time.Second

// Looking bounds the search for the reason why something waits.
const Looking = 30 * time.Second

// Wait returns when all goals of a root are reached. After the timeout it prints which are not, and why, and returns problem.ErrFound. It
// also waits for a root that does not exist yet.
func (b *Boot) Wait(ctx context.Context, root string, goals []live.Goal, timeout time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	told, said := time.Time{}, ""
	for _, source := range b.model.Snapshot().Unwatched() {
		fmt.Fprintln(b.cfg.Err, words.Harmless(fmt.Sprintf("note: not watched: %s: %s", source, live.Brief(source.Lost))))
	}
	for {
		changed := b.model.Changed()
		s := b.model.Snapshot()
		left, err := b.left(s, root, goals)
		if err != nil {
			return err
		}
		if left == "" {
			return nil
		}
		if now := b.now(); left != said && now.Sub(told) >= tell {
			told, said = now, left
			fmt.Fprintln(b.cfg.Err, words.Harmless("waiting: "+left))
		}
		if b.cfg.Client == nil {
			return b.late(ctx, root, left) // a recording does not change
		}
		select {
		case <-limited.Done():
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("interrupted: %s", left)
			}
			return b.late(ctx, root, fmt.Sprintf("after %s: %s", timeout, left))
		case <-changed:
			retry.Wait(limited, time.After(collect))
		case <-time.After(tell):
		}
	}
}

// left says what is not reached yet, "" if all goals are. While a watch is lost, no goal counts as reached: the state may be stale.
func (b *Boot) left(s *live.Snapshot, root string, goals []live.Goal) (string, error) {
	if lost := s.Stale(); len(lost) > 0 && b.cfg.Client != nil {
		return fmt.Sprintf("the watch of %s is lost and is retried; the state may be outdated: %s", lost[0],
			live.Brief(lost[0].Lost)), nil
	}
	n, err := s.Find(root)
	if err != nil {
		return "", err
	}
	if n == nil {
		return fmt.Sprintf("there is no Application %q; argosy status lists all", root), nil
	}
	for _, g := range goals {
		var names []string
		for _, x := range g.Left(n) {
			names = append(names, fmt.Sprintf("%s (%s)", s.Title(x), x.Describe()))
		}
		if len(names) > 0 {
			return fmt.Sprintf("not %s: %s", g, words.Some(names)), nil
		}
	}
	return "", nil
}

// late says that a goal was not reached, and why.
func (b *Boot) late(ctx context.Context, root, left string) error {
	fmt.Fprintln(b.cfg.Err, words.Harmless(left))
	s := b.model.Snapshot()
	if n, err := s.Find(root); err == nil && n != nil {
		ctx, cancel := context.WithTimeout(ctx, Looking)
		defer cancel()
		r := cause.ExplainOne(ctx, b.now(), s, b.cluster, n)
		if err := report.Why(b.cfg.Err, report.Text, s, r, b.now()); err != nil {
			return err
		}
	}
	return problem.ErrFound
}
