package preview

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-cd/argosy/internal/edit"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/lint/format"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// Lint lints a plan. The zero value of a field is its default.
type Lint struct {
	Preview
	// Since is a revision whose findings are left out.
	Since string
	// Config is the configuration file; "" is the nearest one.
	Config string
	// Baseline is a file of findings that are left out. Write is a file that the findings are written to; then none are reported.
	Baseline, Write string
	// FailOn is the lowest severity that fails; "" uses the configuration.
	FailOn string
	// Fix cures findings in their files first, where one small change does.
	Fix bool
}

// Report prints the findings.
func (v Lint) Report(ctx context.Context) error {
	o, err := v.options()
	if err != nil {
		return err
	}
	p, r, err := v.lint(ctx, &o)
	if err != nil {
		return err
	}
	if v.Fix {
		if p, r, err = v.cure(ctx, &o, p, r); err != nil {
			return err
		}
	}
	if v.Write != "" {
		return v.write(r)
	}
	least := cmp.Or(v.FailOn, o.Config.FailOn, string(plan.Error))
	if err := (format.Printer{Out: v.Out, Err: v.Err, FailOn: least}).Write(string(v.Format), r); err != nil {
		return err
	}
	return v.judge(p, r, least)
}

// lint plans the roots, and runs all rules.
func (v Lint) lint(ctx context.Context, o *lint.Options) (p *plan.Plan, r *lint.Report, err error) {
	if v.Since != "" {
		o.Before, p, err = v.both(ctx, v.Since)
	} else {
		_, p, err = v.plan(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	o.Files = func(url, name string) (string, []byte, bool) { return v.Planner.Repositories.Read(ctx, url, name) }
	return p, lint.New(p, *o), nil
}

// options reads the configuration and the baseline.
func (v Lint) options() (lint.Options, error) {
	o := lint.Options{Allowed: v.Verdict.Allowed}
	o.Named = named(filepath.Dir(cmp.Or(nearest(lint.ConfigName), nearest(".git"), lint.ConfigName)))
	if file := cmp.Or(v.Config, nearest(lint.ConfigName)); file != "" {
		data, err := input.File(file)
		if err != nil {
			return o, err
		}
		if o.Config, err = lint.ParseConfig(file, data); err != nil {
			return o, err
		}
	}
	if v.Baseline == "" {
		return o, nil
	}
	data, err := input.File(v.Baseline)
	if err == nil {
		o.Baseline, err = lint.ParseBaseline(v.Baseline, data)
	}
	return o, err
}

// named returns names of files from a directory, with slashes; of files that are not below it, as they are.
func named(dir string) func(string) string {
	top, err := filepath.Abs(dir)
	return func(file string) string {
		full, absErr := filepath.Abs(file)
		if rel, relErr := filepath.Rel(top, full); file != "" && errors.Join(err, absErr, relErr) == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
		return file
	}
}

// nearest is a file in the working directory or above it, up to the top of the repository; "" is none.
func nearest(name string) string {
	for dir := "."; ; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return ""
		}
		if full, err := filepath.Abs(dir); err != nil || full == filepath.Dir(full) {
			return ""
		}
	}
}

func (v Lint) write(r *lint.Report) error {
	var b bytes.Buffer
	if err := lint.NewBaseline(r).Write(&b); err != nil {
		return err
	}
	if _, err := lint.ParseBaseline(v.Write, b.Bytes()); err != nil {
		return fmt.Errorf("%w; turn rules off in %s, and write a baseline of the rest", err, lint.ConfigName)
	}
	if err := edit.Write(v.Write, b.Bytes()); err != nil {
		return err
	}
	return words.Line(v.Err, "%s: %s", v.Write, words.Count(len(r.Findings), "finding"))
}

// judge returns problem.ErrFound if a finding has at least a severity, or if the verdict refuses unknown parts. Broken parts are findings.
func (v Lint) judge(p *plan.Plan, r *lint.Report, least string) error {
	if least == lint.Never {
		return nil
	}
	refused := v.Verdict.Unknown(p)
	if len(refused) > 0 {
		fmt.Fprintln(v.Err, words.Harmless(strings.Join(refused, "; ")))
	}
	if len(refused) > 0 || r.Fails(least) {
		return problem.ErrFound
	}
	return nil
}
