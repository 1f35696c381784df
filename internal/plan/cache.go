package plan

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/argosy-cd/argosy/internal/source"
)

// cache keeps what sources have become, for the second pass of a plan.
type cache struct {
	mu   sync.Mutex
	kept map[[32]byte]func() rendered
}

// cached is render, once for all Applications that are the same to the tools.
func (c *cache) cached(key any, render func() rendered) rendered {
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

// key is all that the sources of an Application depend on, besides the repositories.
func (l *loader) key(app *Application, spec map[string]any) any {
	options := ""
	if source.Changes(l.cfg.Loader.BuildOptions) {
		options = "known: " + *l.cfg.Loader.BuildOptions
	}
	return []any{app.Namespace, app.Name, app.Position, l.cfg.Namespace, l.cfg.Sets, options, l.cfg.Loader.ValueFileSchemes, l.cfg.Clusters, spec}
}
