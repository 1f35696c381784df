package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/words"
)

func newVersionCommand(std stdio) *cobra.Command {
	output := cli.OneOf("table", "json")
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the Go version and the platform",
		Args:  cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			platform := runtime.GOOS + "/" + runtime.GOARCH
			if report.Format(output.Value) == report.JSON {
				return report.Object(std.Out, map[string]any{"version": version(), "go": runtime.Version(), "platform": platform})
			}
			return words.Line(std.Out, "argosy version %s, %s, %s", version(), runtime.Version(), platform)
		},
	}
	cmd.Flags().VarP(&output, "output", "o", "output format, "+output.Usage())
	return cmd
}

// stamped is the version of a binary that is built where there is no Git: -ldflags='-X main.stamped=v1.2.3'.
var stamped string

// version is the stamped one, or that of the module the binary was built from: a tag, or the commit after it.
func version() string {
	if stamped != "" {
		return stamped
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}
