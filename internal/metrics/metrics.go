// Package metrics is the door to Prometheus: counters, gauges and histograms by name, with their labels, and the page that serves them. A
// metric is registered when it is made; a second one of the same name is a mistake in the program, and panics. Metrics without labels are
// there from the start, others with the first value of their labels.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry holds the metrics of a process.
type Registry struct{ inner *prometheus.Registry }

// New returns a registry without metrics.
func New() *Registry { return &Registry{prometheus.NewRegistry()} }

// Handler serves the metrics in the format of Prometheus.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.inner, promhttp.HandlerOpts{})
}

// Counter is a number that grows, one for each value of its labels.
type Counter struct{ vec *prometheus.CounterVec }

// Counter adds a counter.
func (r *Registry) Counter(name, help string, labels ...string) Counter {
	c := Counter{prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)}
	r.inner.MustRegister(c.vec)
	if len(labels) == 0 {
		c.Add(0)
	}
	return c
}

// Add counts n, which must not be negative, for the values of the labels, in their order.
func (c Counter) Add(n int, values ...string) { c.vec.WithLabelValues(values...).Add(float64(n)) }

// Gauge is a number that goes up and down, one for each value of its labels.
type Gauge struct{ vec *prometheus.GaugeVec }

// Gauge adds a gauge.
func (r *Registry) Gauge(name, help string, labels ...string) Gauge {
	g := Gauge{prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)}
	r.inner.MustRegister(g.vec)
	if len(labels) == 0 {
		g.Set(0)
	}
	return g
}

// Set sets the number for the values of the labels, in their order.
func (g Gauge) Set(n int, values ...string) { g.vec.WithLabelValues(values...).Set(float64(n)) }

// Only sets the gauge for the label values, and removes all other label values.
func (g Gauge) Only(n int, values ...string) {
	g.vec.Reset()
	g.Set(n, values...)
}

// Read adds a gauge whose value is read at each scrape.
func (r *Registry) Read(name, help string, value func() int) {
	r.inner.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
}

// ReadCounter is like Read, for a number that only grows.
func (r *Registry) ReadCounter(name, help string, value func() int) {
	r.inner.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 {
		return float64(value())
	}))
}

// Histogram counts observations by their size, for each value of its labels.
type Histogram struct{ vec *prometheus.HistogramVec }

// Histogram adds a histogram with buckets.
func (r *Registry) Histogram(name, help string, b Buckets, labels ...string) Histogram {
	h := Histogram{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets: prometheus.ExponentialBuckets(b.First, b.Factor, b.Number),
	}, labels)}
	r.inner.MustRegister(h.vec)
	return h
}

// Buckets are the upper bounds of a histogram: the first, and each the factor times the one before.
type Buckets struct {
	First, Factor float64
	Number        int
}

// Observe counts an observation for the values of the labels, in their order.
func (h Histogram) Observe(x float64, values ...string) { h.vec.WithLabelValues(values...).Observe(x) }
