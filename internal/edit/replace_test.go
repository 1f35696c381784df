package edit

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReplaceFiles replaces all files or none, keeps their modes, and leaves nothing behind but the content of files that it cannot restore.
func TestReplaceFiles(t *testing.T) {
	broken := errors.New("no space left")
	for name, c := range map[string]struct {
		failAt  []int // of the renames, from 1
		changed string
		want    map[string]string
		err     string
	}{
		"all": {want: map[string]string{"a": "A", "b": "B", "c": "C"}},
		"the last fails": {
			failAt: []int{3}, want: map[string]string{"a": "a", "b": "b", "c": "c"},
			err: "DIR/c: no space left; nothing was changed",
		},
		"the first fails": {
			failAt: []int{1}, want: map[string]string{"a": "a", "b": "b", "c": "c"},
			err: "DIR/a: no space left; nothing was changed",
		},
		"a restore fails, too": {
			failAt: []int{3, 4}, want: map[string]string{"a": "A", "b": "b", "c": "c", "old": "a"},
			err: "DIR/c: no space left\nDIR/a has its new content: restoring it: no space left; its old content is in old",
		},
		"changed meanwhile": {
			changed: "b", want: map[string]string{"a": "a", "b": "other", "c": "c"},
			err: "DIR/b: somebody else has changed it in the meantime; run this again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var files []replacement
			for _, name := range []string{"a", "b", "c"} {
				file := filepath.Join(dir, name)
				if err := os.WriteFile(file, []byte(name), 0o640); err != nil {
					t.Fatal(err)
				}
				files = append(files, replacement{file: file, before: []byte(name), after: []byte{name[0] - 'a' + 'A'}})
			}
			if c.changed != "" {
				if err := os.WriteFile(filepath.Join(dir, c.changed), []byte("other"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			renames := 0
			err := replaceFiles(files, func(from, to string) error {
				if renames++; slices.Contains(c.failAt, renames) {
					return &os.LinkError{Op: "rename", Old: from, New: to, Err: broken}
				}
				return os.Rename(from, to)
			})
			kept := regexp.MustCompile(`\.argosy-\d+`)
			if got := kept.ReplaceAllString(errText(err, dir), "old"); got != c.err {
				t.Errorf("got %q, want %q", got, c.err)
			}
			got := map[string]string{}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				data, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				got[kept.ReplaceAllString(e.Name(), "old")] = string(data)
				if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o640 {
					t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func errText(err error, dir string) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), dir, "DIR")
}
