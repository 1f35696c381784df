package main

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/refresher"
	"github.com/argosy-cd/argosy/internal/trigger"
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
type clusterOptions struct {
	namespace, kubeconfig string
	secrets               []string
}

func (o *clusterOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.namespace, "argocd-namespace", "", usageOf("argocd-namespace"))
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", usageOf("kubeconfig"))
	flags.StringSliceVar(&o.secrets, "argocd-secrets", nil, usageOf("argocd-secrets"))
}

// open returns the client of the cluster, nil if there is none. merged are the files of $KUBECONFIG, for a command that was asked to use a
// cluster.
func (o *clusterOptions) open(merged []string) (*kube.Client, error) {
	api, err := kube.Open(kube.Config{Kubeconfig: o.kubeconfig, Merged: merged, Namespace: o.namespace, Secrets: o.secrets})
	if errors.Is(err, kube.ErrNoCluster) {
		return nil, nil
	}
	return api, err
}

// kubeconfigs are the files of $KUBECONFIG.
func kubeconfigs(std stdio) []string {
	return slices.DeleteFunc(filepath.SplitList(std.getenv("KUBECONFIG")), func(file string) bool { return file == "" })
}

// argocd is Argo CD's own namespace.
func (o *clusterOptions) argocd(api *kube.Client) string {
	if api != nil {
		return api.Namespace
	}
	return cmp.Or(o.namespace, kube.DefaultNamespace)
}

// refreshOptions are the flags of processes that ask Argo CD to look at applications.
type refreshOptions struct {
	interval   time.Duration
	spread     time.Duration
	hosts      []string
	namespaces []string
}

func (o *refreshOptions) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.hosts, "trigger-hosts", nil, usageOf("trigger-hosts"))
	flags.StringSliceVar(&o.namespaces, "application-namespaces", nil, usageOf("application-namespaces"))
}

// config is what they say.
func (o *refreshOptions) config() *refresher.Config {
	return &refresher.Config{Interval: o.interval, Spread: o.spread, Hosts: o.hosts, Namespaces: o.namespaces}
}

// registerClock adds the flags of a process that has a clock.
func (o *refreshOptions) registerClock(flags *pflag.FlagSet) {
	flags.DurationVar(&o.interval, "interval", defaultInterval, usageOf("interval"))
	flags.DurationVar(&o.spread, "spread", 0, usageOf("spread"))
}

const defaultInterval = 3 * time.Minute

func (o *refreshOptions) check(std stdio) error {
	for _, p := range o.hosts {
		if _, err := path.Match(p, ""); err != nil || p == "" || strings.Contains(p, "/") {
			return usagef("--trigger-hosts: %q is not a host or a pattern of hosts", p)
		}
	}
	for _, p := range o.namespaces {
		if err := kube.CheckNamespace(p); err != nil {
			return problem.Usage(fmt.Errorf("--application-namespaces: %w", err))
		}
	}
	if o.spread < 0 || o.spread > o.interval {
		return usagef("--spread must be 0 to %s, the interval; it is %s", o.interval, o.spread)
	}
	if _, err := trigger.NewClock("appset", o.interval, false, std.now); err != nil {
		return problem.Usage(fmt.Errorf("--interval: %w", err))
	}
	return nil
}
