package sidecar

import (
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Check refuses invalid settings of the user.
func (c Config) Check() error {
	for _, name := range c.Plugins {
		if name != argo.PluginAppSet && name != argo.PluginS3 {
			return problem.Usagef("--plugin must be appset or s3, it is %q", name)
		}
	}
	switch {
	case len(c.Plugins) == 0:
		return problem.Usagef("--plugin must name a plugin")
	case c.Timeout <= 0:
		return problem.Usagef("--timeout must be more than 0")
	case c.Parallel < 0:
		return problem.Usagef("--parallel must not be negative")
	case c.MaxUpload < 1 || c.MaxUpload > 1<<20:
		return problem.Usagef("--max-repository must be 1 to %d MiB, it is %d", 1<<20, c.MaxUpload)
	case c.Grace < 0:
		return problem.Usagef("--grace must not be negative")
	case c.PluginVersion != "" && !argo.IsPlugin(argo.PluginAppSet+"-"+c.PluginVersion, argo.PluginAppSet):
		return problem.Usagef("--plugin-version must be a v and a number, such as v2, it is %q", c.PluginVersion)
	}
	return c.Workers.Check()
}
