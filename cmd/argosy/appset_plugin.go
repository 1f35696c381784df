package main

import (
	"context"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/sidecar"
)

// runAppsetHook is the appset plugin as a command of Argo CD's own plugin server, in the application's directory.
func runAppsetHook(ctx context.Context, std stdio, opts appsetGenerateOptions) error {
	ctx, cancel, err := cli.Deadline(ctx, opts.timeout)
	if err != nil {
		return err
	}
	defer cancel()
	p, err := option.ReadPolicy(opts.policy)
	if err != nil {
		return err
	}
	api, err := opts.plugin.OpenCluster(nil)
	if err != nil {
		return err
	}
	cfg, err := opts.plugin.PluginConfig(std, true)
	if err != nil {
		return err
	}
	cfg.Note = std.Note
	answer, err := sidecar.Hook{ArgoCD: opts.plugin.ArgoCD(api), AppSet: cfg, Policy: p, Getenv: std.Getenv}.Answer(ctx)
	for _, w := range answer.Warnings {
		std.Warn(w)
	}
	if err != nil {
		return err
	}
	return report.Objects(std.Out, report.Format(opts.output.Value), answer.Objects)
}
