package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/metrics"
)

func page(r *metrics.Registry) []string {
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var out []string
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func TestPage(t *testing.T) {
	r := metrics.New()
	asked := r.Counter("a_total", "help", "sender", "result")
	r.Counter("b_total", "help")
	version := r.Gauge("c_info", "help", "version")
	r.Gauge("d", "help")
	busy := 0
	r.Read("e", "help", func() int { return busy })
	r.ReadCounter("f_total", "help", func() int { return 2 * busy })
	took := r.Histogram("g_seconds", "help", metrics.Buckets{First: 1, Factor: 10, Number: 2}, "method")
	// What has labels is not there before its first value; what has none is 0.
	if diff := cmp.Diff([]string{"b_total 0", "d 0", "e 0", "f_total 0"}, page(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	asked.Add(1, "sqs", "ok")
	asked.Add(2, "sqs", "ok")
	asked.Add(1, "sns", "ok")
	version.Only(1, "3.2")
	version.Only(1, "3.5")
	busy = 7
	took.Observe(0.5, "get")
	took.Observe(5, "get")
	want := []string{
		`a_total{result="ok",sender="sns"} 1`, `a_total{result="ok",sender="sqs"} 3`, "b_total 0", `c_info{version="3.5"} 1`, "d 0", "e 7",
		"f_total 14",
		`g_seconds_bucket{method="get",le="1"} 1`, `g_seconds_bucket{method="get",le="10"} 2`, `g_seconds_bucket{method="get",le="+Inf"} 2`,
		`g_seconds_sum{method="get"} 5.5`, `g_seconds_count{method="get"} 2`,
	}
	if diff := cmp.Diff(want, page(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTwice: two metrics of one name would be one that is wrong.
func TestTwice(t *testing.T) {
	r := metrics.New()
	r.Gauge("a", "help")
	defer func() {
		if recover() == nil {
			t.Error("a second metric of the same name is accepted")
		}
	}()
	r.Read("a", "help", func() int { return 1 })
}
