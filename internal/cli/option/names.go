package option

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/report"
)

// Names returns the names of the Applications that roots deploy, from local files: it fetches and prints nothing, and reads no standard
// input. Unknown Applications are missing.
func (o *Plan) Names(ctx context.Context, std cli.Std, roots []string) []string {
	std.In, std.Err = bytes.NewReader(nil), io.Discard
	offline := *o
	offline.offline, offline.Verdict = true, report.Verdict{}
	v, err := offline.Prepare(std, roots, cli.Choice{})
	if err != nil {
		return nil
	}
	defer v.Planner.Close() //nolint:errcheck // only read from
	return v.Names(ctx)
}

// CompleteNames completes names of Applications in flags, each with a suffix. roots returns the roots from the arguments or from a flag.
func (o *Plan) CompleteNames(std cli.Std, cmd *cobra.Command, roots func(args []string) []string, flags map[string]string) {
	cli.CompleteNames(cmd, flags, func(ctx context.Context, args []string) []string { return o.Names(ctx, std, roots(args)) })
}

// CompleteApplication completes the Application of a live cluster, or of a recording, that is the argument of a command.
func (o *Live) CompleteApplication(std cli.Std, cmd *cobra.Command) {
	cli.CompleteArgument(cmd, func(ctx context.Context) []string {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // the cluster may not answer
		defer cancel()
		std := std
		std.In, std.Err = bytes.NewReader(nil), io.Discard
		cfg, done, err := o.Follow(std, cmd)
		if err != nil {
			return nil
		}
		defer done()
		cfg.Patience = 0
		b, err := follow.Open(ctx, cfg)
		if err != nil {
			return nil
		}
		defer b.Close() //nolint:errcheck // nothing is recorded
		return b.Names()
	})
}

// Arguments returns the roots of a command that takes them as arguments.
func Arguments(args []string) []string { return args }
