package main

import "github.com/spf13/cobra"

func newAppsetCommand(std stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "appset",
		Short: "ApplicationSets without the applicationset-controller",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAppsetGenerateCommand(std), newAppsetConvertCommand(std), newAppsetHandoverCommand(std))
	return cmd
}
