package main

import (
	"slices"

	"github.com/spf13/cobra"
)

func newAppCommand(std stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "app",
		Short: "One Application, as Argo CD deploys it",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAppRenderCommand(std))
	return cmd
}

// similar returns those of names that are close to one that was typed, as cobra does for commands.
func similar(typed string, names []string) []string {
	list := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		list.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	out := list.SuggestionsFor(typed)
	slices.Sort(out)
	return slices.Compact(out)
}
