package option

import (
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/kube"
)

// Cluster say which cluster Argo CD is in.
type Cluster struct{ kube.Config }

// Register adds the flags.
func (o *Cluster) Register(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "argocd-namespace", "", Usage("argocd-namespace"))
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", Usage("kubeconfig"))
	flags.StringSliceVar(&o.Secrets, "argocd-secrets", nil, Usage("argocd-secrets"))
}

// RegisterMerged changes the help for a command that uses a cluster whenever there is one.
func (o *Cluster) RegisterMerged(flags *pflag.FlagSet) {
	flags.Lookup("kubeconfig").Usage = "`FILE` that says which cluster Argo CD is in ($ARGOSY_KUBECONFIG); default: $KUBECONFIG, as for " +
		"kubectl, or the cluster that the process runs in"
}

// OpenCluster returns the client of the cluster, nil if there is none. merged are the files of $KUBECONFIG, for a
// command that was asked to use a cluster.
func (o *Cluster) OpenCluster(merged []string) (*kube.Client, error) {
	o.Merged = merged
	return kube.OpenAny(o.Config)
}
