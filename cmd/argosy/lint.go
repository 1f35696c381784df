package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/lint/format"
	"github.com/argosy-cd/argosy/internal/preview"
)

type lintOptions struct {
	option.Plan
	preview.Lint
	list           bool
	explain        string
	failOn, output cli.Choice
}

func newLintCommand(std stdio) *cobra.Command {
	opts := lintOptions{
		failOn: cli.Choice{Allowed: []string{"error", "warning", "info", "never"}},
		output: cli.OneOf(format.Names()...),
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

The file ` + lint.ConfigName + ` in the working directory or above it gives rules other severities, or turns them off. --write-baseline
writes the findings to a file, and --baseline leaves them out. --diff shows what is new since a revision.

--fix changes your files where one small change cures a finding, and reports the rest. --list marks the rules that
it cures. Comments, order and line ends stay. Only files in work trees are changed. There are at most five rounds;
a round changes all its files or none. Findings that are silenced, off, in the baseline, or older than the revision
of --diff are not fixed.

A rule that lacks something, such as Argo CD's settings or a chart, is listed once as not checked. The exit code
is 3 if a finding is as severe as --fail-on, or if something unknown may hide Applications; with --strict, if
anything is unknown.`,
		Example: `  argosy lint
  argosy lint --diff main... -o github
  argosy lint --explain retry-for-ever`,
		RunE: func(cmd *cobra.Command, args []string) error { return runLint(cmd.Context(), std, opts, args) },
	}
	flags := cmd.Flags()
	opts.Register(flags)
	opts.RegisterCluster(flags)
	flags.Lookup("all").Usage = "the default here: check every root that is found, if no ROOT is given"
	flags.StringVar(&opts.Since, "diff", "", "report only what is new since a `REVISION`, or with REVISION... since its merge base")
	flags.StringVar(&opts.Config, "config", "", "configuration `FILE`; default: "+lint.ConfigName+" in the working directory or above it")
	flags.StringVar(&opts.Baseline, "baseline", "", "leave out the findings of a baseline `FILE`")
	flags.StringVar(&opts.Write, "write-baseline", "", "write the findings to a baseline `FILE`, and report none")
	flags.BoolVar(&opts.Fix, "fix", false, "fix findings that one small change in a file cures, and report the rest")
	flags.BoolVar(&opts.list, "list", false, "print all rules")
	flags.StringVar(&opts.explain, "explain", "", "explain a `RULE`: what happens, why, and what to do")
	flags.Var(&opts.failOn, "fail-on", "lowest severity that makes the exit code 3, `"+opts.failOn.Usage()+"`; default: error")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.Usage())
	// Names are from code.
	_ = cmd.RegisterFlagCompletionFunc("explain", cobra.FixedCompletions(describedRules(), cobra.ShellCompDirectiveNoFileComp))
	opts.CompleteNames(std, cmd, option.Arguments, map[string]string{"allow-unknown": ""})
	return cmd
}

// describedRules are the names of rules and what each is about, for completion.
func describedRules() []string {
	var out []string
	for _, r := range lint.Rules() {
		out = append(out, r.Name+"\t"+r.Title())
	}
	return out
}

func runLint(ctx context.Context, std stdio, opts lintOptions, args []string) error {
	switch {
	case (opts.list || opts.explain != "") && opts.Fix || opts.list && opts.explain != "":
		return usagef("--list, --explain and --fix exclude each other")
	case opts.Baseline != "" && opts.Write != "":
		return usagef("--baseline and --write-baseline exclude each other: a new baseline has all findings")
	case opts.list:
		return format.List(std.Out)
	case opts.explain != "":
		rule, err := lint.Find(opts.explain)
		if err != nil {
			return usagef("%w", err)
		}
		return format.Explain(std.Out, rule)
	}
	opts.All = true
	v, err := opts.Prepare(std, args, opts.output)
	if err != nil {
		return err
	}
	defer v.Planner.Close() //nolint:errcheck // only read from
	opts.Preview, opts.FailOn = v, opts.failOn.Value
	return opts.Report(ctx)
}
