package plan

import (
	"maps"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// server is the API server of the cluster that an Application deploys to, as far as it is known.
func (l *loader) server(app *Application) string {
	cluster := strings.TrimSuffix(strings.TrimSuffix(app.Destination, app.namespace()), "/")
	if l.cfg.Clusters.Local(cluster, "") || l.cfg.Clusters.Local("", cluster) {
		return generator.InClusterServer
	}
	for _, c := range l.cfg.Clusters {
		if c.Name == cluster {
			return c.Server
		}
	}
	return cluster
}

// local reports whether an Application deploys to Argo CD's own cluster.
func (l *loader) local(spec map[string]any) bool {
	return l.cfg.Clusters.Local(manifest.String(spec, "destination", "name"), manifest.String(spec, "destination", "server"))
}

// namespace is that of its destination.
func (a *Application) namespace() string {
	return a.Destination[strings.LastIndexByte(a.Destination, '/')+1:]
}

// in is an Application in the namespace that its parent deploys it to, if it names none. Its spec is the same.
func (a *Application) in(d manifest.Document) manifest.Document {
	if manifest.String(d.Object, "metadata", "namespace") != "" {
		return d
	}
	object, meta := maps.Clone(d.Object), maps.Clone(manifest.Map(d.Object, "metadata"))
	if meta != nil {
		meta["namespace"] = a.namespace()
		object["metadata"] = meta
	}
	d.Object = object
	return d
}
