package main

import (
	"cmp"
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/preview"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// planInput are the flags that say what is planned.
type planInput struct {
	workspace.Settings
	repos       []string
	offline     bool
	charts      string
	all         bool
	version     versions.Flag
	progressive formatFlag
	verdict     report.Verdict
}

func (o *planInput) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.repos, "repo", nil,
		"read a repository from a local directory, `URL=PATH[@REV]`, or PATH if its Applications name its URL; repeatable")
	o.registerSettings(flags)
}

// registerSettings are those about the Argo CD, and about what is elsewhere.
func (o *planInput) registerSettings(flags *pflag.FlagSet) {
	flags.BoolVar(&o.all, "all", false, "plan every root that is found, if no ROOT is given")
	flags.StringVar(&o.Clusters, "clusters", "",
		"`FILE` with the clusters that Argo CD knows, for cluster generators and for other names of its own cluster")
	flags.StringVar(&o.Customizations, "customizations", "",
		"`FILE` with the settings of Argo CD: argocd-cm, values of the argo-cd chart, or an ArgoCD resource")
	flags.Var(&o.version, "argocd-version",
		"`VERSION` of Argo CD, "+versions.Range()+"; default the one that the tree deploys if that can be seen, or the newest")
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "Argo CD's namespace; default that of the root")
	flags.BoolVar(&o.offline, "offline", false, "fetch nothing: charts, bases and repositories come from the cache or stay unknown")
	flags.StringSliceVar(&o.Plugins, "plugin", nil,
		"render sources of the plugin NAME as Kustomize, Helm or plain directories, `NAME=kustomize|helm|directory`; repeatable")
	flags.StringVar(&o.charts, "charts", "", "`DIR` with vendored charts, NAME-VERSION.tgz")
	registerAnswers(flags, &o.Answers)
	flags.StringSliceVar(&o.verdict.Allow, "allow-unknown", nil,
		"`NAMES` of Applications and sets that may be unknown, with * for any characters")
}

// registerOwn are those of a demo of the user's own repository.
func (o *planInput) registerOwn(flags *pflag.FlagSet) {
	o.registerSettings(flags)
	o.registerStrict(flags)
}

func (o *planInput) registerStrict(flags *pflag.FlagSet) {
	flags.BoolVar(&o.verdict.Strict, "strict", false, "exit with 3 if anything is unknown")
}

// registerCluster are those about what runs in the cluster before the boot.
func (o *planInput) registerCluster(flags *pflag.FlagSet) {
	o.registerStrict(flags)
	o.progressive = formatFlag{allowed: []string{"on", "off"}}
	flags.Var(&o.progressive, "progressive-syncs",
		"whether the applicationset-controller has --enable-progressive-syncs, so that RollingSync counts: `on|off`; default as the tree "+
			"has it")
	flags.StringSliceVar(&o.Exists, "exists", nil,
		"`THINGS` that every cluster has before the boot: GROUP/KIND of a custom resource, Namespace/NAME, AppProject/NAME, StorageClass/NAME and other classes, "+
			"issuers, stores and Services, or all that "+
			"nobody in the plan brings; repeatable")
}

// preview is about roots, in a format. Its planner must be closed.
func (o *planInput) preview(std stdio, roots []string, output formatFlag) (preview.Preview, error) {
	v := preview.Preview{Roots: roots, Verdict: o.verdict, Format: output.format(), Out: std.out, Err: std.err}
	if err := v.Verdict.Check(); err != nil {
		return v, err
	}
	cli.CollectLate()
	// Helm's libraries talk to the standard loggers, about what is said here by findings, or not worth a word.
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if std.quiet != nil {
		std.quiet()
	}
	repos, err := userRepositories(std, o.repos)
	if err != nil {
		return v, err
	}
	repos.Guess = true
	v.Planner, err = o.planner(std, repos)
	return v, err
}

// planner plans what repositories have, as the flags say.
func (o *planInput) planner(std stdio, repos workspace.Config) (*workspace.Planner, error) {
	repos.Offline, repos.Charts = o.offline, o.charts
	cfg, err := o.config()
	return &workspace.Planner{
		Repositories: workspace.New(repos), Config: cfg, All: o.all, Stdin: std.in,
		Deprecated: func(line string) { std.warn(words.Harmless(line)) },
	}, err
}

// config is what a plan is made with, except for where repositories are.
func (o *planInput) config() (plan.Config, error) {
	o.Version, o.ProgressiveSyncs = o.version.Version, o.progressive.value
	return o.Config()
}

type planOptions struct {
	planInput
	request      preview.Request
	maxDeletions int
	output       formatFlag
}

func newPlanCommand(std stdio) *cobra.Command {
	opts := planOptions{output: formatFlag{value: "table", allowed: []string{"table", "json", "yaml", "mermaid", "dot", "svg", "markdown"}}}
	cmd := &cobra.Command{
		Use:   "plan [ROOT...]",
		Short: "Say what a root Application will deploy, in which order, and which waves really wait",
		Long: `Say what a root Application will deploy, directly and through other Applications and ApplicationSets: who
deploys whom, in which wave, in which order, what each wave waits for, and whether it does.

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

With --diff it says what changes since a revision: Applications that are deleted, added or moved between
waves, other sources, waves that stop waiting, and Applications whose manifests change (--manifests prints the
objects); if a wave stops waiting, or there is a new finding, or one side is incomplete, the exit code is 3.
An Application that nothing prunes stays in the cluster. With --max-deletions the exit code is 3 also if more
Applications will be deleted. "--diff main..." compares with the last commit that main and HEAD have in common,
so that commits of others on main do not count. With -o markdown it is for a comment on a pull request.

A wave waits for an Application if Argo CD's settings have a health check for Applications: those of
--customizations, or those that the plan itself deploys. It does not wait for the Applications of an
ApplicationSet, unless the plugin appset renders it, or it has RollingSync and that counts
(--progressive-syncs).

A kind, a namespace or a project that a sync needs and that nothing deploys, or something later, is a finding;
--exists says what the cluster has before the boot.`,
		Example: `  argosy plan
  argosy plan --diff main... -o markdown apps/root.yaml
  argosy plan --repo https://git.example.com/home/cluster.git=. --resources -o json root.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("max-deletions") {
				opts.request.Since.MaxDeletions = &opts.maxDeletions
			}
			opts.request.Since.Command = cmp.Or(cli.Line(cmd, args, []string{"manifests", "output"}, []string{"--manifests"}),
				"the same command with -o table")
			return runPlan(cmd.Context(), std, opts, args)
		},
	}
	flags := cmd.Flags()
	opts.register(flags)
	opts.registerCluster(flags)
	flags.BoolVar(&opts.request.Resources, "resources", false, "show all objects, not only Applications and ApplicationSets")
	flags.StringVar(&opts.request.Since.Revision, "diff", "",
		"say what changes in the boot since a `REVISION`, or with REVISION... since its merge base; with -o table, json or markdown")
	flags.BoolVar(&opts.request.Since.Manifests, "manifests", false, "with --diff: print how the objects of each Application change")
	flags.IntVar(&opts.maxDeletions, "max-deletions", 0,
		"with --diff: exit with 3 if more than `N` Applications will be deleted; default any number")
	flags.Lookup("max-deletions").DefValue = ""
	flags.BoolVar(&opts.request.AssignWaves, "assign-waves", false, "write sync waves into the files of Applications that need others ("+
		argo.DependsAnnotation+"), and print which")
	flags.BoolVar(&opts.request.Inputs, "inputs", false, "print the files that each Application is rendered from")
	flags.BoolVar(&opts.request.WritePaths, "write-paths", false,
		"write "+argo.PathsAnnotation+" into the files of Applications, and print which")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.usage()+"; markdown with --diff")
	opts.completeNames(std, cmd, arguments, map[string]string{"allow-unknown": ""})
	return cmd
}

func runPlan(ctx context.Context, std stdio, opts planOptions, args []string) error {
	r := opts.request
	r.Format, r.Verdict = opts.output.format(), opts.verdict
	err := r.Check()
	if err != nil {
		return err
	}
	if r.Preview, err = opts.preview(std, args, opts.output); err != nil {
		return err
	}
	defer r.Planner.Close() //nolint:errcheck // only read from
	return r.Run(ctx)
}
