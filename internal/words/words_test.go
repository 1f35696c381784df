package words_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/words"
)

func TestWords(t *testing.T) {
	names := strings.Split("a b c d e f g h i j", " ")
	for got, want := range map[string]string{
		words.Count(0, "object"): "0 objects", words.Count(1, "object"): "1 object", words.IsAre(1) + words.IsAre(2): "isare",
		words.Some(names[:9]): "a, b, c, d, e, f, g, h, i", words.Some(names): "a, b, c, d, e, f, g, h and 2 more", words.Some(nil): "",
		words.First(names[:3], 2): "a, b, c", words.First(names[:4], 2): "a, b and 2 more",
		words.OneLine(" a\n\t b ", 3): "a b", words.OneLine("a b c", 3): "a b …", words.OneLine("aaaa b", 3): "aaa …", words.OneLine("aä b", 2): "a …",
		words.OneLine("", 3): "", words.OneLine("a"+strings.Repeat(" ", 99), 1): "a",
		words.Ends("a\n b", 3): "a b", words.Ends("first and last", 6): "fi … last", words.Ends("äbcdeö", 3): " … ö",
		words.Clock(-1): "never", words.Clock(90*time.Second + time.Millisecond): "1m30s",
		words.Shorten("äö", 4): "äö", words.Shorten("äö", 3): "ä …",
		words.Printable("a b"): "a b", words.Printable("a\x1b[2J"): `"a\x1b[2J"`, words.Printable("a\n"): `"a\n"`,
		words.Harmless("a\tb\x1b[2J\n"): "a\tb\ufffd[2J\ufffd", words.OrDash(""): "-", words.OrDash("x"): "x",
		words.Cut("äöü", 3): "äöü", words.Cut("äöüx", 3): "äö…", words.Cut("x", 0): "…",
		words.Age(-time.Second): "0s", words.Age(90 * time.Second): "90s", words.Age(12 * time.Minute): "12m", words.Age(3 * time.Hour): "3h",
		words.Age(80 * time.Hour): "3d",
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	var b strings.Builder
	if err := words.Line(&b, "%d", 1); err != nil || b.String() != "1\n" {
		t.Error(b.String(), err)
	}
	if err := words.Line(full{}, "x"); err == nil || err.Error() != "writing: full" {
		t.Error(err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func ExampleSome() {
	fmt.Println(words.Some([]string{"longhorn", "volsync"}))
	// Output: longhorn, volsync
}

func TestShell(t *testing.T) {
	for want, line := range map[string][]string{
		"argosy plan --diff=main":    {"argosy", "plan", "--diff=main"},
		`a 'b c' ''\'''`:             {"a", "b c", "'"},
		"'$(x)' 'a;b' x@1 https://x": {"$(x)", "a;b", "x@1", "https://x"},
		"a ''":                       {"a", ""},
	} {
		if got := words.Shell(line); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

func TestSimilar(t *testing.T) {
	names := []string{"plan", "lint", "plan", "simulate", "Planner"}
	for typed, want := range map[string]string{
		"pln": "plan", "PLAN": "Planner plan", "sim": "simulate", "limt": "lint", "x": "", "simulatexxx": "",
	} {
		if got := strings.Join(words.Similar(typed, names), " "); got != want {
			t.Errorf("%s: got %q, want %q", typed, got, want)
		}
	}
}
