package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/textdiff"
)

const fixDir = "testdata/lint-fix"

// TestLintFix: --fix cures the failing example of each rule that has a fix, changes what the golden file says and no other byte, and has
// nothing to do afterwards.
func TestLintFix(t *testing.T) {
	want := map[string]bool{}
	for _, r := range lint.Rules() {
		if !r.Fixable() {
			continue
		}
		want[r.Name+".diff"] = true
		t.Run(r.Name, func(t *testing.T) {
			fails := example(t, r.Name, "fails")
			dir := writeTree(t, fails)
			args := append(lintArgs(dir, exampleArgs(t, r.Name)...), "--fix")
			if got := lintRun(t, args...); slices.Contains(got, r.Name) {
				t.Errorf("the example still has %s", got)
			}
			fixed := readTree(t, dir, fails)
			var b strings.Builder
			for i, f := range fails {
				b.Write(textdiff.Unified(f.Name, f.Data, f.Name, fixed[i].Data))
			}
			writtenPage(t, filepath.Join(fixDir, r.Name+".diff"), b.String())
			lintRun(t, args...)
			for i, f := range readTree(t, dir, fails) {
				if string(f.Data) != string(fixed[i].Data) {
					t.Errorf("%s changes again:\n%s", f.Name, f.Data)
				}
			}
		})
	}
	files, err := os.ReadDir(fixDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !want[f.Name()] {
			t.Errorf("%s/%s: no such rule has a fix", fixDir, f.Name())
		}
	}
}

// readTree reads files again, and fails if there are others in their directory.
func readTree(t *testing.T, dir string, files []txtar.File) []txtar.File {
	t.Helper()
	out := make([]txtar.File, len(files))
	for i, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if err != nil {
			t.Fatal(err)
		}
		out[i] = txtar.File{Name: f.Name, Data: data}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() && !slices.ContainsFunc(files, func(f txtar.File) bool {
			return f.Name == filepath.ToSlash(rel)
		}) {
			t.Errorf("%s is left", rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHook: the hook for pre-commit is a command that works in a repository.
func TestHook(t *testing.T) {
	data, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	v, err := manifest.Value(data)
	if err != nil {
		t.Fatal(err)
	}
	hook, _ := v.([]any)[0].(map[string]any)
	// The fields of a hook, with their types, as pre-commit documents them; it warns about others, and refuses a hook without the first four.
	fields := map[string]any{
		"id": "", "name": "", "entry": "", "language": "", "files": "", "exclude": "", "types": []any{}, "types_or": []any{}, "exclude_types": []any{},
		"always_run": false, "fail_fast": false, "verbose": false, "pass_filenames": false, "require_serial": false, "description": "",
		"language_version": "", "minimum_pre_commit_version": "", "args": []any{}, "stages": []any{}, "additional_dependencies": []any{},
	}
	for name, value := range hook {
		if fields[name] == nil || reflect.TypeOf(fields[name]) != reflect.TypeOf(value) {
			t.Errorf("%s: %v is no field of a hook, or of another type", name, value)
		}
	}
	for _, name := range []string{"id", "name", "entry", "language"} {
		if manifest.String(hook, name) == "" {
			t.Errorf("the hook has no %s", name)
		}
	}
	entry := strings.Fields(manifest.String(hook, "entry"))
	if hook["language"] != "golang" || entry[0] != "argosy" || hook["pass_filenames"] != false {
		t.Errorf("%v", hook)
	}
	dir := writeTree(t, example(t, "retry-for-ever", "fails"))
	t.Chdir(dir)
	for _, args := range [][]string{{"init", "-q"}, {"remote", "add", "origin", "https://git.example.com/cluster"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for failOn, want := range map[string]int{"error": exitDone, "warning": exitFound} {
		var out, talk bytes.Buffer
		code := execute(context.Background(), stdio{Out: &out, Err: &talk, Env: environ.New(os.Environ()...)}, append(entry[1:], "--exists", "all", "--fail-on", failOn))
		if code != want || !strings.Contains(out.String(), "[retry-for-ever]") {
			t.Errorf("--fail-on %s: exit code %d: %s%s", failOn, code, out.String(), talk.String())
		}
	}
}
