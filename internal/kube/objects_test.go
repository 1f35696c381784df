package kube_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/secret"
)

// TestObjects: Secrets by the right to get them, or to list them; what is not there is nil, and what may not be read an error.
func TestObjects(t *testing.T) {
	const placements = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/argocd/placementdecisions"
	c := api(t, map[string]string{
		"/api/v1/namespaces/team/secrets/scm":      `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "scm", "labels": {"a": "b"}}, "data": {"token": "dG9rZW4="}}`,
		"/api/v1/namespaces/team/secrets/damaged":  `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "damaged"}, "data": {"token": "%"}}`,
		"/api/v1/namespaces/list/secrets/scm":      "forbidden",
		"/api/v1/namespaces/list/secrets":          `{"apiVersion": "v1", "kind": "SecretList", "items": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "scm"}, "data": {"token": "bGlzdA=="}}]}`,
		"/api/v1/namespaces/closed/secrets/scm":    "forbidden",
		"/api/v1/namespaces/closed/secrets":        "forbidden",
		"/api/v1/namespaces/argocd/configmaps/map": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}, "data": {"kind": "placementdecisions"}}`,
		placements:           `{"kind": "PlacementDecisionList", "apiVersion": "cluster.open-cluster-management.io/v1beta1", "metadata": {"continue": "more"}, "items": [{"metadata": {"name": "b"}}]}`,
		placements + "&more": `{"kind": "PlacementDecisionList", "apiVersion": "cluster.open-cluster-management.io/v1beta1", "items": [{"metadata": {"name": "a"}}]}`,
	})
	for namespace, want := range map[string]*scm.Secret{
		"team": {Labels: map[string]string{"a": "b"}, Data: map[string]secret.Text{"token": secret.New("token")}},
		"list": {Labels: map[string]string{}, Data: map[string]secret.Text{"token": secret.New("list")}}, "other": nil,
	} {
		got, err := c.Secret(t.Context(), namespace, "scm")
		if !reflect.DeepEqual(want, got) || err != nil {
			t.Errorf("%s: %v, got %v", namespace, err, got)
		}
	}
	if _, err := c.Secret(t.Context(), "closed", "scm"); !errors.Is(err, kube.ErrForbidden) {
		t.Error(err)
	}
	if _, err := c.Secret(t.Context(), "team", "damaged"); err == nil {
		t.Error("a Secret that is not base64")
	}
	for name, want := range map[string]map[string]string{"map": {"kind": "placementdecisions"}, "none": nil} {
		if got, err := c.ConfigMap(t.Context(), "argocd", name); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	list, err := c.List(t.Context(), scm.List{
		Namespace: "argocd", Group: "cluster.open-cluster-management.io", Version: "v1beta1",
		Resource: "placementdecisions",
	})
	if err != nil || len(list) != 2 || manifest.String(list[0], "metadata", "name") != "a" {
		t.Error(list, err)
	}
	if _, err := c.List(t.Context(), scm.List{Namespace: "argocd", Group: "x", Version: "v1", Resource: "nothing"}); err == nil {
		t.Error("a resource that is not there")
	}
}
