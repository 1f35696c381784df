package scm

import (
	"fmt"

	"github.com/argosy-cd/argosy/internal/policy"
)

// Permit returns a function that checks by the policy what a parent may ask, and which namespace's Secrets it may use. Namespace is Argo
// CD's own. Secrets of the parent's namespace are its own; those of Argo CD's namespace come with the permission to ask. A role of AWS may
// be assumed for administrators only.
func Permit(p *policy.Policy, parent policy.Parent, namespace string) func(Target) error {
	return func(t Target) error {
		if err := p.API(parent, t.Resource); err != nil {
			return err
		}
		if t.Namespace != "" && t.Namespace != parent.Namespace && t.Namespace != namespace && !p.Unrestricted(parent) {
			return fmt.Errorf("the Secrets of namespace %q are refused: a set may use those of its parent's namespace, %q, and of "+
				"Argo CD's", t.Namespace, parent.Namespace)
		}
		if t.Role != "" && !parent.Admin {
			return fmt.Errorf("role %q is refused: only applications of administrators' projects may assume roles", t.Role)
		}
		return nil
	}
}
