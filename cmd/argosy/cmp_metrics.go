package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/worker"
)

// cmpMetrics are what the sidecar tells about itself at /metrics.
type cmpMetrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	shared    prometheus.Counter
	bytes     prometheus.Counter
	generated prometheus.Counter
	s3        *prometheus.CounterVec
	cache     *prometheus.CounterVec
	argocd    *prometheus.GaugeVec
	ended     *prometheus.CounterVec
}

func newCmpMetrics() *cmpMetrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &cmpMetrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "argosy_cmp_requests_total", Help: "Requests of Argo CD, by plugin, method and code."}, []string{"plugin", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "argosy_cmp_request_seconds", Help: "Time that requests took, with the time that Argo CD took to send the repository.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"plugin", "method"}),
		shared:    counter("argosy_cmp_shared_total", "Requests that were answered by the call of an identical one."),
		bytes:     counter("argosy_cmp_received_bytes_total", "Bytes of repositories that Argo CD sent."),
		generated: counter("argosy_cmp_applications_generated_total", "Applications that ApplicationSets became."),
		s3:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "argosy_s3_requests_total", Help: "Requests to S3, by operation and result."}, []string{"operation", "result"}),
		cache:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "argosy_s3_cache_total", Help: "Objects that were in the cache (hit) or had to be read (miss)."}, []string{"result"}),
		argocd: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "argosy_cmp_argocd_version_info", Help: "1 for the version of Argo CD whose ApplicationSets the engine embedded renders, and what that is known from: server, flag, or newest.",
		}, []string{"version", "from"}),
	}
	m.ended = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "argosy_workers_ended_total", Help: "Workers that have ended, by reason: memory, stack, cpu, crash, protocol, killed and cancelled are requests that went wrong.",
	}, []string{"reason"})
	m.registry.MustRegister(m.ended, m.argocd, m.requests, m.seconds, m.shared, m.bytes, m.generated, m.s3, m.cache)
	return m
}

// load adds how busy a server is.
func (m *cmpMetrics) load(s *cmp.Server) {
	gauge := func(name, help string, value func() int) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	gauge("argosy_cmp_calls_running", "Calls of plugins that run.", func() int { running, _, _ := s.Load(); return running })
	gauge("argosy_cmp_calls_waiting", "Calls of plugins that wait for their turn.", func() int { _, waiting, _ := s.Load(); return waiting })
	gauge("argosy_cmp_calls_left", "Calls of plugins that go on though their requests have ended.", func() int { _, _, left := s.Load(); return left })
	gauge("argosy_cmp_uploads_held", "Repositories that are being received, or are kept for a call.", func() int { held, _ := s.Uploads(); return held })
	gauge("argosy_cmp_uploads_waiting", "Requests that wait until there is room for their repository.", func() int { _, waiting := s.Uploads(); return waiting })
}

// workers adds how many workers there are, and what confines them.
func (m *cmpMetrics) workers(p *worker.Pool) {
	m.registry.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "argosy_workers_started_total", Help: "Workers that were started."}, func() float64 { return float64(p.Stats().Started) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "argosy_workers_busy", Help: "Workers that have a job."}, func() float64 { return float64(p.Stats().Busy) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "argosy_workers_idle", Help: "Workers that wait for a job."}, func() float64 { return float64(p.Stats().Idle) }),
	)
	confined := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "argosy_workers_confined", Help: "1 if the system limits the memory of workers, and refuses the system calls that they do not need."}, []string{"by"})
	m.registry.MustRegister(confined)
	for by, on := range map[string]bool{"memory": p.Confinement().Memory, "calls": p.Confinement().Calls} {
		if confined.WithLabelValues(by).Set(0); on {
			confined.WithLabelValues(by).Set(1)
		}
	}
}

func (m *cmpMetrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *cmpMetrics) observe(e cmp.Event) {
	m.requests.WithLabelValues(e.Plugin, e.Method, e.Code.String()).Inc()
	m.seconds.WithLabelValues(e.Plugin, e.Method).Observe(e.Took.Seconds())
	m.bytes.Add(float64(e.Bytes))
	if e.Shared {
		m.shared.Inc()
	}
}

// asked counts a request to S3.
func (m *cmpMetrics) asked(operation string, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.s3.WithLabelValues(operation, result).Inc()
}
