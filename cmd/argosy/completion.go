package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo/versions"
)

// addCompletion adds cobra's completion command, of which an unknown shell is an error, and completes what can be seen from the commands:
// formats, versions of Argo CD, directories, and no files where there are no arguments.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args, cmd.RunE = noArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, shell := range cmd.Commands() {
			shell.Args = noArgs
		}
	}
	completeValues(root)
}

func completeValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		var values []string
		switch v := f.Value.(type) {
		case *formatFlag:
			values = v.allowed
		case *versionFlag:
			for _, known := range versions.All() {
				values = append(values, known.String())
			}
		default:
			if name, _ := pflag.UnquoteUsage(f); name == "DIR" {
				_ = cmd.MarkFlagDirname(f.Name) // it exists
			}
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // once
	})
	if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, " ") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		completeValues(sub)
	}
}

// completionTime bounds how long a shell waits for names of Applications. After it there are none.
const completionTime = 3 * time.Second

// names are those of the Applications that roots deploy, planned with what is here: nothing is fetched, printed or read from standard
// input. What is not known has no names.
func (o *planInput) names(ctx context.Context, std stdio, roots []string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	std.in, std.err = bytes.NewReader(nil), io.Discard
	offline := *o
	offline.offline, offline.verdict = true, verdictOptions{}
	planner, err := offline.planner(std)
	if err != nil {
		return nil
	}
	defer planner.Close() //nolint:errcheck // only read from
	found, err := planner.Roots(ctx, roots)
	if err != nil {
		return nil
	}
	p, err := planner.Plan(ctx, found)
	if err != nil {
		return nil
	}
	var names []string
	for _, app := range p.Applications {
		if !app.Applied {
			names = append(names, app.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// completeNames completes names of Applications in a flag: each of a list, or one with something behind it, such as "=". Roots are those of
// the arguments, or of a flag of its own.
func (o *planInput) completeNames(std stdio, cmd *cobra.Command, roots func(args []string) []string, flags map[string]string) {
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
			for _, name := range o.names(cmd.Context(), std, roots(args)) {
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

// arguments are the roots of a command whose arguments they are.
func arguments(args []string) []string { return args }
