package bucket

import (
	"context"
	"fmt"

	"github.com/argosy-cd/argosy/internal/flight"
)

// Coalesce returns a Store that shares identical requests in flight.
func Coalesce(s Store) Store {
	return &coalesced{store: s, lists: flight.Group[Listing]{Fresh: true}}
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

// listKey tells listings apart: one that may be longer fails where another does not.
func listKey(prefix string, most int) string { return fmt.Sprintf("%d %s", most, prefix) }

func (c *coalesced) Get(ctx context.Context, o Object) ([]byte, error) {
	data, _, err := c.gets.Do(ctx, o.Key+"\x00"+o.ETag, func(ctx context.Context) ([]byte, error) { return c.store.Get(ctx, o) })
	return data, err
}
