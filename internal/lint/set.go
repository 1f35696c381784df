package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/strict"
)

// generators returns all generators of a set that are objects, nested ones behind those that they are in.
func (s set) generators() []*generator.Node {
	return slices.DeleteFunc(generator.Nodes(s.spec["generators"]), func(g *generator.Node) bool { return g.Spec == nil })
}

// has returns the first generator of one of these kinds, nil if there is none.
func (s set) has(kinds ...generator.Kind) *generator.Node {
	for _, g := range s.generators() {
		if slices.Contains(kinds, g.Kind) {
			return g
		}
	}
	return nil
}

// deletes reports whether the Applications of a set are deleted if their parameters go, and with them what they have deployed.
func (s set) deletes() bool {
	return !argo.KeepsApplications(s.spec) && !s.preserves()
}

// preserves reports whether what the Applications of a set have deployed stays if they go.
func (s set) preserves() bool {
	on, _ := manifest.Map(s.spec, "syncPolicy")["preserveResourcesOnDeletion"].(bool)
	return on
}

// texts calls a function for each text in a value, keys included, with its path.
func texts(v any, path []string, visit func(path []string, text string)) {
	switch v := v.(type) {
	case string:
		visit(path, v)
	case map[string]any:
		for _, k := range manifest.Keys(v) {
			here := append(slices.Clone(path), k)
			visit(here, k)
			texts(v[k], here, visit)
		}
	case []any:
		for i, e := range v {
			texts(e, append(slices.Clone(path), strict.Index(i)), visit)
		}
	}
}

var (
	action    = regexp.MustCompile(`(?s)\{\{-?(.*?)-?\}\}`)
	reference = regexp.MustCompile(`(?:^|[\s(|])\$?\.([A-Za-z_]\w*(?:\.\w+)*)(?:\s+"([^"]*)")?`)
)

// parameters are the parameters that a text of a set uses, with dots: path.basename, metadata.labels.env.
func (s set) parameters(text string) []string {
	var out []string
	for _, a := range action.FindAllStringSubmatch(text, -1) {
		if !s.goTemplate() {
			out = append(out, strings.TrimSpace(a[1]))
			continue
		}
		for _, m := range reference.FindAllStringSubmatch(a[1], -1) {
			name := m[1]
			if m[2] != "" && strings.Contains(a[1], "index") {
				name += "." + m[2]
			}
			out = append(out, name)
		}
	}
	return out
}
