package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Setting is a flag that a container sets by a variable.
type Setting struct{ Flag, Variable, Usage string }

// Settings are a table of them. If a flag is in it twice, the first one explains it.
type Settings []Setting

// Table makes settings of rows: flag, variable, usage.
func Table(rows [][3]string) Settings {
	var t Settings
	for _, r := range rows {
		t = append(t, Setting{Flag: r[0], Variable: r[1], Usage: r[2]})
	}
	return t
}

// Usage is the help of a flag.
func (t Settings) Usage(flag string) string {
	for _, s := range t {
		if s.Flag == flag {
			return s.Usage + " ($" + s.Variable + ")"
		}
	}
	return ""
}

// PreRun fills in flags that were not given before a command runs.
func (t Settings) PreRun(getenv func(string) string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error { return t.Fill(cmd.Flags(), getenv) }
}

// Fill sets flags that were not given from variables.
func (t Settings) Fill(flags *pflag.FlagSet, getenv func(string) string) error {
	for _, s := range t {
		f := flags.Lookup(s.Flag)
		value := getenv(s.Variable)
		if f == nil || f.Changed || value == "" {
			continue
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			if parts := split(value); len(parts) > 0 {
				if err := list.Replace(parts); err != nil {
					return problem.Usagef("variable %s: %v", s.Variable, err)
				}
			}
			continue
		}
		if err := f.Value.Set(value); err != nil {
			want, ok := map[string]string{
				"int64": "a number", "duration": "a duration such as 45s", "bool": "true or false",
				"VERSION": "a version of Argo CD that is known, " + versions.Range(),
			}[f.Value.Type()]
			if !ok {
				return problem.Usagef("variable %s: %v", s.Variable, err)
			}
			return problem.Usagef("variable %s: %q is not %s", s.Variable, value, want)
		}
	}
	return nil
}

// split returns the parts of a list as Argo CD does, whose variables we read, too: without spaces and line breaks around them, and without
// empty ones (StringsFromEnv, util/env/env.go, v3.2.11).
func split(value string) []string {
	var out []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Deadline ends a command after the time of its flag --timeout.
func Deadline(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc, error) {
	if timeout <= 0 {
		return nil, nil, problem.Usagef("--timeout must be more than 0")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not finished after %s (--timeout)", timeout))
	return ctx, cancel, nil
}
