package bucket

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// history is a store of versions that counts how often each is read.
type history struct {
	stub
	versions []Version
	read     map[string]int
}

func (h *history) Versions(context.Context, string, int) ([]Version, error) { return h.versions, nil }

func (h *history) GetVersion(_ context.Context, v Version) ([]byte, error) {
	h.read[v.ID]++
	return []byte(v.ID), nil
}

// TestPastContents: each version is read once, and kept only as long as an earlier state may have it.
func TestPastContents(t *testing.T) {
	h := &history{read: map[string]int{}}
	version := func(key, id string, second int64) {
		o := Object{Key: key, ETag: id, Size: int64(len(id)), Modified: time.Unix(second, 0)}
		h.versions = append(h.versions, Version{Object: o, ID: id})
	}
	const states = 20
	for i := range int64(states) {
		version("p/changes", fmt.Sprintf("v%d", states-i), states-i)
	}
	version("p/stays", "only", 1)
	r := &Reader{Store: h, Bucket: "b", Limits: DefaultLimits}
	r.Limits.Parallel = 1
	seen := 0
	err := r.Past(t.Context(), "p", states, func(past *Reader) (bool, error) {
		seen++
		s, err := past.Read(t.Context(), Request{Path: "p"})
		if err != nil || len(s.Files) != 2 || string(s.Files[0].Data) != fmt.Sprintf("v%d", states+1-seen) {
			t.Errorf("%d: %v, %v", seen, s, err)
		}
		if n := len(past.Store.(*asOf).contents.byID); n > 2 {
			t.Errorf("%d: %d versions are kept", seen, n)
		}
		return false, nil
	})
	if err != nil || seen != states {
		t.Errorf("%d states, %v", seen, err)
	}
	for id, n := range h.read {
		if n != 1 {
			t.Errorf("%s was read %d times", id, n)
		}
	}
	if len(h.read) != states+1 {
		t.Errorf("versions that were read: %v", h.read)
	}
}
