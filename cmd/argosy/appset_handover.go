package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/handover"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/workspace"
)

type appsetHandoverOptions struct {
	handover.Config
	cluster kube.Config
	version versions.Flag
	source  cli.Choice
	folder  bool
	repos   []string
	asking  workspace.Asking
	timeout time.Duration
}

func newAppsetHandoverCommand(std stdio) *cobra.Command {
	opts := appsetHandoverOptions{source: cli.OneOf("trigger", "git")}
	cmd := &cobra.Command{
		Use:   "handover [NAMESPACE/]NAME",
		Short: "Move the Applications of a live ApplicationSet from the controller to the plugin, and back",
		Long: `Move the Applications of a live ApplicationSet from the applicationset-controller to an Application that uses the
plugin, and back. No Application is deleted or created on the way, and none is synced unless its manifest
changes.

Without --yes the steps are printed, and nothing is changed. It does not start if the set, as rendered here,
and the Applications in the cluster disagree: the differences are printed. Each step reads the cluster and
does only what is missing, so an interrupted run can be run again; --back goes back from any step.

With --folder, NAME is an Application that deploys a folder of ApplicationSets. All of these sets are moved, and
the Application itself gets the plugin.

The cluster is the one that kubectl would change. Cluster generators use Argo CD's Secrets, Git generators and
generators that ask APIs read as in "argosy appset generate". See docs/convert.md.`,
		Example: `  argosy appset handover argocd/web          # the steps
  argosy appset handover argocd/web --yes    # do them
  argosy appset handover argocd/web --back --yes
  argosy appset handover --folder argocd/root --yes`,
		Args:    cli.Exactly(1, "the name of one ApplicationSet, or with --folder of one Application"),
		PreRunE: option.PreRun(std),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"name", "source", "trigger-url", "every", "project"} {
				if opts.folder && cmd.Flags().Changed(name) {
					return usagef("--folder and --%s exclude each other: --folder creates no Application", name)
				}
			}
			return runAppsetHandover(cmd.Context(), std, opts, args[0])
		},
	}
	flags := cmd.Flags()
	option.RegisterUser(flags, &opts.cluster)
	flags.StringVar(&opts.cluster.Namespace, "argocd-namespace", "", option.Usage("argocd-namespace"))
	flags.StringSliceVar(&opts.cluster.Secrets, "argocd-secrets", nil, option.Usage("argocd-secrets"))
	flags.BoolVar(&opts.Do, "yes", false, "do the steps; otherwise they are printed only")
	flags.BoolVar(&opts.folder, "folder", false,
		"move all ApplicationSets that Application NAME deploys, and put the plugin into its source")
	flags.BoolVar(&opts.Back, "back", false, "go back to the applicationset-controller")
	flags.StringVar(&opts.Parent, "name", "", "`NAME` of the new Application; default: that of the set")
	flags.Var(&opts.source, "source", "source of the new Application: `"+opts.source.Usage()+"`")
	flags.StringVar(&opts.Options.Trigger, "trigger-url", convert.DefaultTrigger, "`URL` of the server of trigger repositories")
	flags.DurationVar(&opts.Options.Every, "every", convert.DefaultEvery, "schedule of a set without requeueAfterSeconds")
	flags.StringVar(&opts.Options.Project, "project", argo.DefaultProject, "`PROJECT` of the new Application")
	flags.StringArrayVar(&opts.repos, "repo", nil, "answer Git generators for a URL from a local directory, `URL=PATH[@REV]`; repeatable")
	option.RegisterAsking(flags, &opts.asking)
	flags.Var(&opts.version, "argocd-version", option.Usage("argocd-version"))
	flags.DurationVar(&opts.timeout, "timeout", 5*time.Minute, "give up after waiting for this time")
	return cmd
}

func runAppsetHandover(ctx context.Context, std stdio, opts appsetHandoverOptions, arg string) error {
	api, err := option.OpenUser(std, opts.cluster)
	if errors.Is(err, kube.ErrNoCluster) {
		return usagef("%w", err)
	} else if err != nil {
		return err
	}
	repos, err := option.Repositories(std, opts.repos)
	if err != nil {
		return err
	}
	cfg := opts.Config
	cfg.Cluster, cfg.Argo, cfg.Set = api, api.Namespace, argo.ParseRef(arg, api.Namespace)
	cfg.Options.Git, cfg.Options.Namespace = opts.source.Value == "git", cfg.Set.Namespace
	if cfg.Tracking, err = api.Tracking(ctx); errors.Is(err, kube.ErrForbidden) {
		std.Warn("cannot read how Argo CD tracks resources, so annotations and labels count: " + err.Error())
		cfg.Tracking.Method = argo.TrackUnknown
	} else if err != nil {
		return err
	}
	opts.asking.Getenv, opts.asking.Client = std.Getenv, option.APIClient(std)
	sets := workspace.Sets{
		APIs: opts.asking, Repositories: workspace.New(repos),
		Config: appset.Config{Namespace: cfg.Set.Namespace, Version: opts.version.Version, Clusters: api},
	}
	defer func() { _ = sets.Repositories.Close() }()
	render, recorded, err := sets.Open()
	if err != nil {
		return err
	}
	cfg.Render, cfg.Wait = render, handover.Patience(opts.timeout, time.After)
	cfg.Tell = func(line string) { fmt.Fprintln(std.Out, line) }
	if opts.folder {
		return errors.Join(cfg.RunFolder(ctx), recorded())
	}
	return errors.Join(cfg.Run(ctx), recorded())
}
