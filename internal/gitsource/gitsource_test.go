package gitsource

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gittree/gittest"
	"github.com/argosy-cd/argosy/internal/tree"
)

func open(t *testing.T, l Local, revision string) (*Tree, error) {
	t.Helper()
	l.URL = "https://x/y"
	s := New(Config{Local: []Local{l}, Offline: true, Env: environ.New(os.Environ()...)})
	t.Cleanup(func() { s.Close() })
	return s.Tree(context.Background(), "https://x/y.git", revision)
}

// TestPathspec compares with git itself.
func TestPathspec(t *testing.T) {
	files := []string{
		"a.json", "b.yaml", "apps/a/config.json", "apps/b/config.json", "apps/b/deep/er/config.json", "apps/b-2/config.json",
		"apps/x[1]/config.json", "apps/star*name/f", "apps/A/F", "apps/ü/f", "apps/with space/f", ".hidden/f", "apps/z9/f", "apps/zz/f",
	}
	dir := gittest.New(t, files...)
	tree, err := open(t, Local{Path: dir, Revision: "main"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{
		"a.json", "*.json", "apps", "apps/", "apps/b", "apps/b/", "apps/*/config.json", "apps/**/config.json", "**/config.json", "**", "*",
		"?.json",
		"apps/[ab]/config.json", "apps/[!a]/config.json", "apps/[^a]*", "apps/[a-b]*/*", "apps/[[:upper:]]/*",
		"apps/[[:digit:][:lower:]][0-9]/f", "apps/x\\[1\\]/*",
		"apps/x[1]/config.json", "apps/star\\*name/f", "apps/star*name/f", "./apps/a", "apps/../a.json", "apps//a", "nothing", "apps/b*",
		"apps/?/config.json",
		"apps/[", "apps/[a", "apps/[]a]*", "apps/with space/*", ".hidden", "apps/ü/*", "*/f", "a*n", "apps/b/config.json/", "*g.json",
		"apps/[b-a]/*", "apps/\\a/*", "[[:]", "apps/[[:]*", "apps/[[:alpha]*", "apps/[[:alpha:]", "apps/[[:alpha:]]/*", "apps/[[:nope:]]/*",
		"apps/[[:]b]*", "apps/[[:b]*",
	} {
		t.Run(pattern, func(t *testing.T) {
			want := strings.Split(gittest.Run(t, dir, "ls-files", "-z", "--", pattern), "\x00")
			want = want[:len(want)-1]
			slices.Sort(want)
			found, err := tree.Files(context.Background(), pattern)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.Sorted(maps.Keys(found))
			if diff := cmp.Diff(append([]string{}, want...), append([]string{}, got...)); diff != "" {
				t.Errorf("(-git +ours):\n%s", diff)
			}
			for name, data := range found {
				if string(data) != "content of "+name {
					t.Errorf("%s: got %q", name, data)
				}
			}
		})
	}
}

// TestDirectories checks the order of a walk and that a work tree, a revision, a bare repository and a plain
// directory agree.
func TestDirectories(t *testing.T) {
	files := []string{"a/b/f", "a-b/f", "a/f", "f", "z/.h/f", "a.c/f"}
	want := []string{"a", "a/b", "a-b", "a.c", "z", "z/.h"}
	dir := gittest.New(t, files...)
	bare := filepath.Join(t.TempDir(), "bare.git")
	gittest.Run(t, dir, "clone", "-q", "--bare", dir, bare)
	plain := t.TempDir()
	for _, f := range files {
		gittest.Write(t, filepath.Join(plain, f), "")
	}
	outer := gittest.New(t, "elsewhere/f")
	for _, f := range files {
		gittest.Write(t, filepath.Join(outer, "sub", f), "")
	}
	gittest.Run(t, outer, "add", "--all")
	gittest.Run(t, outer, "commit", "-q", "--message=sub")
	for name, l := range map[string]Local{
		"work tree": {Path: dir}, "revision": {Path: dir, Revision: "HEAD"}, "bare": {Path: bare}, "plain": {Path: plain},
		"directory of a work tree": {Path: filepath.Join(outer, "sub")},
		"directory of a revision":  {Path: filepath.Join(outer, "sub"), Revision: "main"},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := open(t, l, "main")
			if err != nil {
				t.Fatal(err)
			}
			got, err := tree.Directories(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLinks(t *testing.T) {
	dir := gittest.New(t, "real/f")
	secret := filepath.Join(t.TempDir(), "secret")
	gittest.Write(t, secret, "hunter2")
	for name, target := range map[string]string{"out": secret, "up": "../../../../../../etc/hostname", "in": "real/f"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := open(t, Local{Path: dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"out": false, "up": false, "in": true} {
		files, err := tree.Files(context.Background(), name)
		if (err == nil) != ok {
			t.Errorf("%s: got %v, %v", name, files, err)
		}
	}
	gittest.Run(t, dir, "add", "--all")
	gittest.Run(t, dir, "commit", "-q", "--message=links")
	tree, err = open(t, Local{Path: dir, Revision: "HEAD"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Files(context.Background(), "out"); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("got %v", err)
	}
}

// TestMost: of a work tree that has what cannot be read, the rest is.
func TestMost(t *testing.T) {
	dir := gittest.New(t, "a.yaml", "apps/b.yaml")
	gittest.Write(t, filepath.Join(dir, "large"), strings.Repeat("x", 101))
	for name, to := range map[string]string{"link.yaml": "a.yaml", "folder": "apps", "dangling": "nothing", "out": "/etc/passwd"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := open(t, Local{Path: dir}, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	files, left, err := tr.Most(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.yaml", "apps/b.yaml", "link.yaml"}, tree.Names(files)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"dangling", "folder", "large", "out"}, left); diff != "" {
		t.Error(diff)
	}
	tr, err = open(t, Local{Path: dir, Revision: "HEAD"}, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if files, left, err := tr.Most(t.Context(), 100); len(files) != 2 || len(left) != 0 || err != nil {
		t.Errorf("%d files, %v, %v", len(files), left, err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := gittest.New(t, "f")
	shallow := filepath.Join(t.TempDir(), "shallow")
	if out, err := exec.Command("git", "clone", "-q", "--depth", "1", "file://"+dir, shallow).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, tt := range map[string]struct {
		l    Local
		rev  string
		want string
	}{
		"not in a shallow clone": {Local{Path: shallow, Revision: "HEAD~5"}, "", `"HEAD~5" in this clone, which is shallow: fetch its history`},
		"no directory":           {Local{Path: filepath.Join(dir, "nope")}, "", "no such file"},
		"a file":                 {Local{Path: filepath.Join(dir, "f")}, "", "not a directory"},
		"no revision":            {Local{Path: dir, Revision: "nope"}, "", `there is no revision "nope"`},
		"option as a revision":   {Local{Path: dir, Revision: "--help"}, "", "there is no revision"},
		"inside .git":            {Local{Path: filepath.Join(dir, ".git")}, "", "inside a .git directory"},
		"plain with revision":    {Local{Path: t.TempDir(), Revision: "main"}, "", "not in a Git repository"},
		"unknown commit":         {Local{Path: dir}, strings.Repeat("0", 40), "there is no revision"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, tt.l, tt.rev)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestFetchRefuses(t *testing.T) {
	s := New(Config{Env: environ.New(os.Environ()...)})
	defer s.Close()
	for _, tt := range [][2]string{
		{"--upload-pack=touch x", "main"},
		{"https://127.0.0.1:1/x", "--help"},
		{"https://127.0.0.1:1/x", "a:b"},
		{"ext::sh -c true", "main"},
	} {
		if _, err := s.Tree(context.Background(), tt[0], tt[1]); err == nil {
			t.Errorf("%v: no error", tt)
		}
	}
}

// TestLastMappingCounts: a repository with a port in its URL, mapped twice.
func TestLastMappingCounts(t *testing.T) {
	first, second := gittest.New(t, "first/f"), gittest.New(t, "second/f")
	s := New(Config{Offline: true, Env: environ.New(os.Environ()...), Local: []Local{
		{URL: "ssh://git@127.0.0.1:2222/x.git", Path: first}, {URL: "http://127.0.0.1:2222/x", Path: second},
	}})
	tree, err := s.Tree(context.Background(), "http://127.0.0.1:2222/x.git", "")
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := tree.Directories(context.Background())
	if err != nil || len(dirs) != 1 || dirs[0] != "second" {
		t.Errorf("got %v, %v", dirs, err)
	}
}

// TestTreeBomb: a few kilobytes with millions of paths are refused.
func TestTreeBomb(t *testing.T) {
	for name, c := range map[string]struct {
		width, levels int
		leaf          string
	}{
		"files":       {10, 7, "100644 blob BLOB\tf\n"},
		"directories": {2, 40, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := gittest.Nested(t, c.width, c.levels, c.leaf)
			if _, err := open(t, Local{Path: dir, Revision: "bomb"}, ""); err == nil || !strings.Contains(err.Error(), "limit") {
				t.Error(err)
			}
		})
	}
}
