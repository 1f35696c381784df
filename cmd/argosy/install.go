package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/deploy"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/edit"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/install"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/live"
)

type installOptions struct {
	install.Config
	dir           string
	apply, remove bool
	force         bool
	cluster       kube.Config
}

func newInstallCommand(std stdio) *cobra.Command {
	opts := installOptions{Config: install.Config{Files: deploy.Files}}
	target := cli.OneOf(install.Targets...)
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Add the plugins to an Argo CD: with --apply, or printed for the chart argo-cd, the operator or Kustomize",
		Long: `Print what to add to an existing Argo CD, in the form in which it is installed: the plugins as a
sidecar of its repo-server, the health check of Applications, rights, a policy, and trigger repositories.

  manifests  plain manifests; those of the repo-server and of argocd-cm contain only the fields that are added
  kustomize  the directory of a component, for the kustomization that has your Argo CD; needs --dir
  argo-helm  values of the chart argo-cd
  operator   what to add to the resource ArgoCD of the operator, and manifests

Nothing is changed in a cluster without --apply or --remove, which are for manifests and the operator. --apply
adds all parts (server-side apply, field manager argosy-additions), or none if Argo CD is not there, or if the API
server would refuse one, for example because another field manager owns a field. --remove removes all parts.
Do not use kubectl apply: where kubectl has installed Argo CD, it removes the fields of Argo CD's own objects
that are not printed here.

--with adds parts to the plugins: repo (trigger repositories), buckets (buckets as repositories), events
(notifications of S3), secrets (clusters and credentials of Argo CD), apis (generators that ask APIs),
any-namespace (Applications in other namespaces). See docs/install.md.`,
		Example: `  argosy install --with repo,secrets            # look at it
  argosy install --with repo,secrets --apply    # add it
  argosy install --for argo-helm --with repo,secrets > argosy-values.yaml
  argosy install --for kustomize --dir argosy --namespace gitops
  argosy install --remove`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Target = install.Target(target.Value)
			if err := opts.check(cmd); err != nil {
				return err
			}
			if opts.apply || opts.remove {
				return opts.change(cmd.Context(), std)
			}
			files, err := install.Render(cmd.Context(), opts.Config)
			if err != nil {
				return err
			}
			if opts.dir != "" {
				return edit.Generated(opts.dir, install.Marker, files)
			}
			if _, err := std.Out.Write(files[0].Data); err != nil {
				return fmt.Errorf("writing: %w", err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.Var(&target, "for", "how Argo CD is installed, "+target.Usage())
	flags.StringVar(&opts.dir, "dir", "", "write files into `DIR` instead of printing them")
	flags.StringSliceVar(&opts.With, "with", []string{"repo"}, "`PARTS` besides the plugins: "+strings.Join(install.Parts, ", "))
	flags.BoolVar(&opts.SidecarOnly, "sidecar-only", false, "only the sidecar and the health check; the rest comes from the chart argosy")
	flags.StringVar(&opts.Namespace, "namespace", argo.DefaultNamespace, "`NAMESPACE` of Argo CD")
	flags.StringVar(&opts.Name, "argocd-name", "argocd",
		"`NAME` that the names of Argo CD's workloads begin with; for the operator, the name of the ArgoCD resource")
	flags.StringVar(&opts.Image, "image", "", "`IMAGE` of argosy; default: the one of this release")
	flags.StringVar(&opts.PolicyFile, "policy", "",
		"`FILE` that says what projects may do; default: project \"default\" may read all buckets")
	flags.DurationVar(&opts.Interval, "interval", 3*time.Minute, "`DURATION` between the ticks of trigger repositories")
	flags.StringArrayVar(&opts.Env, "env", nil, "`NAME=VALUE` of a variable of the sidecar; argosy cmp --help lists them; repeatable")
	flags.StringVar(&opts.EnvSecret, "env-secret", "", "`SECRET` whose keys become variables of the sidecar, such as AWS_ACCESS_KEY_ID")
	flags.StringVar(&opts.Memory, "memory", "", "memory limit of the sidecar, a `QUANTITY`; default: 1Gi")
	flags.BoolVar(&opts.apply, "apply", false, "add the parts to the Argo CD of the cluster")
	flags.BoolVar(&opts.remove, "remove", false, "remove all parts from the Argo CD of the cluster")
	flags.BoolVar(&opts.force, "force-conflicts", false, "with --apply, take fields from other field managers")
	option.RegisterUser(flags, &opts.cluster)
	return cmd
}

// check looks at the flags, and fills in the image and the policy.
func (o *installOptions) check(cmd *cobra.Command) error {
	changes := o.apply || o.remove
	switch {
	case o.apply && o.remove:
		return usagef("--apply and --remove exclude each other")
	case changes && o.dir != "":
		return usagef("--dir excludes --apply and --remove")
	case changes && o.Target != install.Manifests && o.Target != install.Operator:
		return usagef("--apply and --remove are for manifests and the operator, not for --for %s", o.Target)
	case o.Target == install.Kustomize && o.dir == "":
		return usagef("--for kustomize writes several files, and needs --dir")
	}
	if err := o.alone(cmd.Flags().Changed, changes); err != nil {
		return err
	}
	if o.remove {
		o.Config = o.Whole()
	}
	var err error
	if o.Config, err = o.Complete(version()); err != nil {
		return err
	}
	if o.PolicyFile != "" {
		text, err := input.File(o.PolicyFile)
		if err != nil {
			return err
		}
		o.Policy = string(text)
	}
	return nil
}

// alone refuses flags that would be ignored.
func (o *installOptions) alone(given func(string) bool, changes bool) error {
	for _, name := range []string{"kubeconfig", "context"} {
		if !changes && given(name) {
			return usagef("--%s requires --apply or --remove", name)
		}
	}
	if o.force && !o.apply {
		return usagef("--force-conflicts requires --apply")
	}
	for _, name := range []string{"with", "sidecar-only", "image", "policy", "interval", "env", "env-secret", "memory"} {
		if o.remove && given(name) {
			return usagef("--remove and --%s exclude each other: all parts are removed", name)
		}
	}
	for _, name := range []string{"namespace", "argocd-name"} {
		if o.Target == install.ArgoHelm && given(name) {
			return usagef("--%s and --for argo-helm exclude each other: the chart sets it", name)
		}
	}
	return nil
}

// change adds it to a cluster, or takes it away.
func (o *installOptions) change(ctx context.Context, std stdio) error {
	theirs, ours, err := install.Objects(ctx, o.Config)
	if err != nil {
		return err
	}
	o.cluster.Namespace = o.Namespace
	client, err := option.OpenUser(std, o.cluster)
	if err != nil {
		return err
	}
	std.Note("cluster " + client.Server + ", namespace " + o.Namespace)
	i := kube.Install{
		Lookup: &kube.Lookup{Client: client, Now: std.Now}, Theirs: theirs, Ours: ours, Force: o.force,
		Sidecar: install.Sidecar, Later: o.Later(),
		Tell: func(result kube.Result, key live.Key) { fmt.Fprintf(std.Out, "%-9s %s\n", result, key) },
	}
	if o.remove {
		return i.Remove(ctx)
	}
	return i.Add(ctx)
}
