package main

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/giturl"
)

// commandLine is the command that prints a whole comparison.
func (o *planOptions) commandLine(roots []string) string {
	words := []string{"argosy", "plan", "--diff", o.diff, "--manifests"}
	for _, repo := range o.repos {
		words = append(words, "--repo", giturl.Redact(repo))
	}
	for _, flag := range [][2]string{
		{"--clusters", o.clusters},
		{"--customizations", o.customizations},
		{"--namespace", o.namespace},
		{"--charts", o.charts},
		{"--plugin", strings.Join(o.plugins, ",")},
		{"--allow-unknown", strings.Join(o.verdict.allow, ",")},
	} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	for _, flag := range []struct {
		name string
		on   bool
	}{{"--all", o.all}, {"--offline", o.offline}, {"--strict", o.verdict.strict}} {
		if flag.on {
			words = append(words, flag.name)
		}
	}
	words = append(words, roots...)
	for i, word := range words {
		if strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(plainInShell, r) }) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	if line := strings.Join(words, " "); len(line) < 2000 {
		return line
	}
	return "the same command with -o table"
}

// plainInShell are the characters that a shell takes as they are.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,+%"
