package plan

import (
	"cmp"
	"maps"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Destination is where an Application deploys to.
type Destination struct {
	// Cluster is a name, or the URL of an API server, as the Application has it.
	Cluster   string
	Namespace string
}

func (d Destination) String() string { return d.Cluster + "/" + d.Namespace }

// newDestination reads the destination of a spec.
func newDestination(spec map[string]any) Destination {
	d := manifest.Map(spec, "destination")
	return Destination{cmp.Or(manifest.String(d, "name"), manifest.String(d, "server")), manifest.String(d, "namespace")}
}

// server returns the API server of the cluster that an Application deploys to, or the cluster's name if that is all that is known.
func (l *loader) server(app *Application) string {
	return l.cfg.Clusters.Server(app.Destination.Cluster)
}

// local reports whether an Application deploys to Argo CD's own cluster.
func (l *loader) local(spec map[string]any) bool {
	return l.cfg.Clusters.Local(manifest.String(spec, "destination", "name"), manifest.String(spec, "destination", "server"))
}

// namespace is the namespace of its destination.
func (a *Application) namespace() string { return a.Destination.Namespace }

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
