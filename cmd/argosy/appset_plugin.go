package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/sidecar"
)

// appsetPluginOptions are the flags of the appset plugin, however it is run.
type appsetPluginOptions struct {
	engineOptions
	clusterOptions
	admins []string
	apis   apiOptions
}

func (o *appsetPluginOptions) register(flags *pflag.FlagSet) {
	o.engineOptions.register(flags)
	flags.StringSliceVar(&o.admins, "admin-projects", []string{"default"}, usageOf("admin-projects"))
	o.clusterOptions.register(flags)
	o.apis.register(flags)
}

// argocd is the installation that plugins work for, in a cluster; nil is none.
func (o *appsetPluginOptions) argocd(api *kube.Client) sidecar.ArgoCD {
	return sidecar.ArgoCD{API: api, Namespace: api.ArgoCD(o.Namespace), Admins: o.admins}
}

// config says what the plugin is connected to. If it is not served, its engine is not asked for.
func (o *appsetPluginOptions) config(std stdio, served bool) (cfg sidecar.AppSetConfig, err error) {
	cfg = sidecar.AppSetConfig{Version: o.Version.Version, APIs: o.apis.config(std), Now: std.now}
	if !served {
		return cfg, nil
	}
	cfg.Server, cfg.Installed, err = o.OpenPlugin(std.getenv(tokenVariable))
	return cfg, err
}

// runAppsetHook is the appset plugin as a command of Argo CD's own plugin server, in the application's directory.
func runAppsetHook(ctx context.Context, std stdio, opts appsetGenerateOptions) error {
	ctx, cancel, err := cli.Deadline(ctx, opts.timeout)
	if err != nil {
		return err
	}
	defer cancel()
	p, err := readPolicy(opts.policy)
	if err != nil {
		return err
	}
	api, err := opts.plugin.open(nil)
	if err != nil {
		return err
	}
	cfg, err := opts.plugin.config(std, true)
	if err != nil {
		return err
	}
	cfg.Note = std.note
	answer, err := sidecar.Hook{ArgoCD: opts.plugin.argocd(api), AppSet: cfg, Policy: p, Getenv: std.getenv}.Answer(ctx)
	for _, w := range answer.Warnings {
		std.warn(w)
	}
	if err != nil {
		return err
	}
	return report.Objects(std.out, opts.output.format(), answer.Objects)
}
