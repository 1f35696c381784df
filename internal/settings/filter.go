package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Filter selects resources. An empty list matches everything. Groups and clusters, which are addresses of API servers, are globs; a
// kind is a name or *.
type Filter struct {
	APIGroups []string `json:"apiGroups"`
	Kinds     []string `json:"kinds"`
	Clusters  []string `json:"clusters"`
}

// builtIn are the exclusions that every Argo CD has (util/settings/resources_filter.go, 3.2).
func builtIn() []Filter {
	return []Filter{
		{APIGroups: []string{"events.k8s.io", "metrics.k8s.io"}},
		{APIGroups: []string{""}, Kinds: []string{"Event"}},
		{APIGroups: []string{"coordination.k8s.io"}, Kinds: []string{"Lease"}},
	}
}

// Excludes reports whether Argo CD leaves resources of a kind out of what it deploys to a cluster, which is named by the address of its
// API server. It applies the built-in exclusions, those of the settings, and, where a cluster has inclusions, excludes the rest.
func (s Settings) Excludes(group, kind, cluster string) bool {
	matches := func(f Filter) bool { return f.resource(group, kind) && f.cluster(cluster) }
	if slices.ContainsFunc(builtIn(), matches) || slices.ContainsFunc(s.Exclusions, matches) {
		return true
	}
	if slices.ContainsFunc(s.Inclusions, matches) {
		return false
	}
	return slices.ContainsFunc(s.Inclusions, func(f Filter) bool { return f.cluster(cluster) })
}

func (f Filter) resource(group, kind string) bool {
	return anyGlob(f.APIGroups, group) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, "*") || slices.Contains(f.Kinds, kind))
}

func (f Filter) cluster(server string) bool { return anyGlob(f.Clusters, server) }

func anyGlob(patterns []string, s string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		if !strings.ContainsAny(p, `*?[]{}\`) {
			return p == s
		}
		re, err := argo.Glob(p, "")
		// Argo CD, too, ignores a pattern that is none.
		return err == nil && re.MatchString(s)
	})
}

// filters reads a key of argocd-cm that is a list of filters as YAML.
func filters(data map[string]any, key string) ([]Filter, error) {
	list, ok, err := text(data, key)
	if !ok {
		return nil, err
	}
	var v any
	if err := manifest.Unmarshal([]byte(list), &v); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	var out []Filter
	if err := manifest.Unmarshal([]byte(list), &out); err != nil {
		return nil, fmt.Errorf("%s: must be a list of objects, as YAML, whose apiGroups, kinds and clusters are lists of strings", key)
	}
	var errs []error
	for i, f := range out {
		for _, p := range slices.Concat(f.APIGroups, f.Clusters) {
			if _, err := argo.Glob(p, ""); err != nil {
				errs = append(errs, fmt.Errorf("%s: [%d]: %q is not a pattern: %w", key, i, p, err))
			}
		}
	}
	return out, errors.Join(errs...)
}
