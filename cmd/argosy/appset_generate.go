package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argocd"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/workspace"
)

type appsetGenerateOptions struct {
	repos       []string
	clusters    string
	namespace   string
	output      cli.Choice
	allowEmpty  bool
	offline     bool
	skipUnknown bool
	passthrough bool
	recursive   bool
	maxSets     int
	plugin      option.AppSetPlugin
	policy      string
	timeout     time.Duration
	asking      workspace.Asking
}

func newAppsetGenerateCommand(std stdio) *cobra.Command {
	opts := appsetGenerateOptions{output: cli.OneOf("yaml", "json", "table", "name")}
	cmd := &cobra.Command{
		Use:   "generate [FILE|DIR|-...]",
		Short: "Render ApplicationSets to the Applications that Argo CD would make",
		Long: `Render ApplicationSets to the Applications that Argo CD's own controller would make, without a cluster.

Arguments are files with YAML or JSON documents, directories of such files, or - for standard input. A
document is an ApplicationSet or the bare spec of one. Other documents are left out, or passed through with
--passthrough.

Git generators are answered from local repositories where there are any: those of --repo, and by default the
work tree of the Git repository you stand in for all of its remotes. A work tree is read as it is on disk:
with uncommitted changes, without ignored files. A revision that is a tag or a commit is read from the
repository. Other repositories are fetched, one revision without history, with your own Git credentials.

The answer is all or nothing: if one element is bad, all problems are listed and no Application is printed. No
Applications at all is an error, because applying an empty answer deletes what was there before.

With --engine argocd an Argo CD API server renders the sets, as "argocd appset generate" has it do.

Without arguments it is the appset plugin, as a command of Argo CD's own plugin server: it renders the
application that the environment describes (ARGOCD_APP_NAME, …), with the sets in $PARAM_SPEC or in the
application's directory. Then the policy and the limit of deletions apply, and settings can also be variables;
see docs/plugin.md.

Exit codes: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  # render the sets of a directory, with the work tree you stand in
  argosy appset generate apps/

  # names only, against another checkout
  argosy appset generate -o name --repo https://git.example.com/home/cluster.git=../cluster apps/my-apps-appset.yaml

  # against a revision, and with the clusters that Argo CD knows
  # the file has credentials of the clusters: keep it out of Git
  kubectl get secret -n argocd -l argocd.argoproj.io/secret-type=cluster -o yaml > clusters.yaml
  argosy appset generate --clusters clusters.yaml --repo https://git.example.com/home/cluster.git=.@v1.2 appset.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && std.Getenv("ARGOCD_APP_NAME") == "" {
				return usagef("a file, a directory or - is needed")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(option.Fill(std, cmd.Flags()), onlyFor(cmd.Flags(), len(args) == 0)); err != nil {
				return err
			}
			if len(args) == 0 {
				return runAppsetHook(cmd.Context(), std, opts)
			}
			return runAppsetGenerate(cmd.Context(), std, opts, args)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.repos, "repo", nil, "answer Git generators for a URL from a local directory, `URL=PATH[@REV]`; repeatable")
	flags.StringVar(&opts.clusters, "clusters", "",
		"`FILE` with the clusters that Argo CD knows: a list with name, server, project, labels, annotations, or cluster Secrets")
	flags.StringVarP(&opts.namespace, "namespace", "n", "", "namespace of sets without one, and of their Applications")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.Usage())
	flags.BoolVar(&opts.allowEmpty, "allow-empty", false, "allow sets without Applications")
	flags.BoolVar(&opts.offline, "offline", false, "fetch nothing; a repository that is not local is an error")
	flags.BoolVar(&opts.skipUnknown, "skip-unknown", false,
		"leave out sets that need something that is not available here, such as clusters or the API of a Git host, and name them")
	flags.BoolVar(&opts.passthrough, "passthrough", false,
		"print documents that are not ApplicationSets, too, in their place (yaml and json)")
	flags.BoolVarP(&opts.recursive, "recursive", "R", false, "read subdirectories, too")
	option.RegisterAsking(flags, &opts.asking)
	opts.plugin.Register(flags)
	flags.StringVar(&opts.policy, "policy", "", option.Usage("policy"))
	flags.DurationVar(&opts.timeout, "timeout", cmp.DefaultTimeout, option.Usage("timeout"))
	flags.IntVar(&opts.maxSets, "max-parameter-sets", generator.DefaultMaxSets,
		"refuse a generator that gives more parameter sets than this")
	return cmd
}

// onlyFor refuses flags without effect: flags for files if there are none, and flags of the plugin if there are files.
func onlyFor(flags *pflag.FlagSet, plugin bool) error {
	without, with := []string{"policy", "admin-projects", "argocd-namespace", "argocd-secrets", "kubeconfig", "timeout", "generator-apis"},
		"without a file or a directory"
	if plugin {
		without, with = []string{
			"repo", "clusters", "namespace", "allow-empty", "offline", "skip-unknown", "passthrough", "recursive",
			"max-parameter-sets", "answers", "record", "secrets", "objects",
		}, "with a file or a directory"
	}
	for _, name := range without {
		if flags.Changed(name) {
			return usagef("--%s is for use %s", name, with)
		}
	}
	return nil
}

func runAppsetGenerate(ctx context.Context, std stdio, opts appsetGenerateOptions, args []string) error {
	if opts.maxSets < 1 {
		return usagef("--max-parameter-sets must be at least 1")
	}
	if opts.passthrough && opts.output.Value != "yaml" && opts.output.Value != "json" {
		return usagef("--passthrough requires -o yaml or -o json")
	}
	server, err := opts.plugin.Open(std.Getenv(option.TokenVariable))
	if err != nil {
		return err
	}
	if server != nil && opts.asking.Given() {
		return usagef("--engine argocd excludes --answers, --record, --secrets and --objects: the server itself asks the APIs")
	}
	repos, err := option.Repositories(std, opts.repos)
	if err != nil {
		return err
	}
	repos.Offline = opts.offline
	apis := opts.asking
	apis.Allowed, apis.Strict, apis.Offline = opts.plugin.APIs.Allowed, opts.plugin.APIs.Strict, opts.offline
	apis.Client, apis.Getenv = option.APIClient(std), std.Getenv
	sets := workspace.Sets{
		Repositories: workspace.New(repos), Clusters: opts.clusters, Recursive: opts.recursive, Passthrough: opts.passthrough,
		SkipUnknown: opts.skipUnknown, APIs: apis,
		Config: appset.Config{
			Namespace: opts.namespace, AllowEmpty: opts.allowEmpty, MaxSets: opts.maxSets,
			Version: opts.plugin.Version.Version,
		},
		Stdin: std.In, Note: std.Note, Warn: std.Warn,
	}
	if server != nil {
		sets.Engine = argocd.Engine{Client: server, Name: "argosy", AllowEmpty: opts.allowEmpty}
	}
	objects, err := sets.Render(ctx, args)
	if err != nil {
		return err
	}
	return report.Objects(std.Out, report.Format(opts.output.Value), objects)
}
