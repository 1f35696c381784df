package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/lint/format"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/workspace"
)

type lintOptions struct {
	planInput
	diff, config    string
	baseline, write string
	list            bool
	explain         string
	failOn, output  formatFlag
}

func newLintCommand(std stdio) *cobra.Command {
	opts := lintOptions{
		failOn: formatFlag{allowed: []string{"error", "warning", "info", "never"}},
		output: formatFlag{value: "text", allowed: format.Names()},
	}
	cmd := &cobra.Command{
		Use:   "lint [ROOT...]",
		Short: "Find what will go wrong in a boot: waves that do not wait, wedges, losses, wrong fields",
		Long: `Find what will go wrong when a root Application boots. Rules run over the plan of the root: everything that it
deploys, directly and through other Applications and ApplicationSets. Each finding has a place in your files
and a fix; --explain RULE says what happens in Argo CD and why.

ROOT and repositories are those of argosy plan, except that all roots that are found are checked if no ROOT is
given.

A comment on the line of a finding, or above it, silences a rule there. It needs a reason:

  # argosy:ignore sync-by-hand this one is synced by the release pipeline

The file ` + lint.ConfigName + ` in the top directory gives rules other severities, or turns them off. --write-baseline
writes what is found to a file, and --baseline leaves that out. --diff shows what is new since a revision.

A rule that lacks something, such as Argo CD's settings or a chart, is listed once as not checked. The exit code
is 3 if a finding is as severe as --fail-on, or if something unknown may hide Applications; with --strict, if
anything is unknown.`,
		Example: `  argosy lint
  argosy lint --diff main -o github
  argosy lint --explain retry-for-ever`,
		RunE: func(cmd *cobra.Command, args []string) error { return runLint(cmd.Context(), std, opts, args) },
	}
	flags := cmd.Flags()
	opts.register(flags)
	opts.registerCluster(flags)
	flags.StringVar(&opts.diff, "diff", "", "report only what is new since a `REVISION`")
	flags.StringVar(&opts.config, "config", "", "configuration `FILE`; default "+lint.ConfigName+" in the working directory or above it")
	flags.StringVar(&opts.baseline, "baseline", "", "leave out the findings of a baseline `FILE`")
	flags.StringVar(&opts.write, "write-baseline", "", "write the findings to a baseline `FILE`, and report none")
	flags.BoolVar(&opts.list, "list", false, "print all rules")
	flags.StringVar(&opts.explain, "explain", "", "explain a `RULE`: what happens, why, and what to do")
	flags.Var(&opts.failOn, "fail-on", "lowest severity that makes the exit code 3, `"+opts.failOn.usage()+"`; default error")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.usage())
	// Names are from code.
	_ = cmd.RegisterFlagCompletionFunc("explain", cobra.FixedCompletions(ruleNames(), cobra.ShellCompDirectiveNoFileComp))
	opts.completeNames(std, cmd, arguments, map[string]string{"allow-unknown": ""})
	return cmd
}

func ruleNames() []string {
	var names []string
	for _, r := range lint.Rules() {
		names = append(names, r.Name)
	}
	return names
}

func runLint(ctx context.Context, std stdio, opts lintOptions, args []string) error {
	switch {
	case opts.list:
		return format.List(std.out)
	case opts.explain != "":
		rule, ok := lint.Find(opts.explain)
		if !ok {
			text := fmt.Sprintf("there is no rule %q", opts.explain)
			if names := similar(opts.explain, ruleNames()); len(names) > 0 {
				text += "; did you mean " + words.Some(names) + "?"
			}
			return usagef("%s", text)
		}
		return format.Explain(std.out, rule)
	}
	o, err := opts.options()
	if err != nil {
		return err
	}
	opts.all = true
	v, err := opts.preview(std, args, opts.output)
	if err != nil {
		return err
	}
	defer v.Planner.Close() //nolint:errcheck // only read from
	p, err := opts.plan(ctx, v.Planner, args, &o)
	if err != nil {
		return err
	}
	r := lint.New(p, o)
	if opts.write != "" {
		return opts.writeBaseline(std, r)
	}
	if err := format.Write(std.out, opts.output.value, r); err != nil {
		return err
	}
	return opts.exit(std, p, r, o.Config)
}

// options reads the configuration and the baseline.
func (o *lintOptions) options() (lint.Options, error) {
	out := lint.Options{Allowed: o.verdict.Allowed}
	file := o.config
	if file == "" {
		file = nearest(lint.ConfigName)
	}
	if file != "" {
		data, err := input.File(file)
		if err != nil {
			return out, err
		}
		if out.Config, err = lint.ParseConfig(file, data); err != nil {
			return out, err
		}
	}
	if o.baseline == "" {
		return out, nil
	}
	data, err := input.File(o.baseline)
	if err == nil {
		out.Baseline, err = lint.ParseBaseline(o.baseline, data)
	}
	return out, err
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

// plan plans the roots, and those of the revision before.
func (o *lintOptions) plan(ctx context.Context, planner *workspace.Planner, args []string, out *lint.Options) (*plan.Plan, error) {
	out.Files = func(name string) (string, []byte, bool) { return planner.Repositories.Read(ctx, name) }
	if o.diff != "" {
		before, after, err := planner.Both(ctx, o.diff, args)
		out.Before = before
		return after, err
	}
	roots, err := planner.Roots(ctx, args)
	if err != nil {
		return nil, err
	}
	return planner.Plan(ctx, roots)
}

func (o *lintOptions) writeBaseline(std stdio, r *lint.Report) error {
	var b bytes.Buffer
	if err := lint.NewBaseline(r).Write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(o.write, b.Bytes(), fs.FileMode(0o644)); err != nil {
		return err
	}
	std.note(fmt.Sprintf("%s: %s", o.write, words.Count(len(r.Findings), "finding")))
	return nil
}

// exit decides about the exit code.
func (o *lintOptions) exit(std stdio, p *plan.Plan, r *lint.Report, config lint.Config) error {
	var found error
	least := cmp.Or(o.failOn.value, config.FailOn, string(plan.Error))
	if least != "never" && r.Worst(plan.Severity(least)) {
		found = errFound
	}
	for _, name := range p.Summary().Hiding {
		if least != "never" && !o.verdict.Allowed(name) {
			fmt.Fprintln(std.err, words.Harmless(name+" is unknown, and may hide Applications, which were not checked"))
			found = errFound
		}
	}
	if o.verdict.Strict {
		for _, g := range p.Gaps() {
			if g.State != source.Broken.String() && !o.verdict.Allowed(g.Name) {
				fmt.Fprintln(std.err, words.Harmless(fmt.Sprintf("%s is %s", g.Name, g.State)))
				found = errors.Join(found, errFound)
			}
		}
	}
	return found
}
