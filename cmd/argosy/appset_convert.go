package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/edit"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/workspace"
)

type appsetConvertOptions struct {
	edit.Sets
	style, source cli.Choice
	clusters      string
	repos         []string
	offline       bool
}

func newAppsetConvertCommand(std stdio) *cobra.Command {
	opts := appsetConvertOptions{
		style:  cli.OneOf(edit.StyleApplication, edit.StyleFolder, edit.StyleSet),
		source: cli.OneOf("trigger", "git"),
	}
	cmd := &cobra.Command{
		Use:   "convert FILE|DIR|-...",
		Short: "Turn ApplicationSets into Applications that use the plugin, and back",
		Long: `Turn ApplicationSets into Applications that use the appset plugin, so that no applicationset-controller is needed.

The Application has the name, namespace, labels and annotations of the set, and the spec of the set in the
parameter of the plugin. Its source is a trigger repository with the schedule of the set (requeueAfterSeconds),
or with --source git the repository of its Git generators. Comments are kept, and so is every other document.
A field that has no equivalent is a warning that names the field and the effect.

The result is printed, or with --write replaces the files: all of them, or none. Before that it is decoded and
compared: the plugin gets the same spec, and --reverse gives back the same set.

--style folder leaves the sets as they are. It adds the plugin to the root Applications in the files instead,
which deploy the folder of the sets. --style set changes nothing but the templates (--go-template).

--go-template rewrites {{name}} to {{.name}}. Both forms are rendered; if one Application differs, the set is
refused. Sets with clusters need --clusters, and Git generators read as in "argosy appset generate".

See docs/convert.md, also for a running cluster.`,
		Example: `  # look at it first, then change the files
  argosy appset convert apps/my-apps-appset.yaml
  argosy appset convert --write apps/

  # the root of a folder of ApplicationSets
  argosy appset convert --style folder --write root.yaml

  # Go templates, proven with the clusters that Argo CD knows
  argosy appset convert --style set --go-template --clusters clusters.yaml --write apps/`,
		Args: func(_ *cobra.Command, args []string) error { return opts.complete(args) },
		RunE: func(cmd *cobra.Command, args []string) error { return runAppsetConvert(cmd.Context(), std, opts, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.Write, "write", false, "replace the files")
	flags.BoolVar(&opts.Reverse, "reverse", false, "turn Applications that use the plugin back into ApplicationSets")
	flags.Var(&opts.style, "style", "kind of conversion: `"+opts.style.Usage()+"`")
	flags.Var(&opts.source, "source", "source of the Applications: `"+opts.source.Usage()+"`")
	flags.StringVar(&opts.Trigger, "trigger-url", convert.DefaultTrigger, "`URL` of the server of trigger repositories")
	flags.DurationVar(&opts.Every, "every", convert.DefaultEvery, "schedule of sets without requeueAfterSeconds")
	flags.StringVar(&opts.Project, "project", argo.DefaultProject, "`PROJECT` of the Applications")
	flags.StringVarP(&opts.Namespace, "namespace", "n", argo.DefaultNamespace, "namespace that sets without one are in")
	flags.BoolVar(&opts.GoTemplate, "go-template", false, "rewrite sets to Go templates, if that is proven to change no Application")
	flags.BoolVarP(&opts.Recursive, "recursive", "R", false, "read subdirectories, too")
	flags.StringVar(&opts.clusters, "clusters", "", "`FILE` with the clusters that Argo CD knows, for --go-template")
	flags.StringArrayVar(&opts.repos, "repo", nil, "read a repository from a local directory, `URL=PATH[@REV]`, for the "+
		"Git generators of --go-template and the folder of --style folder; repeatable")
	flags.BoolVar(&opts.offline, "offline", false, "fetch nothing, for --go-template")
	return cmd
}

// complete copies the values of typed flags, and refuses flags that require others.
func (o *appsetConvertOptions) complete(args []string) error {
	o.Style, o.Git = o.style.Value, o.source.Value == "git"
	if (o.clusters != "" || len(o.repos) > 0 && o.Style != edit.StyleFolder || o.offline) && !o.GoTemplate {
		return usagef("--clusters, --repo and --offline require --go-template")
	}
	return o.Check(args)
}

func runAppsetConvert(ctx context.Context, std stdio, opts appsetConvertOptions, args []string) error {
	repos, err := option.Repositories(std, opts.repos)
	if err != nil {
		return err
	}
	repos.Offline = opts.offline || opts.Style == edit.StyleFolder
	sets := workspace.Sets{Repositories: workspace.New(repos), Clusters: opts.clusters}
	defer func() { _ = sets.Repositories.Close() }()
	opts.Render, opts.Stdin, opts.Out, opts.Note, opts.Warn = sets.One, std.In, std.Out, std.Note, std.Warn
	opts.InFolder = func(source map[string]any) ([]manifest.Object, error) { return sets.Repositories.Sets(ctx, source) }
	return opts.Run(ctx, args)
}
