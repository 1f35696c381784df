package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli/option"
)

func newBoardCommand(std stdio) *cobra.Command {
	var opts option.Board
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
			return opts.Serve(std, cmd, args, func(url string) { fmt.Fprintln(std.Out, url) })
		},
	}
	opts.Register(cmd.Flags())
	opts.Complete(std, cmd)
	return cmd
}
