package kube

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// maxLive bounds what is kept of an Application while it is decoded: some 400 bytes for each of its objects. One with more is known
// without its objects.
const maxLive = 4 << 20

// LiveWatch is how a live cluster is watched.
type LiveWatch struct {
	// Namespaces are namespaces with Applications, beside Argo CD's own; they may be patterns, as in Argo CD.
	Namespaces []string
	Now        func() time.Time
	// Apply gets the events.
	Apply func(live.Event)
	Ready func()
	// Failed is called with each failed attempt to watch a source. An object that cannot be read is only a lost source in the events.
	Failed func(error)
}

// Live sends a model events about Applications and ApplicationSets, and about each change, until the context ends. Namespaces are beside
// Argo CD's own and may be patterns; where all namespaces are forbidden, those that are no patterns are watched, and the rest is a source
// that is lost. Events come one after the other. Ready is called once, after the first listing of all sources that may be read.
func (c *Client) Live(ctx context.Context, w LiveWatch) {
	var mu sync.Mutex
	tell := func(e live.Event) {
		mu.Lock()
		defer mu.Unlock()
		e.At = w.Now()
		w.Apply(e)
	}
	kinds := []string{argo.KindApplication, argo.KindApplicationSet}
	left := len(kinds)
	synced := func() {
		mu.Lock()
		defer mu.Unlock()
		if left--; left == 0 {
			w.Ready()
		}
	}
	lost := func(source live.Scope, err error) {
		e := live.Event{What: live.Lost, Source: source, Reason: strings.TrimPrefix(err.Error(), "watching "+source.String()+": ")}
		if lacks := (*live.NoRightError)(nil); errors.As(err, &lacks) {
			e.Lacks = &lacks.Right
		}
		tell(e)
	}
	var group sync.WaitGroup
	for _, kind := range kinds {
		f := &following{
			client: c, kind: kind, resource: resourceOf(kind), optional: kind == argo.KindApplicationSet,
			kept: kept{fields: live.Fields(), light: live.LightFields(), limit: maxLive}, synced: synced,
			failed: func(source live.Scope, err error) { lost(source, err); w.Failed(err) }, unread: lost,
		}
		f.seen = func(o manifest.Object) {
			// The items of a list do not name their kind.
			o["apiVersion"], o["kind"] = argo.APIVersion, kind
			tell(live.Event{What: live.Seen, Object: o})
		}
		f.gone = func(r argo.Ref) { tell(live.Event{What: live.Gone, Object: identity(kind, r)}) }
		f.listed = func(namespace string) { tell(live.Event{What: live.Listed, Source: f.source(namespace)}) }
		group.Go(func() { f.follow(ctx, w.Namespaces) })
	}
	group.Wait()
}

func identity(kind string, r argo.Ref) manifest.Object {
	return manifest.Object{
		"apiVersion": argo.APIVersion, "kind": kind, "metadata": map[string]any{"namespace": r.Namespace, "name": r.Name},
	}
}
