package follow

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// older is a cluster with an older Argo CD.
type older struct{ cause.Recorded }

func (older) Version(context.Context) versions.Version { return 3 }

// TestRecordVersion: a replay evaluates the built-in health checks of the recorded Argo CD.
func TestRecordVersion(t *testing.T) {
	var recording bytes.Buffer
	cluster := older{cause.Recorded{manifest.Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "argocd", "name": "argocd-cm"},
	}}}
	r := &recorder{Cluster: cluster, now: func() time.Time { return time.Time{} }, namespace: "argocd", to: &recording}
	if _, err := r.Checks(t.Context()); err != nil {
		t.Fatal(err)
	}
	var replayed cause.Recorded
	if err := live.Read("x", &recording, func(e live.Event) { replayed = append(replayed, e.Object) }); err != nil {
		t.Fatal(err)
	}
	if v := replayed.Version(t.Context()); v != 3 {
		t.Errorf("Argo CD %s in %s", v, recording.String())
	}
}
