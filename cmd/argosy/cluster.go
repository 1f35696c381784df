package main

import (
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

// registerMerged changes the help for a command that uses a cluster whenever there is one.
func (o *clusterOptions) registerMerged(flags *pflag.FlagSet) {
	flags.Lookup("kubeconfig").Usage = "`FILE` that says which cluster Argo CD is in ($ARGOSY_KUBECONFIG); default: $KUBECONFIG, as for " +
		"kubectl, or the cluster that the process runs in"
}

// open returns the client of the cluster, nil if there is none. merged are the files of $KUBECONFIG, for a command that was asked to use a
// cluster.
func (o *clusterOptions) open(merged []string) (*kube.Client, error) {
	o.Merged = merged
	return kube.OpenAny(o.Config)
}
