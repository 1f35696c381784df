package main

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/refresher"
)

// refreshSettings are those of processes that ask Argo CD to look at applications.
var refreshSettings = []setting{
	{"interval", intervalVariable, "how often /appset.git ticks, and everything else that has no schedule of its own"},
	{"spread", "ARGOSY_SPREAD", "spread the refreshes of one tick over this time; 0 is a quarter of the interval, at most a minute"},
	{
		"trigger-hosts", "ARGOSY_TRIGGER_HOSTS",
		"`HOSTS` that serve trigger repositories (argosy repo), with or without a port; * stands for any characters. Default: the " +
			"Service appset-repo in Argo CD's namespace",
	},
	{
		"application-namespaces", "ARGOCD_APPLICATION_NAMESPACES",
		"`NAMESPACES` beside Argo CD's own whose Applications it serves; * stands for any characters",
	},
}

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

// refreshOptions are the flags of processes that ask Argo CD to look at applications.
type refreshOptions struct{ refresher.Config }

func (o *refreshOptions) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.Hosts, "trigger-hosts", nil, usageOf("trigger-hosts"))
	flags.StringSliceVar(&o.Namespaces, "application-namespaces", nil, usageOf("application-namespaces"))
}

// registerClock adds the flags of a process that has a clock.
func (o *refreshOptions) registerClock(flags *pflag.FlagSet) {
	flags.DurationVar(&o.Interval, "interval", defaultInterval, usageOf("interval"))
	flags.DurationVar(&o.Spread, "spread", 0, usageOf("spread"))
}

const defaultInterval = 3 * time.Minute
