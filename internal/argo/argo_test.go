package argo_test

import (
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
