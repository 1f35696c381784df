package option

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
)

// Live are the flags of commands that look at a live cluster, or at a recording of one.
type Live struct {
	kube.Config
	// Patience is how long an API server may not answer at first. Zero gives up at the first error.
	Patience   time.Duration
	namespaces []string
	recording  string
}

// Register adds the flags.
func (o *Live) Register(flags *pflag.FlagSet) {
	o.RegisterLive(flags)
	flags.StringVar(&o.Namespace, "argocd-namespace", "", Usage("argocd-namespace"))
	flags.StringVar(&o.recording, "recording", "", "read a recorded boot from `FILE` instead of a cluster; - is standard input")
}

// RegisterLive adds the flags about the cluster, for a command that needs one.
func (o *Live) RegisterLive(flags *pflag.FlagSet) {
	RegisterUser(flags, &o.Config)
	flags.StringSliceVar(&o.namespaces, "application-namespaces", []string{"*"},
		"`NAMESPACES` besides Argo CD's own that have Applications; * stands for any characters")
}

// Follow prepares to follow a boot. The caller calls done.
func (o *Live) Follow(std cli.Std, cmd *cobra.Command) (cfg follow.Config, done func(), err error) {
	if err := Fill(std, cmd.Flags()); err != nil {
		return cfg, nil, err
	}
	for _, namespace := range o.namespaces {
		if err := kube.CheckNamespace(namespace); err != nil {
			return cfg, nil, problem.Usagef("--application-namespaces: %v", err)
		}
	}
	cfg = follow.Config{
		Namespaces: o.namespaces, Namespace: (*kube.Client)(nil).ArgoCD(o.Namespace), Now: std.Now,
		Out: std.Out, Err: std.Err, Size: std.Size, Patience: o.Patience,
	}
	if std.Dumb() {
		cfg.Size = nil
	}
	if o.recording != "" {
		if o.Kubeconfig != "" || o.Context != "" || cmd.Flags().Changed("application-namespaces") {
			return cfg, nil, problem.Usagef("--recording excludes --kubeconfig, --context and --application-namespaces")
		}
		if cfg.Name = o.recording; o.recording == "-" {
			cfg.Recording, cfg.Name = std.In, "standard input"
			return cfg, func() {}, nil
		}
		file, err := os.Open(o.recording)
		if err != nil {
			return cfg, nil, problem.Path(err)
		}
		cfg.Recording = file
		return cfg, func() { _ = file.Close() }, nil
	}
	if cfg.Client, err = OpenUser(std, o.Config); err != nil {
		return cfg, nil, err
	}
	return cfg, func() {}, nil
}

// WithBoot runs do on a boot that is known.
func (o *Live) WithBoot(std cli.Std, cmd *cobra.Command, format cli.Choice, do func(context.Context, *follow.Boot) error) error {
	cfg, done, err := o.Follow(std, cmd)
	if err != nil {
		return err
	}
	defer done()
	cfg.Format = report.Format(format.Value)
	b, err := follow.Open(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	defer b.Close() //nolint:errcheck // nothing is recorded
	return do(cmd.Context(), b)
}
