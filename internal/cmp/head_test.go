package cmp

import (
	"strings"
	"testing"
)

// TestHeads: each project has its part, all have theirs, and a project that has nothing is not refused.
func TestHeads(t *testing.T) {
	h := &heads{}
	take := func(project string, n int, want string) {
		t.Helper()
		err := h.take(project, n)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	take("a", projectHeads/2, "")
	take("a", projectHeads/2, "")
	take("a", 1024, `unanswered requests of project "a" have 16384 KiB of parameters, this one has 1 KiB more, and the limit for all of them is 16384 KiB; try again`)
	for _, project := range strings.Split("b c d", " ") {
		take(project, projectHeads, "")
	}
	take("e", 1024, "") // though all is taken
	take("e", 1024, "unanswered requests of all projects have 65537 KiB of parameters, this one has 1 KiB more, and the limit for all of them is 65536 KiB; try again")
	h.give("a", projectHeads/2)
	take("e", 1024, "")
	take("a", projectHeads/2-2048, "")
	h.give("a", projectHeads/2)
	h.give("a", projectHeads/2-2048)
	for _, project := range strings.Split("b c d", " ") {
		h.give(project, projectHeads)
	}
	h.give("e", 2048)
	if h.all != 0 || len(h.of) != 0 {
		t.Errorf("left behind: %d, %v", h.all, h.of)
	}
}
