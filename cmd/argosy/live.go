package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/problem"
)

// liveOptions are the flags of commands that look at a live cluster, or at a recording of one.
type liveOptions struct {
	kube.Config
	namespaces []string
	recording  string
}

func (o *liveOptions) register(flags *pflag.FlagSet) {
	o.registerCluster(flags)
	flags.StringVar(&o.Namespace, "argocd-namespace", "", usageOf("argocd-namespace"))
	flags.StringVar(&o.recording, "recording", "", "read a recorded boot from `FILE` instead of a cluster; - is standard input")
}

// registerCluster are those about the cluster, for a command that needs one.
func (o *liveOptions) registerCluster(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE`; default: $KUBECONFIG, ~/.kube/config, or the cluster this runs in")
	flags.StringVar(&o.Context, "context", "", "`CONTEXT` of the kubeconfig; default: its current one")
	flags.StringSliceVar(&o.namespaces, "application-namespaces", []string{"*"},
		"`NAMESPACES` beside Argo CD's own that have Applications; * stands for any characters")
}

// config prepares to follow a boot. The caller closes what it returns.
func (o *liveOptions) config(std stdio, cmd *cobra.Command) (cfg follow.Config, done func(), err error) {
	if err := fromEnvironment(std, cmd.Flags()); err != nil {
		return cfg, nil, err
	}
	for _, namespace := range o.namespaces {
		if err := kube.CheckNamespace(namespace); err != nil {
			return cfg, nil, usagef("--application-namespaces: %v", err)
		}
	}
	cfg = follow.Config{
		Namespaces: o.namespaces, Namespace: (*kube.Client)(nil).ArgoCD(o.Namespace), Now: std.now,
		Out: std.out, Err: std.err, Size: std.size,
	}
	if o.recording != "" {
		if o.Kubeconfig != "" || o.Context != "" {
			return cfg, nil, usagef("--recording goes without --kubeconfig and --context")
		}
		if cfg.Name = o.recording; o.recording == "-" {
			cfg.Recording, cfg.Name = std.in, "standard input"
			return cfg, func() {}, nil
		}
		file, err := os.Open(o.recording)
		if err != nil {
			return cfg, nil, problem.Path(err)
		}
		cfg.Recording = file
		return cfg, func() { _ = file.Close() }, nil
	}
	if o.Kubeconfig == "" {
		o.Merged = userKubeconfigs(std)
	}
	if cfg.Client, err = kube.Open(o.Config); err != nil {
		return cfg, nil, err
	}
	return cfg, func() {}, nil
}

// userKubeconfigs are the files that kubectl reads: $KUBECONFIG, or else ~/.kube/config where it exists.
func userKubeconfigs(std stdio) []string {
	if files := kubeconfigs(std); len(files) > 0 {
		return files
	}
	if home := std.getenv("HOME"); home != "" {
		file := filepath.Join(home, ".kube", "config")
		if _, err := os.Stat(file); err == nil {
			return []string{file}
		}
	}
	return nil
}

// withBoot runs do on a boot that is known.
func (o *liveOptions) withBoot(std stdio, cmd *cobra.Command, format formatFlag, do func(context.Context, *follow.Boot) error) error {
	cfg, done, err := o.config(std, cmd)
	if err != nil {
		return err
	}
	defer done()
	cfg.Format = format.format()
	b, err := follow.Open(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	defer b.Close() //nolint:errcheck // nothing is recorded
	return do(cmd.Context(), b)
}

// oneApplication refuses more than one argument.
func oneApplication(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("at most one Application may be named")
	}
	return nil
}

// first is the only argument, "" if there is none.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
