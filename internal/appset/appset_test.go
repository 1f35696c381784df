package appset_test

import (
	"errors"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// TestBare: a problem of a set has its place and name in front, and Bare is the problem alone.
func TestBare(t *testing.T) {
	docs, err := manifest.Decode("set.yaml", []byte("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s}\nspec: {generators: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = appset.Parse(docs[0])
	bare := appset.Bare(err)
	if want := `set.yaml:1: ApplicationSet "s": ` + bare.Error(); err.Error() != want || bare.Error() == "" {
		t.Errorf("%v, want %s", err, want)
	}
	if at, ok := manifest.PositionOf(err); !ok || at.Line != 1 {
		t.Errorf("%v, %t", at, ok)
	}
	if other := errors.New("x"); appset.Bare(other).Error() != "x" {
		t.Error("it changes another error")
	}
}
