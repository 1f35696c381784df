package generator

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Warning is a line about something in a set that Argo CD accepts, but that is ignored or looks wrong.
type Warning struct {
	Topic Topic
	Text  string
	// Set is the position of the set. It is zero in warnings of a Run, and of a worker.
	Set manifest.Position
}

// Topic is what a Warning is about. The zero Topic is anything else.
type Topic string

// Topics that callers tell apart.
const (
	PlaceholderLeft Topic = "placeholder-left" // a placeholder that is no parameter
	PatternDeeper   Topic = "pattern-deeper"   // a pattern of files that also matches in subdirectories
	KeyAbsent       Topic = "key-absent"       // a merge key that a generator does not give
	FieldUnknown    Topic = "field-unknown"    // a field that the set cannot have
)

// Warnings gives lines a topic.
func Warnings(topic Topic, lines ...string) []Warning {
	var out []Warning
	for _, line := range lines {
		out = append(out, Warning{Topic: topic, Text: line})
	}
	return out
}

// Texts are the lines of warnings.
func Texts(warnings []Warning) []string {
	var out []string
	for _, w := range warnings {
		out = append(out, w.Text)
	}
	return out
}

// In says which set warnings are about: its name is in front of the lines.
func In(name string, at manifest.Position, warnings []Warning) []Warning {
	out := slices.Clone(warnings)
	for i := range out {
		out[i].Text, out[i].Set = name+": "+out[i].Text, at
	}
	return out
}
