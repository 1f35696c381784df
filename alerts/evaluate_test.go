package alerts

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// sample is the newest value of a metric of a process.
type sample struct {
	metric, namespace, instance string
	value                       float64
}

var now = time.Unix(1_700_000_000, 0)

func (s sample) T() int64                    { return now.UnixMilli() }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }

// series has the sample, and before it one a minute for a counter that has reached its value by one a minute.
func (s sample) series() storage.Series {
	list := []chunks.Sample{s}
	if strings.HasSuffix(s.metric, "_total") {
		list = nil
		for ago := 10; ago >= 0; ago-- {
			list = append(list, before{sample{value: max(s.value-float64(ago), 0)}, now.Add(-time.Duration(ago) * time.Minute)})
		}
	}
	return storage.NewListSeries(labels.FromStrings(labels.MetricName, s.metric, "namespace", s.namespace, "instance", s.instance), list)
}

// before is a sample at another time.
type before struct {
	sample
	at time.Time
}

func (b before) T() int64            { return b.at.UnixMilli() }
func (b before) Copy() chunks.Sample { return b }

// seriesSet hands out series one by one.
type seriesSet struct {
	current storage.Series
	rest    []storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.current, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *seriesSet) At() storage.Series              { return s.current }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// stored is a Prometheus that has samples.
func stored(samples []sample) storage.Queryable {
	pick := func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		set := &seriesSet{}
		for _, s := range samples {
			if series := s.series(); matches(series.Labels(), matchers) {
				set.rest = append(set.rest, series)
			}
		}
		return set
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{SelectMockFunction: pick}}
}

func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

// firing returns the namespaces for which an alert of the chart fires.
func firing(t *testing.T, alert string, samples []sample) string {
	t.Helper()
	data, err := os.ReadFile(chart + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := parseRules(data)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	expr := ""
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if r.Alert == alert {
				expr = r.Expr
			}
		}
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute})
	query, err := engine.NewInstantQuery(t.Context(), stored(samples), nil, expr, now)
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	vector, err := query.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatal(err)
	}
	var namespaces []string
	for _, s := range vector {
		namespaces = append(namespaces, s.Metric.Get("namespace"))
	}
	return strings.Join(namespaces, " ")
}

// TestNobodyKeepsTheInterval has Prometheus evaluate the alert.
func TestNobodyKeepsTheInterval(t *testing.T) {
	const alert, leading = "ArgosyNobodyKeepsTheInterval", "argosy_refresh_leading"
	calls := func(instance string) sample { return sample{"argosy_cmp_calls_running", "argocd", instance, 0} }
	events := []sample{{leading, "argocd", "10.0.0.9:8090", 0}, {"argosy_refresh_applications_driven", "argocd", "10.0.0.9:8090", 7}}
	for name, c := range map[string]struct {
		samples []sample
		want    string
	}{
		"one of two leads":                {[]sample{calls("a"), calls("b"), {leading, "argocd", "a", 0}, {leading, "argocd", "b", 1}}, ""},
		"none of two leads":               {[]sample{calls("a"), calls("b"), {leading, "argocd", "a", 0}, {leading, "argocd", "b", 0}}, "argocd"},
		"none leads, and events run":      {append([]sample{calls("a"), {leading, "argocd", "a", 0}}, events...), "argocd"},
		"one leads, and events run":       {append([]sample{calls("a"), {leading, "argocd", "a", 1}}, events...), ""},
		"--refresh=false":                 {[]sample{calls("a")}, ""},
		"--refresh=false, and events run": {append([]sample{calls("a")}, events...), ""},
		"there are no sidecars":           {nil, ""},
		"another Argo CD has a leader":    {[]sample{calls("a"), {leading, "argocd", "a", 0}, {leading, "other", "b", 1}, {"argosy_cmp_calls_running", "other", "b", 0}}, "argocd"},
	} {
		if got := firing(t, alert, c.samples); got != c.want {
			t.Errorf("%s: fires for %q, want %q", name, got, c.want)
		}
	}
}

// TestApplicationsNotWatched has Prometheus evaluate the alert.
func TestApplicationsNotWatched(t *testing.T) {
	const alert, failures = "ArgosyApplicationsNotWatched", "argosy_refresh_watch_failures_total"
	for name, c := range map[string]struct {
		samples []sample
		want    string
	}{
		"no failure":              {[]sample{{failures, "argocd", "a", 0}, {failures, "argocd", "b", 0}}, ""},
		"one of two cannot":       {[]sample{{failures, "argocd", "a", 0}, {failures, "argocd", "b", 40}}, "argocd"},
		"that of another Argo CD": {[]sample{{failures, "argocd", "a", 0}, {failures, "other", "b", 40}}, "other"},
		"nothing watches":         {nil, ""},
	} {
		if got := firing(t, alert, c.samples); got != c.want {
			t.Errorf("%s: fires for %q, want %q", name, got, c.want)
		}
	}
}
