package main

import (
	"context"
	"io"
	"log"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/source"
)

// planInput are the flags that say what is planned.
type planInput struct {
	repos          []string
	clusters       string
	customizations string
	namespace      string
	offline        bool
	charts         string
	all            bool
	plugins        []string
	version        versionFlag
	sets           string // who renders ApplicationSets, as in plan.Config
	verdict        verdictOptions
	progressive    formatFlag // whether the applicationset-controller has progressive syncs; "" is not known
	exists         []string   // what the cluster has before the boot
	answers        answersOptions
}

func (o *planInput) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.repos, "repo", nil,
		"read a repository from a local directory, `URL=PATH[@REV]`, or PATH if its Applications name its URL; repeatable")
	o.registerSettings(flags)
}

// registerSettings are those about the Argo CD, and about what is elsewhere.
func (o *planInput) registerSettings(flags *pflag.FlagSet) {
	flags.BoolVar(&o.all, "all", false, "plan every root that is found, if no ROOT is given")
	flags.StringVar(&o.clusters, "clusters", "",
		"`FILE` with the clusters that Argo CD knows, for cluster generators and for other names of its own cluster")
	flags.StringVar(&o.customizations, "customizations", "",
		"`FILE` with the settings of Argo CD: argocd-cm, values of the argo-cd chart, or an ArgoCD resource")
	flags.Var(&o.version, "argocd-version",
		"`VERSION` of Argo CD, 3.2 to 3.5; default the one that the tree deploys if that can be seen, or the newest")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "Argo CD's namespace; default that of the root")
	flags.BoolVar(&o.offline, "offline", false, "fetch nothing: charts, bases and repositories come from the cache or stay unknown")
	flags.StringSliceVar(&o.plugins, "plugin", nil,
		"render sources of the plugin NAME as Kustomize, Helm or plain directories, `NAME=kustomize|helm|directory`; repeatable")
	flags.StringVar(&o.charts, "charts", "", "`DIR` with vendored charts, NAME-VERSION.tgz")
	o.answers.registerReplay(flags)
	o.verdict.register(flags)
}

// registerCluster are those about what runs in the cluster before the boot.
func (o *planInput) registerCluster(flags *pflag.FlagSet) {
	o.progressive = formatFlag{allowed: []string{"on", "off"}}
	flags.Var(&o.progressive, "progressive-syncs",
		"whether the applicationset-controller has --enable-progressive-syncs, so that RollingSync counts: `on|off`; default as the tree "+
			"has it")
	flags.StringSliceVar(&o.exists, "exists", nil,
		"`THINGS` that every cluster has before the boot: GROUP/KIND of a custom resource, Namespace/NAME, AppProject/NAME, or all that "+
			"nobody in the plan brings; repeatable")
}

// repositories are those of the flags.
func (o *planInput) repositories(std stdio) (*repositories, error) {
	if err := o.verdict.check(); err != nil {
		return nil, err
	}
	// A plan allocates a lot and soon ends, so it collects half as often: a tenth faster, in under 300 MB.
	debug.SetGCPercent(200)
	// Helm's libraries talk to the standard loggers, about what is said here by findings, or not worth a word.
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	r, err := newRepositories(std, o.repos, o.offline)
	if err != nil {
		return nil, err
	}
	r.charts, r.guess = o.charts, true
	return r, nil
}

type planOptions struct {
	planInput
	resources  bool
	diff       string
	manifests  bool
	assign     bool
	inputs     bool
	writePaths bool
	output     formatFlag
}

func newPlanCommand(std stdio) *cobra.Command {
	opts := planOptions{output: formatFlag{value: "table", allowed: []string{"table", "json", "yaml", "mermaid", "dot", "svg", "markdown"}}}
	cmd := &cobra.Command{
		Use:   "plan [ROOT...]",
		Short: "Say what a root Application will deploy, in which order, and which waves really wait",
		Long: `Say what a root Application will deploy, directly and through other Applications and ApplicationSets: who deploys whom, in which wave, in which
order, what each wave waits for, and whether it does.

ROOT is a file with Applications and ApplicationSets, or a directory that you would apply; several are planned together. Without it, the local
repositories are searched for the one Application or set that deploys others and is deployed by none; --all plans all of them.

Repositories are those of --repo, and by default the work tree of the Git repository you stand in, for its remotes and for the URL that its Applications name. The
work tree stands for the branch that the root follows, unless the default branch is checked out; other branches are read from Git. Charts, remote bases and other repositories are fetched with your own
credentials of Git, Helm and Docker, and kept in a cache ($ARGOSY_CACHE_DIR); with --offline nothing is fetched.

Content that is not available is reported as unknown; it is never treated as empty. The exit code is 3 if something is broken, or if something unknown
may hide Applications: a root, an Application of Applications, a set, a repository. --allow-unknown accepts named ones, --strict refuses everything unknown.

With --diff it says what changes since a revision: Applications that are deleted, added or moved between waves, other sources, waves that stop waiting, and Applications
whose manifests change (--manifests prints the objects); if a wave stops waiting, or there is a new finding, or one side is incomplete, the exit code is 3. With
-o markdown it is for a comment on a pull request.

A wave waits for an Application if Argo CD's settings have a health check for Applications: those of --customizations, or those that the plan itself
deploys. It does not wait for the Applications of an ApplicationSet, unless the plugin appset renders it, or it has RollingSync and that counts (--progressive-syncs).

A kind, a namespace or a project that a sync needs and that nothing deploys, or something later, is a finding; --exists says what the cluster has before the boot.`,
		Example: `  argosy plan
  argosy plan --diff main -o markdown apps/root.yaml
  argosy plan --repo https://git.example.com/home/cluster.git=. --resources -o json root.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return runPlan(cmd.Context(), std, opts, args) },
	}
	flags := cmd.Flags()
	opts.register(flags)
	opts.registerCluster(flags)
	flags.BoolVar(&opts.resources, "resources", false, "show all objects, not only Applications and ApplicationSets")
	flags.StringVar(&opts.diff, "diff", "", "say what changes in the boot since a `REVISION`, with -o table, json or markdown")
	flags.BoolVar(&opts.manifests, "manifests", false, "with --diff: print how the objects of each Application change")
	flags.BoolVar(&opts.assign, "assign-waves", false, "write sync waves into the files of Applications that need others ("+
		argo.DependsAnnotation+"), and print which")
	flags.BoolVar(&opts.inputs, "inputs", false, "print the files that each Application is rendered from")
	flags.BoolVar(&opts.writePaths, "write-paths", false, "write "+argo.PathsAnnotation+" into the files of Applications, and print which")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.usage()+"; markdown with --diff")
	return cmd
}

func runPlan(ctx context.Context, std stdio, opts planOptions, args []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	repos, err := opts.repositories(std)
	if err != nil {
		return err
	}
	defer repos.close() //nolint:errcheck // only read from
	if opts.diff != "" {
		return runPlanDiff(ctx, std, opts, repos, args)
	}
	roots, err := planRoots(ctx, std, repos, opts.planInput, args)
	if err != nil {
		return err
	}
	repos = roots.repos
	defer repos.close() //nolint:errcheck // only read from
	p, err := opts.plan(ctx, roots)
	if err != nil {
		return err
	}
	switch {
	case opts.assign:
		return runAssignWaves(ctx, std, repos, p)
	case opts.writePaths:
		return runWritePaths(ctx, std, repos, p)
	case opts.inputs:
		err = writeInputs(std.out, opts.output.value, p)
	default:
		err = opts.print(std, p)
	}
	if err != nil {
		return err
	}
	return opts.verdict.exit(std, p)
}

// print prints a plan.
func (o *planOptions) print(std stdio, p *plan.Plan) error {
	switch o.output.value {
	case "table":
		return planTable(std.out, p, o.resources)
	case "mermaid":
		return newGraph(p).mermaid(std.out)
	case "dot":
		return newGraph(p).dot(std.out)
	case "svg":
		return planSVG(std.out, p)
	}
	return writePlan(std.out, o.output.value, p, o.resources)
}

func (o *planOptions) check() error {
	format := o.output.value
	edits := 0
	for _, on := range []bool{o.assign, o.inputs, o.writePaths, o.diff != ""} {
		if on {
			edits++
		}
	}
	switch {
	case edits > 1:
		return usagef("--diff, --assign-waves, --inputs and --write-paths do not go together")
	case o.resources && (format == "mermaid" || format == "dot" || format == "svg"):
		return usagef("--resources goes with -o table, json and yaml")
	case format == "markdown" && o.diff == "":
		return usagef("-o markdown goes with --diff")
	case o.diff != "" && format != "table" && format != "json" && format != "markdown":
		return usagef("--diff goes with -o table, json and markdown")
	case (o.assign || o.writePaths) && (o.verdict.strict || len(o.verdict.allow) > 0):
		return usagef("--assign-waves and --write-paths go without --strict and --allow-unknown")
	case (o.assign || o.writePaths) && (format != "table" || o.resources):
		return usagef("--assign-waves and --write-paths go without --resources and -o")
	case o.inputs && format != "table" && format != "json" || o.inputs && o.resources:
		return usagef("--inputs goes with -o table and json, and without --resources")
	case o.diff != "" && o.resources:
		return usagef("--diff is about Applications, without --resources")
	case o.manifests && o.diff == "":
		return usagef("--manifests goes with --diff")
	}
	return nil
}

// plan makes a plan of what repositories have.
func (o *planInput) plan(ctx context.Context, roots *rootSet) (*plan.Plan, error) {
	cfg, err := o.config(roots.repos)
	if err != nil {
		return nil, err
	}
	cfg.Loader, cfg.Cache = roots.repos.loader(), &roots.repos.rendered
	return plan.New(ctx, cfg, roots.docs...)
}

// config is what a plan is made with, except for where repositories are.
func (o *planInput) config(git generator.Repositories) (plan.Config, error) {
	cfg := plan.Config{
		Namespace: o.namespace, Version: o.version.value, Sets: o.sets, Git: git, APIs: o.answers.replay(),
		Plugins: map[string]source.Kind{},
	}
	for _, flag := range o.plugins {
		name, kind, ok := strings.Cut(flag, "=")
		if !ok || name == "" || !slices.Contains([]source.Kind{source.Kustomize, source.Helm, source.Directory}, source.Kind(kind)) {
			return cfg, usagef("--plugin must be NAME=kustomize, NAME=helm or NAME=directory, it is %q", flag)
		}
		cfg.Plugins[name] = source.Kind(kind)
	}
	if o.progressive.value != "" {
		on := o.progressive.value == "on"
		cfg.ProgressiveSyncs = &on
	}
	for _, text := range o.exists {
		if text == "all" {
			cfg.ExistsAll = true
			continue
		}
		thing, err := plan.ParseThing(text)
		if err != nil {
			return cfg, usagef("--exists: %v", err)
		}
		cfg.Exists = append(cfg.Exists, thing)
	}
	if o.clusters != "" {
		list, err := readClusters(o.clusters)
		if err != nil {
			return cfg, err
		}
		cfg.Clusters = append(generator.ClusterList{}, list...)
	}
	if o.customizations != "" {
		data, err := readLimited(o.customizations)
		if err != nil {
			return cfg, err
		}
		if cfg.Settings, err = settings.Parse(o.customizations, data); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}
