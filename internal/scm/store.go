package scm

import (
	"container/list"
	"encoding/json"
	"net/http"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
)

// Limits of a store.
const (
	maxStore   = 48 << 20 // bytes, of each store
	maxEntries = 20_000
)

// store caches answers, and evicts the least recently used ones. The zero value is empty. The caller locks.
type store struct {
	entries map[string]*list.Element
	order   list.List // the most recently used first
	size    int
}

type entry struct {
	key    string
	body   []byte
	etag   string
	header http.Header
	at     time.Time
	until  time.Time // it may be used without asking again before this time
}

func (e *entry) size() int { return len(e.key) + len(e.body) + len(e.etag) + 512 }

func (s *store) get(key string) *entry {
	e := s.entries[key]
	if e == nil {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*entry)
}

func (s *store) put(e *entry) {
	if e.size() > maxStore/4 {
		s.remove(e.key)
		return
	}
	s.remove(e.key)
	if s.entries == nil {
		s.entries = map[string]*list.Element{}
	}
	s.entries[e.key] = s.order.PushFront(e)
	for s.size += e.size(); s.size > maxStore || len(s.entries) > maxEntries; {
		s.remove(s.order.Back().Value.(*entry).key)
	}
}

func (s *store) remove(key string) {
	if e := s.entries[key]; e != nil {
		s.size -= e.Value.(*entry).size()
		s.order.Remove(e)
		delete(s.entries, key)
	}
}

// keep keeps an answer for the time that its host allows, and for that in which it says "wait".
func (c *Client) keep(key string, a *generator.Answer, allowed time.Duration) {
	data, err := json.Marshal(a)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.put(&entry{key: key, body: data, at: c.Now(), until: c.Now().Add(allowed)})
}

// freshAnswer returns a copy of an answer that its host allows to be used still; nil is none.
func (c *Client) freshAnswer(key string) *generator.Answer {
	c.mu.Lock()
	e := c.kept.get(key)
	fresh := e != nil && c.Now().Before(e.until)
	c.mu.Unlock()
	if !fresh {
		return nil
	}
	a, _ := c.keptAnswer(key)
	return a
}

// keptAnswer returns a copy of the answer that was kept, and when it was given; nil is none.
func (c *Client) keptAnswer(key string) (*generator.Answer, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.kept.get(key)
	if e == nil {
		return nil, time.Time{}
	}
	a := &generator.Answer{}
	if json.Unmarshal(e.body, a) != nil {
		return nil, time.Time{}
	}
	return a, e.at
}
