package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/words"
)

// wholeComparison is the command that prints a whole comparison: the given one, with --manifests, as text.
func wholeComparison(cmd *cobra.Command, roots []string) string {
	line := strings.Fields(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch {
			case f.Name == "manifests" || f.Name == "output":
			case value == "true" && f.Value.Type() == "bool":
				line = append(line, "--"+f.Name)
			case f.Name == "repo":
				line = append(line, "--repo", giturl.Redact(value))
			default:
				line = append(line, "--"+f.Name+"="+value)
			}
		}
	})
	if text := words.Shell(slices.Concat(line, []string{"--manifests"}, roots)); len(text) < 2000 {
		return text
	}
	return "the same command with -o table"
}
