package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/report"
)

// formatFlag is an output format that refuses unknown ones when it is set.
type formatFlag struct {
	value   string
	allowed []string
}

func (f *formatFlag) String() string { return f.value }
func (f *formatFlag) Type() string   { return "FORMAT" }

// Values are for completion.
func (f *formatFlag) Values() []string { return f.allowed }

func (f *formatFlag) usage() string { return strings.Join(f.allowed, "|") }

func (f *formatFlag) Set(s string) error {
	if !slices.Contains(f.allowed, s) {
		return fmt.Errorf("must be one of %s", f.usage())
	}
	f.value = s
	return nil
}

// format is the format of a report.
func (f *formatFlag) format() report.Format { return report.Format(f.value) }
