package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// TestReadme checks that the sample in the README is what the command prints for the example cluster.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "$ argosy appset generate -o table apps/\n")
	sample, _, ok := strings.Cut(rest, "\n```")
	if !ok {
		t.Fatal("no sample in the README")
	}
	var out, talk bytes.Buffer
	code := execute(context.Background(), stdio{out: &out, err: &talk, env: os.Environ()}, []string{
		"appset", "generate", "--offline", "-o", "table", "--repo", "https://git.example.com/home/cluster.git=../../examples/cluster",
		"../../examples/cluster/infrastructure/controllers/argocd/apps",
	})
	if code != 0 {
		t.Fatal(talk.String())
	}
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	printed := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		printed[squeeze(line)] = true
	}
	for line := range strings.Lines(sample) {
		if !printed[squeeze(line)] {
			t.Errorf("not printed: %s", line)
		}
	}
}
