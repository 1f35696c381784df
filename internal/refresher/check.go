package refresher

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/trigger"
)

// Check refuses invalid settings of the user.
func (c Settings) Check(now func() time.Time) error {
	for _, p := range c.Hosts {
		if _, err := path.Match(p, ""); err != nil || p == "" || strings.Contains(p, "/") {
			return problem.Usagef("--trigger-hosts: %q is not a host or a pattern of hosts", p)
		}
	}
	for _, p := range c.Namespaces {
		if err := kube.CheckNamespace(p); err != nil {
			return problem.Usage(fmt.Errorf("--application-namespaces: %w", err))
		}
	}
	if c.Spread < 0 || c.Spread > c.Interval {
		return problem.Usagef("--spread must be 0 to %s, the interval; it is %s", c.Interval, c.Spread)
	}
	if _, err := trigger.NewClock("appset", c.Interval, false, now); err != nil {
		return problem.Usage(fmt.Errorf("--interval: %w", err))
	}
	return nil
}
