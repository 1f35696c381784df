package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readmeJobs are the exit codes of the commands under "Five jobs" of the README, in their order.
var readmeJobs = []int{exitDone, exitFound, exitDone, exitDone, exitDone}

// TestReadme runs the five jobs of the README as they are written, from the root of a checkout, and compares the sample with the output.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, jobs, _ := strings.Cut(string(readme), "\n## Five jobs\n")
	jobs, _, ok := strings.Cut(jobs, "\n## ")
	if !ok {
		t.Fatal("the README has no five jobs")
	}
	t.Chdir("../..")
	var printed string
	commands := regexp.MustCompile("(?m)^argosy (.*)$").FindAllStringSubmatch(jobs, -1)
	if len(commands) != len(readmeJobs) {
		t.Fatalf("%d commands, want %d", len(commands), len(readmeJobs))
	}
	for i, command := range commands {
		var out, talk bytes.Buffer
		// Nothing of the example is elsewhere, so the jobs do not need the network.
		args := strings.Fields(command[1])
		if slices.Contains(args, "--repo") {
			args = append(args, "--offline")
		}
		code := execute(context.Background(), stdio{Out: &out, Err: &talk, Env: os.Environ()}, args)
		if slices.Contains(args, "--diff") && code == exitFound {
			code = exitDone // the example is being edited
		}
		if code != readmeJobs[i] {
			t.Errorf("%s: exit code %d: %s", command[0], code, talk.String())
		}
		printed += out.String()
	}
	_, rest, _ := strings.Cut(jobs, "```\nNAME ")
	sample, _, ok := strings.Cut("NAME "+rest, "\n```")
	if !ok {
		t.Fatal("no sample in the README")
	}
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	lines := map[string]bool{}
	for line := range strings.Lines(printed) {
		lines[squeeze(line)] = true
	}
	for line := range strings.Lines(sample) {
		if !lines[squeeze(line)] {
			t.Errorf("not printed: %s", line)
		}
	}
}

// TestDocsIndex: docs/README.md has every page of docs, and all links between pages lead to a file.
func TestDocsIndex(t *testing.T) {
	t.Chdir("../../docs")
	index, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if page.IsDir() || filepath.Ext(page.Name()) != ".md" { // pictures are no pages
			continue
		}
		if page.Name() != "README.md" && !strings.Contains(string(index), "]("+page.Name()) {
			t.Errorf("docs/README.md does not name %s", page.Name())
		}
		text, err := os.ReadFile(page.Name())
		if err != nil {
			t.Fatal(err)
		}
		links(t, page.Name(), text)
	}
	t.Chdir("..")
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		links(t, name, text)
	}
}

// links checks that the links of a page lead to files, and to titles in them.
func links(t *testing.T, page string, text []byte) {
	t.Helper()
	for _, m := range regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`).FindAllSubmatch(text, -1) {
		name, anchor := string(m[1]), strings.TrimPrefix(string(m[2]), "#")
		if name == "" {
			name = page
		}
		if _, err := os.Stat(name); err != nil {
			t.Errorf("%s: link to %s: %v", page, name, err)
			continue
		}
		if anchor == "" {
			continue
		}
		target, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(anchors(target), anchor) {
			t.Errorf("%s: %s has no title %q", page, name, anchor)
		}
	}
}

// anchors are the titles of a page as links name them.
func anchors(page []byte) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllSubmatch(page, -1) {
		title := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(string(m[1])), "")
		out = append(out, strings.ReplaceAll(title, " ", "-"))
	}
	return out
}
