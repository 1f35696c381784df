package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// planInput are the flags that say what is planned.
type planInput struct {
	repos          []string
	clusters       string
	customizations string
	namespace      string
	sets           string // who renders ApplicationSets, as in plan.Config
}

func (o *planInput) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.repos, "repo", nil, "take a repository from a local directory, `URL=PATH[@REV]`; repeatable")
	o.registerSettings(flags)
}

// registerSettings are those about the Argo CD.
func (o *planInput) registerSettings(flags *pflag.FlagSet) {
	flags.StringVar(&o.clusters, "clusters", "", "`FILE` with the clusters that Argo CD knows, for cluster generators")
	flags.StringVar(&o.customizations, "customizations", "", "`FILE` with the settings of the Argo CD, argocd-cm")
	flags.StringVarP(&o.namespace, "namespace", "n", kube.DefaultNamespace, "Argo CD's namespace")
}

// atMostOneRoot demands no more than a file.
func atMostOneRoot(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("at most one file, that of the root Application")
	}
	return nil
}

type planOptions struct {
	planInput
	resources bool
	diff      string
	assign    bool
	output    formatFlag
}

func newPlanCommand(std stdio) *cobra.Command {
	opts := planOptions{output: formatFlag{value: "table", allowed: []string{"table", "json", "yaml", "mermaid", "dot", "svg", "markdown"}}}
	cmd := &cobra.Command{
		Use:   "plan [ROOT]",
		Short: "Say what a root Application will deploy, in which order, and which waves really wait",
		Long: `Say what a root Application will deploy, directly and through other Applications and ApplicationSets: who deploys whom, in which wave, in which
order, what each wave waits for, and whether it does.

ROOT is a file with the Application. Without it, the local repositories are searched for the one Application that deploys others and is deployed by
none. Repositories are those of --repo, and by default the work tree of the Git repository you stand in for all of
its remotes, as it lies on disk. Nothing is fetched: what is not at hand, such as a chart in a repository of charts, is said where it is, and is no error.

With --diff it says what changes since a revision: Applications that come, go or move between waves, other sources, and waves that stop waiting; then, or
if there is a new finding, the exit code is 3. With -o markdown it is for a comment on a pull request.

A wave waits for an Application if Argo CD's settings have a health check for Applications: those of --customizations, or an argocd-cm that the plan itself
deploys. It never waits for the Applications of an ApplicationSet, unless the plugin appset renders it.`,
		Example: `  argosy plan
  argosy plan --diff main -o markdown apps/root.yaml
  argosy plan --repo https://git.example.com/home/cluster.git=. --resources -o json root.yaml`,
		Args: atMostOneRoot,
		RunE: func(cmd *cobra.Command, args []string) error { return runPlan(cmd.Context(), std, opts, args) },
	}
	flags := cmd.Flags()
	opts.register(flags)
	flags.BoolVar(&opts.resources, "resources", false, "show all objects, not only Applications and ApplicationSets")
	flags.StringVar(&opts.diff, "diff", "", "say what changes in the boot since a `REVISION`, with -o table, json or markdown")
	flags.BoolVar(&opts.assign, "assign-waves", false, "write sync waves into the files of Applications that need others ("+argo.DependsAnnotation+"), and print which")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.usage()+"; markdown with --diff")
	return cmd
}

func runPlan(ctx context.Context, std stdio, opts planOptions, args []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	repos, err := newRepositories(std, opts.repos, true)
	if err != nil {
		return err
	}
	root, file, err := planRoot(ctx, std, repos, opts.planInput, args)
	if err != nil {
		return errors.Join(err, repos.close())
	}
	p, err := opts.plan(ctx, repos, root)
	if err != nil {
		return err
	}
	if opts.assign {
		return runAssignWaves(ctx, std, repos, p)
	}
	if opts.diff != "" {
		return runPlanDiff(ctx, std, opts, repos.at(opts.diff), file, p)
	}
	switch opts.output.value {
	case "table":
		return planTable(std.out, p, opts.resources)
	case "mermaid":
		return newGraph(p).mermaid(std.out)
	case "dot":
		return newGraph(p).dot(std.out)
	case "svg":
		return planSVG(std.out, p)
	}
	return writePlan(std.out, opts.output.value, p, opts.resources)
}

func (o *planOptions) check() error {
	format := o.output.value
	switch {
	case o.resources && (format == "mermaid" || format == "dot" || format == "svg"):
		return usagef("--resources goes with -o table, json and yaml")
	case format == "markdown" && o.diff == "":
		return usagef("-o markdown goes with --diff")
	case o.diff != "" && format != "table" && format != "json" && format != "markdown":
		return usagef("--diff goes with -o table, json and markdown")
	case o.assign && (o.diff != "" || format != "table" || o.resources):
		return usagef("--assign-waves goes without --diff, --resources and -o")
	case o.diff != "" && o.resources:
		return usagef("--diff is about Applications, without --resources")
	}
	return nil
}

// planRoot reads the root, or finds it.
func planRoot(ctx context.Context, std stdio, repos *repositories, opts planInput, args []string) (manifest.Document, string, error) {
	if len(args) == 0 {
		return findRoot(ctx, repos, opts)
	}
	root, err := readRoot(std.in, args[0])
	return root, args[0], err
}

// plan makes a plan of what repositories have, and closes them.
func (o *planInput) plan(ctx context.Context, repos *repositories, root manifest.Document) (*plan.Plan, error) {
	p, err := o.newPlan(ctx, repos, root)
	return p, errors.Join(err, repos.close())
}

func (o *planInput) newPlan(ctx context.Context, repos *repositories, root manifest.Document) (*plan.Plan, error) {
	cfg, _, err := o.config(repos)
	if err != nil {
		return nil, err
	}
	cfg.Open = func(ctx context.Context, url, revision string) (plan.Tree, error) {
		return repos.tree(ctx, url, revision)
	}
	return plan.New(ctx, cfg, root)
}

// config is what a plan is made with, except for where repositories are, and the clusters that it knows.
func (o *planInput) config(git generator.Repositories) (plan.Config, generator.ClusterList, error) {
	list, err := readClusters(o.clusters)
	clusters := generator.ClusterList(list)
	if err != nil {
		return plan.Config{}, nil, err
	}
	cfg := plan.Config{
		Namespace: o.namespace, Sets: o.sets,
		Engine: appset.Embedded{Clusters: clusters, Git: git, AllowEmpty: true}, Strict: appset.Embedded{Clusters: clusters, Git: git},
	}
	if o.customizations != "" {
		data, err := readLimited(o.customizations)
		if err != nil {
			return cfg, nil, err
		}
		if cfg.Customizations, err = health.ParseCustomizations(o.customizations, data); err != nil {
			return cfg, nil, err
		}
	}
	return cfg, clusters, nil
}

// readRoot reads the one Application of a file.
func readRoot(stdin io.Reader, file string) (manifest.Document, error) {
	docs, err := readDocuments(stdin, []string{file}, false)
	if err != nil {
		return manifest.Document{}, err
	}
	return oneRoot(file, docs)
}

func oneRoot(file string, docs []manifest.Document) (manifest.Document, error) {
	var roots []manifest.Document
	for _, d := range docs {
		if argo.IsApplication(d.Object) {
			roots = append(roots, d)
		}
	}
	if len(roots) != 1 {
		return manifest.Document{}, fmt.Errorf("%s: %d Applications are in it, the root must be one", file, len(roots))
	}
	return roots[0], nil
}
