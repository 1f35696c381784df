package edit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/gitsource"
)

// TestFiles: all files are replaced or none; those outside of the work trees stay, also behind links.
func TestFiles(t *testing.T) {
	top := t.TempDir()
	outside := filepath.Join(top, "outside.yaml")
	tree := filepath.Join(top, "tree")
	local := []gitsource.Local{{Path: filepath.Join(top, "old"), Revision: "HEAD"}, {Path: tree}}
	reset := func() {
		t.Helper()
		if err := os.RemoveAll(tree); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(tree, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{outside, filepath.Join(tree, "a.yaml"), filepath.Join(tree, "b.yaml")} {
			if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for link, target := range map[string]string{"link.yaml": "a.yaml", "out.yaml": "../outside.yaml", "up": ".."} {
			if err := os.Symlink(target, filepath.Join(tree, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		files   []File
		want    map[string]string // that are new
		outside []string
		err     string
	}{
		"two":      {files: []File{{Name: "a.yaml"}, {Name: "b.yaml"}}, want: map[string]string{"a.yaml": "new", "b.yaml": "new"}},
		"none":     {},
		"a link":   {files: []File{{Name: "link.yaml"}}, want: map[string]string{"a.yaml": "new"}},
		"and both": {files: []File{{Name: "link.yaml"}, {Name: "a.yaml", After: []byte("other")}}, want: map[string]string{"a.yaml": "new"}},
		"outside": {
			files:   []File{{Name: "out.yaml"}, {Name: "a.yaml"}, {Name: "../outside.yaml"}, {Name: "up/outside.yaml"}, {Name: "gone.yaml"}},
			want:    map[string]string{"a.yaml": "new"},
			outside: []string{"out.yaml", "../outside.yaml", "up/outside.yaml", "gone.yaml"},
		},
		"changed in the meantime": {
			files: []File{{Name: "a.yaml"}, {Name: "b.yaml", Before: []byte("older")}}, err: "b.yaml: somebody else has changed it in the meantime; run this again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			reset()
			t.Chdir(tree)
			for i, f := range c.files {
				if f.Before == nil {
					c.files[i].Before = []byte("old")
				}
				if f.After == nil {
					c.files[i].After = []byte("new")
				}
			}
			left, err := Files(local, c.files)
			if err != nil && (c.err == "" || !strings.HasSuffix(err.Error(), c.err)) || err == nil && c.err != "" {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff(c.outside, left); diff != "" {
				t.Errorf("outside (-want +got):\n%s", diff)
			}
			got := map[string]string{}
			for _, name := range []string{"a.yaml", "b.yaml", "../outside.yaml"} {
				if data, err := os.ReadFile(name); err != nil || string(data) != "old" {
					got[name] = string(data)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" && len(c.want)+len(got) > 0 {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if all, err := filepath.Glob(".argosy-*"); err != nil || len(all) > 0 {
				t.Errorf("left: %v", all)
			}
			if target, err := os.Readlink("link.yaml"); err != nil || target != "a.yaml" {
				t.Errorf("the link is gone: %v", err)
			}
		})
	}
}
