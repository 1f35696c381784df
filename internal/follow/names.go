package follow

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
)

// Names returns the names of the Applications of a boot, each as a command takes it: with its namespace if others have the name, too.
func (b *Boot) Names() []string {
	s := b.model.Snapshot()
	var refs []argo.Ref
	for _, n := range s.Nodes {
		if !n.Set {
			refs = append(refs, n.Ref)
		}
	}
	return slices.Sorted(slices.Values(argo.Names(refs)))
}
