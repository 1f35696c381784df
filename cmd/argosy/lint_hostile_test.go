package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/hostile"
)

// hostileApplication is one with a retry for ever and as many sync options with a mistake, on one line.
func hostileApplication(name string, options int, more string) string {
	return fmt.Sprintf("{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: %s%s}, spec: {project: default, source: {repoURL: https://git.example.com/cluster, path: web}, "+
		"destination: {name: in-cluster, namespace: web}, syncPolicy: {automated: {}, retry: {limit: -1}, syncOptions: [%s]}}}\n", name, more, strings.Repeat("createNamespace=true, ", options))
}

// lintHostile lints a tree with a file of Applications, and returns the exit code and what is printed.
func lintHostile(t *testing.T, text string, args ...string) (dir string, code int, out, talk string) {
	t.Helper()
	dir = writeTree(t, []txtar.File{
		{Name: "root.yaml", Data: []byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root, namespace: argocd}\nspec:\n  project: default\n" +
			"  source: {repoURL: https://git.example.com/cluster, path: apps}\n  destination: {name: in-cluster, namespace: argocd}\n  syncPolicy: {automated: {selfHeal: true}}\n")},
		{Name: "web/cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")},
		{Name: "apps/hostile.yaml", Data: []byte(text)},
	})
	t.Chdir(dir)
	code, out, talk = lintAgain(args...)
	return dir, code, out, talk
}

func lintAgain(args ...string) (code int, out, talk string) {
	var o, e bytes.Buffer
	code = execute(context.Background(), stdio{Out: &o, Err: &e, Env: environ.New(os.Environ()...)}, append([]string{
		"lint", "--offline", "--exists", "all", "--fail-on", "never", "--repo", "https://git.example.com/cluster=.", "root.yaml",
	}, args...))
	return code, o.String(), e.String()
}

// oneLine fails unless a text is an error on one line.
func oneLine(t *testing.T, code int, talk string) {
	t.Helper()
	if code != exitFailed || strings.Count(talk, "\n") != 1 || !strings.HasPrefix(talk, "error: ") || len(talk) > 2000 {
		t.Errorf("exit code %d: %.3000s", code, talk)
	}
}

// TestHostileLine: a line of megabytes is shown shortened, and fixed with every other byte as it was.
func TestHostileLine(t *testing.T) {
	hostile.Unraced(t)
	huge := ", annotations: {x: \"" + strings.Repeat("ä", 1<<20) + "\"}"
	dir, code, out, talk := lintHostile(t, hostileApplication("web", 1, huge), "--fix")
	if code != exitDone || len(out) > 5000 || len(talk) > 5000 {
		t.Errorf("exit code %d, %d and %d bytes: %.1000s", code, len(out), len(talk), talk)
	}
	got, err := os.ReadFile(filepath.Join(dir, "apps/hostile.yaml"))
	want := strings.NewReplacer("limit: -1", "limit: 5", "createNamespace", "CreateNamespace").Replace(hostileApplication("web", 1, huge))
	if err != nil || string(got) != want {
		t.Errorf("%v: %d bytes, want %d", err, len(got), len(want))
	}
}

// TestHostileFindings: as many findings as anybody likes, on one line below as many comments, are a report, and go into a baseline that
// leaves them all out; a baseline that could not be read again is not written.
func TestHostileFindings(t *testing.T) {
	hostile.Unraced(t)
	const n = 5_000
	text := strings.Repeat("# argosy:ignore\n", n) + hostileApplication("web", n, "")
	_, code, out, talk := lintHostile(t, text, "-o", "json")
	var report struct{ Findings []struct{ Rule string } }
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitDone || len(report.Findings) < n {
		t.Fatalf("exit code %d, %d findings, %v: %.1000s", code, len(report.Findings), err, talk)
	}
	if code, _, talk := lintAgain("--write-baseline", "known.yaml"); code != exitDone {
		t.Fatal(talk)
	}
	if code, out, talk := lintAgain("--baseline", "known.yaml", "--fail-on", "info"); code != exitDone || !strings.Contains(out, fmt.Sprintf("%d in the baseline", len(report.Findings))) {
		t.Errorf("exit code %d: %s%.1000s", code, out, talk)
	}
	var different strings.Builder
	long := strings.Repeat("x", 1000)
	for i := range n {
		fmt.Fprintf(&different, "---\n%s", hostileApplication(fmt.Sprintf("web-%d", i), 0, fmt.Sprintf(", finalizers: [%s-%d.argocd.argoproj.io]", long, i)))
	}
	if err := os.WriteFile("apps/hostile.yaml", []byte(different.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("known.yaml")
	if err != nil {
		t.Fatal(err)
	}
	code, _, talk = lintAgain("--write-baseline", "known.yaml")
	oneLine(t, code, talk)
	if after, err := os.ReadFile("known.yaml"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the old baseline is lost: %v", err)
	}
}

// TestLintDeep: YAML that nests too deep, or has too many values, is a finding at its file, and --fix leaves it alone.
func TestLintDeep(t *testing.T) {
	for name, text := range map[string]string{
		"deep":   strings.Repeat("[", 100_000),
		"nested": "a: " + strings.Repeat("{a: ", 5_000) + strings.Repeat("}", 5_000) + "\n",
		"values": "a: [" + strings.Repeat("1,", 3_000_000) + "]\n",
		"bomb":   "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d]\nf: [*e, *e, *e, *e, *e, *e, *e]\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir, code, out, talk := lintHostile(t, hostileApplication("web", 1, "")+"---\n"+text, "--fix")
			if code != exitDone || !strings.Contains(out, "[source-broken]") || len(out) > 5000 {
				t.Errorf("exit code %d: %.2000s%.2000s", code, out, talk)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "apps/hostile.yaml")); err != nil || string(got) != hostileApplication("web", 1, "")+"---\n"+text {
				t.Errorf("the file has changed: %v", err)
			}
		})
	}
}

// TestLintWrites: --write-baseline and --fix do not follow links out of the tree, do not write what is read-only, and leave nothing behind.
func TestLintWrites(t *testing.T) {
	dir, code, _, talk := lintHostile(t, hostileApplication("web", 1, ""))
	if code != exitDone {
		t.Fatal(talk)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("read-only.yaml", []byte("mine"), 0o400); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link.yaml": outside, "dangling.yaml": filepath.Join(dir, "new.yaml"), "device.yaml": "/dev/null"} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link.yaml", "dangling.yaml", "device.yaml", "read-only.yaml", "apps", "missing/known.yaml", "root.yaml/known.yaml"} {
		code, _, talk := lintAgain("--write-baseline", name)
		oneLine(t, code, talk)
	}
	for _, name := range []string{outside, "read-only.yaml"} {
		if data, err := os.ReadFile(name); err != nil || string(data) != "mine" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if left, err := filepath.Glob(".argosy-*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Stat("new.yaml"); err == nil {
		t.Error("a dangling link was followed")
	}
}

// TestLintFixBytes: --fix changes what it cures and no other byte, whatever the line ends, the beginning and the end of the file are.
func TestLintFixBytes(t *testing.T) {
	const text = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  project: default \t # tab\n" +
		"  source: {repoURL: https://git.example.com/cluster, path: web}\n  destination: {name: in-cluster, namespace: web}\n" +
		"  syncPolicy:\n    automated: {}\n    retry:\n      limit: -1\t# ü\n---\n# nothing\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n" +
		"data: {a: \"\\u00e9 \\t\"}\n"
	for name, text := range map[string]string{
		"plain":                  text,
		"no line end at the end": strings.TrimSuffix(text, "\n"),
		"many at the end":        text + "\n\n  \n",
		"Windows":                strings.ReplaceAll(text, "\n", "\r\n"),
		"byte order mark":        "\ufeff" + text,
		"both":                   "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n"),
		"a document before":      "---\n" + text + "...\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, code, _, talk := lintHostile(t, text, "--fix")
			data, err := os.ReadFile("apps/hostile.yaml")
			if want := strings.Replace(text, "limit: -1", "limit: 5", 1); err != nil || code != exitDone || string(data) != want {
				t.Errorf("exit code %d, %v: %s%q", code, err, talk, data)
			}
		})
	}
}

// TestLintFixOthers: beside files that are none, lead elsewhere or explode, --fix ends, and changes neither them nor what they lead to.
func TestLintFixOthers(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
	}
	kept := map[string]string{
		outside:          hostileApplication("outside", 1, ""),
		"apps/bomb.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: bomb}\n" + bomb,
		"apps/tab.yaml":  "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n\tname: tab\n",
		"apps/half.yaml": strings.TrimSuffix(hostileApplication("half", 1, ""), "}}}\n"),
		"apps/not.yaml":  "kind: Application\n\x00\xff\xfe",
	}
	_, code, _, talk := lintHostile(t, hostileApplication("web", 0, ""))
	if code != exitDone {
		t.Fatal(talk)
	}
	for name, text := range kept {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"apps/out.yaml": outside, "apps/loop.yaml": "loop.yaml", "apps/none.yaml": "missing.yaml", "apps/self": "."} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("mkfifo", "apps/pipe.yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// One of them can make the whole source broken, so each is removed in turn: with the last one gone, there is something to fix.
	for _, name := range []string{
		"", "out.yaml", "loop.yaml", "none.yaml", "self", "pipe.yaml", "tab.yaml", "half.yaml", "not.yaml", "bomb.yaml",
	} {
		if name != "" {
			if err := os.Remove(filepath.Join("apps", name)); err != nil {
				t.Fatal(err)
			}
			delete(kept, "apps/"+name)
		}
		code, out, talk := lintAgain("--fix")
		if code != exitDone {
			t.Errorf("without %s: exit code %d: %s%s", name, code, out, talk)
		}
		for name, text := range kept {
			if data, err := os.ReadFile(name); err != nil || string(data) != text {
				t.Errorf("%s: %v: %q", name, err, data)
			}
		}
		if left, err := filepath.Glob("apps/.argosy-*"); err != nil || len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	data, err := os.ReadFile("apps/hostile.yaml")
	if want := strings.Replace(hostileApplication("web", 0, ""), "limit: -1", "limit: 5", 1); err != nil || string(data) != want {
		t.Errorf("%v: %q", err, data)
	}
}
