package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/report"
)

// The names that commands have for functions of other packages.

func (o *verdictOptions) allowed(name string) bool { return o.rules().Allowed(name) }

func planTable(w io.Writer, p *plan.Plan, resources bool) error {
	return report.Plan(w, report.Table, p, resources)
}

func writeObjects(w io.Writer, format string, objects []manifest.Object) error {
	return report.Objects(w, report.Format(format), objects)
}

func writeJSON(w io.Writer, v map[string]any) error { return report.Object(w, v) }

func texts(list []string) []any { return report.Texts(list) }

func objectName(o manifest.Object) string { return manifest.Name(o) }

func located(f plan.Finding) string { return report.Located(f) }

func idName(id plan.ID) string { return report.IDName(id) }

func unified(c plan.ObjectChange, from, to string) []string { return report.Unified(c, from, to) }

func unknownOf(app *plan.Application) string { return report.Unknown(app) }

func flush(w *bufio.Writer) error {
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}
