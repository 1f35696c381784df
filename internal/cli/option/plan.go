package option

import (
	"io"
	"log"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/preview"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// Plan are the flags of commands that plan: the roots, and the settings of the plan.
type Plan struct {
	workspace.Settings
	repos   []string
	offline bool
	charts  string
	// All plans every root that is found.
	All         bool
	version     versions.Flag
	progressive cli.Choice
	// Verdict configures which plans are accepted.
	Verdict report.Verdict
}

// Register adds the flags.
func (o *Plan) Register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.repos, "repo", nil,
		"read a repository from a local directory, `URL=PATH[@REV]`, or PATH if its Applications name its URL; repeatable")
	o.registerSettings(flags)
}

// registerSettings adds the flags about Argo CD, and about remote content.
func (o *Plan) registerSettings(flags *pflag.FlagSet) {
	flags.BoolVar(&o.All, "all", false, "plan every root that is found, if no ROOT is given")
	flags.StringVar(&o.Clusters, "clusters", "",
		"`FILE` with the clusters that Argo CD knows, for cluster generators and for other names of its own cluster")
	flags.StringVar(&o.Customizations, "customizations", "",
		"`FILE` with the settings of Argo CD: argocd-cm, values of the argo-cd chart, or an ArgoCD resource")
	flags.Var(&o.version, "argocd-version",
		"`VERSION` of Argo CD, "+versions.Range()+"; default: the one that the tree deploys if that can be seen, or the newest")
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "Argo CD's namespace; default: that of the root")
	flags.BoolVar(&o.offline, "offline", false, "fetch nothing: charts, bases and repositories come from the cache or stay unknown")
	flags.StringSliceVar(&o.Plugins, "plugin", nil,
		"render sources of the plugin NAME as Kustomize, Helm or plain directories, `NAME=kustomize|helm|directory`; repeatable")
	flags.StringVar(&o.charts, "charts", "", "`DIR` with vendored charts, NAME-VERSION.tgz")
	RegisterAnswers(flags, &o.Answers)
	flags.StringSliceVar(&o.Verdict.Allow, "allow-unknown", nil,
		"`NAMES` of Applications and sets that may be unknown, with * for any characters")
}

// RegisterOwn adds the flags of a demo of the user's own repository.
func (o *Plan) RegisterOwn(flags *pflag.FlagSet) {
	o.registerSettings(flags)
	o.registerStrict(flags)
}

func (o *Plan) registerStrict(flags *pflag.FlagSet) {
	flags.BoolVar(&o.Verdict.Strict, "strict", false, "exit with 3 if anything is unknown")
}

// RegisterCluster adds the flags about the state of the cluster before the boot.
func (o *Plan) RegisterCluster(flags *pflag.FlagSet) {
	o.registerStrict(flags)
	o.progressive = cli.Choice{Allowed: []string{"on", "off"}}
	flags.Var(&o.progressive, "progressive-syncs",
		"whether the applicationset-controller has --enable-progressive-syncs, so that RollingSync counts: "+
			"`on|off`; default: as in the tree")
	flags.StringSliceVar(&o.Exists, "exists", nil,
		"`THINGS` that every cluster has before the boot: GROUP/KIND of a custom resource, Namespace/NAME, AppProject/NAME, "+
			"StorageClass/NAME and other classes, issuers, stores and Services, or all for "+
			"everything that the plan does not deploy; * stands for any part of a name; repeatable")
}

// Prepare is a preview of roots, in a format. Its planner must be closed.
func (o *Plan) Prepare(std cli.Std, roots []string, output cli.Choice) (preview.Preview, error) {
	v := preview.Preview{Roots: roots, Verdict: o.Verdict, Format: report.Format(output.Value), Out: std.Out, Err: std.Err}
	if err := v.Verdict.Check(); err != nil {
		return v, err
	}
	cli.CollectLate()
	// Helm's libraries log to the standard logger. Findings report the problems instead.
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if std.Quiet != nil {
		std.Quiet()
	}
	repos, err := Repositories(std, o.repos)
	if err != nil {
		return v, err
	}
	repos.Guess = true
	v.Planner, err = o.Planner(std, repos)
	return v, err
}

// Planner returns a planner that is configured by the flags.
func (o *Plan) Planner(std cli.Std, repos workspace.Config) (*workspace.Planner, error) {
	repos.Offline, repos.Charts = o.offline, o.charts
	cfg, err := o.PlanConfig()
	if err == nil {
		err = workspace.Directory("charts", o.charts)
	}
	return &workspace.Planner{
		Repositories: workspace.New(repos), Config: cfg, All: o.All, Stdin: std.In,
		Deprecated: func(line string) { std.Warn(words.Harmless(line)) },
	}, err
}

// PlanConfig returns the configuration of a plan, without its repositories.
func (o *Plan) PlanConfig() (plan.Config, error) {
	o.Version, o.ProgressiveSyncs = o.version.Version, o.progressive.Value
	return o.Config()
}
