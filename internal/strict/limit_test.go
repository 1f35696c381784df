package strict

import (
	"errors"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/problem"
)

func TestHostile(t *testing.T) {
	large := strings.Repeat("x", 400_000)
	for name, c := range map[string]struct{ in, want string }{
		"aliases of a large string": {
			"any:\n- &a " + large + "\n- [" + strings.Repeat("*a,", 90_000) + "]\n",
			"with aliases replaced there are more than 4194304 bytes here",
		},
		"aliases of a large name":    {"parts:\n- &a {name: a, ? " + large + " : 1}\n" + strings.Repeat("- *a\n", 90_000), "unknown field"},
		"aliases of a mistake":       {"parts:\n- &a {nam: 1, tags: " + large + "}\n" + strings.Repeat("- *a\n", 90_000), "unknown field"},
		"many values in a long name": {"any: {? " + large + " : [" + strings.Repeat("a,", 90_000) + "{b: 1, b: 2}]}\n", "is given twice"},
		"a long value":               {"count: " + large + "\n", "count must be a whole number"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Refused(t, c.want, func() error {
				_, err := Decode("f.yaml", []byte(c.in), new(file))
				errs := problem.All(err)
				if len(errs) == 0 || len(errs) > maxErrors {
					return errors.New("too many errors, or none")
				}
				return errs[0]
			})
		})
	}
}
