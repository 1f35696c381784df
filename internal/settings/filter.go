package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

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
		re, err := glob(p)
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
			if _, err := glob(p); err != nil {
				errs = append(errs, fmt.Errorf("%s: [%d]: %q is not a pattern: %w", key, i, p, err))
			}
		}
	}
	return out, errors.Join(errs...)
}

// glob translates a pattern in the syntax of gobwas/glob, which Argo CD uses here without separators.
func glob(pattern string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			b.WriteString(`.*`)
		case c == '?':
			b.WriteString(`.`)
		case c == '[':
			end := strings.IndexByte(pattern[i:], ']')
			if end < 2 {
				return nil, errors.New("it has a [ without its ]")
			}
			class, negated := strings.CutPrefix(pattern[i+1:i+end], "!")
			class = strings.NewReplacer(`^`, `\^`, `[`, `\[`).Replace(class)
			b.WriteString(map[bool]string{false: "[", true: "[^"}[negated] + class + "]")
			i += end
		case c == '{':
			depth++
			b.WriteString(`(?:`)
		case c == '}' && depth > 0:
			depth--
			b.WriteString(`)`)
		case c == ',' && depth > 0:
			b.WriteString(`|`)
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	if depth > 0 {
		return nil, errors.New("it has a { without its }")
	}
	re, err := regexp.Compile(b.String() + `\z`)
	if err != nil {
		return nil, errors.New("it has a class that is not one")
	}
	return re, nil
}
