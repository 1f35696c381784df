package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/strict"
	"github.com/argosy-cd/argosy/internal/words"
)

// s3SourceOptions are the flags of the hooks.
type s3SourceOptions struct {
	cacheOptions
	policy string
	output formatFlag
	// For generate.
	admins    []string
	namespace string
}

const hookHelp = `
As hooks of a plugin they run in the application's directory and read what Argo CD tells them from the environment:
ARGOCD_APP_NAME, ARGOCD_APP_NAMESPACE, ARGOCD_APP_PROJECT_NAME, KUBE_VERSION, KUBE_API_VERSIONS. Settings come from flags or
from variables of the container.`

func newS3DiscoverCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "discover [DIR]",
		Short: "Print the trigger file of a directory, or nothing if there is none",
		Long: `Print the name of the trigger file if the directory has one, and nothing if it has not: a plugin's answer to the
question whether an application is for it.`,
		Args: atMostOne,
		RunE: func(_ *cobra.Command, args []string) error { return runS3Discover(std, directory(args)) },
	}
}

func runS3Discover(std stdio, dir string) error {
	if std.getenv(argo.Variable("source")) != "" {
		return words.Line(std.out, "parameter source")
	}
	root, err := openDir(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(triggerfile.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, triggerfile.Name), innermost(err))
	}
	if info.Mode().IsRegular() {
		return words.Line(std.out, triggerfile.Name)
	}
	return nil
}

func newS3InitCommand(std stdio) *cobra.Command {
	var opts s3SourceOptions
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Read the sources of a trigger file into the cache",
		Long: `Read the sources of a trigger file into the cache, so that generate does not have to. Generate works without it, too.
` + hookHelp,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(std, cmd.Flags()); err != nil {
				return err
			}
			return runS3Init(cmd.Context(), std, opts, directory(args))
		},
	}
	opts.register(cmd)
	return cmd
}

func newS3GenerateCommand(std stdio) *cobra.Command {
	opts := s3SourceOptions{output: formatFlag{value: "yaml", allowed: []string{"yaml", "json", "name"}}}
	cmd := &cobra.Command{
		Use:   "generate [DIR]",
		Short: "Print the objects that a trigger file leads to",
		Long: `Print the Kubernetes objects that the trigger file of a directory, ` + triggerfile.Name + `, leads to.

The answer is all or nothing: an object that cannot be read, a source without objects, a file that is not valid, anything
that moves while it is read, is an error, and nothing is printed.
` + hookHelp,
		Example: `  # what Argo CD would deploy from here
  argosy s3 generate

  # with the policy of the cluster, as an application of a project
  ARGOCD_APP_PROJECT_NAME=team-a argosy s3 generate --policy policy.yaml apps/demo`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(std, cmd.Flags()); err != nil {
				return err
			}
			return runS3Generate(cmd.Context(), std, opts, directory(args))
		},
	}
	opts.register(cmd)
	cmd.Flags().VarP(&opts.output, "output", "o", "output format, "+opts.output.usage())
	cmd.Flags().StringSliceVar(&opts.admins, "admin-projects", []string{"default"}, usageOf("admin-projects"))
	cmd.Flags().StringVar(&opts.namespace, "argocd-namespace", "", usageOf("argocd-namespace"))
	return cmd
}

func (o *s3SourceOptions) register(cmd *cobra.Command) {
	o.cacheOptions.register(cmd.Flags())
	cmd.Flags().StringVar(&o.policy, "policy", "", usageOf("policy"))
}

func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("at most one directory, not %d arguments", len(args))
	}
	return nil
}

func directory(args []string) string {
	if len(args) == 0 {
		return "."
	}
	if filepath.Base(args[0]) == triggerfile.Name {
		return filepath.Dir(args[0])
	}
	return args[0]
}

// triggered is a trigger file that was read, and what it is read with.
type triggered struct {
	config  s3source.Config
	sources []triggerfile.Source
	root    *os.Root
}

func (s *triggered) close() { s.root.Close() }

// openSource reads the trigger file of a directory and the policy.
func openSource(std stdio, opts s3SourceOptions, dir string) (*triggered, error) {
	p, err := readPolicy(opts.policy)
	if err != nil {
		return nil, err
	}
	cache, err := opts.open(std)
	if err != nil {
		return nil, err
	}
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	call, err := argo.NewCall(std.getenv, s3source.Parameters())
	if err != nil {
		root.Close()
		return nil, err
	}
	file := filepath.Join(dir, triggerfile.Name)
	data, err := readTrigger(root, file)
	file, sources, err := parseTrigger(call, file, data, err)
	if err != nil {
		root.Close()
		return nil, err
	}
	b := &buckets{cache: cache, now: std.now}
	return &triggered{root: root, sources: sources, config: s3source.Config{Open: b.reader, Git: root.FS(), Policy: p, App: call, File: file}}, nil
}

// parseTrigger parses the trigger file, or the parameter that an application without one has. The error is that of reading
// the file.
func parseTrigger(call argo.Call, file string, data []byte, err error) (name string, sources []triggerfile.Source, _ error) {
	file, data, err = s3source.Trigger(call, file, data, err)
	if err != nil {
		return "", nil, err
	}
	sources, err = triggerfile.Parse(file, data)
	return file, sources, err
}

func readTrigger(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(triggerfile.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, strict.MaxBytes+1))
	if err != nil {
		return nil, pathError(err)
	}
	return data, nil
}

func readPolicy(file string) (*policy.Policy, error) {
	if file == "" {
		return nil, nil
	}
	data, err := readLimited(file)
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	return policy.Parse(file, data)
}

// withSource runs f with the trigger file of a directory, within the deadline.
func withSource(ctx context.Context, std stdio, opts s3SourceOptions, dir string, f func(ctx context.Context, s *triggered) error) error {
	ctx, cancel, err := opts.deadline(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	s, err := openSource(std, opts, dir)
	if err != nil {
		return err
	}
	defer s.close()
	return f(ctx, s)
}

func runS3Init(ctx context.Context, std stdio, opts s3SourceOptions, dir string) error {
	return withSource(ctx, std, opts, dir, func(ctx context.Context, s *triggered) error {
		fetched, err := s.config.Fetch(ctx, s.sources)
		if err != nil {
			return err
		}
		for _, f := range fetched {
			st := f.Snapshot.Stats
			fmt.Fprintf(std.err, "%s: %d of %d files, %d downloaded, %d from the cache\n", f.Source.URL(), len(f.Snapshot.Files), len(f.Snapshot.Names), st.Gets, st.Cached)
		}
		return nil
	})
}

func runS3Generate(ctx context.Context, std stdio, opts s3SourceOptions, dir string) error {
	return withSource(ctx, std, opts, dir, func(ctx context.Context, s *triggered) error {
		fetched, err := s.config.Fetch(ctx, s.sources)
		if err != nil {
			return err
		}
		docs, err := render(ctx, s.config, fetched)
		if err != nil {
			return err
		}
		objects := objectsOf(docs)
		// Without a project nobody has asked but the user.
		if call := s.config.App; call.Project != "" {
			warnings, err := s.config.Policy.Answer(policy.ParentOf(call, cmp.Or(opts.namespace, kube.PodNamespace()), opts.admins), call.Namespace, objects)
			for _, w := range warnings {
				fmt.Fprintln(std.err, "warning:", w)
			}
			if err != nil {
				return err
			}
		}
		return writeObjects(std.out, opts.output.value, objects)
	})
}

// render gives up when its time is over. What does not come to an end is left behind.
func render(ctx context.Context, c s3source.Config, fetched []s3source.Fetched) ([]manifest.Document, error) {
	type result struct {
		docs []manifest.Document
		err  error
	}
	done := make(chan result, 1)
	go func() {
		docs, err := c.Render(ctx, fetched)
		done <- result{docs, err}
	}()
	select {
	case r := <-done:
		return r.docs, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: a chart or a Kustomization takes too long to render: %w", c.File, context.Cause(ctx))
	}
}

func objectsOf(docs []manifest.Document) []manifest.Object {
	objects := make([]manifest.Object, len(docs))
	for i, d := range docs {
		objects[i] = d.Object
	}
	return objects
}
