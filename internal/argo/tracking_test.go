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

func TestOwner(t *testing.T) {
	const (
		annotation = "byannotation:argoproj.io/ApplicationSet:argocd/x"
		copied     = "byannotation:argoproj.io/ApplicationSet:argocd/y"
	)
	type owners map[argo.TrackingMethod]string
	for name, c := range map[string]struct {
		annotation, label, key string
		want                   owners
	}{
		"nothing":    {},
		"annotation": {annotation: annotation, want: owners{"": "byannotation", argo.TrackByAnnotation: "byannotation", argo.TrackByBoth: "byannotation", argo.TrackUnknown: "byannotation"}},
		"label":      {label: "bylabel", want: owners{argo.TrackByLabel: "bylabel", argo.TrackUnknown: "bylabel"}}, // charts set it
		"both": {
			annotation: annotation, label: "bylabel",
			want: owners{"": "byannotation", argo.TrackByAnnotation: "byannotation", argo.TrackByBoth: "byannotation", argo.TrackByLabel: "bylabel", argo.TrackUnknown: "byannotation"},
		},
		"annotation of another object":            {annotation: copied},
		"annotation of another object, and label": {annotation: copied, label: "bylabel", want: owners{argo.TrackByLabel: "bylabel", argo.TrackUnknown: "bylabel"}},
		"another label":                           {label: "bylabel", key: "example.com/x"},
	} {
		o := manifest.Object{"apiVersion": argo.APIVersion, "kind": "ApplicationSet", "metadata": map[string]any{
			"name": "x", "annotations": map[string]any{argo.TrackingAnnotation: c.annotation}, "labels": map[string]any{argo.InstanceLabel: c.label},
		}}
		for _, method := range []argo.TrackingMethod{"", argo.TrackByAnnotation, argo.TrackByLabel, argo.TrackByBoth, argo.TrackUnknown} {
			want := argo.Ref{Name: c.want[method]}
			if want.Name != "" {
				want.Namespace = "argocd"
			}
			got, ok := argo.Tracking{Method: method, Label: c.key}.Owner(o, "argocd")
			if ok != (want.Name != "") || ok && got != want {
				t.Errorf("%s, %q: %v, %t", name, method, got, ok)
			}
		}
	}
}

// TestTrackedColon: some names have colons.
func TestTrackedColon(t *testing.T) {
	o := manifest.Object{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{
			"name": "team:view", "annotations": map[string]any{argo.TrackingAnnotation: "root:rbac.authorization.k8s.io/ClusterRole:web/team:view"},
		},
	}
	if got, ok := argo.Tracked(o, "argocd"); got != (argo.Ref{Namespace: "argocd", Name: "root"}) || !ok {
		t.Errorf("%v, %t", got, ok)
	}
}
