package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/cli"
)

// TestManual: each command that help lists has a manual page with all of its flags, and nothing else has one.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	if code := execute(t.Context(), stdio{Out: os.Stdout, Err: os.Stderr}, []string{"man", dir}); code != exitDone {
		t.Fatal(code)
	}
	commands := cli.Listed(newRootCommand(stdio{Out: os.Stdout, Err: os.Stderr}))
	if len(commands) < 30 {
		t.Errorf("only %d commands", len(commands))
	}
	for _, cmd := range commands {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name := `\-\-` + strings.ReplaceAll(f.Name, "-", `\-`); !f.Hidden && !bytes.Contains(page, []byte(name)) {
				t.Errorf("the page of %s has no %s", cmd.CommandPath(), name)
			}
		})
		if groff, err := exec.LookPath("groff"); err == nil {
			format := exec.Command(groff, "-man", "-Kutf8", "-Tutf8", "-ww", "-z")
			format.Stdin = bytes.NewReader(page)
			if out, err := format.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("the page of %s: %v\n%s", cmd.CommandPath(), err, out)
			}
		}
	}
	pages, err := os.ReadDir(dir)
	if err != nil || len(pages) != len(commands) {
		t.Errorf("%d pages for %d commands: %v", len(pages), len(commands), err)
	}
}

// TestCompletions: each command completes its own commands and flags, in every shell by the same call.
func TestCompletions(t *testing.T) {
	complete := func(args ...string) string {
		var out bytes.Buffer
		if code := execute(t.Context(), stdio{Out: &out, Err: io.Discard}, append([]string{"__completeNoDesc"}, args...)); code != exitDone {
			t.Errorf("%q: exit code %d", args, code)
		}
		return "\n" + out.String()
	}
	root := newRootCommand(stdio{Out: os.Stdout, Err: os.Stderr})
	for _, cmd := range cli.Listed(root) {
		words := strings.Fields(cmd.CommandPath())[1:]
		if cmd.HasParent() && !strings.Contains(complete(words...), "\n"+cmd.Name()+"\n") {
			t.Errorf("%s is not completed", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if got := complete(append(words, "--"+f.Name)...); !f.Hidden && !strings.Contains(got, "\n--"+f.Name) {
				t.Errorf("%s --%s is not completed: %s", cmd.CommandPath(), f.Name, got)
			}
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out bytes.Buffer
		if code := execute(t.Context(), stdio{Out: &out, Err: os.Stderr}, []string{"completion", shell}); code != exitDone || !strings.Contains(out.String(), "__complete") {
			t.Errorf("%s: exit code %d, %d bytes", shell, code, out.Len())
		}
	}
}
