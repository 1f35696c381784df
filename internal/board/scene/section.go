package scene

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo/order"
)

// arrange sorts Applications into sections and lanes.
func (s *Scene) arrange() {
	children := map[string][]*App{}
	known := map[string]bool{}
	for i := range s.Apps {
		known[s.Apps[i].Key] = true
	}
	var roots []*App
	for i := range s.Apps {
		a := &s.Apps[i]
		if a.Parent == "" || !known[a.Parent] {
			roots = append(roots, a)
			continue
		}
		children[a.Parent] = append(children[a.Parent], a)
	}
	s.Sections = []Section{}
	var single []*App
	for _, root := range roots {
		if len(children[root.Key]) == 0 {
			single = append(single, root)
			continue
		}
		section := Section{}
		// An Application that deploys nothing but another one has no order of its own to show.
		for below := children[root.Key]; len(below) == 1 && len(children[below[0].Key]) > 0; below = children[root.Key] {
			section.Above = append(section.Above, root.Key)
			root = below[0]
		}
		section.Root = root.Key
		section.Lanes = lanes(children[root.Key])
		s.Sections = append(s.Sections, section)
	}
	// The boot with the most Applications comes first.
	sizes := s.sizes(children)
	slices.SortStableFunc(s.Sections, func(a, b Section) int { return cmp.Compare(sizes[b.Root], sizes[a.Root]) })
	if len(single) > 0 {
		lane := Lane{}
		for _, a := range single {
			lane.Apps = append(lane.Apps, a.Key)
		}
		s.Sections = append(s.Sections, Section{Lanes: []Lane{lane}})
	}
}

// sizes are how many are below each.
func (s *Scene) sizes(children map[string][]*App) map[string]int {
	sizes := map[string]int{}
	for _, a := range slices.Backward(s.Apps) { // children are behind their parents
		sizes[a.Key]++
		for _, c := range children[a.Key] {
			sizes[a.Key] += sizes[c.Key]
		}
	}
	return sizes
}

// lanes are the waves of a sync.
func lanes(apps []*App) []Lane {
	sorted := slices.Clone(apps)
	slices.SortStableFunc(sorted, func(a, b *App) int {
		return cmp.Or(order.Compare(a.Phase, a.Wave, b.Phase, b.Wave), strings.Compare(a.Name, b.Name))
	})
	var out []Lane
	for _, a := range sorted {
		last := len(out) - 1
		if last < 0 || out[last].Wave != a.Wave || out[last].Phase != a.Phase {
			out = append(out, Lane{Phase: a.Phase, Wave: a.Wave})
			last++
		}
		out[last].Apps = append(out[last].Apps, a.Key)
	}
	return out
}
