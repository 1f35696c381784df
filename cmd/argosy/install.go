package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/deploy"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/edit"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/install"
)

// released is the version of a binary that has an image.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

func newInstallCommand(std stdio) *cobra.Command {
	cfg := install.Config{Files: deploy.Files}
	var dir string
	target := cli.OneOf(install.Targets...)
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print what to add to an Argo CD: for the chart argo-cd, the operator, Kustomize or kubectl",
		Long: `Print what to add to an Argo CD that is there, in the form that its owner installs it by: the plugins as a
sidecar of its repo-server, the health check of Applications, rights, a policy, and trigger repositories.
Nothing is changed in a cluster.

  manifests  plain manifests. Those of the repo-server and of argocd-cm have only what is added; apply them
             with kubectl apply --server-side
  kustomize  the directory of a component, for the kustomization that has your Argo CD; needs --dir
  argo-helm  values of the chart argo-cd
  operator   what to add to the resource ArgoCD of the operator, and manifests

--with adds parts to the plugins: repo (trigger repositories), buckets (buckets as repositories), events
(notifications of S3), secrets (clusters and credentials of Argo CD), apis (generators that ask APIs),
any-namespace (Applications in other namespaces). See docs/install.md.`,
		Example: `  argosy install --for manifests | kubectl apply --server-side -f -
  argosy install --for argo-helm --with repo,secrets > argosy-values.yaml
  argosy install --for kustomize --dir argosy --namespace gitops`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.Target = install.Target(target.Value); cfg.Target == install.Kustomize && dir == "" {
				return usagef("--for kustomize writes several files, and needs --dir")
			}
			for _, name := range []string{"namespace", "argocd-name"} {
				if cfg.Target == install.ArgoHelm && cmd.Flags().Changed(name) {
					return usagef("--%s goes without --for argo-helm: the chart knows it", name)
				}
			}
			if cfg.Image == "" && !released.MatchString(version()) {
				return usagef("--image is needed: this binary (%s) is no release, and has no image", version())
			} else if cfg.Image == "" {
				cfg.Image = "ghcr.io/argosy-cd/argosy:" + version()
			}
			if cfg.PolicyFile != "" {
				text, err := input.File(cfg.PolicyFile)
				if err != nil {
					return err
				}
				cfg.Policy = string(text)
			}
			files, err := install.Render(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if dir != "" {
				return edit.Generated(dir, install.Marker, files)
			}
			if _, err := std.Out.Write(files[0].Data); err != nil {
				return fmt.Errorf("writing: %w", err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.Var(&target, "for", "who installs Argo CD, "+target.Usage())
	flags.StringVar(&dir, "dir", "", "write files into `DIR` instead of printing them")
	flags.StringSliceVar(&cfg.With, "with", []string{"repo"}, "`PARTS` beside the plugins: "+strings.Join(install.Parts, ", "))
	flags.BoolVar(&cfg.SidecarOnly, "sidecar-only", false, "only the sidecar and the health check; the rest comes from the chart argosy")
	flags.StringVar(&cfg.Namespace, "namespace", "argocd", "`NAMESPACE` of Argo CD")
	flags.StringVar(&cfg.Name, "argocd-name", "argocd", "`NAME` that the names of Argo CD's workloads begin with; for the operator that of the resource ArgoCD")
	flags.StringVar(&cfg.Image, "image", "", "`IMAGE` of argosy; default: the one of this release")
	flags.StringVar(&cfg.PolicyFile, "policy", "", "`FILE` with what projects may do; default: the project default may read all buckets")
	flags.DurationVar(&cfg.Interval, "interval", 3*time.Minute, "`DURATION` between the ticks of trigger repositories")
	return cmd
}
