package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/report"
)

func TestWorse(t *testing.T) {
	for name, tt := range map[string]struct {
		d    report.Difference
		want bool
	}{
		"nothing": {report.Difference{Diff: &plan.Difference{}}, false},
		"new application": {report.Difference{Diff: &plan.Difference{Changes: []plan.Change{
			{Kind: plan.Added},
			{Kind: plan.Gone},
			{Kind: plan.Waits},
		}}}, false},
		"stops waiting": {
			report.Difference{Diff: &plan.Difference{Changes: []plan.Change{{Kind: plan.Added}, {Kind: plan.Stops}}}},
			true,
		},
		"new finding":       {report.Difference{Diff: &plan.Difference{Changes: []plan.Change{{Kind: plan.Found}}}}, true},
		"incomplete before": {report.Difference{Diff: &plan.Difference{}, Before: []plan.Gap{{}}}, true},
		"incomplete now":    {report.Difference{Diff: &plan.Difference{}, After: []plan.Gap{{}}}, true},
	} {
		if got := tt.d.Worse(); got != tt.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestSame: two plans are called the same only if both are known.
func TestSame(t *testing.T) {
	same := report.NewDifference("main", &plan.Plan{}, &plan.Plan{}, report.Verdict{})
	incomplete := &report.Difference{
		Revision: "main", Diff: &plan.Difference{},
		Before: []plan.Gap{{Name: "x", State: "unknown", Reason: "away"}},
	}
	partly := &report.Difference{Revision: "main", Diff: &plan.Difference{NotCompared: []argo.Ref{{Name: "x"}}}}
	for _, tt := range []struct {
		d    *report.Difference
		f    report.Format
		want string
	}{
		{
			partly, report.Table,
			"Nothing that is known changes since main.\n" +
				"1 Application could not be compared completely, because parts are unknown or broken: x\n",
		},
		{
			partly, report.Markdown,
			"**Nothing that is known changes since `main`.**\n\n" +
				"1 Application could not be compared completely, because parts are unknown or broken: `x`\n",
		},
		{same, report.Table, "The boot is the same as at main.\n"},
		{same, report.Markdown, "**The boot is the same as at `main`.**\n"},
		{incomplete, report.Table, "The comparison is incomplete: at main, x is unknown: away\nNothing that is known changes.\n"},
		{
			incomplete, report.Markdown,
			"**The comparison is incomplete:** `at main, x is unknown: away`\n\nNothing that is known changes.\n",
		},
	} {
		var b bytes.Buffer
		if err := tt.d.Write(&b, tt.f); err != nil || b.String() != tt.want {
			t.Errorf("%s: %v, %q", tt.f, err, b.String())
		}
	}
}

// TestComment: a comment on a pull request has a limit, and says what is missing; a table has everything.
func TestComment(t *testing.T) {
	const many = 3000
	d := &report.Difference{Revision: "main", Command: "argosy plan --diff main", Manifests: true, Diff: &plan.Difference{}}
	for i := range many {
		name := fmt.Sprintf("application-%04d", i)
		d.Diff.Changes = append(d.Diff.Changes, plan.Change{Kind: plan.Added, Subject: name, New: "wave 1 of root"})
		d.Diff.NotCompared = append(d.Diff.NotCompared, argo.Ref{Name: name})
		d.Diff.Manifests = append(d.Diff.Manifests, plan.Manifests{
			Ref:     argo.Ref{Name: name},
			Objects: []plan.ObjectChange{{ID: plan.ID{Kind: "ConfigMap", Name: name}, New: manifest.Object{}}},
		})
	}
	var b bytes.Buffer
	if err := d.Write(&b, report.Markdown); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if len(text) > 60_000 || len(text) < 50_000 {
		t.Errorf("%d bytes", len(text))
	}
	if !strings.HasSuffix(text, "entries do not fit into a comment; this command prints them: `argosy plan --diff main`\n") {
		t.Errorf("the end is %q", text[len(text)-200:])
	}
	if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
		t.Error("a fold does not end")
	}
	b.Reset()
	if err := d.Write(&b, report.Table); err != nil || strings.Count(b.String(), "  + application-") != many {
		t.Errorf("%v, %d of %d", err, strings.Count(b.String(), "  + application-"), many)
	}
}

// TestUnified: a difference is one of whole objects, cut where a report would have too much of it.
func TestUnified(t *testing.T) {
	object := func(value string) manifest.Object {
		data := map[string]any{}
		for i := range 500 {
			data[fmt.Sprintf("key-%03d", i)] = value
		}
		return manifest.Object{"kind": "ConfigMap", "data": data}
	}
	c := plan.ObjectChange{ID: plan.ID{Kind: "ConfigMap", Name: "x"}, Old: object("a"), New: object("b")}
	lines := report.Unified(c, "x at main", "x")
	if len(lines) != 2+1+1+1000+1 || lines[0] != "--- x at main" || lines[1] != "+++ x" { // header, place, data, values, kind
		t.Errorf("%d lines, %q", len(lines), lines[:3])
	}
	if all := report.Unified(plan.ObjectChange{New: object("b")}, "a", "b"); len(all) != 2+1+502 || all[3] != "+data:" {
		t.Errorf("%d lines of a new object, %q", len(all), all[:4])
	}
	d := &report.Difference{Manifests: true, Diff: &plan.Difference{Manifests: []plan.Manifests{{
		Ref:     argo.Ref{Name: "web"},
		Objects: []plan.ObjectChange{c},
	}}}}
	var b bytes.Buffer
	if err := d.Write(&b, report.Table); err != nil || !strings.Contains(b.String(), "      … 603 more lines\n") {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	if err := d.Write(&b, report.JSON); err != nil || !strings.Contains(b.String(), `+  key-499: b\n`) {
		t.Errorf("%v: JSON is cut", err)
	}
}
