package plan

import (
	"strconv"
	"time"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Retry is how often a sync that failed is tried again.
type Retry struct {
	Limit  int // negative is for ever
	First  time.Duration
	Factor int
	Most   time.Duration
}

// newRetry reads spec.syncPolicy.retry. Without it an automated sync is tried again five times.
func newRetry(retry map[string]any) Retry {
	r := Retry{Limit: 5, First: 5 * time.Second, Factor: 2, Most: 3 * time.Minute}
	if retry != nil {
		r.Limit = 0
	}
	if n, ok := manifest.Number(retry["limit"]); ok {
		r.Limit = int(n)
	}
	backoff := manifest.Map(retry, "backoff")
	if d, err := duration(manifest.String(backoff, "duration")); err == nil {
		r.First = max(d, 0)
	}
	if n, ok := manifest.Number(backoff["factor"]); ok && n > 0 {
		r.Factor = int(n)
	}
	if d, err := duration(manifest.String(backoff, "maxDuration")); err == nil {
		r.Most = d
	}
	return r
}

// duration parses a duration as Argo CD does: 5s, or seconds without a unit.
func duration(text string) (time.Duration, error) {
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	return time.ParseDuration(text)
}

// Wait is the time before the next attempt, after so many.
func (r Retry) Wait(attempts int) time.Duration {
	most := r.Most
	if most <= 0 {
		most = 24 * time.Hour // Argo CD has no limit then
	}
	wait := r.First
	for range attempts - 1 {
		if wait > most/time.Duration(max(r.Factor, 1)) { // also before it is too large for a number
			return most
		}
		wait *= time.Duration(r.Factor)
	}
	return min(wait, most)
}
