package screen

import (
	"bytes"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"short":                         "short",
		"one two three four five":       "one two three\nfour five",
		"  one two three four five":     "  one two\n  three four\n  five",
		"   12s  ab cd ef gh":           "   12s  ab cd\n           ef gh",
		"averyveryverylongword x":       "averyveryverylongword x",
		"x averyveryverylongword":       "x\naveryveryverylongword",
		"\nThen somebody adds to Git: ": "\nThen somebody\nadds to Git: ",
		"wave ümläut wörter hier ja":    "wave ümläut\nwörter hier ja",
	} {
		if got := wrap(text, 14); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestScreen: lines scroll, what is below them is replaced, and fits.
func TestScreen(t *testing.T) {
	var out bytes.Buffer
	s := New(Config{Out: &out, Size: func() (int, int) { return 10, 4 }})
	s.Draw([]string{"0123456789abc", "2", "3", "4", "5"})
	s.Line("a line")
	s.Draw([]string{"x"})
	s.Keep()
	s.Line("end")
	want := "01234567…\n2\n3\n" + "\x1b[3A\r\x1b[J" + "a line\n" + "01234567…\n2\n3\n" + "\x1b[3A\r\x1b[Jx\n" + "end\n"
	if got := out.String(); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	// Without a terminal there is nothing but lines.
	out.Reset()
	s = New(Config{Out: &out, Color: true})
	s.Draw([]string{"x"})
	s.Line("%s %s", Healthy, strings.Repeat("long ", 50))
	if got := out.String(); strings.Contains(got, "\x1b") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
}
