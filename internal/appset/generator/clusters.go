package generator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Cluster is a cluster that Argo CD knows by a Secret.
type Cluster struct {
	Name        string
	Server      string
	Project     string
	Labels      map[string]string
	Annotations map[string]string
}

// Clusters knows all clusters. It is asked when a generator wants them.
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

func (l ClusterList) localName(name string) bool {
	return name == InClusterName || slices.ContainsFunc(l, func(c Cluster) bool { return c.Name == name && l.localServer(c.Server) })
}

func (l ClusterList) localServer(server string) bool {
	server = trimSlash(server)
	return server == InClusterServer || slices.ContainsFunc(l, func(c Cluster) bool { return c.Name == InClusterName && trimSlash(c.Server) == server })
}

// InClusterServer is the address of the cluster that Argo CD runs in, which needs no Secret.
const InClusterServer = "https://kubernetes.default.svc"

// InClusterName is the name of that cluster, unless a Secret for InClusterServer gives it another.
const InClusterName = "in-cluster"

// SecretTypeLabel marks a Secret as one of Argo CD's; its value is "cluster" on those of clusters.
const SecretTypeLabel = "argocd.argoproj.io/secret-type"

// clusters gives one set for each cluster that matches the selector, or, with flatList, one set with all of them. The
// local cluster without a Secret has no labels, so any selector excludes it.
func (r *run) clusters(f *fields) ([]Set, error) {
	wanted := field[map[string]any](f, "selector", "an object")
	table := f.table("values")
	flat := f.boolean("flatList")
	selected, selErr := newSelector(f.path+".selector", withoutSecretType(wanted), labelValue)
	values, valErr := r.newValues("values", table)
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
	all := isEmptySelector(wanted)
	// Argo CD finds Secrets by the name of their cluster, so of two with one name the last counts, twice.
	matching := map[string]Cluster{}
	for _, c := range known {
		if selected.matches(c.Labels) {
			matching[c.Name] = c
		}
	}
	var local, sets []Set
	var errs []error
	if !hasLocal(known) {
		known = append(slices.Clip(known), Cluster{Name: InClusterName, Server: InClusterServer})
	}
	for _, c := range known {
		set := Set{Origin: Origin{What: "cluster " + c.Name}}
		found, ok := matching[c.Name]
		switch {
		case ok:
			set.Params = found.params(r.Engine.Go())
		case all:
			set.Params = Params{"name": c.Name, "nameNormalized": c.Name, "server": c.Server, "project": ""}
		default:
			continue
		}
		if err := values.addTo(set.Params); err != nil {
			errs = append(errs, problem.Wrap(err, func(e error) error { return fmt.Errorf("%s: cluster %s: %w", f.path, c.Name, e) }))
		}
		if ok {
			sets = append(sets, set)
		} else {
			local = append(local, set)
		}
	}
	sets = append(local, sets...)
	if len(errs) > 0 || !flat {
		return sets, errors.Join(errs...)
	}
	var list []map[string]any
	for _, s := range sets {
		list = append(list, s.Params)
	}
	return []Set{{Params{"clusters": list}, Origin{What: "list of clusters"}}}, nil
}

// withoutSecretType drops a wish for another kind of Secret, which Argo CD overwrites.
func withoutSecretType(selector map[string]any) any {
	labels, ok := selector["matchLabels"].(map[string]any)
	if !ok || labels[SecretTypeLabel] == nil {
		if selector == nil {
			return nil
		}
		return selector
	}
	labels = maps.Clone(labels)
	delete(labels, SecretTypeLabel)
	selector = maps.Clone(selector)
	selector["matchLabels"] = labels
	return selector
}

func isEmptySelector(selector map[string]any) bool {
	labels, _ := selector["matchLabels"].(map[string]any)
	expressions, _ := selector["matchExpressions"].([]any)
	return len(labels) == 0 && len(expressions) == 0
}

func hasLocal(known []Cluster) bool {
	for _, c := range known {
		if trimSlash(c.Server) == InClusterServer {
			return true
		}
	}
	return false
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
