package argo

import "testing"

func TestIsPlugin(t *testing.T) {
	for name, want := range map[string]bool{
		"appset": true, "appset-v2": true, "appset-v1.2.0-rc1": true,
		"": false, "appsets": false, "appset-": false, "appset-prod": false, "appset-vault": false, "my-appset": false, "s3": false,
	} {
		if IsPlugin(name, PluginAppSet) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}

func TestTargetRevision(t *testing.T) {
	for in, want := range map[string]string{"": "HEAD", "main": "main", "refs/heads/main": "refs/heads/main", "v1.*": "v1.*"} {
		if got := TargetRevision(map[string]any{"targetRevision": in}); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
