package source

import (
	"os"
	"testing"
)

// FuzzExpand compares with os.Expand.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{
		"", "$", "a$", "$a", "${a}", "${a", "${}", "$$", "${$}", "$1a", "$-", "$.", "x${a.b}y$a-b", "${*}", "${*a}",
		"$ä",
	} {
		f.Add(s)
	}
	value := func(name string) string { return "<" + name + ">" }
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := expand(s, value), os.Expand(s, value); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	})
}
