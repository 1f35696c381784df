package lab

import (
	"context"
	"io"
	"strings"

	"github.com/argosy-cd/argosy/lab/program"
)

// Build returns the programs of a lab, of which it builds those that are not in the cache.
func Build(ctx context.Context, log io.Writer) (*program.Tools, error) {
	return program.Build(ctx, log, "etcd", "kubernetes", "argocd", "kwok", "versitygw", "helm", "kustomize")
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
