package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/argosy-cd/argosy/internal/environ"
)

// Std holds the inputs and outputs of a command: data goes to Out, messages to Err.
type Std struct {
	In       io.Reader
	Out, Err io.Writer
	Env      environ.Environ
	Now      func() time.Time
	Terminal bool // Err is a terminal
	// Size returns the size of the terminal Out. Nil means that Out is no terminal.
	Size func() (width, height int)
	// Quiet discards what libraries write to standard error. Nil does nothing.
	Quiet func()
	// Linger sets how long the process waits for a command after a signal. Nil does nothing.
	Linger func(time.Duration)
}

// Getenv returns a variable of the environment, "" if it is not set.
func (s Std) Getenv(name string) string { return s.Env.Get(name) }

// Dumb reports whether the terminal supports only plain lines.
func (s Std) Dumb() bool { return s.Getenv("TERM") == "" || s.Getenv("TERM") == "dumb" }

// Note prints a note for the user.
func (s Std) Note(line string) { fmt.Fprintln(s.Err, "note:", line) }

// Warn prints a warning for the user.
func (s Std) Warn(line string) { fmt.Fprintln(s.Err, "warning:", line) }
