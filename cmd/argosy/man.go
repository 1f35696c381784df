package main

import (
	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/edit"
)

// newManCommand is the hidden command that writes manual pages for release packages.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Hidden: true, Short: "Write a manual page for each command", Args: cli.Exactly(1, "DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return edit.Generated(args[0], cli.ManualMarker, cli.Manual(cmd.Root()))
		},
	}
}
