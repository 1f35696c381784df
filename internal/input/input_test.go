package input_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// write makes files below the working directory, which is a new one.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDocuments(t *testing.T) {
	write(t, map[string]string{
		"one.txt": "a: one\n", "dir/b.yaml": "a: b\n---\na: b2\n", "dir/a.JSON": `{"a":"a"}`, "dir/.hidden.yaml": "a: hidden\n",
		"dir/readme.md": "a: readme\n",
		"dir/sub/c.yml": "a: c\n", "dir/.git/d.yaml": "a: git\n", "empty/x.txt": "", "bad/x.yaml": "a: [\n",
	})
	if err := os.Symlink("dir", "link"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args      []string
		recursive bool
		want, err string
		about     string
	}{
		"a file of any name":  {args: []string{"one.txt"}, want: "one"},
		"a directory":         {args: []string{"dir"}, want: "a b b2"},
		"and what is below":   {args: []string{"dir/"}, recursive: true, want: "a b b2 c"},
		"a link to one":       {args: []string{"link"}, want: "a b b2"},
		"in order":            {args: []string{"dir/sub", "-", "one.txt"}, want: "c stdin one"},
		"nothing in it":       {args: []string{"empty"}, err: "empty: no .yaml, .yml or .json file in this directory"},
		"all problems":        {args: []string{"no", "one.txt", "bad"}, want: "one", err: "no: no such file or directory\nbad/x.yaml:"},
		"problems of others":  {args: []string{"dir", "bad", "one.txt"}, about: "b2", want: "a b b2 one"},
		"problems of ours":    {args: []string{"one.txt", "bad"}, about: "a", want: "one", err: "bad/x.yaml:"},
		"standard input only": {args: []string{"-"}, want: "stdin"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := input.Documents(strings.NewReader("a: stdin\n"), c.args, c.recursive, c.about)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			var got []string
			for _, d := range docs {
				got = append(got, manifest.String(d.Object, "a"))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestLimit reads no more than manifest.Decode needs to refuse a file.
func TestLimit(t *testing.T) {
	write(t, map[string]string{"large": strings.Repeat("#", manifest.MaxBytes+100)})
	for name, read := range map[string]func() ([]byte, error){
		"file": func() ([]byte, error) { return input.File("large") },
		"standard input": func() ([]byte, error) {
			return input.FileOr(strings.NewReader(strings.Repeat("#", manifest.MaxBytes+100)), "-")
		},
	} {
		data, err := read()
		if err != nil || len(data) != manifest.MaxBytes+1 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		if _, err := manifest.Decode("large", data); err == nil {
			t.Errorf("%s: it was decoded", name)
		}
	}
}

func TestDir(t *testing.T) {
	write(t, map[string]string{"dir/file": "", "outside": ""})
	root, err := input.Dir("dir")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.Open("../outside"); err == nil {
		t.Error("a name leads out of the directory")
	}
	if _, err := input.Dir("no"); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "no: ") {
		t.Error(err)
	}
}

func TestNear(t *testing.T) {
	write(t, nil)
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		filepath.Join(here, "a/b"): filepath.FromSlash("a/b"), "./a/../b": "b", "../x": "../x", "/elsewhere/x": "/elsewhere/x", here: ".",
	} {
		if got := input.Near(file); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}
