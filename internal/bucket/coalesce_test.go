package bucket

import (
	"context"
	"testing"
)

func TestCoalesce(t *testing.T) {
	var gets, lists int
	s := Coalesce(stub{&gets, &lists})
	for range 3 {
		if _, err := s.List(t.Context(), "p", 1); err != nil {
			t.Error(err)
		}
		if _, err := s.Get(t.Context(), Object{Key: "k"}); err != nil {
			t.Error(err)
		}
	}
	if gets != 3 || lists != 3 {
		t.Errorf("requests one after the other were shared: %d, %d", gets, lists)
	}
}

type stub struct{ gets, lists *int }

func (s stub) List(context.Context, string, int) (Listing, error) { *s.lists++; return Listing{}, nil }
func (s stub) Get(context.Context, Object) ([]byte, error)        { *s.gets++; return nil, nil }
