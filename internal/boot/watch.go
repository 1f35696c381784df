package boot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/screen"
	"github.com/argosy-cd/argosy/internal/words"
)

// Pauses: collect gathers changes, redraw is the interval without changes, quiet is the silence after which causes are printed.
const (
	collect = 200 * time.Millisecond
	redraw  = 2 * time.Second
	quiet   = 30 * time.Second
)

// watch follows the boot until it is complete or ctx ends.
func (b *boot) watch(ctx context.Context) error {
	b.start = b.began
	w := &watched{boot: b, last: b.Follow.Now()}
	for {
		changed := b.follow.Changed()
		s := b.follow.Snapshot()
		if done, err := w.look(ctx, s); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return w.ended(ctx)
		case <-changed:
			retry.Wait(ctx, time.After(collect))
		case <-time.After(redraw):
		}
	}
}

// watched is a boot that is followed.
type watched struct {
	*boot
	last   time.Time // time of the last event
	asked  time.Time // time of the last search for causes
	said   string    // the cause that was printed last
	lost   string    // lost watches that were printed
	events int
}

// look evaluates a snapshot, prints the events, and reports whether the boot is done.
func (w *watched) look(ctx context.Context, s *live.Snapshot) (bool, error) {
	for _, e := range w.course.Next(s) {
		w.happened(e)
		w.last, w.said = w.Follow.Now(), ""
		w.events++
	}
	w.watches(s)
	roots := w.nodes(s)
	w.draw(s, roots)
	if err := w.screen.Err(); err != nil {
		return false, err
	}
	if len(s.Stale()) > 0 {
		return false, nil // the snapshot may be stale
	}
	if err := w.unwedge(ctx, s, roots); err != nil && !kube.Passing(err) {
		return false, err // a passing error is retried at the next look
	}
	if w.good(ctx, roots) {
		return true, w.done(s)
	}
	if now := w.Follow.Now(); now.Sub(w.last) >= quiet && now.Sub(w.asked) >= quiet {
		w.asked = now
		w.blocked(ctx, s, roots)
	}
	return false, nil
}

// watches says which watches are lost, and when they are back.
func (w *watched) watches(s *live.Snapshot) {
	var names []string
	for _, source := range s.Stale() {
		names = append(names, fmt.Sprintf("%s: %s", source, live.Brief(source.Lost)))
	}
	switch text := strings.Join(names, "; "); text {
	case w.lost:
		return
	case "":
		w.say(eventWatching, nil, "the watch is back")
	default:
		w.say(eventLost, map[string]any{"watches": report.Texts(names)}, "the watch is lost and is retried; the state may be outdated: %s",
			text)
	}
	w.lost = strings.Join(names, "; ")
}

// nodes are the roots that exist.
func (b *boot) nodes(s *live.Snapshot) []*live.Node {
	var out []*live.Node
	for _, key := range b.roots {
		if n := s.Get(key); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// good reports whether everything is healthy and synced, and Argo CD has compared the roots as they are now.
func (w *watched) good(ctx context.Context, roots []*live.Node) bool {
	if len(roots) < len(w.roots) || !(&cause.Report{Asked: roots}).Good() {
		return false
	}
	for _, n := range roots {
		if n.Set {
			continue
		}
		// Its status may be about the spec before this boot. The health check of Applications knows.
		o, err := w.client.Object(ctx, argo.KindApplication, n.Ref)
		if err != nil || o == nil {
			return false
		}
		h, err := health.Lua(health.Script{Health: health.ApplicationScript}, o, health.Limits{Now: w.Follow.Now, Time: scripts})
		if err != nil || h.Status != health.Healthy {
			return false
		}
	}
	return true
}

// blocked prints why nothing happens, if there is a known cause.
func (w *watched) blocked(ctx context.Context, s *live.Snapshot, roots []*live.Node) {
	if len(roots) == 0 {
		return
	}
	r := w.follow.Explain(ctx, s, roots...)
	i := slices.IndexFunc(r.Causes, func(c cause.Cause) bool { return c.Blocks && c.Kind != cause.Unknown })
	if i < 0 || r.Causes[i].Text == w.said {
		return
	}
	c := r.Causes[i]
	w.said = c.Text
	text := fmt.Sprintf("%s blocked: %s", screen.Degraded, c.Text)
	if c.Fix != "" {
		text += "; fix: " + c.Fix
	}
	if len(c.Command) > 0 {
		text += "; command: " + words.Shell(c.Command)
	}
	w.say(eventBlocked, map[string]any{"why": report.WhyObject(r)}, "%s", text)
}

// done says that the boot is.
func (w *watched) done(s *live.Snapshot) error {
	w.draw(s, w.nodes(s))
	w.screen.Keep()
	took := w.Follow.Now().Sub(w.began)
	all := 0
	for _, n := range w.nodes(s) {
		n.All(func(n *live.Node) {
			if !n.Set {
				all++
			}
		})
	}
	how, text := outcomeHealthy, fmt.Sprintf("booted: %s healthy and synced after %s", words.Count(all, "Application"), words.Clock(took))
	if w.events == 0 {
		how, text = outcomeNothing, fmt.Sprintf("nothing to do: %s healthy and synced", words.Count(all, "Application"))
	}
	return w.finish(how, text)
}

// ended prints why the boot is not complete at its timeout.
func (w *watched) ended(ctx context.Context) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err() // the user interrupted it
	}
	w.close()
	s := w.follow.Snapshot()
	roots := w.nodes(s)
	if len(roots) > 0 {
		r := w.follow.Explain(context.WithoutCancel(ctx), s, roots...)
		if w.json {
			w.say(eventBlocked, map[string]any{"why": report.WhyObject(r)}, "")
		} else {
			w.screen.Line("")
			if err := report.Why(w.Follow.Out, report.Text, s, r, w.Follow.Now()); err != nil {
				return err
			}
		}
	}
	if err := w.finish(outcomeTimeout, fmt.Sprintf("not done after %s (--timeout); the cluster is left as it is", w.Timeout)); err != nil {
		return err
	}
	return errStopped
}

// finish compares the boot with its plan, and writes its times.
func (w *watched) finish(result outcome, text string) error {
	c := w.course.Compare(w.found.Plan, w.began)
	w.start = time.Time{}
	w.compared(c)
	if w.Learn != "" {
		if err := w.learn(c); err != nil {
			return err
		}
	}
	w.say(eventDone, map[string]any{"result": string(result), "seconds": w.Follow.Now().Sub(w.began).Seconds()}, "%s", text)
	return nil
}
