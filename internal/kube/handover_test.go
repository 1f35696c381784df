package kube_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/handover"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/manifest"
)

func TestHandover(t *testing.T) {
	const sets = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets/"
	s, c := newServer(t)
	web := argo.Ref{Namespace: "argocd", Name: "web"}
	if o, err := c.Object(t.Context(), argo.KindApplicationSet, web); o != nil || err != nil {
		t.Error(o, err)
	}
	o := manifest.Object{
		"apiVersion": argo.APIVersion, "kind": argo.KindApplicationSet,
		"metadata": map[string]any{"name": "web", "namespace": "argocd"}, "spec": map[string]any{"goTemplate": true},
	}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "creating ApplicationSet argocd/web: ") {
		t.Error(err)
	}
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "spec": map[string]any{"goTemplate": nil, "x": "y"}}
	if err := c.Patch(t.Context(), argo.KindApplicationSet, web, patch); err != nil {
		t.Fatal(err)
	}
	if err := c.Patch(t.Context(), argo.KindApplicationSet, web, patch); !errors.Is(err, handover.ErrConflict) {
		t.Error(err)
	}
	got, err := c.Object(t.Context(), argo.KindApplicationSet, web)
	if diff := cmp.Diff(map[string]any{"x": "y"}, manifest.Map(got, "spec")); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if err := c.Delete(t.Context(), argo.KindApplicationSet, web, "u1"); err != nil {
		t.Error(err)
	}
	// Orphan is what keeps the Applications, and the UID keeps a set of the same name that somebody else has created.
	if last := s.writes[len(s.writes)-1]; !strings.HasPrefix(last, "DELETE "+sets+"web ") ||
		!strings.Contains(last, `"propagationPolicy":"Orphan"`) || !strings.Contains(last, `"preconditions":{"uid":"u1"}`) {
		t.Error(last)
	}
	s.status = 403
	if _, err := c.Object(t.Context(), argo.KindApplication, web); err == nil ||
		!strings.HasPrefix(err.Error(), "reading Application argocd/web: forbidden") {
		t.Error(err)
	}
}

func TestOwned(t *testing.T) {
	const path = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
	c := api(t, map[string]string{
		path: `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"continue": "more"}, "items": [{"metadata": {"name": "a", "namespace": "argocd",
			"ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "web", "uid": "s1"}]}}]}`,
		path + "&more": `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "items": [{"metadata": {"name": "b", "namespace": "argocd"}}]}`,
	})
	got, err := c.Owned(t.Context(), "argocd")
	if diff := cmp.Diff(map[string][]string{"a": {"s1"}, "b": {}}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := c.Owned(t.Context(), "other"); err == nil {
		t.Error("no error")
	}
}

func TestTracking(t *testing.T) {
	const path = "/api/v1/namespaces/argocd/configmaps/argocd-cm"
	c := api(t, map[string]string{
		path: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm"}, "data": {"application.resourceTrackingMethod": "label", "application.instanceLabelKey": "x"}}`,
	})
	if got, err := c.Tracking(t.Context()); err != nil || got != (argo.Tracking{Method: "label", Label: "x"}) {
		t.Error(got, err)
	}
	if got, err := api(t, map[string]string{path: "forbidden"}).Tracking(t.Context()); !errors.Is(err, kube.ErrForbidden) || got.Method != "" {
		t.Error(got, err)
	}
}
