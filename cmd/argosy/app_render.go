package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/workspace"
)

type appRenderOptions struct {
	planInput
	roots  []string
	diff   string
	output formatFlag
}

func newAppRenderCommand(std stdio) *cobra.Command {
	opts := appRenderOptions{output: formatFlag{value: "yaml", allowed: []string{"yaml", "json", "name"}}}
	cmd := &cobra.Command{
		Use:   "render FILE|NAME",
		Short: "Print the manifests that Argo CD would deploy for an Application",
		Long: `Print the manifests that Argo CD would deploy for an Application, in the order of deployment.

FILE has one Application. NAME is an Application in the tree of a root, also one that a set generates; if
several namespaces have one of this name, name it NAMESPACE/NAME. The root is that of --root, or the one that
argosy plan finds. Repositories, charts and settings are those of argosy plan.

Only manifests are printed on standard output; problems are printed on standard error. The exit code is 3 if
the Application is not known completely, and the known objects are printed; it is 3 also if the Application is
broken, and nothing is printed. --allow-unknown accepts named Applications.

With --diff it prints how the manifests change since a revision, as a unified diff without the values of
Secrets.`,
		Example: `  argosy app render apps/web.yaml
  argosy app render web --root root.yaml | kubectl apply --dry-run=server -f -
  argosy app render argocd/web --diff main`,
		Args: exactly(1, "a file with an Application, or the name of one"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.diff != "" && cmd.Flags().Changed("output") {
				return usagef("--diff goes without -o")
			}
			return runAppRender(cmd.Context(), std, opts, args[0])
		},
	}
	flags := cmd.Flags()
	opts.verdict.always = true
	opts.register(flags)
	flags.StringArrayVar(&opts.roots, "root", nil, "`ROOT` of the tree that NAME is in; repeatable")
	flags.StringVar(&opts.diff, "diff", "", "print how the manifests change since a `REVISION`")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.usage())
	opts.completeNames(std, cmd, func([]string) []string { return opts.roots }, map[string]string{"allow-unknown": ""})
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// A shell completes files if no name begins so.
		return slices.DeleteFunc(opts.names(cmd.Context(), std, opts.roots), func(name string) bool {
			return !strings.HasPrefix(name, typed)
		}), cobra.ShellCompDirectiveDefault
	}
	return cmd
}

func runAppRender(ctx context.Context, std stdio, opts appRenderOptions, arg string) error {
	args := opts.roots
	if isFileArg(arg) {
		if len(opts.roots) > 0 || opts.all {
			return usagef("--root and --all go with the name of an Application, not with a file")
		}
		args = []string{arg}
	}
	planner, err := opts.planner(std)
	if err != nil {
		return err
	}
	defer planner.Close() //nolint:errcheck // only read from
	if opts.diff != "" {
		return opts.compare(ctx, std, planner, args, arg)
	}
	roots, err := planner.Roots(ctx, args)
	if err != nil {
		return err
	}
	p, err := planner.Plan(ctx, roots)
	if err != nil {
		return err
	}
	app, err := opts.find(arg, p)
	if err != nil {
		return err
	}
	if app.Verdict() != source.Broken {
		if err := report.Objects(std.out, opts.output.format(), app.Objects()); err != nil {
			return err
		}
	}
	return opts.judge(std, "", p, app)
}

// isFileArg reports whether an argument is a file, and not the name of an Application.
func isFileArg(arg string) bool {
	info, err := os.Stat(arg)
	return arg == "-" || err == nil && info.Mode().IsRegular() || input.IsManifest(filepath.Base(arg))
}

// find returns an Application of plans: the one that the file has, or one with the name. The first plan that has it wins.
func (o *appRenderOptions) find(arg string, plans ...*plan.Plan) (*plan.Application, error) {
	for _, p := range plans {
		app, err := p.Find(arg)
		if isFileArg(arg) {
			app, err = p.Only(arg)
		}
		if app != nil || err != nil {
			return app, err
		}
	}
	if isFileArg(arg) {
		return nil, fmt.Errorf("%s: there is no Application in it", arg)
	}
	return nil, plan.NotFound{Plans: plans, Similar: similar, Allowed: o.verdict.rules().Allowed}.Err(arg)
}

// judge prints what is wrong with an Application, with the side of a comparison in front. It ends with 3 if the manifests are not all that
// Argo CD deploys.
func (o *appRenderOptions) judge(std stdio, side string, p *plan.Plan, app *plan.Application) error {
	report.Judgement(std.err, side, p, app)
	if v := app.Verdict(); v == source.Broken || v != source.Known && !o.verdict.rules().Allowed(app.Name) {
		return errFound
	}
	return nil
}

// compare prints how the manifests change since a revision.
func (o *appRenderOptions) compare(ctx context.Context, std stdio, planner *workspace.Planner, args []string, arg string) error {
	before, after, err := planner.Both(ctx, o.diff, args)
	if err != nil {
		return err
	}
	app, err := o.find(arg, after, before)
	if err != nil {
		return err
	}
	d := plan.Diff(before, after)
	if err := report.Manifests(std.out, d, app.Ref, o.diff); err != nil {
		return err
	}
	var errs []error
	for _, side := range []struct {
		name string
		plan *plan.Plan
	}{{"at " + words.Printable(o.diff) + ": ", before}, {"", after}} {
		if i := slices.IndexFunc(side.plan.Applications, func(a *plan.Application) bool { return a.Ref == app.Ref }); i >= 0 {
			errs = append(errs, o.judge(std, side.name, side.plan, side.plan.Applications[i]))
		}
	}
	if slices.Contains(d.NotCompared, app.Ref) && len(errs) == 1 {
		fmt.Fprintf(std.err, "unknown: %s: it is not known whether it is on the other side, too: unknown parts may have it\n",
			words.Printable(app.Name))
		errs = append(errs, errFound)
	}
	return errors.Join(errs...)
}
