package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/workspace"
)

type healthCheckOptions struct {
	workspace.Checks
	version versions.Flag
	output  cli.Choice
}

func newHealthCheckCommand(std stdio) *cobra.Command {
	opts := healthCheckOptions{output: cli.OneOf("table", "json", "yaml")}
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Say how healthy objects are, by a Lua script, by the settings of an Argo CD, or by its built-in checks",
		Long: `Say how healthy objects are, as Argo CD would: by a Lua script, by the health checks in its settings, or by
the checks for core kinds that it has built in. An object without any check has no health; no sync wave waits
for it. Argo CD's own scripts for kinds of other projects are not included: for such an object, the output
says only that Argo CD has a check. Which kinds these are depends on --argocd-version.

Scripts get the libraries that Argo CD gives them, one second, and 256 MiB. They cannot use files or processes.

A file has objects as kubectl prints them, with their status; - is standard input.`,
		Example: `  kubectl -n argocd get application web -o yaml | argosy health check - --lua health.lua
  argosy health check deployment.yaml --customizations argocd-cm.yaml -o json`,
		RunE: func(_ *cobra.Command, args []string) error {
			opts.Files = append(args, opts.Files...)
			return runHealthCheck(std, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&opts.Files, "file", "f", nil,
		"the same as an argument: `FILE` with objects, or - for standard input; repeatable")
	flags.StringVar(&opts.Lua, "lua", "", "`FILE` with a Lua script to run on all objects")
	flags.BoolVar(&opts.OpenLibs, "open-libs", false,
		"give the script of --lua the libraries that useOpenLibs gives it: string, math, coroutine")
	flags.StringVar(&opts.Customizations, "customizations", "",
		"`FILE` with the settings of Argo CD: argocd-cm, values of the argo-cd chart, or an ArgoCD resource")
	flags.Var(&opts.version, "argocd-version",
		"`VERSION` of Argo CD whose built-in checks are used, "+versions.Range()+"; default: the newest")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.Usage())
	return cmd
}

func runHealthCheck(std stdio, opts healthCheckOptions) error {
	if err := opts.Check(); err != nil {
		return err
	}
	opts.Stdin, opts.Limits = std.In, health.Limits{Now: std.Now, Version: opts.version.Version}
	results, err := opts.Run()
	if err != nil {
		return err
	}
	return report.Health(std.Out, report.Format(opts.output.Value), results)
}

func newHealthScriptCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "script applications|applicationsets",
		Short: "Print a health check that makes sync waves wait for Applications, or for those of ApplicationSets",
		Long: `Print a health check for argocd-cm that makes sync waves wait.

applications, for ` + health.ApplicationKey + `: an Application is Progressing until Argo CD has compared its
present spec, while its sync is about to start or is running, until Argo CD has compared it after that sync, and
if the sync has failed. Otherwise its health is the one in its status. It need not be Synced, so a sync window
does not hold up the next wave. An Application that deploys itself does not wait for itself.

applicationsets, for ` + health.ApplicationSetKey + `: a set is Progressing until its Applications are healthy and in sync. This is for
those who cannot install the plugin. It needs an applicationset-controller with --enable-progressive-syncs; the
comment at its top says where it is weaker than the plugin.`,
		Example: `  argosy health script applications > application.lua
  kubectl -n argocd create configmap argocd-cm --dry-run=client -o yaml --from-file=` + health.ApplicationKey + `=application.lua |
    kubectl -n argocd patch configmap argocd-cm --patch-file /dev/stdin`,
		ValidArgs: []string{"applications", "applicationsets"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || health.NamedScript(args[0]) == "" {
				return usagef("needed: applications or applicationsets")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := io.WriteString(std.Out, health.NamedScript(args[0])); err != nil {
				return fmt.Errorf("writing: %w", err)
			}
			return nil
		},
	}
}
