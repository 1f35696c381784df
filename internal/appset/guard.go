package appset

import (
	"fmt"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// guard refuses Applications that cannot be deployed, or that would be the same object as another.
type guard struct {
	seen map[[2]string]Set // by namespace and name
}

func newGuard() *guard { return &guard{seen: map[[2]string]Set{}} }

func (g *guard) check(app manifest.Object, set Set) []error {
	var errs []error
	name := manifest.String(app, "metadata", "name")
	if err := checkName(name); err != nil {
		errs = append(errs, err)
	} else {
		id := [2]string{set.Namespace, name}
		if other, ok := g.seen[id]; ok {
			err := fmt.Errorf("metadata.name: %q is the name of another Application", name)
			if other.String() != set.String() {
				err = fmt.Errorf("%w, of %s", err, other)
			}
			errs = append(errs, err)
		}
		g.seen[id] = set
	}
	if manifest.String(app, "spec", "project") == "" {
		errs = append(errs, fmt.Errorf("spec.project of %q must be set", name))
	}
	server, cluster := manifest.String(app, "spec", "destination", "server"), manifest.String(app, "spec", "destination", "name")
	switch {
	case server == "" && cluster == "":
		errs = append(errs, fmt.Errorf("spec.destination of %q: server or name must be set", name))
	case server != "" && cluster != "":
		errs = append(errs, fmt.Errorf("spec.destination of %q: server and name are both set, one is allowed", name))
	}
	return errs
}

// checkName checks a name as Kubernetes does: a DNS subdomain.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("metadata.name must be set")
	}
	if len(name) > 253 {
		return fmt.Errorf("metadata.name has %d characters, 253 are allowed", len(name))
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		// Each part between dots starts and ends with a letter or digit.
		edge := i == 0 || i == len(name)-1 || name[i-1] == '.' || name[i+1] == '.'
		if !alnum && (edge || c != '-' && c != '.') {
			return fmt.Errorf("metadata.name: %q is not a name that Kubernetes allows: lower case letters, digits, dashes and dots, letters or digits at the ends", name)
		}
	}
	return nil
}
