package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/parent"
	"github.com/argosy-cd/argosy/internal/sidecar"
)

// appsetPluginOptions are the flags of the appset plugin, however it is run.
type appsetPluginOptions struct {
	engineOptions
	clusterOptions
	admins []string
}

func (o *appsetPluginOptions) register(flags *pflag.FlagSet) {
	o.engineOptions.register(flags)
	flags.StringSliceVar(&o.admins, "admin-projects", []string{"default"}, usageOf("admin-projects"))
	o.clusterOptions.register(flags)
}

// config connects the plugin with a cluster; nil is none.
func (o *appsetPluginOptions) config(std stdio, api *kube.Client) (sidecar.AppSetConfig, error) {
	cfg := sidecar.AppSetConfig{Version: o.version.value, Admins: o.admins, Namespace: o.argocd(api), API: api, Now: std.now}
	var err error
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
	temp, err := os.MkdirTemp("", "argosy-git-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a temporary directory
	note := func(line string) { fmt.Fprintln(std.err, "note:", line) }
	api, err := opts.plugin.clusterOptions.open()
	if err != nil {
		return err
	}
	cfg, err := opts.plugin.config(std, api)
	if err != nil {
		return err
	}
	cfg.Dir, cfg.Note = filepath.Join(temp, "git"), note
	plugin := sidecar.NewAppSet(cfg)
	plugin.Config.Policy = p
	if err := plugin.Remote.Open(); err != nil {
		return err
	}
	checkout, err := openCheckout(std.getenv("ARGOCD_APP_SOURCE_PATH"))
	if err != nil {
		return err
	}
	defer checkout.root.Close()
	answer, err := plugin.Config.Generate(ctx, parent.Request{Call: call, Dir: checkout.dir, Repository: checkout.view})
	for _, w := range answer.Warnings {
		fmt.Fprintln(std.err, "warning:", w)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return err
	}
	return writeObjects(std.out, opts.output.value, answer.Objects)
}

// defaultHookTimeout is below what Argo CD waits for.
const defaultHookTimeout = 45 * time.Second
