package generator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Cluster is a cluster that Argo CD knows by a Secret.
type Cluster struct {
	Name        string
	Server      string
	Project     string
	Labels      map[string]string
	Annotations map[string]string
	// ConfigError is the error of the config in its Secret, which some versions of Argo CD do not read.
	ConfigError string
}

// Clusters lists all clusters. It is called only if a generator needs them.
type Clusters interface {
	Clusters(ctx context.Context) ([]Cluster, error)
}

// ClusterList is a list of clusters as Clusters.
type ClusterList []Cluster

// Clusters implements Clusters.
func (l ClusterList) Clusters(context.Context) ([]Cluster, error) { return l, nil }

// Local reports whether a destination is the cluster that Argo CD runs in. Without a list only "in-cluster" and InClusterServer are.
// A listed cluster at InClusterServer is the local cluster under another name, and one named "in-cluster" is the local cluster
// at another address. A destination with both a name and a server, which Argo CD refuses, is local only if both are.
func (l ClusterList) Local(name, server string) bool {
	return (name == "" || l.localName(name)) && (server == "" || l.localServer(server))
}

// Server is the API server of a cluster, which is a name or a URL: that of its entry, InClusterServer for the local one. An unknown cluster
// is returned unchanged.
func (l ClusterList) Server(cluster string) string {
	if l.Local(cluster, "") || l.Local("", cluster) {
		return argo.InClusterServer
	}
	for _, c := range l {
		if c.Name == cluster {
			return c.Server
		}
	}
	return cluster
}

func (l ClusterList) localName(name string) bool {
	return name == argo.InClusterName || slices.ContainsFunc(l, func(c Cluster) bool { return c.Name == name && l.localServer(c.Server) })
}

func (l ClusterList) localServer(server string) bool {
	server = trimSlash(server)
	return server == argo.InClusterServer || slices.ContainsFunc(l, func(c Cluster) bool {
		return c.Name == argo.InClusterName && trimSlash(c.Server) == server
	})
}

// clusters gives one set for each cluster that matches the selector, or, with flatList, one set with all of them. The
// local cluster without a Secret has no labels, so any selector excludes it.
func (r *run) clusters(f *fields) ([]Set, error) {
	wanted := field[map[string]any](f, "selector", "an object")
	table := f.table("values")
	flat := f.boolean("flatList")
	selected, selErr := newSelector(f.path+".selector", withoutSecretType(wanted), labelValue)
	values, valErr := r.newValues(table)
	valErr = problem.Wrap(valErr, func(e error) error { return fmt.Errorf("%s.%w", f.path, e) })
	if err := errors.Join(f.err(), selErr, valErr); err != nil {
		return nil, err
	}
	var known []Cluster
	if r.Clusters != nil {
		var err error
		if known, err = r.Clusters.Clusters(r.ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	list := r.clustersOf(known, selected, isEmptySelector(wanted))
	if !r.Version.Has(versions.ClusterConfigUnread) {
		if err := configErrors(known); err != nil {
			return nil, problem.Wrap(err, func(e error) error { return fmt.Errorf("%s: %w", f.path, e) })
		}
	}
	sets := make([]Set, 0, len(list))
	var errs []error
	for _, c := range list {
		if len(errs) >= maxErrors {
			break
		}
		set := Set{Params: c.params(r.Engine.Go()), Origin: Origin{What: "cluster " + c.Name}}
		if c.local {
			delete(set.Params, "metadata")
		}
		if err := values.addTo(set.Params); err != nil {
			errs = append(errs, problem.Wrap(err, func(e error) error { return fmt.Errorf("%s: cluster %s: %w", f.path, c.Name, e) }))
		}
		sets = append(sets, set)
	}
	if len(errs) > 0 || !flat {
		return sets, errors.Join(errs...)
	}
	var all []map[string]any
	for _, s := range sets {
		all = append(all, s.Params)
	}
	return []Set{{Params{"clusters": all}, Origin{What: "list of clusters"}}}, nil
}

// listed is a cluster in the list of a generator. The local one without a Secret has no metadata.
type listed struct {
	Cluster
	local bool
}

// clustersOf returns the clusters that a generator has parameters for, in order. The local cluster without a Secret is among them only if
// the selector is empty.
func (r *run) clustersOf(known []Cluster, selected selector, all bool) []listed {
	// Argo CD finds Secrets by the name of their cluster, so of two with one name the last counts.
	matching := map[string]Cluster{}
	for _, c := range known {
		if selected.matches(c.Labels) {
			matching[c.Name] = c
		}
	}
	local := listed{Cluster{Name: argo.InClusterName, Server: argo.InClusterServer}, true}
	var out []listed
	if r.Version.Has(versions.ClustersFromSecrets) {
		// The order is random in Argo CD, so the order of the Secrets is as good.
		for _, c := range known {
			if found, ok := matching[c.Name]; ok {
				out = append(out, listed{found, false})
				delete(matching, c.Name)
			}
		}
		if all && !slices.ContainsFunc(out, func(c listed) bool { return c.Server == argo.InClusterServer }) {
			out = append(out, local)
		}
		return out
	}
	// A Secret with the name of the local cluster stands for it, too.
	if !slices.ContainsFunc(known, func(c Cluster) bool { return trimSlash(c.Server) == argo.InClusterServer }) {
		if _, ok := matching[argo.InClusterName]; ok {
			known = append(slices.Clip(known), local.Cluster)
		} else if all {
			out = append(out, local)
		}
	}
	for _, c := range known {
		if found, ok := matching[c.Name]; ok {
			out = append(out, listed{found, false})
		}
	}
	return out
}

func configErrors(known []Cluster) error {
	var errs []error
	for _, c := range known {
		if c.ConfigError != "" {
			errs = append(errs, errors.New(c.ConfigError))
		}
	}
	return errors.Join(errs...)
}

// withoutSecretType drops a wish for another kind of Secret, which Argo CD overwrites.
func withoutSecretType(selector map[string]any) any {
	labels, ok := selector["matchLabels"].(map[string]any)
	if !ok || labels[argo.SecretTypeLabel] == nil {
		if selector == nil {
			return nil
		}
		return selector
	}
	labels = maps.Clone(labels)
	delete(labels, argo.SecretTypeLabel)
	selector = maps.Clone(selector)
	selector["matchLabels"] = labels
	return selector
}

func isEmptySelector(selector map[string]any) bool {
	labels, _ := selector["matchLabels"].(map[string]any)
	expressions, _ := selector["matchExpressions"].([]any)
	return len(labels) == 0 && len(expressions) == 0
}

func trimSlash(s string) string {
	for s != "" && s[len(s)-1] == '/' {
		s = s[:len(s)-1]
	}
	return s
}

func (c Cluster) params(goTemplate bool) Params {
	params := Params{
		"name": c.Name, "nameNormalized": template.Normalize(c.Name), "server": c.Server, "project": c.Project,
	}
	if goTemplate {
		meta := map[string]any{}
		if len(c.Annotations) > 0 {
			meta["annotations"] = c.Annotations
		}
		if len(c.Labels) > 0 {
			meta["labels"] = c.Labels
		}
		params["metadata"] = meta
		return params
	}
	for k, v := range c.Annotations {
		params["metadata.annotations."+k] = v
	}
	for k, v := range c.Labels {
		params["metadata.labels."+k] = v
	}
	return params
}
