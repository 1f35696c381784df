package argo_test

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// TestInstance: what Instance writes, Instance reads.
func TestInstance(t *testing.T) {
	for want, ref := range map[string]argo.Ref{
		"root":      {Namespace: "argocd", Name: "root"},
		"team_root": {Namespace: "team", Name: "root"},
	} {
		got := ref.Instance("argocd")
		if back := argo.Instance(got, "argocd"); got != want || back != ref {
			t.Errorf("%v: %q, %v", ref, got, back)
		}
	}
	if got := (argo.Ref{Name: "root"}).Instance("argocd"); got != "root" {
		t.Errorf("without a namespace: %q", got)
	}
}

func TestTracked(t *testing.T) {
	for value, want := range map[string]argo.Ref{
		"root:argoproj.io/Application:argocd/x":      {Namespace: "argocd", Name: "root"},
		"team_root:argoproj.io/Application:argocd/x": {Namespace: "team", Name: "root"},
		"root:argoproj.io/Application:argocd/y":      {}, // copied from y
		"root:argoproj.io/ApplicationSet:argocd/x":   {},
		"root":                              {},
		"":                                  {},
		":argoproj.io/Application:argocd/x": {},
		"root:argoproj.io/Application:argocd/x:argocd": {},
	} {
		o := manifest.Object{
			"apiVersion": argo.APIVersion, "kind": "Application",
			"metadata": map[string]any{"name": "x", "annotations": map[string]any{argo.TrackingAnnotation: value}},
		}
		if got, ok := argo.Tracked(o, "argocd"); got != want || ok != (want != argo.Ref{}) {
			t.Errorf("%q: %v, %v", value, got, ok)
		}
	}
}
