// Package environ has the environment of a process as a value. Like a secret, it is not printed: no verb of package fmt, no encoder and no
// log shows it, wherever it is in a value, since it holds keys and tokens.
package environ

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/secret"
)

// Environ is an environment. The zero value is empty.
type Environ struct {
	joined secret.Text // with separators
}

// separator cannot be in a variable: for a kernel, it is the end of one.
const separator = "\x00"

// New returns the environment of variables in the form NAME=VALUE, as os.Environ returns them.
func New(variables ...string) Environ { return Environ{secret.New(strings.Join(variables, separator))} }

// List returns the variables in the form NAME=VALUE, for a process that is started.
func (e Environ) List() []string {
	if e.joined.IsZero() {
		return nil
	}
	return strings.Split(e.joined.Reveal(), separator)
}

// Get returns the value of a variable, "" if it is not set. The last one of a name counts.
func (e Environ) Get(name string) string {
	for _, v := range slices.Backward(e.List()) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// Format implements fmt.Formatter, for every verb.
func (e Environ) Format(s fmt.State, verb rune) { e.joined.Format(s, verb) }

// MarshalText implements encoding.TextMarshaler, for encoders and logs.
func (e Environ) MarshalText() ([]byte, error) { return e.joined.MarshalText() }
