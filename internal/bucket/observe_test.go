package bucket_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/argosy-cd/argosy/internal/bucket"
)

// plainStore lists nothing, and has nothing.
type plainStore struct{}

var errNothing = errors.New("there is nothing")

func (plainStore) List(context.Context, string, int) (bucket.Listing, error) {
	return bucket.Listing{}, nil
}
func (plainStore) Get(context.Context, bucket.Object) ([]byte, error) { return nil, errNothing }

// versionedStore has one version of one object.
type versionedStore struct{ plainStore }

func (versionedStore) Versions(context.Context, string, int) ([]bucket.Version, error) {
	return []bucket.Version{{Object: bucket.Object{Key: "p/a", ETag: "1", Size: 1}, ID: "v1"}}, nil
}

func (versionedStore) GetVersion(context.Context, bucket.Version) ([]byte, error) {
	return []byte("x"), nil
}

// TestObserve: requests are observed, and a store that keeps versions is still one behind both wrappers, in either order; no other is.
func TestObserve(t *testing.T) {
	read := []string{"list <nil>", "get there is nothing"}
	past := append(slices.Clone(read), "list <nil>", "get <nil>")
	for name, c := range map[string]struct {
		store bucket.Store
		swap  bool // the wrappers
		past  error
		asked []string
	}{
		"plain":              {plainStore{}, false, bucket.ErrUnversioned, read},
		"plain, swapped":     {plainStore{}, true, bucket.ErrUnversioned, read},
		"versioned":          {versionedStore{}, false, nil, past},
		"versioned, swapped": {versionedStore{}, true, nil, past},
	} {
		var asked []string
		observe := func(s bucket.Store) bucket.Store {
			return bucket.Observe(s, func(operation string, err error) {
				if err == nil {
					operation += " <nil>"
				} else {
					operation += " " + err.Error()
				}
				asked = append(asked, operation)
			})
		}
		store := bucket.Coalesce(observe(c.store))
		if c.swap {
			store = observe(bucket.Coalesce(c.store))
		}
		if _, err := store.List(t.Context(), "p/", 10); err != nil {
			t.Error(err)
		}
		if _, err := store.Get(t.Context(), bucket.Object{Key: "p/a"}); !errors.Is(err, errNothing) {
			t.Error(err)
		}
		reader := &bucket.Reader{Store: store, Bucket: "b", Limits: bucket.DefaultLimits}
		files := 0
		err := reader.Past(t.Context(), "p", 3, func(r *bucket.Reader) (bool, error) {
			s, err := r.Read(t.Context(), bucket.Request{Path: "p"})
			if err == nil {
				files = len(s.Files)
			}
			return true, err
		})
		if !errors.Is(err, c.past) || c.past == nil && files != 1 {
			t.Errorf("%s: %v, %d files", name, err, files)
		}
		if !slices.Equal(asked, c.asked) {
			t.Errorf("%s: asked %q", name, asked)
		}
	}
}
