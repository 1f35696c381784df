package option

import (
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/refresher"
)

// Refresh are the flags of processes that refresh applications.
type Refresh struct{ refresher.Settings }

// Register adds the flags.
func (o *Refresh) Register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.Hosts, "trigger-hosts", nil, Usage("trigger-hosts"))
	flags.StringSliceVar(&o.Namespaces, "application-namespaces", nil, Usage("application-namespaces"))
}

// RegisterClock adds the flags of a process that has a clock.
func (o *Refresh) RegisterClock(flags *pflag.FlagSet) {
	flags.DurationVar(&o.Interval, "interval", DefaultInterval, Usage("interval"))
	flags.DurationVar(&o.Spread, "spread", 0, Usage("spread"))
}
