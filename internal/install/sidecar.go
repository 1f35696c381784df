package install

import (
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Sidecar is the name of the container of the plugins.
const Sidecar = "argosy-cmp"

// Container has the user's settings of the plugins' container. The zero Container keeps those of deploy/.
type Container struct {
	// Env are variables, as NAME=VALUE. One that deploy/ has is replaced.
	Env []string
	// EnvSecret is a Secret whose keys become variables. "" is none.
	EnvSecret string
	// Memory is the limit, as Kubernetes writes quantities. "" keeps deploy/'s.
	Memory string
}

// given are variables that the installed arguments override, or that other containers must have, too.
var given = map[string]string{
	"ARGOSY_POLICY":    "use --policy",
	"ARGOSY_CACHE_DIR": "the cache is in the work volume",
	interval:           "use --interval",
}

var (
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	quantity = regexp.MustCompile(`^[1-9][0-9]*(Mi|Gi|M|G)$`)
)

func (c Container) check() error {
	for _, text := range c.Env {
		name, _, ok := strings.Cut(text, "=")
		if !ok || !variable.MatchString(name) {
			return problem.Usagef("--env: %q is not NAME=VALUE", name)
		}
		if flag := given[name]; flag != "" {
			return problem.Usagef("--env: %s would have no effect, or differ from the trigger repositories; %s", name, flag)
		}
	}
	switch {
	case c.EnvSecret != "" && !dnsName.MatchString(c.EnvSecret):
		return problem.Usagef("--env-secret: %q is not a name of a Secret", c.EnvSecret)
	case c.Memory != "" && !quantity.MatchString(c.Memory):
		return problem.Usagef("--memory: %q is not a quantity such as 2Gi", c.Memory)
	}
	return nil
}

// apply changes the container of the plugins among the objects of deploy/.
func (c Container) apply(objects []manifest.Object) {
	walk(objects, func(m map[string]any) {
		if m["name"] != Sidecar || m["args"] == nil {
			return
		}
		env, _ := m["env"].([]any)
		for _, text := range c.Env {
			name, value, _ := strings.Cut(text, "=")
			env = append(slices.DeleteFunc(env, func(v any) bool {
				e, _ := v.(map[string]any)
				return e["name"] == name
			}), map[string]any{"name": name, "value": value})
		}
		m["env"] = env
		if c.EnvSecret != "" {
			m["envFrom"] = []any{map[string]any{"secretRef": map[string]any{"name": c.EnvSecret}}}
		}
		if limits := manifest.Map(m, "resources", "limits"); c.Memory != "" && limits != nil {
			limits["memory"] = c.Memory
		}
	})
}
