package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/preview"
	"github.com/argosy-cd/argosy/internal/report"
)

type planOptions struct {
	option.Plan
	request preview.Request
	output  cli.Choice
}

func newPlanCommand(std stdio) *cobra.Command {
	opts := planOptions{output: cli.OneOf("table", "json", "yaml", "mermaid", "dot", "svg", "markdown")}
	cmd := &cobra.Command{
		Use:   "plan [ROOT...]",
		Short: "Say what a root Application will deploy, in which order, and which waves really wait",
		Long: `Say what a root Application will deploy, directly and through other Applications and ApplicationSets: who
deploys whom, in which wave, in which order, what each wave waits for, and whether it really waits.

ROOT is a file with Applications and ApplicationSets, or a directory that you would apply; several are planned
together. Without it, the local repositories are searched for the one Application or set that deploys others
and is deployed by none; --all plans all of them.

Repositories are those of --repo, and by default the work tree of the Git repository you stand in, for its
remotes and for the URL that its Applications name. The work tree stands for the branch that the root follows,
unless the default branch is checked out; other branches are read from Git. Charts, remote bases and other
repositories are fetched with your own credentials of Git, Helm and Docker, and kept in a cache
($ARGOSY_CACHE_DIR); with --offline nothing is fetched.

Content that is not available is reported as unknown; it is never treated as empty. The exit code is 3 if
something is broken, or if something unknown may hide Applications: a root, an Application of Applications, a
set, a repository. --allow-unknown accepts named ones, --strict refuses everything unknown.

With --diff it says what changes since a revision: Applications that are deleted, added, moved between waves or
get another source, waves that stop waiting, and Applications whose manifests change (--manifests prints the
objects); if a wave stops waiting, or there is a new finding, or one side is incomplete, the exit code is 3.
An Application that nothing prunes stays in the cluster. With --max-deletions the exit code is 3 also if more
Applications will be deleted. "--diff main..." compares with the last commit that main and HEAD have in common,
so that commits of others on main do not count. -o markdown is for a comment on a pull request.

A wave waits for an Application if Argo CD's settings have a health check for Applications: those of
--customizations, or those that the plan itself deploys. It does not wait for the Applications of an
ApplicationSet, unless the plugin appset renders it, or it has RollingSync and progressive syncs are on
(--progressive-syncs).

It is a finding if a sync needs a kind, a namespace or a project that is deployed later, or not at all;
--exists says what the cluster has before the boot.`,
		Example: `  argosy plan
  argosy plan --diff main... -o markdown apps/root.yaml
  argosy plan --repo https://git.example.com/home/cluster.git=. --resources -o json root.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.request.Since.Command = cmp.Or(cli.Line(cmd, args, []string{"manifests", "output"}, []string{"--manifests"}),
				"the same command with -o table")
			return runPlan(cmd.Context(), std, opts, args)
		},
	}
	flags := cmd.Flags()
	opts.Register(flags)
	opts.RegisterCluster(flags)
	flags.BoolVar(&opts.request.Resources, "resources", false, "show all objects, not only Applications and ApplicationSets")
	flags.StringVar(&opts.request.Since.Revision, "diff", "",
		"say what changes in the boot since a `REVISION`, or with REVISION... since its merge base; with -o table, json or markdown")
	flags.BoolVar(&opts.request.Since.Manifests, "manifests", false, "with --diff: print how the objects of each Application change")
	flags.Var(cli.OptionalNumber(&opts.request.Since.MaxDeletions), "max-deletions",
		"with --diff: exit with 3 if more than `N` Applications will be deleted; default: any number")
	flags.BoolVar(&opts.request.AssignWaves, "assign-waves", false, "write sync waves into the files of Applications that need others ("+
		argo.DependsAnnotation+"), and print which")
	flags.BoolVar(&opts.request.Inputs, "inputs", false, "print the files that each Application is rendered from")
	flags.BoolVar(&opts.request.WritePaths, "write-paths", false,
		"write "+argo.PathsAnnotation+" into the files of Applications, and print which")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.Usage()+"; markdown with --diff")
	opts.CompleteNames(std, cmd, option.Arguments, map[string]string{"allow-unknown": ""})
	return cmd
}

func runPlan(ctx context.Context, std stdio, opts planOptions, args []string) error {
	r := opts.request
	r.Format, r.Verdict = report.Format(opts.output.Value), opts.Verdict
	err := r.Check()
	if err != nil {
		return err
	}
	if r.Preview, err = opts.Prepare(std, args, opts.output); err != nil {
		return err
	}
	defer r.Planner.Close() //nolint:errcheck // only read from
	return r.Run(ctx)
}
