package argo

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
)

func TestAutomated(t *testing.T) {
	for name, c := range map[string]struct {
		policy any
		has    bool
		on     bool
	}{
		"no policy":               {nil, false, false},
		"no automation":           {map[string]any{}, false, false},
		"null":                    {map[string]any{"automated": nil}, false, false},
		"empty":                   {map[string]any{"automated": map[string]any{}}, true, true},
		"enabled":                 {map[string]any{"automated": map[string]any{"enabled": true}}, true, true},
		"null enabled":            {map[string]any{"automated": map[string]any{"enabled": nil}}, true, true},
		"disabled":                {map[string]any{"automated": map[string]any{"enabled": false, "prune": true}}, true, false},
		"of a type that is wrong": {map[string]any{"automated": "yes"}, false, false},
	} {
		settings, on := Automated(manifest.Object{"spec": map[string]any{"syncPolicy": c.policy}})
		if (settings != nil) != c.has || on != c.on {
			t.Errorf("%s: %v, %t", name, settings, on)
		}
	}
}

func TestKeepsApplications(t *testing.T) {
	for sync, want := range map[any]bool{nil: false, "sync": false, "create-only": true, "create-update": true, "create-delete": false, 1: false} {
		if got := KeepsApplications(map[string]any{"syncPolicy": map[string]any{"applicationsSync": sync}}); got != want {
			t.Errorf("%v: %t", sync, got)
		}
	}
}

// TestIsResourcesFinalizer: a finalizer that Argo CD does not know deletes nothing, even if it begins as one that it knows.
func TestIsResourcesFinalizer(t *testing.T) {
	for finalizer, want := range map[any]bool{
		ResourcesFinalizer: true, ResourcesFinalizer + "/foreground": true, ResourcesFinalizer + "/background": true,
		ResourcesFinalizer + "/orphan": false, ResourcesFinalizer + "s": false, "": false, nil: false, 1: false,
	} {
		if got := IsResourcesFinalizer(finalizer); got != want {
			t.Errorf("%v: %t", finalizer, got)
		}
	}
}

func TestApplicationsSync(t *testing.T) {
	for sync, want := range map[ApplicationsSync]struct{ known, updates, deletes bool }{
		"": {false, true, true}, CreateUpdateDelete: {true, true, true}, CreateOnly: {true, false, false},
		CreateUpdate: {true, true, false}, CreateDelete: {true, false, true}, "other": {false, true, true},
	} {
		if sync.Known() != want.known || sync.Updates() != want.updates || sync.Deletes() != want.deletes {
			t.Errorf("%q: %t, %t, %t", sync, sync.Known(), sync.Updates(), sync.Deletes())
		}
	}
}

func TestIsDeleteHookFinalizer(t *testing.T) {
	for finalizer, want := range map[string]bool{
		PostDeleteFinalizer: true, PostDeleteFinalizer + "/cleanup": true, PreDeleteFinalizer: true, ResourcesFinalizer: false,
		"post-delete-finalizer.example.com": false, "": false,
	} {
		if got := IsDeleteHookFinalizer(finalizer); got != want {
			t.Errorf("%q: %t", finalizer, got)
		}
	}
}
