package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/edit"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/workspace"
)

type appsetConvertOptions struct {
	style, source  formatFlag
	parent         convert.Options
	write, reverse bool
	goTemplate     bool
	recursive      bool
	clusters       string
	repos          []string
	offline        bool
}

func newAppsetConvertCommand(std stdio) *cobra.Command {
	opts := appsetConvertOptions{
		style:  formatFlag{value: "application", allowed: []string{"application", "folder", "set"}},
		source: formatFlag{value: "trigger", allowed: []string{"trigger", "git"}},
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
		Args: func(_ *cobra.Command, args []string) error { return opts.check(args) },
		RunE: func(cmd *cobra.Command, args []string) error { return runAppsetConvert(cmd.Context(), std, opts, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.write, "write", false, "replace the files")
	flags.BoolVar(&opts.reverse, "reverse", false, "turn Applications that use the plugin back into ApplicationSets")
	flags.Var(&opts.style, "style", "what is converted to what: "+opts.style.usage())
	flags.Var(&opts.source, "source", "source of the Applications: "+opts.source.usage())
	flags.StringVar(&opts.parent.Trigger, "trigger-url", convert.DefaultTrigger, "`URL` of the server of trigger repositories")
	flags.DurationVar(&opts.parent.Every, "every", convert.DefaultEvery, "schedule of sets without requeueAfterSeconds")
	flags.StringVar(&opts.parent.Project, "project", convert.DefaultProject, "`PROJECT` of the Applications")
	flags.StringVarP(&opts.parent.Namespace, "namespace", "n", convert.DefaultNamespace, "namespace that sets without one are in")
	flags.BoolVar(&opts.goTemplate, "go-template", false, "rewrite sets to Go templates, if that is proven to change no Application")
	flags.BoolVarP(&opts.recursive, "recursive", "R", false, "look into subdirectories of directories")
	flags.StringVar(&opts.clusters, "clusters", "", "`FILE` with the clusters that Argo CD knows, for --go-template")
	flags.StringArrayVar(&opts.repos, "repo", nil, "answer Git generators for a URL from a local directory, `URL=PATH[@REV]`, for "+
		"--go-template, and read the folder of --style folder from it; repeatable")
	flags.BoolVar(&opts.offline, "offline", false, "fetch nothing, for --go-template")
	return cmd
}

// check refuses arguments and flags that mean nothing together.
func (o *appsetConvertOptions) check(args []string) error {
	proof := o.clusters != "" || len(o.repos) > 0 || o.offline
	switch {
	case len(args) == 0:
		return usagef("a file, a directory or - is needed")
	case o.write && slices.Contains(args, "-"):
		return usagef("--write needs files; standard input cannot be replaced")
	case o.reverse && o.goTemplate:
		return usagef("--go-template has no way back")
	case o.style.value == "folder" && (o.goTemplate || o.source.value == "git"):
		return usagef("--style folder leaves the sets as they are")
	case o.style.value == "set" && !o.goTemplate:
		return usagef("--style set goes with --go-template")
	case o.style.value == "folder" && len(o.repos) > 0 && o.clusters == "" && !o.offline:
	case proof && !o.goTemplate:
		return usagef("--clusters, --repo and --offline go with --go-template")
	case o.parent.Every < time.Second:
		return usagef("--every must be at least 1s")
	}
	for _, arg := range args {
		if info, err := os.Stat(arg); o.style.value == "folder" && err == nil && info.IsDir() {
			return usagef("--style folder: %s is a directory; name the files of the root Applications", arg)
		}
	}
	return nil
}

func runAppsetConvert(ctx context.Context, std stdio, opts appsetConvertOptions, args []string) error {
	opts.parent.Git = opts.source.value == "git"
	c := edit.Conversion{
		Change: opts.parent.File, Becomes: "an Application now", Nothing: "no ApplicationSet found",
		Already: "an Application that uses the plugin", Unique: true, Namespace: opts.parent.Namespace,
		Write: opts.write, Recursive: opts.recursive, Stdin: std.in, Out: std.out, Warn: std.warn,
	}
	if opts.reverse || opts.style.value != "application" {
		c.Unique = false // names stay
	}
	switch {
	case opts.style.value == "folder" && opts.reverse:
		c.Already = "without the plugin"
		c.Change, c.Becomes, c.Nothing = convert.ReverseFolder, "without the plugin now", "no Application found that uses the plugin"
	case opts.style.value == "folder":
		repos, err := userRepositories(std, opts.repos)
		if err != nil {
			return err
		}
		repos.Offline = true
		here := workspace.New(repos)
		defer func() { _ = here.Close() }()
		c.Change = func(file string, data []byte) (*convert.Result, error) {
			return convert.Folder(file, data, func(source map[string]any) ([]manifest.Object, error) { return here.Sets(ctx, source) })
		}
		c.Becomes, c.Nothing = "rendered by the plugin now", "no Application found that does not use the plugin yet"
		c.Already = "rendered by the plugin"
		std.note("if the controller renders these sets already, run argosy appset handover --folder before you commit this: a sync " +
			"would prune the sets, and their Applications with them")
	case opts.reverse:
		c.Already = "an ApplicationSet"
		c.Change, c.Becomes, c.Nothing = convert.Reverse, "an ApplicationSet now",
			"no Application found that has a set in the plugin's parameter"
	case opts.goTemplate:
		repos, err := userRepositories(std, opts.repos)
		if err != nil {
			return err
		}
		repos.Offline = opts.offline
		sets := workspace.Sets{Repositories: workspace.New(repos), Clusters: opts.clusters}
		defer func() { _ = sets.Repositories.Close() }()
		c.Change = opts.parent.WithGoTemplates(ctx, sets.One, opts.style.value == "set")
		if opts.style.value == "set" {
			c.Becomes, c.Nothing = "rewritten to Go templates", "no ApplicationSet found in the older template mode"
			c.Already = "a Go template"
		}
	}
	return c.Run(args)
}
