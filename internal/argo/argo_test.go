package argo_test

import (
	"slices"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
)

func TestParseRef(t *testing.T) {
	for text, want := range map[string]argo.Ref{
		"web":        {Namespace: "argocd", Name: "web"},
		"team-a/web": {Namespace: "team-a", Name: "web"},
	} {
		if got := argo.ParseRef(text, "argocd"); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	got := argo.Names([]argo.Ref{{Namespace: "b", Name: "web"}, {Namespace: "a", Name: "db"}, {Namespace: "a", Name: "web"}})
	if want := []string{"b/web", "db", "a/web"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
