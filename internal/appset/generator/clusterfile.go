package generator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// ParseClusters reads a file that says which clusters Argo CD knows: a list of objects with name, server, project,
// labels and annotations, or Argo CD's cluster Secrets as kubectl prints them. Other documents are skipped. An entry whose server is
// InClusterServer gives the local cluster a name of its own.
func ParseClusters(file string, data []byte) ([]Cluster, error) {
	// A list is not a Kubernetes document, so it is tried first.
	if v, err := manifest.Value(data); err == nil {
		if items, ok := v.([]any); ok {
			return simpleClusters(file, items)
		}
	}
	docs, err := manifest.Decode(file, data)
	if err != nil {
		return nil, err
	}
	clusters, err := SecretClusters(docs)
	if err == nil && len(clusters) == 0 {
		return nil, fmt.Errorf("%s: no clusters in it; it must be a list of objects with name and server, or Secrets with the label %s: %s",
			file, argo.SecretTypeLabel, argo.SecretCluster)
	}
	return clusters, err
}

func simpleClusters(file string, items []any) ([]Cluster, error) {
	var out []Cluster
	var errs []error
	for i, item := range items {
		f := newFields(fmt.Sprintf("%s: [%d]", file, i), item, nil)
		f.known = nil
		c := Cluster{
			Name: f.text("name"), Server: f.text("server"), Project: f.text("project"),
			Labels: f.table("labels"), Annotations: f.table("annotations"),
		}
		if (c.Name == "" || c.Server == "") && len(f.errs) == 0 {
			f.errs = append(f.errs, fmt.Errorf("%s: name and server must be set", f.path))
		}
		for _, k := range manifest.Keys(f.value) {
			if !slices.Contains(f.known, k) {
				f.errs = append(f.errs, fmt.Errorf("%s.%s: unknown field", f.path, k))
			}
		}
		// Argo CD's templates see the label that makes the Secret one of a cluster.
		c.Labels[argo.SecretTypeLabel] = string(argo.SecretCluster)
		errs = append(errs, f.errs...)
		out = append(out, c)
	}
	return out, errors.Join(errs...)
}

// SecretClusters returns the clusters of those documents that are cluster Secrets, in the order of their names, which
// is that of the API server.
func SecretClusters(docs []manifest.Document) ([]Cluster, error) {
	type named struct {
		secret  string
		cluster Cluster
	}
	var found []named
	var errs []error
	for _, d := range docs {
		c, ok, err := ClusterFromSecret(d.Object)
		if !ok {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.Position, err))
		}
		if c.ConfigError != "" {
			c.ConfigError = fmt.Sprintf("%s: %s", d.Position, c.ConfigError)
		}
		found = append(found, named{manifest.String(d.Object, "metadata", "name"), c})
	}
	slices.SortStableFunc(found, func(a, b named) int { return strings.Compare(a.secret, b.secret) })
	out := make([]Cluster, 0, len(found))
	for _, n := range found {
		out = append(out, n.cluster)
	}
	return out, errors.Join(errs...)
}

// ClusterFromSecret reads a cluster Secret: a live one, or the manifest of one, with data, stringData or both. It reports false for
// other objects. Errors name fields and never have the content of the Secret; with an error the Cluster has the fields before it.
func ClusterFromSecret(o manifest.Object) (Cluster, bool, error) {
	if manifest.String(o, "kind") != "Secret" || argo.SecretTypeOf(o) != argo.SecretCluster {
		return Cluster{}, false, nil
	}
	c, err := secretCluster(o)
	return c, true, err
}

func secretCluster(o manifest.Object) (Cluster, error) {
	var c Cluster
	var config string
	for _, f := range []struct {
		key string
		dst *string
	}{{"name", &c.Name}, {"server", &c.Server}, {"project", &c.Project}, {"config", &config}} {
		value, err := manifest.SecretValue(o, f.key)
		if err != nil {
			return c, err
		}
		*f.dst = value.Reveal()
	}
	if c.Server == "" {
		return c, errors.New("data.server must be set in a cluster Secret")
	}
	if config != "" && !json.Valid([]byte(config)) {
		c.ConfigError = "data.config: not JSON"
	}
	f := newFields("metadata", manifest.Map(o, "metadata"), nil)
	c.Labels, c.Annotations = f.table("labels"), f.table("annotations")
	// Parameters reach templates of tenants. Argo CD's generator has this annotation (applicationset/generators/cluster.go, 3.2 to 3.5);
	// its API removes it (util/db/cluster.go).
	delete(c.Annotations, manifest.LastApplied)
	return c, errors.Join(f.errs...)
}
