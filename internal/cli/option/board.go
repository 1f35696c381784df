package option

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argocd"
	"github.com/argosy-cd/argosy/internal/board"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/preview"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/serve"
)

// Board are the flags of the page that shows a boot.
type Board struct {
	live    Live
	plan    Plan
	server  Server
	request board.Request
	who     board.Who
	hosts   []string
	ca      string
	planned pflag.FlagSet // the flags about a plan
}

// Register adds the flags.
func (o *Board) Register(flags *pflag.FlagSet) {
	o.live.Register(flags)
	o.plan.Register(&o.planned)
	o.plan.RegisterCluster(&o.planned)
	flags.AddFlagSet(&o.planned)
	o.server.Register(flags, "127.0.0.1:8484")
	flags.BoolVar(&o.request.Simulate, "simulate", false, "play the boot of ROOT")
	flags.StringSliceVar(&o.request.Faults.Fail, "fail", nil,
		"`NAMES` of Applications whose workloads become Degraded, with * for any characters")
	flags.StringSliceVar(&o.request.Faults.Never, "never", nil,
		"`NAMES` of Applications whose workloads never become healthy, with * for any characters")
	flags.StringVar(&o.who.TokenFile, "token-file", "", "`FILE` with a token that viewers must know; it is read again when it changes")
	flags.StringVar(&o.who.Header, "trusted-header", "", "`HEADER` in which a proxy names the viewer")
	flags.StringSliceVar(&o.who.Proxies, "trusted-proxies", nil,
		"`NETWORKS` of the proxy of --trusted-header, such as 10.0.0.0/8; default: loopback")
	flags.StringVar(&o.who.ArgoCD, "argocd", "", "`URL` of Argo CD: its login and its rights decide who sees which Applications")
	flags.StringVar(&o.ca, "argocd-ca", "", "`FILE` with CA certificates for --argocd, in PEM; default: the system's")
	flags.StringSliceVar(&o.hosts, "host", nil, "`NAMES` by which the page may be opened, besides localhost")
	flags.StringVar(&o.request.UI, "argocd-ui", "", "`URL` of Argo CD's own page, for links; default: that of --argocd")
}

// Complete completes names of Applications in the flags.
func (o *Board) Complete(std cli.Std, cmd *cobra.Command) {
	o.plan.CompleteNames(std, cmd, Arguments, map[string]string{"allow-unknown": "", "fail": "", "never": ""})
}

// Serve serves the page until the context ends. Ready is called with its URL.
func (o *Board) Serve(std cli.Std, cmd *cobra.Command, roots []string, ready func(url string)) error {
	ctx, serving := cmd.Context(), o.server.Config(0)
	if o.ca != "" && o.who.ArgoCD == "" {
		return problem.Usagef("--argocd-ca requires --argocd")
	}
	access, err := o.who.Access(serving.Cert != "", func(url string) (board.Access, error) {
		client, err := argocd.Connection{Server: url, CA: o.ca}.OpenWithoutToken()
		return board.WithArgoCD(client, std.Now), err
	})
	if err == nil {
		err = board.CheckAddress(serving.Address, access)
	}
	if err != nil {
		return err
	}
	r := o.request
	r.UI = cmp.Or(r.UI, o.who.ArgoCD)
	if len(roots) > 0 || o.plan.All {
		v, err := o.plan.Prepare(std, roots, cli.Choice{})
		if err != nil {
			return err
		}
		defer v.Planner.Close() //nolint:errcheck // only read from
		r.Plan = o.checked(v)
	} else if name := set(&o.planned); name != "" {
		return problem.Usagef("--%s requires ROOT or --all", name)
	}
	watched := o.live.Kubeconfig != "" || o.live.Context != "" || o.live.recording != ""
	if watched || r.Plan == nil && !r.Simulate {
		cfg, done, err := o.live.Follow(std, cmd)
		if err != nil {
			return err
		}
		defer done()
		r.Live = &cfg
	}
	source, done, err := r.Open(ctx)
	if err != nil {
		return err
	}
	defer done()
	server, err := board.New(board.Config{
		Config: serving, Source: source, Access: access, Hosts: o.hosts, Log: serve.Log(std.Err, o.server.Log.Value),
		Now: std.Now, Ready: ready,
	})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// checked returns a function that plans and lints. With --strict, it refuses an incomplete plan.
func (o *Board) checked(v preview.Preview) func(context.Context) (board.Checked, error) {
	return func(ctx context.Context) (board.Checked, error) {
		found, err := preview.Lint{Preview: v}.Check(ctx, func(*plan.Plan) []plan.Thing { return nil })
		if err != nil {
			return board.Checked{}, err
		}
		if v.Verdict.Strict {
			err = preview.Judge(v.Err, v.Verdict, found.Plan)
		}
		return board.Checked{Plan: found.Plan, Report: found.Report}, err
	}
}

// set is the first of some flags that was set, "" if none was.
func set(flags *pflag.FlagSet) string {
	name := ""
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed && name == "" {
			name = f.Name
		}
	})
	return name
}
