package cli

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Size returns a function that measures a terminal, nil for any other file. A terminal that does not know its size has 80 columns and 24
// lines.
func Size(f *os.File) func() (width, height int) {
	if !IsTerminal(f) {
		return nil
	}
	return func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width < 1 || height < 1 {
			return 80, 24
		}
		return width, height
	}
}

// Quiet makes libraries print nothing on standard error. Kustomize prints deprecated fields there, for each build and without the file.
// Panics are printed all the same.
func Quiet() {
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = null
	}
}
