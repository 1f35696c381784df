package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/board"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
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
	s := newScreen(Screen{Out: &out, Size: func() (int, int) { return 10, 4 }})
	s.draw([]string{"0123456789abc", "2", "3", "4", "5"})
	s.line("a line")
	s.draw([]string{"x"})
	s.keep()
	s.line("end")
	want := "01234567…\n2\n3\n" + "\x1b[3A\r\x1b[J" + "a line\n" + "01234567…\n2\n3\n" + "\x1b[3A\r\x1b[Jx\n" + "end\n"
	if got := out.String(); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	// Without a terminal there is nothing but lines.
	out.Reset()
	s = newScreen(Screen{Out: &out, Color: true})
	s.draw([]string{"x"})
	s.line("%s %s", markHealthy, strings.Repeat("long ", 50))
	if got := out.String(); strings.Contains(got, "\x1b") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
}

// TestPatientBoot: a repair is waited for, however late, and a sync that is tried for ever is not.
func TestPatientBoot(t *testing.T) {
	x := &plan.Application{
		Ref: argo.Ref{Name: "x"}, Automated: true,
		Items: []*plan.Item{{Kind: "Deployment", Name: "x", Phase: plan.Sync, Waits: true}},
	}
	root := &plan.Application{
		Ref: argo.Ref{Name: "root"}, Automated: true,
		Retry: plan.Retry{Limit: -1, First: time.Second, Factor: 2, Most: time.Minute}, Items: []*plan.Item{
			{Kind: "Application", Name: "x", Phase: plan.Sync, Waits: true, Application: x},
			{Kind: "ConfigMap", Name: "y", Phase: plan.Sync, Wave: 1},
		},
	}
	p := &plan.Plan{Root: root, Applications: []*plan.Application{root, x}}
	for _, repair := range []time.Duration{0, time.Second, 24 * time.Hour} {
		sim, err := board.FromSimulation(p, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Fail, Mended: repair})
		if err != nil {
			t.Fatal(err)
		}
		if b := sim.Boot(); b.Done() != (repair > 0) || b.Cut != (repair == 0) || b.Total > repair+time.Hour {
			t.Errorf("%s: done %t, cut %t, %s", repair, b.Done(), b.Cut, b.Total)
		}
	}
}
