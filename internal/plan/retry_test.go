package plan

import (
	"testing"
	"time"
)

func TestRetryWait(t *testing.T) {
	for name, c := range map[string]struct {
		retry map[string]any
		want  [4]time.Duration // after attempts 1, 2, 3, 60
	}{
		"default":  {nil, [4]time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 3 * time.Minute}},
		"negative": {map[string]any{"limit": int64(-1), "backoff": map[string]any{"duration": "-10s"}}, [4]time.Duration{}},
		"overflow": {
			map[string]any{"backoff": map[string]any{"duration": "1h", "factor": int64(1e9), "maxDuration": "2h"}},
			[4]time.Duration{time.Hour, 2 * time.Hour, 2 * time.Hour, 2 * time.Hour},
		},
		"unbounded": {
			map[string]any{"backoff": map[string]any{"duration": "1h", "maxDuration": "0"}},
			[4]time.Duration{time.Hour, 2 * time.Hour, 4 * time.Hour, 24 * time.Hour},
		},
	} {
		r := newRetry(c.retry)
		for i, attempts := range []int{1, 2, 3, 60} {
			if got := r.Wait(attempts); got != c.want[i] {
				t.Errorf("%s: after %d attempts %s, want %s", name, attempts, got, c.want[i])
			}
		}
	}
}
