package main

import (
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/kube"
)

// clusterOptions say which cluster Argo CD is in.
type clusterOptions struct{ kube.Config }

func (o *clusterOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "argocd-namespace", "", usageOf("argocd-namespace"))
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", usageOf("kubeconfig"))
	flags.StringSliceVar(&o.Secrets, "argocd-secrets", nil, usageOf("argocd-secrets"))
}

// open returns the client of the cluster, nil if there is none. merged are the files of $KUBECONFIG, for a command that was asked to use a
// cluster.
func (o *clusterOptions) open(merged []string) (*kube.Client, error) {
	o.Merged = merged
	return kube.OpenAny(o.Config)
}

// kubeconfigs are the files of $KUBECONFIG.
func kubeconfigs(std stdio) []string {
	return slices.DeleteFunc(filepath.SplitList(std.getenv("KUBECONFIG")), func(file string) bool { return file == "" })
}

// argocd is Argo CD's own namespace.
func (o *clusterOptions) argocd(api *kube.Client) string { return api.ArgoCD(o.Namespace) }
