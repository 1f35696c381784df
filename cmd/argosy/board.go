package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/argocd"
	"github.com/argosy-cd/argosy/internal/board"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/serve"
)

type boardOptions struct {
	board.Request
	live   liveOptions
	plan   planInput
	server serverOptions
	who    board.Who
	hosts  []string
	ca     string
}

func newBoardCommand(std stdio) *cobra.Command {
	var opts boardOptions
	cmd := &cobra.Command{
		Use:   "board [ROOT...]",
		Short: "Show a boot on a web page: waves, health, a time line, and what blocks",
		Long: `Serve a web page that shows a boot: waves from left to right, the Applications in them, what runs, what is
blocked and by what, and a time line that can be moved. Without ROOT it shows a live cluster, or a recorded boot
(--recording). With ROOT it shows the plan of these files, as argosy plan makes it; with --simulate it plays their
boot, in which the page can break and repair Applications. With ROOT and --kubeconfig, --context or --recording it
shows the real boot beside its plan.

The page only reads. It is for this machine, unless --listen says otherwise; then --token-file, --trusted-header
or --argocd must say who may see it. With --argocd, viewers see the Applications that Argo CD shows to them.
See docs/board.md.`,
		Example: `  argosy board
  argosy board --recording boot.jsonl
  argosy board --simulate --fail longhorn root.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				v, err := opts.plan.preview(std, args, formatFlag{})
				if err != nil {
					return err
				}
				defer v.Planner.Close() //nolint:errcheck // only read from
				opts.Plan = func(ctx context.Context) (*plan.Plan, error) {
					roots, err := v.Planner.Roots(ctx, args)
					if err != nil {
						return nil, err
					}
					return v.Planner.Plan(ctx, roots)
				}
			}
			watched := opts.live.Kubeconfig != "" || opts.live.Context != "" || opts.live.recording != ""
			if watched || len(args) == 0 && !opts.Simulate {
				cfg, done, err := opts.live.config(std, cmd)
				if err != nil {
					return err
				}
				defer done()
				opts.Live = &cfg
			}
			return runBoard(cmd.Context(), std, opts)
		},
	}
	flags := cmd.Flags()
	opts.live.register(flags)
	opts.plan.register(flags)
	opts.plan.registerCluster(flags)
	opts.server.register(flags, "127.0.0.1:8484")
	flags.BoolVar(&opts.Simulate, "simulate", false, "play the boot of ROOT")
	flags.StringSliceVar(&opts.Faults.Fail, "fail", nil, "`NAMES` of Applications whose workloads become Degraded, with * for any characters")
	flags.StringSliceVar(&opts.Faults.Never, "never", nil,
		"`NAMES` of Applications whose workloads never become healthy, with * for any characters")
	flags.StringVar(&opts.who.TokenFile, "token-file", "", "`FILE` with a token that viewers must know; it is read again when it changes")
	flags.StringVar(&opts.who.Header, "trusted-header", "", "`HEADER` in which a proxy names the viewer")
	flags.StringSliceVar(&opts.who.Proxies, "trusted-proxies", nil, "`NETWORKS` of that proxy, such as 10.0.0.0/8; default loopback")
	flags.StringVar(&opts.who.ArgoCD, "argocd", "", "`URL` of Argo CD: its login and its rights decide who sees which Applications")
	flags.StringVar(&opts.ca, "argocd-ca", "", "`FILE` with certificates in PEM that it is trusted by; default those of the system")
	flags.StringSliceVar(&opts.hosts, "host", nil, "`NAMES` by which the page may be opened, besides localhost")
	flags.StringVar(&opts.UI, "argocd-ui", "", "`URL` of Argo CD's own page, for links; default that of --argocd")
	return cmd
}

func runBoard(ctx context.Context, std stdio, opts boardOptions) error {
	access, err := opts.who.Access(opts.server.cert != "", func(url string) (board.Access, error) {
		client, err := argocd.Connection{Server: url, CA: opts.ca}.OpenWithoutToken()
		return board.WithArgoCD(client, std.now), err
	})
	if err != nil {
		return err
	}
	opts.UI = cmp.Or(opts.UI, opts.who.ArgoCD)
	if err := board.CheckAddress(opts.server.listen, access); err != nil {
		return err
	}
	source, done, err := opts.Open(ctx)
	if err != nil {
		return err
	}
	defer done()
	server, err := board.New(board.Config{
		Config: opts.server.config(0), Source: source, Access: access, Hosts: opts.hosts, Log: serve.Log(std.err, opts.server.log.value),
		Now: std.now, Ready: func(url string) { fmt.Fprintf(std.out, "%s\n", url) },
	})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
