package generator

import "github.com/argosy-cd/argosy/internal/appset/template"

// Cluster is a cluster that Argo CD knows by a Secret.
type Cluster struct {
	Name        string
	Server      string
	Project     string
	Labels      map[string]string
	Annotations map[string]string
}

// InClusterServer is the address of the cluster that Argo CD runs in, which needs no Secret.
const InClusterServer = "https://kubernetes.default.svc"

// SecretTypeLabel marks a Secret as one of Argo CD's; its value is "cluster" on those of clusters.
const SecretTypeLabel = "argocd.argoproj.io/secret-type"

// clusters gives one set for each cluster that matches the selector, or, with flatList, one set with all of them. The
// local cluster without a Secret has no labels, so any selector excludes it.
func (r *run) clusters(f *fields) ([]Set, error) {
	selected, selErr := newSelector(f.path+".selector", field[map[string]any](f, "selector", "an object"), labelValue)
	table := f.table("values")
	flat := f.boolean("flatList")
	if err := f.err(); err != nil {
		return nil, err
	}
	if selErr != nil {
		return nil, selErr
	}
	values, err := r.newValues(f.path+".values", table)
	if err != nil {
		return nil, err
	}
	var sets []Set
	add := func(name string, params Params) error {
		sets = append(sets, Set{params, Origin{What: "cluster " + name}})
		return values.addTo(params)
	}
	if selected.empty() && !r.hasLocal() {
		params := Params{"name": "in-cluster", "nameNormalized": "in-cluster", "server": InClusterServer, "project": ""}
		if err := add("in-cluster", params); err != nil {
			return nil, err
		}
	}
	for _, c := range r.Clusters {
		if !selected.matches(c.Labels) {
			continue
		}
		if err := add(c.Name, c.params(r.Engine.Go())); err != nil {
			return nil, err
		}
	}
	if !flat {
		return sets, nil
	}
	var all []map[string]any
	for _, s := range sets {
		all = append(all, s.Params)
	}
	return []Set{{Params{"clusters": all}, Origin{What: "list of clusters"}}}, nil
}

func (r *run) hasLocal() bool {
	for _, c := range r.Clusters {
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
