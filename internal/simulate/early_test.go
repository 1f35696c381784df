package simulate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/simulate"
)

// TestTooEarly: a wave does not wait for the Applications of a set, so those of the next one are made too early.
func TestTooEarly(t *testing.T) {
	_, p := two()
	if got := run(t, p, simulate.DefaultModel()).TooEarly(p); got != nil {
		t.Errorf("all wait, but %v", got)
	}
	tr := &tree{}
	x, z := tr.app("x", object("Deployment", 0)), tr.app("z", object("Deployment", 0))
	late := tr.app("late", object("Deployment", 0))
	p = tr.plan(tr.app("root", set("zs", 1, z), child(x, 1), child(late, 2)))
	b := run(t, p, simulate.DefaultModel(), simulate.Fault{App: "z", Kind: simulate.Never})
	if diff := cmp.Diff([]simulate.Early{{App: "late", Before: "z", Wave: 2, EarlierWave: 1}}, b.TooEarly(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// One that is never made is not early.
	b = run(t, p, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Never})
	if b.Find("late").Created >= 0 {
		t.Fatal("the wave did not wait for x")
	}
	if got := b.TooEarly(p); got != nil {
		t.Errorf("%v", got)
	}
}
