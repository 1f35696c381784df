package scm

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// LimitError says that a host allows no more requests for some time.
type LimitError struct {
	Host  string
	Until time.Time
	Said  string // its status
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s allows no more requests until %s (%s)", e.Host, e.Until.UTC().Format(time.RFC3339), e.Said)
}

// waiting returns an error while the host has said that it must not be asked.
func (h *host) waiting() error {
	h.client.mu.Lock()
	defer h.client.mu.Unlock()
	key := h.credential()
	until, ok := h.client.waits[key]
	if ok && h.client.Now().Before(until) {
		return &LimitError{h.base.Host, until, "from an earlier answer"}
	}
	delete(h.client.waits, key)
	return nil
}

func (h *host) wait(until time.Time) {
	h.client.mu.Lock()
	defer h.client.mu.Unlock()
	if h.client.waits == nil || len(h.client.waits) > maxEntries {
		h.client.waits = map[string]time.Time{}
	}
	h.client.waits[h.credential()] = until
}

// limited reports until when a host wants to be left alone.
func (h *host) limited(res *http.Response) (time.Time, bool) {
	now := h.client.Now()
	after := res.Header.Get("Retry-After")
	none := res.Header.Get("X-RateLimit-Remaining") == "0"
	switch res.StatusCode {
	case http.StatusTooManyRequests:
	case http.StatusForbidden:
		if after == "" && !none {
			return now, false
		}
	case http.StatusServiceUnavailable:
		if after == "" {
			return now, false
		}
	default:
		return now, false
	}
	until := now.Add(defaultWait)
	reset := cmp.Or(res.Header.Get("X-RateLimit-Reset"), res.Header.Get("RateLimit-Reset"))
	if seconds, err := strconv.ParseInt(after, 10, 32); err == nil && seconds >= 0 {
		until = now.Add(time.Duration(seconds) * time.Second)
	} else if at, err := http.ParseTime(after); err == nil {
		until = at
	} else if at, err := strconv.ParseInt(reset, 10, 64); err == nil && at > 1e9 {
		until = time.Unix(at, 0)
	}
	// A host that is wrong about the time must not silence us for ever, or not at all.
	if until.After(now.Add(maxWait)) {
		until = now.Add(maxWait)
	}
	if !until.After(now) {
		until = now.Add(time.Second)
	}
	return until, true
}
