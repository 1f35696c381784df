package manifest

import "testing"

func TestName(t *testing.T) {
	for want, o := range map[string]Object{
		"deployment.apps/web": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"}},
		"configmap/web":       {"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web", "generateName": "x-"}},
		"job.batch/run-*":     {"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"generateName": "run-"}},
		"/*":                  {},
	} {
		if got := Name(o); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
