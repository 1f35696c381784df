package cli

import (
	"fmt"
	"io"
	"time"
)

// Std is what a command has from outside: data on Out, talk on Err.
type Std struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string
	Now      func() time.Time
	Terminal bool // Err is one
	// Size is that of the terminal that Out is. Nil is none.
	Size func() (width, height int)
	// Quiet takes standard error from libraries, which cannot be told to be silent otherwise. Nil cannot.
	Quiet func()
	// Linger makes the process wait longer for a command to end after it was told to. Nil cannot.
	Linger func(time.Duration)
}

// Getenv returns a variable of the environment, "" if it is not set.
func (s Std) Getenv(name string) string { return Getenv(s.Env, name) }

// Dumb reports whether the terminal, if there is one, gets lines only.
func (s Std) Dumb() bool { return s.Getenv("TERM") == "" || s.Getenv("TERM") == "dumb" }

// Note says something that the user should know.
func (s Std) Note(line string) { fmt.Fprintln(s.Err, "note:", line) }

// Warn says that something is probably wrong.
func (s Std) Warn(line string) { fmt.Fprintln(s.Err, "warning:", line) }
