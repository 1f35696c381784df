package refresh

import (
	"maps"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
)

const (
	// settle is how long a first hint waits for further ones, and pause is the time between looks while hints keep coming.
	settle = 200 * time.Millisecond
	pause  = time.Second
	// maxHints is how many keys of one bucket are remembered. With more of them the whole bucket may have changed.
	maxHints = 1000
	// maxHinted is how many buckets are.
	maxHinted = 1000
)

// hints are places that may have changed. Each causes only a look at the bucket, so a hint that is repeated, late, out of order or forged
// does no harm.
type hints struct {
	keys map[string]map[string]bool // by bucket; nil is all of it
	apps map[argo.Ref]bool          // to look at, regardless of keys
	at   time.Time                  // time of the next look; zero is never
	last time.Time                  // time of the last look
}

// Hint tells that an object may have been written or removed.
func (c *Controller) Hint(bucket, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &c.hints
	if h.keys == nil {
		h.keys = map[string]map[string]bool{}
	}
	keys, known := h.keys[bucket]
	switch {
	case !known && len(h.keys) >= maxHinted:
		return // applications read from far fewer
	case !known:
		h.keys[bucket] = map[string]bool{key: true}
	case len(keys) >= maxHints:
		h.keys[bucket] = nil
	case keys != nil:
		keys[key] = true
	}
	h.ready(c.cfg.Now(), settle)
	c.pokeLook()
}

// again adds a look at all reads of an application, a little later.
func (h *hints) again(ref argo.Ref, now time.Time) {
	if h.apps == nil {
		h.apps = map[argo.Ref]bool{}
	}
	h.apps[ref] = true
	h.ready(now, pause)
}

// back puts hints back, to be looked at a little later. Nil hints are none.
func (h *hints) back(taken *hints, now time.Time) {
	if taken == nil {
		return
	}
	for bucket, keys := range taken.keys {
		if h.keys == nil {
			h.keys = map[string]map[string]bool{}
		}
		mine, known := h.keys[bucket]
		if !known {
			if len(h.keys) < maxHinted {
				h.keys[bucket] = maps.Clone(keys) // looks that run have the other
			}
			continue
		}
		if keys == nil || mine == nil || len(keys)+len(mine) > maxHints {
			h.keys[bucket] = nil
			continue
		}
		maps.Copy(mine, keys)
	}
	for ref := range taken.apps {
		h.again(ref, now)
	}
	h.ready(now, 2*pause)
}

func (h *hints) ready(now time.Time, wait time.Duration) {
	at := now.Add(wait)
	if busy := h.last.Add(pause); busy.After(at) {
		at = busy
	}
	h.at = earlier(h.at, at)
}

// take returns the hints to look at, if it is time.
func (h *hints) take(now time.Time) (taken *hints, next time.Time) {
	if h.at.IsZero() || h.at.After(now) {
		return nil, h.at
	}
	out := *h
	*h = hints{last: now}
	return &out, time.Time{}
}

// indexAbove reports whether a key is the index of a directory around another.
func indexAbove(key, dir string) bool {
	above, ok := strings.CutSuffix(key, bucket.IndexName)
	return ok && strings.HasPrefix(dir, above) && (above == "" || strings.HasSuffix(above, "/"))
}

// about reports whether hints concern an application's source: a directory or an object u, or the object key that decides its content. Nil
// hints concern everything.
func (h *hints) about(app argo.Ref, u bucket.URL, key string) bool {
	if h == nil || h.apps[app] {
		return true
	}
	keys, ok := h.keys[u.Bucket]
	if !ok || keys == nil {
		return ok
	}
	dir := u.Path
	if dir != "" {
		dir += "/"
	}
	for k := range keys {
		if k == u.Path || strings.HasPrefix(k, dir) || k == key || indexAbove(k, dir) {
			return true
		}
	}
	return false
}
