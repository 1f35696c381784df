package main

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/words"
)

// commandLine is the command that prints a whole comparison.
func (o *planOptions) commandLine(roots []string) string {
	line := []string{"argosy", "plan", "--diff", o.diff, "--manifests"}
	for _, repo := range o.repos {
		line = append(line, "--repo", giturl.Redact(repo))
	}
	for _, flag := range [][2]string{
		{"--clusters", o.Clusters},
		{"--customizations", o.Customizations},
		{"--namespace", o.Namespace},
		{"--charts", o.charts},
		{"--plugin", strings.Join(o.Plugins, ",")},
		{"--allow-unknown", strings.Join(o.verdict.Allow, ",")},
	} {
		if flag[1] != "" {
			line = append(line, flag[0], flag[1])
		}
	}
	for _, flag := range []struct {
		name string
		on   bool
	}{{"--all", o.all}, {"--offline", o.offline}, {"--strict", o.verdict.Strict}} {
		if flag.on {
			line = append(line, flag.name)
		}
	}
	if text := words.Shell(append(line, roots...)); len(text) < 2000 {
		return text
	}
	return "the same command with -o table"
}
