package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/board"
	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/simulate"
)

type boardOptions struct {
	live     liveOptions
	plan     planInput
	server   serverOptions
	simulate bool
	faults   simulate.Faults
	who      board.Who
	hosts    []string
	ui       string
}

func newBoardCommand(std stdio) *cobra.Command {
	var opts boardOptions
	cmd := &cobra.Command{
		Use:   "board [ROOT...]",
		Short: "Show a boot on a web page: waves, health, a time line, and what blocks",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBoard(cmd.Context(), std, cmd, opts, args)
		},
	}
	flags := cmd.Flags()
	opts.live.register(flags)
	opts.plan.register(flags)
	opts.plan.registerCluster(flags)
	opts.server.register(flags, "127.0.0.1:8484")
	flags.BoolVar(&opts.simulate, "simulate", false, "simulate the boot of ROOT, and play it")
	flags.StringSliceVar(&opts.faults.Fail, "fail", nil, "`NAMES` of Applications whose workloads become Degraded, with * for any characters")
	flags.StringSliceVar(&opts.faults.Never, "never", nil, "`NAMES` of Applications whose workloads never become healthy, with * for any characters")
	flags.StringVar(&opts.who.TokenFile, "token-file", "", "`FILE` with a token that viewers must know; it is read again when it changes")
	flags.StringVar(&opts.who.Header, "trusted-header", "", "`HEADER` in which a proxy names the user")
	flags.StringSliceVar(&opts.who.Proxies, "trusted-proxies", nil, "`NETWORKS` of that proxy, such as 10.0.0.0/8; default loopback")
	flags.StringVar(&opts.who.ArgoCD, "argocd", "", "`URL` of Argo CD: its login and its rights decide who sees which Applications")
	flags.StringSliceVar(&opts.hosts, "host", nil, "`NAMES` by which the page may be opened, besides localhost")
	flags.StringVar(&opts.ui, "argocd-ui", "", "`URL` of Argo CD's own page, for links; default that of --argocd")
	return cmd
}

func runBoard(ctx context.Context, std stdio, cmd *cobra.Command, opts boardOptions, args []string) error {
	var source board.Source
	if len(args) > 0 {
		v, err := opts.plan.preview(std, args, formatFlag{value: "table"})
		if err != nil {
			return err
		}
		defer v.Planner.Close()
		roots, err := v.Planner.Roots(ctx, args)
		if err != nil {
			return err
		}
		p, err := v.Planner.Plan(ctx, roots)
		if err != nil {
			return err
		}
		if opts.simulate {
			faults, err := opts.faults.Parse()
			if err != nil {
				return err
			}
			if faults, err = simulate.Match(p, faults); err != nil {
				return err
			}
			source, err = board.FromSimulation(p, simulate.DefaultModel(), faults...)
			if err != nil {
				return err
			}
		} else if source, err = board.FromPlan(p, simulate.DefaultModel()); err != nil {
			return err
		}
	} else {
		cfg, done, err := opts.live.config(std, cmd)
		if err != nil {
			return err
		}
		defer done()
		if cfg.Recording != nil {
			if source, err = board.FromRecording(cfg.Name, cfg.Recording, cfg.Namespace, nil); err != nil {
				return err
			}
		} else {
			b, err := follow.Open(ctx, cfg)
			if err != nil {
				return err
			}
			defer b.Close()
			source = board.FromCluster(b, nil, opts.ui)
		}
	}
	access, err := opts.who.Access(opts.server.cert != "", nil)
	if err != nil {
		return err
	}
	server, err := board.New(board.Config{
		Config: opts.server.config(0), Source: source, Access: access, Hosts: opts.hosts, Log: serve.Log(std.err, opts.server.log.value), Now: std.now,
		Ready: func(url string) { fmt.Fprintf(std.err, "board: %s\n", url) },
	})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
