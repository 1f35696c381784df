package order

import (
	"fmt"
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
)

const (
	wave   = "argocd.argoproj.io/sync-wave: "
	hook   = "argocd.argoproj.io/hook: "
	helm   = "helm.sh/hook: "
	weight = "helm.sh/hook-weight: "
)

func object(t *testing.T, annotations string) manifest.Object {
	t.Helper()
	docs, err := manifest.Decode("x.yaml", []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {"+annotations+"}}}"))
	if err != nil {
		t.Fatal(err)
	}
	return docs[0].Object
}

func TestPlace(t *testing.T) {
	for annotations, want := range map[string]string{
		"":                                     "[Sync] 0 false",
		wave + "'3'":                           "[Sync] 3 false",
		weight + "'3'":                         "[Sync] 3 false",
		wave + "'2', " + weight + "'3'":        "[Sync] 2 false",
		wave + "soon":                          "[Sync] 0 false: the sync wave \"soon\" is not a number; Argo CD takes 0",
		wave + "soon, " + weight + "'3'":       "[Sync] 3 false: the sync wave \"soon\" is not a number; Argo CD takes the hook weight, 3",
		wave + "soon, " + weight + "later":     "[Sync] 0 false: the sync wave \"soon\" is not a number; Argo CD takes 0",
		weight + "later":                       "[Sync] 0 false: the hook weight \"later\" is not a number; Argo CD takes 0",
		hook + "PreSync":                       "[PreSync] 0 true",
		hook + "'PostSync, PreSync'":           "[PreSync PostSync] 0 true",
		hook + "Skip":                          "[] 0 false",
		hook + "'Skip,PreSync'":                "[PreSync] 0 true",
		hook + "PostDelete":                    "[] 0 true",
		hook + "''":                            "[] 0 true",
		hook + "Foo, " + helm + "post-install": "[PostSync] 0 true",
		hook + "Foo, " + helm + "crd-install":  "[] 0 true",
		helm + "crd-install":                   "[Sync] 0 false",
		helm + "'crd-install,pre-install'":     "[PreSync] 0 true",
		helm + "'pre-install,pre-upgrade'":     "[PreSync] 0 true",
		helm + "test":                          "[] 0 true",
		helm + "pre-delete":                    "[] 0 true",
	} {
		o := object(t, annotations)
		phases, wave, problem := Place(o)
		got := fmt.Sprintf("%v %d %v", phases, wave, IsHook(o))
		if problem != "" {
			got += ": " + problem
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", annotations, got, want)
		}
	}
}

func TestUnknownHook(t *testing.T) {
	for annotations, want := range map[string]bool{
		"": false, hook + "PreSync": false, hook + "Skip": false, hook + "'presync, Sync'": false, hook + "PostDelete": false,
		hook + "PreDelete": false,
		hook + "presync":   true, hook + "''": true, hook + "'presync,postsync'": true, hook + "presync, " + helm + "pre-install": false,
		hook + "presync, " + helm + "test": true,
		helm + "pre-install":               false, helm + "test": false, helm + "crd-install": false, helm + "pre-delete": false,
		helm + "preinstall": true,
	} {
		if _, got := UnknownHook(object(t, annotations)); got != want {
			t.Errorf("%s: %v", annotations, got)
		}
	}
	if types, _ := UnknownHook(object(t, hook+"presync")); types != "presync" {
		t.Error(types)
	}
}

func TestKinds(t *testing.T) {
	for group, want := range map[string]bool{
		"": true, "apps": true, "batch": true, "rbac.authorization.k8s.io": true, "storage.k8s.io": true,
		"gateway.networking.k8s.io": false, "snapshot.storage.k8s.io": false, "monitoring.coreos.com": false,
	} {
		if BuiltIn(group) != want {
			t.Errorf("%q: built in is %v", group, !want)
		}
	}
	if !ClusterScoped("rbac.authorization.k8s.io", "ClusterRole") || ClusterScoped("rbac.authorization.k8s.io", "Role") ||
		ClusterScoped("example.com", "ClusterRole") {
		t.Error("ClusterRole is cluster-scoped, Role is not")
	}
	if got := DefinedKind(manifest.Object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"spec": map[string]any{"group": "a.b"},
	}); got != "" {
		t.Error(got)
	}
}
