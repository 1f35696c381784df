package bucket

import (
	"context"
	"fmt"

	"github.com/argosy-cd/argosy/internal/flight"
)

// Coalesce returns a Store that shares identical requests in flight. It is Versioned if s is.
func Coalesce(s Store) Store {
	c := &coalesced{store: s, lists: flight.Group[Listing]{Fresh: true}}
	if v, ok := s.(Versioned); ok {
		return &coalescedVersions{coalesced: c, store: v, lists: flight.Group[[]Version]{Fresh: true}}
	}
	return c
}

type coalesced struct {
	store Store
	lists flight.Group[Listing]
	gets  flight.Group[[]byte]
}

func (c *coalesced) List(ctx context.Context, prefix string, most int) (Listing, error) {
	key := listKey(prefix, most)
	l, _, err := c.lists.Do(ctx, key, func(ctx context.Context) (Listing, error) { return c.store.List(ctx, prefix, most) })
	return l, err
}

// listKey identifies a listing: with another limit, it may fail.
func listKey(prefix string, most int) string { return fmt.Sprintf("%d %s", most, prefix) }

func (c *coalesced) Get(ctx context.Context, o Object) ([]byte, error) {
	data, _, err := c.gets.Do(ctx, o.Key+"\x00"+o.ETag, func(ctx context.Context) ([]byte, error) { return c.store.Get(ctx, o) })
	return data, err
}

// coalescedVersions is a coalesced store that keeps versions.
type coalescedVersions struct {
	*coalesced
	store Versioned
	lists flight.Group[[]Version]
	gets  flight.Group[[]byte]
}

// Versions implements Versioned.
func (c *coalescedVersions) Versions(ctx context.Context, prefix string, most int) ([]Version, error) {
	list, _, err := c.lists.Do(ctx, listKey(prefix, most), func(ctx context.Context) ([]Version, error) {
		return c.store.Versions(ctx, prefix, most)
	})
	return list, err
}

// GetVersion implements Versioned.
func (c *coalescedVersions) GetVersion(ctx context.Context, v Version) ([]byte, error) {
	data, _, err := c.gets.Do(ctx, v.id(), func(ctx context.Context) ([]byte, error) { return c.store.GetVersion(ctx, v) })
	return data, err
}
