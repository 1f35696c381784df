package gitsource

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gittree/gittest"
)

// planted is a repository on disk whose configuration names a program in every way that Git knows. The program leaves a file.
type planted struct{ dir, missing, mark string }

func plant(t *testing.T) planted {
	t.Helper()
	p := planted{dir: gittest.New(t, "apps/a.yaml", "big.bin"), mark: filepath.Join(t.TempDir(), "it-ran")}
	program := filepath.Join(t.TempDir(), "program")
	gittest.Write(t, program, "#!/bin/sh\ntouch "+p.mark+"\nexit 1\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	gittest.Write(t, filepath.Join(p.dir, ".gitattributes"), "* filter=evil diff=evil merge=evil\n")
	gittest.Run(t, p.dir, "add", "--all")
	gittest.Run(t, p.dir, "commit", "-q", "--message=attributes")
	gittest.Run(t, p.dir, "tag", "v1.0.0")
	// An object that the clone lacks makes it fetch.
	p.missing = strings.TrimSpace(gittest.Run(t, p.dir, "rev-parse", "HEAD:big.bin"))
	if err := os.Remove(filepath.Join(p.dir, ".git/objects", p.missing[:2], p.missing[2:])); err != nil {
		t.Fatal(err)
	}
	included := filepath.Join(p.dir, "more-config")
	gittest.Write(t, included, "[core]\n\tfsmonitor = "+program+"\n\tsshCommand = "+program+"\n\taskPass = "+program+"\n\tpager = "+program+
		"\n\teditor = "+program+
		"\n\tgitProxy = "+program+"\n\talternateRefsCommand = "+program+"\n[credential]\n\thelper = "+program+"\n[pager]\n\ttag = "+program+
		"\n\tls-tree = "+program+"\n")
	for _, kv := range [][2]string{
		{"include.path", included},
		{"core.repositoryFormatVersion", "1"},
		{"extensions.partialClone", "evil"},
		{"remote.evil.promisor", "true"},
		{"remote.evil.url", p.dir},
		{"remote.evil.uploadpack", program},
		{"remote.other.promisor", "true"},
		{"remote.other.url", "ssh://host.invalid/x"},
		{"remote.ext.promisor", "true"},
		{"remote.ext.url", "ext::" + program},
		{"protocol.ext.allow", "always"},
		{"protocol.allow", "always"},
		{"remote.git.promisor", "true"},
		{"remote.git.url", "git://host.invalid/x"},
		{"remote.vcs.promisor", "true"},
		{"remote.vcs.url", "x"},
		{"remote.vcs.vcs", "ext"},
		{"alias.ls-tree", "!" + program},
		{"alias.cat-file", "!" + program},
		{"alias.rev-parse", "!" + program},
		{"filter.evil.clean", program},
		{"filter.evil.smudge", program},
		{"filter.evil.process", program},
		{"filter.evil.required", "true"},
		{"diff.external", program},
		{"diff.evil.command", program},
		{"diff.evil.textconv", program},
		{"merge.evil.driver", program},
		{"gpg.program", program},
		{"uploadpack.packObjectsHook", program},
		{"core.hooksPath", filepath.Join(p.dir, ".git/hooks")},
	} {
		gittest.Run(t, p.dir, "config", kv[0], kv[1])
	}
	for _, hook := range []string{
		"post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman",
		"query-watchman",
	} {
		_ = os.MkdirAll(filepath.Join(p.dir, ".git/hooks"), 0o755)
		if err := os.Symlink(program, filepath.Join(p.dir, ".git/hooks", hook)); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	return p
}

func (p planted) ran() bool {
	_, err := os.Stat(p.mark)
	return err == nil
}

// TestHostileConfiguration checks that no program runs that the configuration of a repository on disk names, whatever is read from it.
func TestHostileConfiguration(t *testing.T) {
	// The trap works: git by itself runs the program.
	control := plant(t)
	_, _ = git{dir: control.dir, env: environ.New(os.Environ()...), remote: true}.command(t.Context(), "cat-file", "-p", control.missing).CombinedOutput()
	if !control.ran() {
		t.Fatal("the program is not run by git itself, so this test proves nothing")
	}

	ctx := t.Context()
	for _, l := range []Local{{}, {Revision: "HEAD"}, {Revision: "v1.*"}, {Branch: "main"}} {
		for _, offline := range []bool{true, false} {
			p := plant(t)
			l.URL, l.Path = "https://x/y", p.dir
			s := New(Config{Local: []Local{l}, Offline: offline, Env: environ.New(os.Environ()...)})
			t.Cleanup(func() { _ = s.Close() })
			for _, revision := range []string{"", "main", "v1.0.0", "v1.*", "other", "deadbeef"} {
				tree, err := s.Tree(ctx, "https://x/y.git", revision)
				if err != nil {
					continue
				}
				_, filesErr := tree.Files(ctx, "*")
				_, _, _ = tree.Most(ctx, 1<<20)
				_, _ = tree.Manifests(ctx)
				if tree.Commit() != "" && (filesErr == nil || !strings.Contains(filesErr.Error(), "partial")) {
					t.Errorf("%+v, revision %q: an object that is missing: %v", l, revision, filesErr)
				}
			}
			_, _ = FindRemotes(ctx, environ.New(os.Environ()...), p.dir)
			_, _ = TopLevel(ctx, environ.New(os.Environ()...), p.dir)
			_ = DefaultBranch(ctx, environ.New(os.Environ()...), p.dir)
			_ = OnDefault(ctx, environ.New(os.Environ()...), p.dir)
			_ = IsBranch(ctx, environ.New(os.Environ()...), p.dir, "other")
			if p.ran() {
				t.Errorf("%+v, offline %v: the program ran", l, offline)
			}
		}
	}
}

// TestHostileWorkTree checks that a repository cannot make another directory its work tree.
func TestHostileWorkTree(t *testing.T) {
	private := t.TempDir()
	gittest.Write(t, filepath.Join(private, "secret.yaml"), "a secret")
	dir := gittest.New(t, "a.yaml")
	gittest.Run(t, dir, "config", "core.worktree", private)
	for _, find := range []func() error{
		func() error { _, err := open(t, Local{Path: dir}, ""); return err },
		func() error {
			_, err := FindRemotes(context.Background(), environ.New(os.Environ()...), dir)
			return err
		},
		func() error { _, err := TopLevel(context.Background(), environ.New(os.Environ()...), dir); return err },
	} {
		if err := find(); err == nil || !strings.Contains(err.Error(), "work tree") {
			t.Errorf("got %v", err)
		}
	}
}
