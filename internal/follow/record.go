package follow

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
)

// recorder writes events to a recording, and the objects that were read to find causes. After the first error it writes nothing.
type recorder struct {
	cause.Cluster
	now func() time.Time
	// namespace is Argo CD's.
	namespace string

	mu  sync.Mutex
	to  io.Writer // nil writes nothing
	err error
}

func (r *recorder) write(e live.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to != nil && r.err == nil {
		e.Object = redacted(e.Object)
		r.err = live.Write(r.to, e)
	}
}

// maxKnown bounds the URLs with passwords of one Application that are searched in its messages.
const maxKnown = 100

// redacted returns a copy of an Application, an ApplicationSet or an Event without the passwords of URLs. Other objects are returned as
// they are.
func redacted(o manifest.Object) manifest.Object {
	if !argo.IsApplication(o) && !argo.IsApplicationSet(o) && manifest.String(o, "kind") != "Event" {
		return o
	}
	const repository = "repoURL"
	var known []string
	copied := walk("", o, func(field, text string) string {
		if field != repository || !strings.ContainsAny(text, "@?#") {
			return text
		}
		if len(known) < maxKnown {
			known = append(known, text)
		}
		return giturl.Redact(text)
	})
	copied = walk("", copied, func(field, text string) string {
		if field == repository {
			return text
		}
		return giturl.RedactText(text, known...)
	})
	return copied.(manifest.Object)
}

// walk returns a copy of a value in which each text is changed. Field is the field that has the value.
func walk(field string, v any, change func(field, text string) string) any {
	switch v := v.(type) {
	case string:
		return change(field, v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = walk(field, item, change)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = walk(name, item, change)
		}
		return out
	}
	return v
}

func (r *recorder) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *recorder) seen(objects ...manifest.Object) {
	if r.to == nil {
		return
	}
	for _, o := range objects {
		if k := live.KeyOf(o); k.Kind != "" && k.Name != "" {
			r.write(live.Event{At: r.now(), What: live.Seen, Object: o})
		}
	}
}

// Get implements cause.Cluster.
func (r *recorder) Get(ctx context.Context, key live.Key) (manifest.Object, error) {
	o, err := r.Cluster.Get(ctx, key)
	r.seen(o)
	return o, err
}

// List implements cause.Cluster.
func (r *recorder) List(ctx context.Context, group, kind, namespace string) ([]manifest.Object, error) {
	list, err := r.Cluster.List(ctx, group, kind, namespace)
	r.seen(list...)
	return list, err
}

// Events implements cause.Cluster.
func (r *recorder) Events(ctx context.Context, key live.Key) ([]manifest.Object, error) {
	list, err := r.Cluster.Events(ctx, key)
	r.seen(list...)
	return list, err
}

// Checks implements cause.Cluster. Only the checks are recorded, and not the rest of their ConfigMap, which may have secrets.
func (r *recorder) Checks(ctx context.Context) (health.Customizations, error) {
	checks, err := r.Cluster.Checks(ctx)
	if err != nil || r.to == nil {
		return checks, err
	}
	o, err := r.Cluster.Get(ctx, live.Key{Kind: "ConfigMap", Namespace: r.namespace, Name: settings.ConfigMap})
	if err != nil || o == nil {
		return checks, nil // why they could not be read is no matter of the recording
	}
	kept := map[string]any{}
	for key, value := range manifest.Map(o, "data") {
		if strings.HasPrefix(key, "resource.customizations") {
			kept[key] = value
		}
	}
	meta := map[string]any{"namespace": r.namespace, "name": settings.ConfigMap}
	if v := r.Version(ctx); v != 0 {
		meta["labels"] = map[string]any{cause.VersionLabel: v.String()}
	}
	r.seen(manifest.Object{"apiVersion": "v1", "kind": "ConfigMap", "data": kept, "metadata": meta})
	return checks, nil
}
