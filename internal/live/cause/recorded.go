package cause

import (
	"context"
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
)

// Recorded is a cluster of recorded objects. Other objects cannot be read.
type Recorded []manifest.Object

// has reports whether objects of a kind were recorded.
func (r Recorded) has(group, kind string) error {
	for _, o := range r {
		if manifest.String(o, "kind") == kind && manifest.Group(o) == group {
			return nil
		}
	}
	return fmt.Errorf("no %s was recorded", kind)
}

// Get implements Cluster.
func (r Recorded) Get(_ context.Context, key live.Key) (manifest.Object, error) {
	for _, o := range r {
		have := live.KeyOf(o)
		if have.Namespace == "" { // of the cluster, whatever the key says
			have.Namespace = key.Namespace
		}
		if have == key {
			return o, nil
		}
	}
	return nil, r.has(key.Group, key.Kind)
}

// List implements Cluster.
func (r Recorded) List(_ context.Context, group, kind, namespace string) ([]manifest.Object, error) {
	var out []manifest.Object
	for _, o := range r {
		if k := live.KeyOf(o); k.Group == group && k.Kind == kind && k.Namespace == namespace {
			out = append(out, o)
		}
	}
	return out, r.has(group, kind)
}

// Events implements Cluster.
func (r Recorded) Events(_ context.Context, key live.Key) ([]manifest.Object, error) {
	var out []manifest.Object
	for _, o := range r {
		about := manifest.Map(o, "involvedObject")
		if manifest.String(o, "kind") == "Event" && manifest.String(about, "kind") == key.Kind &&
			manifest.String(about, "name") == key.Name && manifest.String(about, "namespace") == key.Namespace {
			out = append(out, o)
		}
	}
	return out, r.has("", "Event")
}

// Checks implements Cluster.
func (r Recorded) Checks(context.Context) (health.Customizations, error) {
	for _, o := range r {
		if s, ok, err := settings.FromObject(o); ok && s != nil {
			return s.Health, nil
		} else if ok {
			return nil, err
		}
	}
	return nil, errors.New("no ConfigMap argocd-cm was recorded")
}

// VersionLabel is a label of the recorded ConfigMap argocd-cm: the version of Argo CD.
const VersionLabel = "app.kubernetes.io/version"

// Version implements Cluster.
func (r Recorded) Version(context.Context) versions.Version {
	for _, o := range r {
		if k := live.KeyOf(o); k.Group == "" && k.Kind == "ConfigMap" && k.Name == settings.ConfigMap {
			v, _, _ := versions.Nearest(manifest.String(o, "metadata", "labels", VersionLabel))
			return v
		}
	}
	return 0
}
