package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/settings"
)

func newHealthCommand(std stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Health of objects, as Argo CD sees it",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHealthCheckCommand(std), newHealthScriptCommand(std))
	return cmd
}

type healthCheckOptions struct {
	files          []string
	lua            string
	customizations string
	openLibs       bool
	version        versionFlag
	output         formatFlag
}

func newHealthCheckCommand(std stdio) *cobra.Command {
	opts := healthCheckOptions{output: formatFlag{value: "table", allowed: []string{"table", "json", "yaml"}}}
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Say how healthy objects are, by a Lua script, by the settings of an Argo CD, or by its built-in checks",
		Long: `Say how healthy objects are, as Argo CD would: by a Lua script, by the health checks in its settings, or by
the checks for core kinds that it has built in. An object without any check has no health; no sync wave waits
for it. Scripts for kinds of other projects, which Argo CD brings along, are not here: of such an object only
that Argo CD has a check is said. Which kinds these are depends on --argocd-version.

Scripts have the libraries that Argo CD gives them, a second, and 256 MiB. They never have files or processes.

A file has objects as kubectl prints them, with their status; - is standard input.`,
		Example: `  kubectl -n argocd get application web -o yaml | argosy health check - --lua health.lua
  argosy health check deployment.yaml --customizations argocd-cm.yaml -o json`,
		RunE: func(_ *cobra.Command, args []string) error {
			opts.files = append(args, opts.files...)
			return runHealthCheck(std, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&opts.files, "file", "f", nil,
		"the same as an argument: `FILE` with objects, or - for standard input; repeatable")
	flags.StringVar(&opts.lua, "lua", "", "`FILE` with a Lua script that is asked about all of them")
	flags.BoolVar(&opts.openLibs, "open-libs", false,
		"give the script of --lua the libraries that useOpenLibs gives it: string, math, coroutine")
	flags.StringVar(&opts.customizations, "customizations", "", "`FILE` with the settings of an Argo CD, argocd-cm")
	flags.Var(&opts.version, "argocd-version", "`VERSION` of Argo CD whose built-in checks these are, 3.2 to 3.5; default the newest")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.usage())
	return cmd
}

func runHealthCheck(std stdio, opts healthCheckOptions) error {
	switch {
	case len(opts.files) == 0:
		return usagef("needed: a file with objects, or - for standard input")
	case opts.lua != "" && opts.customizations != "":
		return usagef("--lua and --customizations do not go together")
	case opts.openLibs && opts.lua == "":
		return usagef("--open-libs goes with --lua; settings have a key for it")
	}
	docs, err := input.Documents(std.in, opts.files, false)
	if err != nil {
		return err
	}
	if len(docs) == 0 {
		return errors.New("there are no objects")
	}
	checks, err := opts.checks()
	if err != nil {
		return err
	}
	var results []report.Checked
	var errs []error
	for _, d := range docs {
		h, ok, err := health.Evaluate(d.Object, checks, health.Limits{Now: std.now, Version: opts.version.value})
		if err != nil && opts.lua != "" {
			err = fmt.Errorf("%s: %w", opts.lua, errors.Unwrap(err))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.Document(), err))
			continue
		}
		results = append(results, report.Checked{
			Object: d.Object, Health: h, Found: ok,
			Bundled: health.Bundled(d.Object, opts.version.value),
		})
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return report.Health(std.out, opts.output.format(), results)
}

// checks are those of a script for everything, or of settings.
func (o *healthCheckOptions) checks() (health.Customizations, error) {
	if o.lua != "" {
		data, err := input.File(o.lua)
		if err != nil {
			return nil, err
		}
		return health.Customizations{"*": {Health: string(data), OpenLibs: o.openLibs}}, nil
	}
	if o.customizations == "" {
		return nil, nil
	}
	data, err := input.File(o.customizations)
	if err != nil {
		return nil, err
	}
	s, err := settings.Parse(o.customizations, data)
	if err != nil {
		return nil, err
	}
	return s.Health, nil
}

func newHealthScriptCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "script applications|applicationsets",
		Short: "Print a health check that makes sync waves wait for Applications, or for those of ApplicationSets",
		Long: `Print a health check for argocd-cm that makes sync waves wait.

applications, for ` + health.ApplicationKey + `: an Application is as healthy as it says, once Argo CD has compared its present spec
and looked at its last sync. It is Progressing while a sync of it is about to start, running or failed. It need
not be Synced, so a sync window does not hold up the next wave. An Application that deploys itself does not wait
for itself.

applicationsets, for ` + health.ApplicationSetKey + `: a set is Progressing until its Applications are healthy and in sync. This is for
those who cannot install the plugin. It needs an applicationset-controller with --enable-progressive-syncs; the
comment at its top says where it is weaker than the plugin.`,
		Example: `  argosy health script applications > application.lua
  kubectl -n argocd create configmap argocd-cm --dry-run=client -o yaml --from-file=` + health.ApplicationKey + `=application.lua |
    kubectl -n argocd patch configmap argocd-cm --patch-file /dev/stdin`,
		ValidArgs: []string{"applications", "applicationsets"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || healthScript(args[0]) == "" {
				return usagef("needed: applications or applicationsets")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := io.WriteString(std.out, healthScript(args[0])); err != nil {
				return fmt.Errorf("writing: %w", err)
			}
			return nil
		},
	}
}

// healthScript is the script of a name, "" if there is none.
func healthScript(name string) string {
	switch name {
	case "applications", "application": // the latter is its older name
		return health.ApplicationScript
	case "applicationsets":
		return health.ApplicationSetScript
	}
	return ""
}
