package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// Finding is a finding at its place in the user's files.
type Finding struct {
	Rule Rule
	// Severity is the configured severity, or else the rule's.
	Severity plan.Severity
	// Subjects are the Applications and sets that have it.
	Subjects []string
	// File is the file on disk, or, if it is not there, its name in the plan, behind its repository if that is known. Line and Column count
	// from 1; 0 is unknown.
	File         string
	Line, Column int
	// Text is the line itself.
	Text    string
	Message string

	spot  spot
	meant string // as plan.Finding has it
	// named is the file as the configuration and baselines name it.
	named string
}

// Subject names the subjects.
func (f Finding) Subject() string { return words.Some(f.Subjects) }

// Report is the result of lint.
type Report struct {
	Findings   []Finding
	NotChecked []NotChecked
	// Silenced, Off and Known count findings that are not in the report: because of a comment, of the configuration, of the baseline.
	Silenced, Off, Known int
}

// Never is a limit that no finding reaches.
const Never = "never"

// Fails reports whether the finding is as bad as a severity, or worse.
func (f Finding) Fails(failOn string) bool {
	return failOn != Never && AtLeast(f.Severity, plan.Severity(failOn))
}

// Fails reports whether a finding is as bad as a severity, or worse.
func (r *Report) Fails(failOn string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Fails(failOn) })
}

// Options say what a report leaves out.
type Options struct {
	Files  Files
	Config Config
	// Baseline are findings that are known. The zero Baseline is none.
	Baseline Baseline
	// Before is the plan of another revision, whose findings are left out. Nil is none.
	Before *plan.Plan
	// Named returns the name by which the configuration and baselines know a file. Nil keeps the name.
	Named func(file string) string
	// Allowed reports whether an Application or a set may be unknown. Nil allows none.
	Allowed func(name string) bool
}

// New runs all rules over a plan.
func New(p *plan.Plan, o Options) *Report {
	if o.Allowed != nil {
		p = allow(p, o.Allowed)
	}
	found, unchecked := Check(p)
	if o.Before != nil {
		before, _ := Check(o.Before)
		found, _ = plan.Unpaired(found, before)
		found = append(found, changes(p, o.Before)...)
	}
	r := &Report{NotChecked: slices.DeleteFunc(unchecked, func(n NotChecked) bool { return !o.Config.uses(n.Rule) })}
	at, known := newLocator(p, o.Files), o.Baseline.counter()
	all := list{at: map[place]int{}, has: map[subject]bool{}}
	for _, f := range found {
		if rule, _ := Find(f.Rule.Name); !o.Config.uses(rule) {
			continue
		}
		one, file := at.finding(f)
		one.named = one.File
		if o.Named != nil && (file != nil || f.Position.Repository == "") {
			one.named = o.Named(one.File)
		}
		severity, on := o.Config.severity(one)
		one.Severity = severity
		if file != nil {
			silent, line := file.silenced(one.Rule.Name, one.Line)
			if line > 0 {
				all.add(Finding{
					Rule: ruleNoReason, Severity: ruleNoReason.Severity, File: one.File, Line: line, Column: 1, Text: file.line(line),
					named:    one.named,
					Subjects: one.Subjects, Message: "the comment has no reason, so " + one.Rule.Name + " is not ignored",
				})
			}
			if silent {
				r.Silenced++
				continue
			}
		}
		if !on {
			r.Off++
			continue
		}
		all.add(one)
	}
	for _, f := range all.findings {
		if known.has(f) {
			r.Known++
			continue
		}
		r.Findings = append(r.Findings, f)
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(rank(b.Severity), rank(a.Severity)), cmp.Compare(a.Rule.Name, b.Rule.Name))
	})
	return r
}

// allow removes the unknown parts of Applications and sets that are allowed to be unknown.
func allow(p *plan.Plan, allowed func(string) bool) *plan.Plan {
	out := *p
	out.Findings = slices.DeleteFunc(slices.Clone(p.Findings), func(f plan.Finding) bool {
		return f.Rule.Kind == plan.Unknown && allowed(f.Subject)
	})
	return &out
}

// finding puts a finding at its place.
func (l *locator) finding(f plan.Finding) (Finding, *file) {
	rule, _ := Find(f.Rule.Name)
	out := Finding{
		Rule: rule, Subjects: []string{f.Subject}, Message: strings.TrimPrefix(f.Message, f.Position.String()+": "),
		File: f.Position.File, Line: f.Position.Line, meant: f.Meant,
	}
	out.spot = l.place(f.Position, f.Field)
	if file := out.spot.file; file != nil {
		out.File, out.Line, out.Column, out.Text = file.name, out.spot.line, out.spot.column, file.line(out.spot.line)
		return out, file
	}
	if f.Position.Made == manifest.Rendered {
		out.Line = 0 // that of the template is not known
	}
	if url := f.Position.Repository; url != "" { // a file on disk may have the same name
		out.File = giturl.Redact(url) + ": " + out.File
	}
	return out, nil
}

// list is a list of findings, those that differ only in their subjects once.
type list struct {
	findings []Finding
	at       map[place]int
	has      map[subject]bool
}

type place struct {
	rule, file, message string
	line, column        int
}

// subject is one of a finding.
type subject struct {
	finding int
	name    string
}

// add adds a finding, or its subjects to an equal one.
func (l *list) add(f Finding) {
	key := place{f.Rule.Name, f.File, f.Message, f.Line, f.Column}
	i, ok := l.at[key]
	if !ok {
		i = len(l.findings)
		l.at[key] = i
		l.findings = append(l.findings, f)
		l.findings[i].Subjects = nil
	}
	for _, s := range f.Subjects {
		if is := (subject{i, s}); !l.has[is] {
			l.has[is] = true
			l.findings[i].Subjects = append(l.findings[i].Subjects, s)
		}
	}
}
