package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/parent"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/sidecar"
	"github.com/argosy-cd/argosy/internal/workspace"
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

// config connects the plugin with a cluster; nil is none. If it is not served, its engine is not asked for.
func (o *appsetPluginOptions) config(std stdio, api *kube.Client, served bool) (cfg sidecar.AppSetConfig, err error) {
	cfg = sidecar.AppSetConfig{
		Version: o.version.value, Admins: o.admins, Namespace: o.argocd(api), API: api, APIs: o.apis.config(std), Now: std.now,
	}
	if !served {
		return cfg, nil
	}
	if cfg.Server, err = o.engineOptions.open(std); err != nil {
		return cfg, err
	}
	if cfg.Server == nil && o.server != "" {
		cfg.Installed, err = o.client(nil)
	}
	return cfg, err
}

// runAppsetHook is the appset plugin as a command of Argo CD's own plugin server, in the application's directory.
func runAppsetHook(ctx context.Context, std stdio, opts appsetGenerateOptions) error {
	ctx, cancel, err := deadline(ctx, opts.timeout)
	if err != nil {
		return err
	}
	defer cancel()
	call, err := argo.NewCall(std.getenv, parent.Parameters())
	if err != nil {
		return err
	}
	p, err := readPolicy(opts.policy)
	if err != nil {
		return err
	}
	api, err := opts.plugin.clusterOptions.open(nil)
	if err != nil {
		return err
	}
	cfg, err := opts.plugin.config(std, api, true)
	if err != nil {
		return err
	}
	cfg.Note = func(line string) { fmt.Fprintln(std.err, "note:", line) }
	checkout, err := workspace.OpenCheckout(std.getenv("ARGOCD_APP_SOURCE_PATH"))
	if err != nil {
		return err
	}
	defer checkout.Root.Close()
	answer, err := sidecar.Hook(ctx, cfg, p, parent.Request{Call: call, Dir: checkout.Dir, Repository: checkout.View})
	for _, w := range answer.Warnings {
		fmt.Fprintln(std.err, "warning:", w)
	}
	if err != nil {
		return err
	}
	return report.Objects(std.out, opts.output.format(), answer.Objects)
}

// defaultHookTimeout is below what Argo CD waits for.
const defaultHookTimeout = 45 * time.Second
