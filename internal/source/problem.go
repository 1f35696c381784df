package source

import (
	"errors"
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// Problem is the reason for an unknown part of a source, or a note about it.
type Problem struct {
	// Class is its effect on the verdict.
	Class Class
	// Text is one line, with the file in front if there is one.
	Text string
	// At is the position in a file, if that is known.
	At manifest.Position
	// Field is the path of the field of the source that it is about, with dots. "" is not known.
	Field string
	// Topic is what a warning about an ApplicationSet is about.
	Topic generator.Topic
	// Chart is the name of the missing chart, if it is one, and Values are the values that it would be rendered with, besides its own.
	Chart  string
	Values map[string]any
	// Namespace is the namespace of the chart's release, "" if it is not set.
	Namespace string
}

// Class is a kind of problem.
type Class int

// Classes of problems.
const (
	Missing    Class = iota // something is not available here
	Failure                 // Argo CD fails, too
	Ignored                 // a field is not honoured here
	Lenient                 // Argo CD takes it, but it is a mistake
	Deprecated              // Argo CD takes it, and a later version may not
)

// note adds a problem, once, and returns it.
func (j *job) note(class Class, format string, args ...any) *Problem {
	p := Problem{Class: class, Text: words.OneLine(fmt.Sprintf(format, args...), maxProblem)}
	if len(j.result.Problems) >= maxProblems {
		p.Text = "there are more problems of this kind"
	}
	i := slices.IndexFunc(j.result.Problems, func(q Problem) bool { return q.Class == p.Class && q.Text == p.Text })
	if i < 0 {
		i = len(j.result.Problems)
		j.result.Problems = append(j.result.Problems, p)
	}
	return &j.result.Problems[i]
}

// maxProblems bounds the problems of one source, and maxProblem the text of one.
const maxProblems, maxProblem = 100, 2000

// fail adds errors that Argo CD has, too. Errors of our own limits, or of reading, are not among them: Argo CD's result is unknown then.
func (j *job) fail(err error) {
	for _, e := range problem.All(err) {
		class := Failure
		if errors.As(e, new(tree.UnreadableError)) {
			class = Missing
		}
		j.noteError(class, e)
	}
}

func (j *job) lacks(errs ...error) {
	for _, err := range errs {
		for _, e := range problem.All(err) {
			p := j.noteError(Missing, e)
			var chart *render.MissingChartError
			if errors.As(e, &chart) {
				p.Chart, p.Values, p.Namespace = chart.Name, chart.Values, chart.Namespace
			}
		}
	}
}

func (j *job) warn(class Class, errs []error) {
	for _, err := range errs {
		j.noteError(class, err)
	}
}

// NewProblem returns a problem with the text and the position of an error.
func NewProblem(class Class, err error) Problem {
	at, _ := manifest.PositionOf(err)
	return Problem{Class: class, Text: err.Error(), At: at}
}

// noteError notes an error, with its position.
func (j *job) noteError(class Class, err error) *Problem {
	p := j.note(class, "%v", err)
	p.At, _ = manifest.PositionOf(err)
	if errors.Is(err, errNoDirectory) {
		p.Field = "path"
	}
	return p
}

// judge draws the verdict from the problems.
func (j *job) judge() {
	has := func(c Class) bool {
		return slices.ContainsFunc(j.result.Problems, func(p Problem) bool { return p.Class == c })
	}
	switch r := j.result; {
	case has(Failure):
		r.Documents, r.Verdict = nil, Broken
	case has(Missing) && len(r.Documents) == 0:
		r.Verdict = Unknown
	case has(Missing) || has(Ignored):
		r.Verdict = Partly
	}
}
