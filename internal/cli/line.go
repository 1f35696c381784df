package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/words"
)

// Line is a command as it was called, for a shell, without some of its flags, and with others behind the rest of them. URLs have no
// passwords. It is "" if it is too long to be shown.
func Line(cmd *cobra.Command, args, without, with []string) string {
	line := strings.Fields(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch {
			case slices.Contains(without, f.Name):
			case value == "true" && f.Value.Type() == "bool":
				line = append(line, "--"+f.Name)
			case f.Name == "repo":
				line = append(line, "--repo", giturl.Redact(value))
			default:
				line = append(line, "--"+f.Name+"="+value)
			}
		}
	})
	if text := words.Shell(slices.Concat(line, with, args)); len(text) < 2000 {
		return text
	}
	return ""
}
