package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/s3source/hook"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/words"
)

// s3SourceOptions are the flags of the hooks.
type s3SourceOptions struct {
	option.Cache
	policy string
	output cli.Choice
	// For generate.
	admins    []string
	namespace string
}

const hookHelp = `
As a hook of a plugin, this command runs in the application's directory and reads the variables that Argo CD sets:
ARGOCD_APP_NAME, ARGOCD_APP_NAMESPACE, ARGOCD_APP_PROJECT_NAME, KUBE_VERSION, KUBE_API_VERSIONS. Settings come from flags or
from variables of the container.`

func newS3DiscoverCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "discover [DIR]",
		Short: "Print the name of the trigger file of a directory, or nothing",
		Long: `Print the name of the trigger file of a directory, or nothing if there is none. The answer tells Argo CD whether
the plugin renders an application.`,
		Args: cli.AtMostOne,
		RunE: func(_ *cobra.Command, args []string) error { return runS3Discover(std, directory(args)) },
	}
}

func runS3Discover(std stdio, dir string) error {
	why, err := hook.Discover(dir, std.Getenv)
	if err != nil || why == "" {
		return err
	}
	return words.Line(std.Out, "%s", why)
}

func newS3InitCommand(std stdio) *cobra.Command {
	var opts s3SourceOptions
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Read the sources of a trigger file into the cache",
		Long: `Read the sources of a trigger file into the cache, so that generate does not have to. Generate works without
it, too.` + hookHelp,
		Args:    cli.AtMostOne,
		PreRunE: option.PreRun(std),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runS3Init(cmd.Context(), std, opts, directory(args))
		},
	}
	opts.Register(cmd)
	return cmd
}

func newS3GenerateCommand(std stdio) *cobra.Command {
	opts := s3SourceOptions{output: cli.OneOf("yaml", "json", "name")}
	cmd := &cobra.Command{
		Use:   "generate [DIR]",
		Short: "Print the objects that a trigger file deploys",
		Long: `Print the Kubernetes objects that the trigger file of a directory, ` + triggerfile.Name + `, deploys.

The answer is all or nothing: an object that cannot be read, a source without objects, a file that is not valid, or an object
that changes while it is read, is an error, and nothing is printed.
` + hookHelp,
		Example: `  # what Argo CD would deploy from here
  argosy s3 generate

  # with the policy of the cluster, as an application of a project
  ARGOCD_APP_PROJECT_NAME=team-a argosy s3 generate --policy policy.yaml apps/demo`,
		Args:    cli.AtMostOne,
		PreRunE: option.PreRun(std),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runS3Generate(cmd.Context(), std, opts, directory(args))
		},
	}
	opts.Register(cmd)
	cmd.Flags().VarP(&opts.output, "output", "o", "output format, "+opts.output.Usage())
	cmd.Flags().StringSliceVar(&opts.admins, "admin-projects", []string{argo.DefaultProject}, option.Usage("admin-projects"))
	cmd.Flags().StringVar(&opts.namespace, "argocd-namespace", "", option.Usage("argocd-namespace"))
	return cmd
}

func (o *s3SourceOptions) Register(cmd *cobra.Command) {
	o.Cache.Register(cmd.Flags())
	cmd.Flags().StringVar(&o.policy, "policy", "", option.Usage("policy"))
}

func directory(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return hook.Dir(args[0])
}

// withSource runs f with the trigger file of a directory, within the deadline.
func withSource(ctx context.Context, std stdio, opts s3SourceOptions, dir string, f func(ctx context.Context, s *hook.Source) error) error {
	p, err := option.ReadPolicy(opts.policy)
	if err != nil {
		return err
	}
	ctx, cancel, pool, err := opts.Pool(ctx, std)
	if err != nil {
		return err
	}
	defer cancel()
	s, err := hook.Open(hook.Config{Dir: dir, Policy: p, Open: pool.Reader, Getenv: std.Getenv})
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, s), s.Close())
}

func runS3Init(ctx context.Context, std stdio, opts s3SourceOptions, dir string) error {
	return withSource(ctx, std, opts, dir, func(ctx context.Context, s *hook.Source) error { return s.Warm(ctx, std.Err) })
}

func runS3Generate(ctx context.Context, std stdio, opts s3SourceOptions, dir string) error {
	return withSource(ctx, std, opts, dir, func(ctx context.Context, s *hook.Source) error {
		objects, warnings, err := s.Objects(ctx, cmp.Or(opts.namespace, kube.PodNamespace()), opts.admins)
		for _, w := range warnings {
			std.Warn(w)
		}
		if err != nil {
			return err
		}
		return report.Objects(std.Out, report.Format(opts.output.Value), objects)
	})
}
