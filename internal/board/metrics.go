package board

import (
	"github.com/argosy-cd/argosy/internal/metrics"
	"github.com/argosy-cd/argosy/internal/turnstile"
)

// boardMetrics are the metrics of the server at /metrics. They are public, so none may tell anything of the boot, not even that it has
// changed.
type boardMetrics struct {
	registry *metrics.Registry
	refused  metrics.Counter
}

// Values of the label why.
const (
	refusedBusy   = "busy"   // too many at once
	refusedAccess = "access" // no access, or it cannot be checked
	refusedSite   = "site"   // a request of another site, or for another name
)

func newMetrics(s *Server) *boardMetrics {
	m := metrics.New()
	m.Read("argosy_board_streams", "Open pages that follow the boot.", func() int { return inside(&s.streams) })
	m.Read("argosy_board_requests_running", "Requests that are answered now, without streams.", func() int {
		return inside(&s.requests) + inside(&s.questions)
	})
	return &boardMetrics{
		registry: m, refused: m.Counter("argosy_board_refused_total", "Requests that were refused, by reason.", "why"),
	}
}

func inside(t *turnstile.Turnstile) int {
	n, _ := t.Inside()
	return n
}
