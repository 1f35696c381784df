// Package gittest makes Git repositories for tests, by the git command.
package gittest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// New commits files to a new repository and returns its directory. Each has its name as content.
func New(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		Write(t, filepath.Join(dir, name), "content of "+name)
	}
	Run(t, dir, "init", "-q", "--initial-branch=main")
	Run(t, dir, "add", "--all", "--force")
	Run(t, dir, "commit", "-q", "--message=all", "--allow-empty")
	return dir
}

// Write writes a file, and makes its directory.
func Write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Run runs git in a directory and returns its output.
func Run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Nested commits a tree whose directories are all the same one to the branch bomb: width^levels paths in a few objects. The leaf is a line
// of git mktree, in which BLOB is an object.
func Nested(t testing.TB, width, levels int, leaf string) string {
	t.Helper()
	dir := New(t, "f")
	Run(t, dir, "config", "uploadpack.allowAnySHA1InWant", "true")
	mktree := func(lines string) string {
		cmd := exec.Command("git", "mktree", "--missing")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(lines)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	tree := mktree(strings.ReplaceAll(leaf, "BLOB", strings.TrimSpace(Run(t, dir, "rev-parse", "HEAD:f"))))
	for range levels {
		var lines strings.Builder
		for i := range width {
			fmt.Fprintf(&lines, "040000 tree %s\t%d\n", tree, i)
		}
		tree = mktree(lines.String())
	}
	commit := strings.TrimSpace(Run(t, dir, "commit-tree", "-m", "bomb", tree))
	Run(t, dir, "update-ref", "refs/heads/bomb", commit)
	return dir
}
