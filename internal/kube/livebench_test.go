package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/live"
)

// BenchmarkLive lists two thousand Applications of 13 KB.
func BenchmarkLive(b *testing.B) {
	var resources []map[string]any
	for i := range 20 {
		resources = append(resources, map[string]any{
			"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "some-namespace", "name": fmt.Sprintf("component-%02d", i),
			"status": "Synced", "syncWave": 1, "message": "deployment.apps/component configured", "hookPhase": "Running", "syncPhase": "Sync",
		})
	}
	var items []any
	for i := range 100 {
		items = append(items, map[string]any{
			"metadata": map[string]any{"namespace": "argocd", "name": fmt.Sprintf("app-%03d", i), "managedFields": strings.Repeat("f:managed ", 500)},
			"status": map[string]any{
				"resources": resources, "operationState": map[string]any{"phase": "Succeeded", "syncResult": map[string]any{"resources": resources}},
			},
		})
	}
	page := func(next string) []byte {
		data, err := json.Marshal(map[string]any{"kind": "List", "metadata": map[string]any{"resourceVersion": "1", "continue": next}, "items": items})
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	more, last := page("more"), page("")
	pages := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "applications"):
			if pages++; pages%20 == 0 {
				_, _ = w.Write(last)
			} else {
				_, _ = w.Write(more)
			}
		default:
			_, _ = w.Write([]byte(`{"metadata": {}, "items": []}`))
		}
	}))
	defer server.Close()
	client := open(b, server.URL)
	b.SetBytes(int64(20 * len(more)))
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		m := live.New("argocd")
		done := make(chan struct{})
		go func() {
			client.Live(ctx, kube.LiveWatch{Now: time.Now, Apply: m.Apply, Ready: cancel, Failed: func(error) {}})
			close(done)
		}()
		<-done
	}
}
