package lint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/strict"
)

// Baseline are the findings of an old repository, which a report leaves out. Lines do not matter, so that it survives edits.
type Baseline struct {
	Findings []Entry `field:"findings,required" doc:"findings that are known"`
}

// Entry are findings that differ in their lines and Applications only.
type Entry struct {
	Rule    string `field:"rule,required" doc:"name of the rule"`
	File    string `field:"file" doc:"file of the finding"`
	Message string `field:"message,required" doc:"its message"`
	Count   int64  `field:"count,required" doc:"how many there are"`
}

// ParseBaseline reads a baseline.
func ParseBaseline(file string, data []byte) (Baseline, error) {
	var b Baseline
	doc, err := strict.Decode(file, data, &b)
	if doc == nil {
		return b, err
	}
	errs := []error{err}
	for i, e := range b.Findings {
		if e.Count < 1 {
			errs = append(errs, doc.Errorf("findings"+strict.Index(i)+".count", "count must be at least 1"))
		}
	}
	return b, errors.Join(errs...)
}

// key is the entry of a finding.
func (f Finding) key() Entry { return Entry{Rule: f.Rule.Name, File: f.named, Message: f.Message} }

// NewBaseline has the findings of a report.
func NewBaseline(r *Report) Baseline {
	count := map[Entry]int64{}
	for _, f := range r.Findings {
		count[f.key()]++
	}
	var b Baseline
	for e, n := range count {
		e.Count = n
		b.Findings = append(b.Findings, e)
	}
	slices.SortFunc(b.Findings, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return b
}

// Write writes a baseline as YAML.
func (b Baseline) Write(w io.Writer) error {
	list := []any{}
	for _, e := range b.Findings {
		list = append(list, map[string]any{"rule": e.Rule, "file": e.File, "message": e.Message, "count": e.Count})
	}
	if err := manifest.WriteYAML(w, map[string]any{"findings": list}); err != nil {
		return fmt.Errorf("writing the baseline: %w", err)
	}
	return nil
}

// counter counts down.
type counter map[Entry]int64

func (b Baseline) counter() counter {
	c := counter{}
	for _, e := range b.Findings {
		n := e.Count
		e.Count = 0
		c[e] += n
	}
	return c
}

// has reports whether a finding is known, and counts it.
func (c counter) has(f Finding) bool {
	k := f.key()
	if c[k] < 1 {
		return false
	}
	c[k]--
	return true
}
