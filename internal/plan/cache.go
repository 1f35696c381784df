package plan

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
)

// Cache caches rendered sources, for the second pass of a plan and for other plans. The zero Cache is ready.
type Cache struct {
	mu   sync.Mutex
	kept map[[32]byte]func() rendered
}

// cached is render, once for all Applications that are the same to the tools.
func (c *Cache) cached(key any, render func() rendered) rendered {
	text, err := json.Marshal(key)
	if err != nil {
		return render()
	}
	id := sha256.Sum256(text)
	c.mu.Lock()
	if c.kept == nil {
		c.kept = map[[32]byte]func() rendered{}
	}
	once := c.kept[id]
	if once == nil {
		once = sync.OnceValue(render)
		c.kept[id] = once
	}
	c.mu.Unlock()
	return once()
}

// Forget empties the cache.
func (c *Cache) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = nil
}

// key is all that the sources of an Application depend on, besides the repositories.
func (l *loader) key(app *Application, spec map[string]any) any {
	options := ""
	if source.Changes(l.cfg.Loader.BuildOptions) {
		options = "known: " + *l.cfg.Loader.BuildOptions
	}
	// The renderer of sets and the Application's position matter only to sets.
	var sets any
	sources := argo.Deployed(manifest.Object{"spec": spec})
	if l.cfg.Sets == SetsByPlugin || slices.ContainsFunc(sources, func(s map[string]any) bool { return s["plugin"] != nil }) {
		sets = []any{l.cfg.Sets, app.Position, l.cfg.Clusters, l.cfg.Version}
	}
	// Versions of Kustomize matter to a source that names one.
	var kustomize []string
	if slices.ContainsFunc(sources, func(s map[string]any) bool { return manifest.String(s, "kustomize", "version") != "" }) {
		kustomize = l.cfg.Loader.KustomizeVersions
	}
	return []any{app.Namespace, app.Name, l.cfg.Namespace, options, kustomize, l.cfg.Loader.ValueFileSchemes, sets, spec}
}
