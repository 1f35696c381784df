package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// AddCompletion adds cobra's completion command, of which an unknown shell is an error, and completes what can be seen from the commands:
// flags that list their values by a method Values, directories, and no files where there are no arguments.
func AddCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args, cmd.RunE = NoArgs, help
		for _, shell := range cmd.Commands() {
			shell.Args = NoArgs
		}
	}
	completeValues(root)
}

func completeValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(interface{ Values() []string }); ok {
			// once
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(v.Values(), cobra.ShellCompDirectiveNoFileComp))
		} else if name, _ := pflag.UnquoteUsage(f); name == "DIR" {
			_ = cmd.MarkFlagDirname(f.Name) // it exists
		}
	})
	if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, " ") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		completeValues(sub)
	}
}

// completionTime bounds how long a shell waits for names of local files, which takes long on a busy machine only. After it there are none.
const completionTime = 15 * time.Second

// CompleteNames completes names in flags: each of a list, or one with something behind it, such as "=". The names may depend on the
// arguments.
func CompleteNames(cmd *cobra.Command, flags map[string]string, names func(ctx context.Context, args []string) []string) {
	for flag, behind := range flags {
		// it exists
		_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, typed string) ([]string,
			cobra.ShellCompDirective,
		) {
			before := ""
			if i := strings.LastIndex(typed, ","); i >= 0 && behind == "" {
				before = typed[:i+1]
			}
			var out []string
			ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
			defer cancel()
			for _, name := range names(ctx, args) {
				if strings.HasPrefix(before+name, typed) {
					out = append(out, before+name+behind)
				}
			}
			if behind != "" {
				return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// CompleteArgument completes the only argument of a command: a name, or a file if no name begins so.
func CompleteArgument(cmd *cobra.Command, names func(ctx context.Context) []string) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		return slices.DeleteFunc(names(ctx), func(name string) bool { return !strings.HasPrefix(name, typed) }),
			cobra.ShellCompDirectiveDefault
	}
}
