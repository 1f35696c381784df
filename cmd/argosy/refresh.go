package main

import (
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/refresher"
)

// refreshOptions are the flags of processes that ask Argo CD to look at applications.
type refreshOptions struct{ refresher.Settings }

func (o *refreshOptions) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.Hosts, "trigger-hosts", nil, usageOf("trigger-hosts"))
	flags.StringSliceVar(&o.Namespaces, "application-namespaces", nil, usageOf("application-namespaces"))
}

// registerClock adds the flags of a process that has a clock.
func (o *refreshOptions) registerClock(flags *pflag.FlagSet) {
	flags.DurationVar(&o.Interval, "interval", defaultInterval, usageOf("interval"))
	flags.DurationVar(&o.Spread, "spread", 0, usageOf("spread"))
}
