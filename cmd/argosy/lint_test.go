package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/textdiff"
)

const exampleDir = "testdata/lint"

// exampleArgs are the arguments in the first line of an example: what the cluster has, or where its clusters are listed.
func exampleArgs(t *testing.T, rule string) []string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join(exampleDir, rule+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	args, ok := strings.CutPrefix(string(archive.Comment), "args: ")
	if !ok {
		return []string{"--exists", "all"}
	}
	return strings.Fields(args)
}

// example returns the files of a rule's example: those of the tree that fails, or of the one that passes. Nil is none.
func example(t *testing.T, rule, tree string) []txtar.File {
	t.Helper()
	file := filepath.Join(exampleDir, rule+".txtar")
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []txtar.File
	for _, f := range archive.Files {
		for _, prefix := range []string{tree + "/", "both/"} {
			if name, ok := strings.CutPrefix(f.Name, prefix); ok {
				out = append(out, txtar.File{Name: name, Data: f.Data})
			}
		}
	}
	return out
}

// exampleDiff is what makes the example of a rule pass, "" without an example.
func exampleDiff(t *testing.T, rule string) string {
	t.Helper()
	var b strings.Builder
	passes := example(t, rule, "passes")
	for _, f := range example(t, rule, "fails") {
		i := slices.IndexFunc(passes, func(p txtar.File) bool { return p.Name == f.Name })
		var now []byte
		if i >= 0 {
			now = passes[i].Data
		}
		b.Write(textdiff.Unified(f.Name, f.Data, f.Name, now))
	}
	return b.String()
}

// lintTree lints an example, and returns the rules of its findings that are no information, each once, with those that were not checked.
func lintTree(t *testing.T, files []txtar.File, args ...string) []string {
	t.Helper()
	dir := writeTree(t, files)
	t.Chdir(dir)
	if slices.Contains(args, "--diff") {
		commitBefore(t, files)
	}
	return lintRun(t, lintArgs(dir, args...)...)
}

// writeTree writes files into a new directory.
func writeTree(t *testing.T, files []txtar.File) string {
	t.Helper()
	dir := t.TempDir()
	writeUnder(t, dir, "", files)
	return dir
}

// lintArgs are the arguments that lint an example in a directory, with those of the example.
func lintArgs(dir string, args ...string) []string {
	args = append([]string{
		"lint", "--offline", "--fail-on", "never", "-o", "json", "--allow-unknown", "from-s3*,from-api*", "--repo", "https://git.example.com/cluster=" + dir,
		"--repo", "https://git.example.com/apps=" + dir,
	}, args...)
	if _, err := os.Stat(filepath.Join(dir, "settings.yaml")); err == nil {
		args = append(args, "--customizations", filepath.Join(dir, "settings.yaml"))
	}
	return append(args, filepath.Join(dir, "root.yaml"))
}

// writeUnder writes the files of a tree, or those of a directory in it.
func writeUnder(t *testing.T, dir, under string, files []txtar.File) {
	t.Helper()
	for _, f := range files {
		name, ok := strings.CutPrefix(f.Name, under)
		if !ok {
			continue
		}
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// commitBefore commits the tree with its directory before over it. The work tree is without that again.
func commitBefore(t *testing.T, files []txtar.File) {
	t.Helper()
	writeUnder(t, ".", "before/", files)
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "before"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, f := range files {
		if name, ok := strings.CutPrefix(f.Name, "before/"); ok {
			if err := os.Remove(filepath.FromSlash(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	writeUnder(t, ".", "", files)
}

func lintRun(t *testing.T, args ...string) []string {
	t.Helper()
	var out, talk bytes.Buffer
	if code := execute(context.Background(), stdio{Out: &out, Err: &talk, Env: environ.New(os.Environ()...)}, args); code != 0 {
		t.Fatalf("exit code %d: %s", code, talk.String())
	}
	var report struct {
		Findings []struct {
			Rule, Severity, File, Text string
			Line, Column               int
		}
		NotChecked []struct{ Rule string }
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, f := range report.Findings {
		if f.Line == 0 || f.Column == 0 || f.Text == "" {
			t.Errorf("%s has no line: %+v", f.Rule, f)
		}
		rules = append(rules, f.Rule)
	}
	for _, n := range report.NotChecked {
		rules = append(rules, "not checked: "+n.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// TestLintExamples: the failing example of each rule has that finding and no other, at a line of a file; the passing one has none at all.
func TestLintExamples(t *testing.T) {
	var left []string
	for _, r := range lint.Rules() {
		fails := example(t, r.Name, "fails")
		if fails == nil {
			left = append(left, r.Name)
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			// Before the directory changes.
			passes, args := example(t, r.Name, "passes"), exampleArgs(t, r.Name)
			want := []string{r.Name}
			if r.Kind == plan.Unknown {
				want = []string{"not checked: " + r.Name}
			}
			if r.Name == "ignore-without-reason" { // it silences nothing
				want = append(want, "wave-not-a-number")
			}
			if diff := cmp.Diff(want, lintTree(t, fails, args...)); diff != "" {
				t.Errorf("the failing example (-want +got):\n%s", diff)
			}
			if got := lintTree(t, passes, args...); len(got) > 0 {
				t.Errorf("the passing example has %s", got)
			}
		})
	}
	if len(left) > 0 {
		t.Errorf("rules without an example: %s", left)
	}
	files, err := os.ReadDir(exampleDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := lint.Find(strings.TrimSuffix(f.Name(), ".txtar")); err != nil {
			t.Errorf("%s/%s: %v", exampleDir, f.Name(), err)
		}
	}
}

// TestLintMore: what a rule finds besides its example. The name of a file is that of the rule, a dot and what it is about.
func TestLintMore(t *testing.T) {
	files, err := filepath.Glob("testdata/lintmore/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			more := filepath.Join("..", "lintmore", name)
			fails, passes, args := example(t, more, "fails"), example(t, more, "passes"), exampleArgs(t, more)
			rule, _, _ := strings.Cut(name, ".")
			if diff := cmp.Diff([]string{rule}, lintTree(t, fails, args...)); diff != "" {
				t.Errorf("what fails (-want +got):\n%s", diff)
			}
			if got := lintTree(t, passes, args...); len(got) > 0 {
				t.Errorf("what passes has %s", got)
			}
		})
	}
}

// TestLintCluster: the example cluster is clean, but for what it is there to show: its sets do not gate. With the plugin appset they do.
func TestLintCluster(t *testing.T) {
	root, err := os.ReadFile(clusterRoot)
	if err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(t.TempDir(), "root.yaml")
	text := strings.Replace(string(root), "    path: infrastructure/controllers/argocd/apps\n",
		"    path: infrastructure/controllers/argocd/apps\n    plugin: {name: appset}\n", 1)
	if err := os.WriteFile(plugin, []byte(text), 0o600); err != nil || text == string(root) {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{clusterRoot: {"set-does-not-gate"}, plugin: nil} {
		var out, talk bytes.Buffer
		if code := execute(context.Background(), stdio{Out: &out, Err: &talk, Env: environ.New(os.Environ()...)}, []string{
			"lint", "--offline", "-o", "json", "--fail-on", "never", "--repo", clusterURL + "=../../examples/cluster", file,
		}); code != 0 {
			t.Fatal(talk.String())
		}
		var report struct {
			Findings []struct{ Rule, Severity, Message string }
		}
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range report.Findings {
			if f.Severity != "info" {
				got = append(got, f.Rule)
			}
		}
		if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", file, diff, out.String())
		}
	}
}
