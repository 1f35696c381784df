package follow

import "slices"

// Names returns the names of the Applications of a boot, each as a command takes it: with its namespace if others have the name, too.
func (b *Boot) Names() []string {
	s := b.model.Snapshot()
	count := map[string]int{}
	for _, n := range s.Nodes {
		if !n.Set {
			count[n.Name]++
		}
	}
	var out []string
	for _, n := range s.Nodes {
		switch {
		case n.Set:
		case count[n.Name] > 1:
			out = append(out, n.Namespace+"/"+n.Name)
		default:
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}
