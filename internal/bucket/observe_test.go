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

// TestObserve: requests are told, and a store that keeps versions is still one, and no other is.
func TestObserve(t *testing.T) {
	for name, c := range map[string]struct {
		store bucket.Store
		past  error
		asked []string
	}{
		"plain":     {plainStore{}, bucket.ErrUnversioned, []string{"list <nil>", "get there is nothing"}},
		"versioned": {versionedStore{}, nil, []string{"list <nil>", "get there is nothing", "list <nil>", "get <nil>"}},
	} {
		var asked []string
		store := bucket.Coalesce(bucket.Observe(c.store, func(operation string, err error) {
			if err == nil {
				operation += " <nil>"
			} else {
				operation += " " + err.Error()
			}
			asked = append(asked, operation)
		}))
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
