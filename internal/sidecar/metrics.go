package sidecar

import (
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/metrics"
	"github.com/argosy-cd/argosy/internal/worker"
)

// sidecarMetrics are the metrics of the sidecar at /metrics.
type sidecarMetrics struct {
	registry  *metrics.Registry
	requests  metrics.Counter
	seconds   metrics.Histogram
	shared    metrics.Counter
	bytes     metrics.Counter
	generated metrics.Counter
	s3        metrics.Counter
	cache     metrics.Counter
	argocd    metrics.Gauge
	ended     metrics.Counter
}

func newMetrics() *sidecarMetrics {
	m := metrics.New()
	return &sidecarMetrics{
		registry: m,
		requests: m.Counter("argosy_cmp_requests_total", "Requests of Argo CD, by plugin, method and code.", "plugin", "method", "code"),
		seconds: m.Histogram("argosy_cmp_request_seconds",
			"Time that requests took, with the time that Argo CD took to send the repository.",
			metrics.Buckets{First: 0.001, Factor: 4, Number: 9}, "plugin", "method"),
		shared:    m.Counter("argosy_cmp_shared_total", "Requests that shared the call of an identical request."),
		bytes:     m.Counter("argosy_cmp_received_bytes_total", "Bytes of repositories that Argo CD sent."),
		generated: m.Counter("argosy_cmp_applications_generated_total", "Applications that ApplicationSets generated."),
		s3:        m.Counter("argosy_s3_requests_total", "Requests to S3, by operation and result.", "operation", "result"),
		cache:     m.Counter("argosy_s3_cache_total", "Objects that were in the cache (hit) or had to be read (miss).", "result"),
		argocd: m.Gauge("argosy_cmp_argocd_version_info",
			"1 for the version of Argo CD whose ApplicationSets the engine embedded renders, and where that version comes from: server, "+
				"flag, or newest.", "version", "from"),
		ended: m.Counter("argosy_workers_ended_total",
			"Workers that have ended, by reason: memory, stack, cpu, crash, protocol, killed and cancelled are requests that went wrong.",
			"reason"),
	}
}

// load adds how busy a server is.
func (m *sidecarMetrics) load(s *cmp.Server) {
	r := m.registry
	r.Read("argosy_cmp_calls_running", "Calls of plugins that run.", func() int { running, _, _ := s.Load(); return running })
	r.Read("argosy_cmp_calls_waiting", "Calls of plugins that wait for their turn.", func() int {
		_, waiting, _ := s.Load()
		return waiting
	})
	r.Read("argosy_cmp_calls_left", "Calls of plugins that still run although their requests have ended.", func() int {
		_, _, left := s.Load()
		return left
	})
	r.Read("argosy_cmp_uploads_held", "Repositories that are being received, or are kept for a call.", func() int {
		held, _ := s.Uploads()
		return held
	})
	r.Read("argosy_cmp_uploads_waiting", "Requests that wait until there is room for their repository.", func() int {
		_, waiting := s.Uploads()
		return waiting
	})
	r.Read("argosy_cmp_discoveries_running", "Repositories that are being searched for the file of a plugin.", func() int {
		running, _ := s.Looks()
		return running
	})
	r.Read("argosy_cmp_discoveries_waiting", "Requests that wait for their turn to search a repository.", func() int {
		_, waiting := s.Looks()
		return waiting
	})
}

// workers adds metrics of the number of workers and their confinement.
func (m *sidecarMetrics) workers(p *worker.Pool) {
	r := m.registry
	r.ReadCounter("argosy_workers_started_total", "Workers that were started.", func() int { return int(p.Stats().Started) })
	r.Read("argosy_workers_busy", "Workers that have a job.", func() int { return p.Stats().Busy })
	r.Read("argosy_workers_idle", "Workers that wait for a job.", func() int { return p.Stats().Idle })
	confined := r.Gauge("argosy_workers_confined",
		"1 if the system limits the memory of workers, and refuses the system calls that they do not need.", "by")
	for by, on := range map[string]bool{"memory": p.Confinement().Memory, "calls": p.Confinement().Calls} {
		if confined.Set(0, by); on {
			confined.Set(1, by)
		}
	}
}

func (m *sidecarMetrics) observe(e cmp.Event) {
	m.requests.Add(1, e.Plugin, string(e.Method), e.Code.String())
	m.seconds.Observe(e.Took.Seconds(), e.Plugin, string(e.Method))
	m.bytes.Add(int(e.Bytes))
	if e.Shared {
		m.shared.Add(1)
	}
}

// asked counts a request to S3.
func (m *sidecarMetrics) asked(operation string, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.s3.Add(1, operation, result)
}
