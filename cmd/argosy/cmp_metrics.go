package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/argosy-cd/argosy/internal/cmp"
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
	m.registry.MustRegister(m.argocd, m.requests, m.seconds, m.shared, m.bytes, m.generated, m.s3, m.cache)
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
