package bucket

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Version is one of the versions of an object in a bucket with versioning.
type Version struct {
	Object
	ID      string
	Deleted bool // a mark that the object was deleted then
}

// id is of this version alone.
func (v Version) id() string { return v.Key + "\x00" + v.ID }

// Versioned is a Store that knows what was there before.
type Versioned interface {
	Store
	// Versions returns all versions of the objects whose keys start with prefix.
	Versions(ctx context.Context, prefix string, most int) ([]Version, error)
	GetVersion(ctx context.Context, v Version) ([]byte, error)
}

// ErrUnversioned says that a store does not keep versions.
var ErrUnversioned = errors.New("the store keeps no versions")

// Past calls f with a Reader of each earlier state below a path, newest first, until it returns true. It tells states apart by the times of
// the store, which may be whole seconds.
func (r *Reader) Past(ctx context.Context, path string, most int, f func(*Reader) (bool, error)) error {
	store, ok := r.Store.(Versioned)
	if !ok {
		return ErrUnversioned
	}
	// The limit allows ten versions of each object.
	versions, err := store.Versions(ctx, directory(path), 10*r.Limits.listed())
	if err != nil {
		return err
	}
	var times []time.Time
	for _, v := range versions {
		times = append(times, v.Modified)
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	times = slices.CompactFunc(times, time.Time.Equal)
	contents := &versionContents{byID: map[string][]byte{}}
	for _, t := range times[:min(len(times), most)] {
		past := *r
		state := newAsOf(store, versions, t, contents)
		contents.keep(state)
		past.Store, past.Cache = state, nil
		past.Limits.Attempts = 1
		if done, err := f(&past); done || err != nil {
			return err
		}
	}
	return nil
}

// asOf is the store as it was at a time.
type asOf struct {
	store    Versioned
	latest   map[string]Version // of each object, at the time
	contents *versionContents
}

// versionContents caches the content of versions. It holds one state at most, which Limits bound.
type versionContents struct {
	sync.Mutex
	byID map[string][]byte
}

// keep drops the contents that are not in a state: no earlier state has them, either.
func (c *versionContents) keep(state *asOf) {
	c.Lock()
	defer c.Unlock()
	had := c.byID
	c.byID = map[string][]byte{}
	for _, v := range state.latest {
		if data, ok := had[v.id()]; ok {
			c.byID[v.id()] = data
		}
	}
}

func newAsOf(store Versioned, versions []Version, t time.Time, contents *versionContents) *asOf {
	a := &asOf{store, map[string]Version{}, contents}
	for _, v := range versions {
		// Of two at one time the first is the newer one: stores list them in this order.
		if old, ok := a.latest[v.Key]; !v.Modified.After(t) && (!ok || v.Modified.After(old.Modified)) {
			a.latest[v.Key] = v
		}
	}
	return a
}

// List implements Store.
func (a *asOf) List(_ context.Context, prefix string, _ int) (Listing, error) {
	l := Listing{Pages: 1}
	for _, v := range a.latest {
		if !v.Deleted && strings.HasPrefix(v.Key, prefix) {
			l.Objects = append(l.Objects, v.Object)
		}
	}
	slices.SortFunc(l.Objects, func(x, y Object) int { return cmp.Compare(x.Key, y.Key) })
	return l, nil
}

// Get implements Store.
func (a *asOf) Get(ctx context.Context, o Object) ([]byte, error) {
	v, ok := a.latest[o.Key]
	if !ok || v.ETag != o.ETag {
		return nil, ErrChanged
	}
	a.contents.Lock()
	data, ok := a.contents.byID[v.id()]
	a.contents.Unlock()
	if ok {
		return data, nil
	}
	data, err := a.store.GetVersion(ctx, v)
	if err == nil {
		a.contents.Lock()
		a.contents.byID[v.id()] = data
		a.contents.Unlock()
	}
	return data, err
}
