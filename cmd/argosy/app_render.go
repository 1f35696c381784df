package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/preview"
)

type appRenderOptions struct {
	option.Plan
	roots  []string
	diff   string
	output cli.Choice
}

func newAppRenderCommand(std stdio) *cobra.Command {
	opts := appRenderOptions{output: cli.OneOf("yaml", "json", "name")}
	cmd := &cobra.Command{
		Use:   "render FILE|NAME",
		Short: "Print the manifests that Argo CD would deploy for an Application",
		Long: `Print the manifests that Argo CD would deploy for an Application, in the order of deployment.

FILE contains one Application. NAME is an Application in the tree of a root, also one that an ApplicationSet
generates; write NAMESPACE/NAME if several namespaces have an Application of this name. The root is that of
--root, or the one that argosy plan finds. Repositories, charts and settings are those of argosy plan.

Only manifests are printed on standard output; problems are printed on standard error. If the Application is not
known completely, the known objects are printed; if it is broken, nothing is printed. In both cases the exit code
is 3. --allow-unknown accepts named Applications.

With --diff it prints how the manifests change since a revision, as a unified diff without the values of
Secrets.`,
		Example: `  argosy app render apps/web.yaml
  argosy app render web --root root.yaml | kubectl apply --dry-run=server -f -
  argosy app render argocd/web --diff main`,
		Args: cli.Exactly(1, "a file with an Application, or the name of one"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.diff != "" && cmd.Flags().Changed("output") {
				return usagef("--diff and -o exclude each other")
			}
			return runAppRender(cmd.Context(), std, opts, args[0])
		},
	}
	flags := cmd.Flags()
	opts.Register(flags)
	flags.StringArrayVar(&opts.roots, "root", nil, "`ROOT` of the tree that NAME is in; repeatable")
	flags.StringVar(&opts.diff, "diff", "", "print how the manifests change since a `REVISION`")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.Usage())
	opts.CompleteNames(std, cmd, func([]string) []string { return opts.roots }, map[string]string{"allow-unknown": ""})
	cli.CompleteArgument(cmd, func(ctx context.Context) []string { return opts.Names(ctx, std, opts.roots) })
	return cmd
}

func runAppRender(ctx context.Context, std stdio, opts appRenderOptions, arg string) error {
	roots := opts.roots
	if preview.IsFile(arg) {
		if len(opts.roots) > 0 || opts.All {
			return usagef("--root and --all require the name of an Application, not a file")
		}
		roots = []string{arg}
	}
	v, err := opts.Prepare(std, roots, opts.output)
	if err != nil {
		return err
	}
	defer v.Planner.Close() //nolint:errcheck // only read from
	app := preview.Application{Preview: v, Name: arg}
	if opts.diff != "" {
		return app.Compare(ctx, opts.diff)
	}
	return app.Render(ctx)
}
