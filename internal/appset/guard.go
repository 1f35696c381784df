package appset

import (
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// guard refuses Applications that cannot be deployed, or that would be the same object as another.
type guard struct {
	seen map[[2]string]owner // by namespace and name
}

// owner is where an Application comes from.
type owner struct {
	set   Set
	where string
}

func newGuard() *guard { return &guard{seen: map[[2]string]owner{}} }

func (g *guard) check(app manifest.Object, from owner) []error {
	var errs []error
	name := manifest.String(app, "metadata", "name")
	if err := CheckName(name); err != nil {
		errs = append(errs, err)
	} else {
		id := [2]string{from.set.Namespace, name}
		if other, ok := g.seen[id]; ok {
			where := other.where
			if other.set.String() != from.set.String() {
				where = other.set.String() + ": " + where
			}
			errs = append(errs, fmt.Errorf("metadata.name: %q is the name of another Application, from %s", name, where))
		} else {
			g.seen[id] = from
		}
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

// CheckName checks a name as Kubernetes does: a DNS subdomain.
func CheckName(name string) error {
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
			return fmt.Errorf("metadata.name: %q is not a name that Kubernetes allows: lower case letters, digits, dashes and dots, "+
				"letters or digits at the ends", name)
		}
	}
	return nil
}

// Check refuses Applications of other engines as Generate refuses its own.
func Check(sets []Set, apps [][]manifest.Object) error {
	g := newGuard()
	var errs []error
	for i, list := range apps {
		for j, app := range list {
			for _, err := range g.check(app, owner{sets[i], fmt.Sprintf("application %d", j)}) {
				errs = append(errs, sets[i].errorf("%w", err))
			}
		}
	}
	return errors.Join(errs...)
}
