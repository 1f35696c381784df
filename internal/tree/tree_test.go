package tree_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/tree"
)

func TestSafe(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "a/b.yaml": true, ".hidden/x": true, "ünï/cödé": true, "a b": true, "..a": true, "ab:c": true,
		"": false, ".": false, "..": false, "/a": false, "a/": false, "a//b": false, "a/../b": false, "./a": false, `a\b`: false,
		"a\nb": false, "a\x00": false, "a\x7f": false, "C:x": false, "\xff": false,
	} {
		if got := tree.Safe(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func TestIsManifest(t *testing.T) {
	for name, want := range map[string]bool{
		"a.yaml": true, "a/b.yml": true, "a.JSON": true, ".yaml": true, "a": false, "a.yaml.tpl": false, "yaml": false, "a.jsonnet": false,
		"dir.yaml/a": false,
	} {
		if got := tree.IsManifest(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func files(names ...string) []tree.File {
	var out []tree.File
	for _, name := range names {
		out = append(out, tree.File{Name: name, Data: []byte("content of " + name)})
	}
	return out
}

func TestFind(t *testing.T) {
	list := files("b", "a/c", "a")
	if data, ok := tree.Find(list, "a/c"); !ok || string(data) != "content of a/c" {
		t.Errorf("%q, %t", data, ok)
	}
	if _, ok := tree.Find(list, "c"); ok {
		t.Error("found what is not there")
	}
	tree.Sort(list)
	if diff := cmp.Diff([]string{"a", "a/c", "b"}, tree.Names(list)); diff != "" {
		t.Error(diff)
	}
}

// TestTop: the directory around an archive is taken away, if there is one.
func TestTop(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"one directory", "x/a x/b/c", "a b/c"},
		{"one level only", "x/y/a x/y/b", "y/a y/b"},
		{"a file beside it", "a x/a", "a x/a"},
		{"a file behind it", "x/a y", "x/a y"},
		{"two directories", "x/a y/a", "x/a y/a"},
		{"a name that begins like it", "x/a xy/a", "x/a xy/a"},
	} {
		list := files(strings.Fields(tt.in)...)
		got := tree.Top(list)
		if diff := cmp.Diff(strings.Fields(tt.want), tree.Names(got)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		for i := range got {
			if string(got[i].Data) != string(list[i].Data) {
				t.Errorf("%s: %s has the content of another file", tt.name, got[i].Name)
			}
		}
		if diff := cmp.Diff(strings.Fields(tt.in), tree.Names(list)); diff != "" {
			t.Errorf("%s changed its argument: %s", tt.name, diff)
		}
	}
	if got := tree.Top(nil); len(got) != 0 {
		t.Error(got)
	}
}

func TestSelection(t *testing.T) {
	notB := func(name string) bool { return name != "d/b" }
	for _, tt := range []struct {
		name   string
		wanted tree.Selection
		want   string
	}{
		{"all", tree.Selection{}, "a d/a d/b d/e/f da"},
		{"the root", tree.In(".", nil), "a d/a d/b d/e/f da"},
		{"a directory", tree.In("d/", nil), "d/a d/b d/e/f"},
		{"some of it", tree.In("d", notB), "d/a d/e/f"},
		{"names, whatever else", tree.Selection{Names: []string{"a", "d/b"}, Dir: "d", Keep: notB}, "a d/b"},
		{"no names", tree.Selection{Names: []string{}}, ""},
	} {
		var got []string
		for _, name := range []string{"a", "d/a", "d/b", "d/e/f", "da"} {
			if tt.wanted.Wants(name) {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if got := tree.In("d", nil).Relative("d/e/f"); got != "e/f" {
		t.Error(got)
	}
}

// TestFS: files are read when they are opened, and an error is the function's own.
func TestFS(t *testing.T) {
	away := errors.New("away")
	f := tree.FS(func(name string) ([]byte, error) {
		if name == "away" {
			return nil, away
		}
		return []byte("content of " + name), nil
	})
	data, err := fs.ReadFile(f, "a/b")
	if err != nil || string(data) != "content of a/b" {
		t.Errorf("%q, %v", data, err)
	}
	opened, err := f.Open("a/b")
	if err != nil {
		t.Fatal(err)
	}
	info, err := opened.Stat()
	if err != nil || info.Name() != "b" || info.Size() != 14 || info.IsDir() || info.Mode() != 0o444 || !info.ModTime().IsZero() ||
		info.Sys() != nil {
		t.Errorf("%+v, %v", info, err)
	}
	if data, err := io.ReadAll(opened); err != nil || len(data) != 14 || opened.Close() != nil {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := f.Open("away"); !errors.Is(err, away) {
		t.Error(err)
	}
	for _, name := range []string{"../x", "/x", "a//b", ""} {
		if _, err := f.Open(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestOf: a view of files in memory.
func TestOf(t *testing.T) {
	v := tree.Of(files("a/b", "c"))
	if diff := cmp.Diff(map[string]bool{"a/b": false, "c": false}, v.All()); diff != "" {
		t.Error(diff)
	}
	if !v.Has("c") || v.Has("a") || v.Has("x") {
		t.Error("Has")
	}
	if data, err := v.Raw(t.Context(), "a/b"); err != nil || string(data) != "content of a/b" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := v.Raw(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	v.Without(map[string]string{"sub": "it is a submodule"})
	if diff := cmp.Diff(map[string]string{"sub": "it is a submodule"}, v.Absent()); diff != "" {
		t.Error(diff)
	}
}

// TestRaw: a link itself is its target.
func TestRaw(t *testing.T) {
	v, _ := links("a", "content", "l", "->a")
	if data, err := v.Raw(t.Context(), "l"); err != nil || string(data) != "a" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := v.Read(t.Context(), "l"); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestUnreadable: a file that cannot be read now is not one that is not there, and is read again the next time.
func TestUnreadable(t *testing.T) {
	away := errors.New("away")
	fail := true
	v := tree.NewView(map[string]bool{"a": false, "l": true}, func(context.Context, string) ([]byte, error) {
		if fail {
			return nil, away
		}
		return []byte("a"), nil
	})
	for name, read := range map[string]func() error{
		"a file":       func() error { _, err := v.Read(t.Context(), "a"); return err },
		"itself":       func() error { _, err := v.Raw(t.Context(), "a"); return err },
		"a link":       func() error { _, _, err := v.Resolve(t.Context(), "l"); return err },
		"a selection":  func() error { _, err := v.Select(t.Context(), tree.In(".", nil)); return err },
		"named files":  func() error { _, err := v.Select(t.Context(), tree.Selection{Names: []string{"a"}}); return err },
		"links beyond": func() error { _, err := v.Outside(t.Context()); return err },
	} {
		var unreadable tree.UnreadableError
		if err := read(); !errors.As(err, &unreadable) || !errors.Is(err, away) || err.Error() != "away" || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fail = false
	if data, err := v.Read(t.Context(), "l"); err != nil || string(data) != "a" {
		t.Errorf("%q, %v", data, err)
	}
}
