package board

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/argosy-cd/argosy/internal/board/scene"
	"github.com/argosy-cd/argosy/internal/retry"
)

// Times of a stream of events.
const (
	beat    = 10 * time.Second       // between signs of life
	collect = 200 * time.Millisecond // changes of so long are sent together
	stall   = 20 * time.Second       // for a browser that does not read
	recheck = 10 * time.Second       // between checks of a viewer's access
)

// stream sends the changes of a boot to one browser, as server-sent events: scene (all of it), delta, and beat.
type stream struct {
	*Server
	w      http.ResponseWriter
	r      *http.Request
	who    Viewer
	number int          // of the last change that was sent; -1 is none
	seen   *scene.Scene // last one sent, for a viewer with restricted access
}

// events sends a stream until the request or the context ends.
func (s *Server) events(ctx context.Context, w http.ResponseWriter, r *http.Request, who Viewer) {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		http.Error(w, "this connection does not support a stream of events", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // proxies must not collect them
	st := &stream{Server: s, w: w, r: r, who: who, number: -1}
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("since")
	}
	if number, ok := s.store.parse(last); ok && who.Visible == nil {
		st.number = number
	}
	st.run(ctx)
}

func (st *stream) run(ctx context.Context) {
	checked := st.cfg.Now()
	for {
		current, number, changed := st.store.current()
		if current != nil && number != st.number && !st.send(current, number) {
			return
		}
		pause := time.NewTimer(beat)
		select {
		case <-st.r.Context().Done():
			pause.Stop()
			return
		case <-ctx.Done():
			pause.Stop()
			return
		case <-changed:
			pause.Stop()
			retry.Wait(ctx, time.After(collect))
		case <-pause.C:
			now := int64(0)
			if current, _, _ = st.store.current(); current != nil {
				now = current.Now
			}
			if !st.write("beat", st.number, fmt.Appendf(nil, `{"now":%d}`, now)) {
				return
			}
		}
		if st.cfg.Access != nil && st.cfg.Now().Sub(checked) > recheck {
			who, err := st.cfg.Access.Viewer(st.r)
			if err != nil {
				return // the browser connects again, and is told
			}
			st.who, checked = who, st.cfg.Now()
			if who.Visible != nil {
				st.number = -1
			}
		}
	}
}

// send sends the changes up to a number.
func (st *stream) send(current *scene.Scene, number int) bool {
	if st.who.Visible != nil {
		return st.sendOnly(current, number)
	}
	if changes, ok := st.store.after(st.number); ok && st.number >= 0 {
		for _, c := range changes {
			if !st.write("delta", c.number, c.data) {
				return false
			}
			st.number = c.number
		}
		return true
	}
	return st.sendScene(current, number)
}

func (st *stream) sendScene(current *scene.Scene, number int) bool {
	data, err := json.Marshal(current)
	if err != nil {
		return false
	}
	st.number = number
	return st.write("scene", number, data)
}

// sendOnly sends the changes to a viewer with restricted access.
func (st *stream) sendOnly(current *scene.Scene, number int) bool {
	next := st.who.only(current)
	delta, ok := scene.Diff(st.seen, next)
	was := st.seen
	st.seen, st.number = next, number
	if !ok {
		return st.sendScene(next, number)
	}
	if delta.Same(was) {
		return true // even an empty delta would reveal changes of hidden Applications
	}
	data, err := json.Marshal(delta)
	return err == nil && st.write("delta", number, data)
}

// write sends one event. JSON has no line breaks.
func (st *stream) write(event string, number int, data []byte) bool {
	control := http.NewResponseController(st.w)
	_ = control.SetWriteDeadline(st.cfg.Now().Add(stall))
	if st.who.Visible != nil {
		number = 0
	}
	if _, err := fmt.Fprintf(st.w, "event: %s\nid: %s\ndata: %s\n\n", event, st.store.id(number), data); err != nil {
		return false
	}
	return control.Flush() == nil
}
