package tree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/tree"
)

// links makes a view of names and contents; a content that begins with "->" is the target of a link. It records what is read.
func links(pairs ...string) (*tree.View, *recorder) {
	names, r := map[string]bool{}, &recorder{content: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		target, isLink := strings.CutPrefix(pairs[i+1], "->")
		names[pairs[i]], r.content[pairs[i]] = isLink, target
	}
	return tree.NewView(names, r.get), r
}

type recorder struct {
	content map[string]string
	mu      sync.Mutex
	read    []string
}

func (r *recorder) get(_ context.Context, name string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = append(r.read, name)
	return []byte(r.content[name]), nil
}

func TestResolve(t *testing.T) {
	v, _ := links("a/f", "content", "a/b/g", "g", "l", "->a", "a/up", "->../a/b", "a/f2", "->f", "chain", "->l/f2", "out", "->../x", "abs",
		"->/etc", "gone", "->nowhere", "circle", "->circle2",
		"circle2", "->circle", "detour", "->a/../../x/y", "dot", "->.", "long", "->a/./b/../f")
	for name, want := range map[string]string{
		"a/f": "a/f file", "a": "a directory", ".": ". directory", "a/": "a directory", "l": "a directory", "l/f": "a/f file",
		"l/up/g": "a/b/g file", "chain": "a/f file", "dot/dot/l/f": "a/f file",
		"long": "a/f file", "nothing": "nothing none", "a/f/x": "a/f/x none", "gone": "nowhere none", "gone/x": "nowhere/x none",
		"out": "out: it is a symbolic link out of the repository", "abs/passwd": "abs: it is a symbolic link out of the repository",
		"detour": "detour: it is a symbolic link out of the repository", "circle": "circle: it is a symbolic link that leads in a circle",
	} {
		real, kind, err := v.Resolve(t.Context(), name)
		got := real + " " + []string{"none", "file", "directory"}[kind]
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if _, _, err := v.Resolve(t.Context(), "out"); !errors.Is(err, tree.ErrOutside) {
		t.Error(err)
	}
	if _, err := v.Read(t.Context(), "gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := v.Read(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if data, err := v.Read(t.Context(), "chain"); err != nil || string(data) != "content" {
		t.Error(string(data), err)
	}
}

func TestNames(t *testing.T) {
	v, _ := links("b", "", "a", "->b", "dir/x", "", "dir/sub/y", "")
	if diff := cmp.Diff([]string{"a", "b"}, v.Names(".")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x"}, v.Names("dir/")); diff != "" {
		t.Error(diff)
	}
	if !v.IsLink("a") || v.IsLink("b") || v.IsLink("dir") {
		t.Error("IsLink")
	}
}

// TestOutside: what Argo CD refuses a repository for, found by reading links only, and once.
func TestOutside(t *testing.T) {
	for pairs, want := range map[[4]string]string{
		{"a", "x", "l", "->a"}:                   "",
		{"a", "x", "l", "->nowhere"}:             "",
		{"a", "x", "d/l", "->../a"}:              "",
		{"a", "x", "d/l", "->../../a"}:           "d/l",
		{"a", "x", "l", "->/a"}:                  "l",
		{"a", "x", "l", "->.."}:                  "l",
		{"a", "x", "d/e/l", "->../../../repo/a"}: "d/e/l",
		{"z", "->/x", "l", "->../x"}:             "l",
		{"a", "x", "l", "->..a"}:                 "",
		{"a", "x", "l", "->d/../../../a"}:        "l",
	} {
		v, r := links(pairs[:]...)
		for range 2 {
			if got, err := v.Outside(t.Context()); got != want || err != nil {
				t.Errorf("%v: got %q, %v, want %q", pairs, got, err, want)
			}
		}
		if slices.Contains(r.read, "a") || len(r.read) > 2 {
			t.Errorf("%v: read %v", pairs, r.read)
		}
	}
}

func TestWalk(t *testing.T) {
	v, _ := links("b", "", "a/x", "", "a.b/y", "", "a-b", "", "l", "->a", "a/back", "->..", "gone", "->nowhere", "out", "->/x", "sub/l2",
		"->../a.b", "f", "->b")
	walk := func(dir string, follow bool) string {
		var got []string
		err := v.Walk(t.Context(), dir, follow, func(name string, kind tree.Kind) error {
			if kind == tree.Directory {
				return nil
			}
			got = append(got, name+" "+[]string{"link", "file", "directory"}[kind])
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return strings.Join(got, ", ")
	}
	// filepath.Walk has "a" in front of "a-b", because it sorts the names in each directory.
	for _, tt := range []struct {
		dir    string
		follow bool
		want   string
	}{
		{".", false, "a/back link, a/x file, a-b file, a.b/y file, b file, f link, gone link, l link, out link, sub/l2 link"},
		{"", true, "a/x file, a-b file, a.b/y file, b file, f file, gone link, l/x file, out link, sub/l2/y file"},
		{"l", false, "l/back link, l/x file"},
		{"sub", true, "sub/l2/y file"},
		{"nothing", true, ""},
		{"b", true, ""},
	} {
		if diff := cmp.Diff(tt.want, walk(tt.dir, tt.follow)); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", tt.dir, tt.follow, diff)
		}
	}
	skipped := 0
	if err := v.Walk(t.Context(), ".", false, func(name string, kind tree.Kind) error {
		if skipped++; kind == tree.Directory {
			return fs.SkipDir
		}
		if strings.Contains(name, "/") {
			t.Error(name)
		}
		return nil
	}); err != nil || skipped == 0 {
		t.Error(err)
	}
	stop := errors.New("stop")
	if err := v.Walk(t.Context(), ".", false, func(string, tree.Kind) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestLinkBomb: ten links to a directory, in each of ten directories, are ten thousand million files.
func TestLinkBomb(t *testing.T) {
	var pairs []string
	for i := range 10 {
		for j := range 10 {
			pairs = append(pairs, fmt.Sprintf("d%d/l%d", i, j), fmt.Sprintf("->../d%d", i+1))
		}
	}
	v, _ := links(append(pairs, "d10/f", "x")...)
	_, err := v.Select(t.Context(), tree.Selection{Dir: "d0", Links: true})
	if err == nil || !strings.Contains(err.Error(), "symbolic links lead to more than 200000 files") {
		t.Error(err)
	}
	if files, err := v.Select(t.Context(), tree.Selection{Dir: "d0"}); err != nil || len(files) != 0 {
		t.Error(files, err)
	}
	big := strings.Repeat("x", 9<<20)
	v, _ = links("d/f", big, "a/l0", "->../d", "a/l1", "->../d", "b/l0", "->../a", "b/l1", "->../a", "c/l0", "->../b", "c/l1", "->../b",
		"e/l0", "->../c", "e/l1", "->../c",
		"g/l0", "->../e", "g/l1", "->../e", "h/l0", "->../g", "h/l1", "->../g")
	_, err = v.Select(t.Context(), tree.Selection{Dir: "h", Links: true})
	if err == nil || !strings.Contains(err.Error(), "more than 512 MiB") {
		t.Error(err)
	}
}

func TestSelect(t *testing.T) {
	v, r := links("d/a", "a", "d/b", "bbbbbbbbbb", "d/l", "->a", "d/s", "->../e", "e/x", "x", "e/dead", "->nowhere", "other", "other")
	names := func(s tree.Selection) string {
		files, err := v.Select(t.Context(), s)
		if err != nil {
			return err.Error()
		}
		return strings.Join(tree.Names(files), " ")
	}
	for _, tt := range []struct {
		wanted tree.Selection
		want   string
	}{
		{tree.In("d", nil), "d/a d/b d/l"},
		{tree.In("d", func(name string) bool { return name != "d/a" }), "d/b d/l"},
		{tree.Selection{Dir: "d", MaxBytes: 5}, "d/a d/l"},
		{tree.Selection{Dir: "d", Links: true}, "d/s/dead: it is a symbolic link to something that is not there"},
		{tree.Selection{Dir: "d", Links: true, Keep: func(name string) bool {
			return !strings.HasSuffix(name, "dead")
		}}, "d/a d/b d/l d/s/x"},
		{tree.Selection{Names: []string{"e/x", "d/l", "nothing", "d", "d/l"}}, "d/l e/x"},
		{tree.Selection{Names: []string{}}, ""},
		{tree.In("nothing", nil), ""},
	} {
		if diff := cmp.Diff(tt.want, names(tt.wanted)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.wanted, diff)
		}
	}
	if slices.Contains(r.read, "other") {
		t.Error("a file that nobody wants was read")
	}
	count := 0
	for _, name := range r.read {
		if name == "d/a" {
			count++
		}
	}
	if count != 1 {
		t.Errorf("d/a was read %d times", count)
	}
}

func TestCheckNames(t *testing.T) {
	list := []tree.File{{Name: "a"}, {Name: "../c"}, {Name: "a//b"}, {Name: "a/"}, {Name: `d\e`}}
	err := tree.CheckNames(list, "helm", func(name string) string { return "s3://b/" + name })
	want := `s3://b/../c: this key is not a valid file name, which type helm needs
s3://b/a//b: this key is not a valid file name, which type helm needs
s3://b/a/: this key is not a valid file name, which type helm needs
s3://b/d\e: this key is not a valid file name, which type helm needs`
	if err == nil || err.Error() != want {
		t.Error(err)
	}
}

// TestAbsent: directories whose content is not here are errors for whoever reaches them, and for nobody else.
func TestAbsent(t *testing.T) {
	v, _ := links("a/x", "x", "b/y", "y")
	v.Without(map[string]string{"a/sub": "it is a submodule"})
	var unreadable tree.UnreadableError
	for _, name := range []string{"a/sub", "a/sub/x"} {
		if _, _, err := v.Resolve(t.Context(), name); !errors.As(err, &unreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := v.Select(t.Context(), tree.Selection{Dir: "a"}); !errors.As(err, &unreadable) ||
		err.Error() != "a/sub: it is a submodule" {
		t.Error(err)
	}
	if files, err := v.Select(t.Context(), tree.Selection{Dir: "b"}); err != nil || len(files) != 1 {
		t.Error(files, err)
	}
}

// TestUnkept: a view without a memory reads each time.
func TestUnkept(t *testing.T) {
	reads := 0
	view := func() *tree.View {
		return tree.NewView(map[string]bool{"a": false}, func(context.Context, string) ([]byte, error) {
			reads++
			return []byte("x"), nil
		})
	}
	for _, c := range []struct {
		view *tree.View
		want int
	}{{view(), 1}, {view().Unkept(), 3}} {
		reads = 0
		for range 3 {
			if data, err := c.view.Read(t.Context(), "a"); err != nil || string(data) != "x" {
				t.Errorf("%q, %v", data, err)
			}
		}
		if reads != c.want {
			t.Errorf("read %d times, want %d", reads, c.want)
		}
	}
}
