package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/tree"
)

// link is a symbolic link.
func link(name, to string) string { return pax('x', "x", "linkpath", to) + record('2', name, "") }

func opener(content string) Opener {
	return func(context.Context) (io.Reader, error) { return strings.NewReader(content), nil }
}

func TestPick(t *testing.T) {
	limits := Limits{Entries: 20, FileBytes: 10, Bytes: 15}
	for name, test := range map[string]struct {
		content string
		dir     string
		want    map[string]string
		err     string
	}{
		"files": {
			content: record('5', "./", "") + record('0', "app/a.yaml", "1") + record('0', "other/b.yaml", "2") + end, dir: "app",
			want: map[string]string{"app/a.yaml": "1"},
		},
		"nothing": {content: record('0', "b", "2") + end, dir: "app"},
		"a link to a file": {
			content: link("app/l", "../x/f") + record('0', "x/f", "1") + end, dir: "app",
			want: map[string]string{"app/l": "1"},
		},
		"a link to a wanted file": {
			content: link("app/l", "f") + record('0', "app/f", "1") + end, dir: "app",
			want: map[string]string{"app/f": "1", "app/l": "1"},
		},
		"the directory is a link": {
			content: link("app", "x/y") + record('0', "x/y/f", "1") + end, dir: "app",
			want: map[string]string{"app/f": "1"},
		},
		"a link in a linked directory": {
			content: link("app", "x/y") + link("x/y/l", "../z") + record('0', "x/z", "1") + end,
			dir:     "app", want: map[string]string{"app/l": "1"},
		},
		"a directory in it is not asked for": {content: link("app/l", "../x") + record('0', "x/z", "1") + end, dir: "app"},
		"a link through a link": {
			content: link("app/l", "../x/f") + link("x", "y") + record('0', "y/f", "1") + end,
			dir:     "app", want: map[string]string{"app/l": "1"},
		},
		"links elsewhere are no one's": {content: link("bin/l", "/usr/bin/x") + link("bin/m", "m") + link("bin/n",
			"../../x") + link("bin/o", "none") + record('0', "app/f", "1") + end, dir: "app", want: map[string]string{"app/f": "1"}},
		"a link to the directory above": {
			content: link("app/l", "..") + record('0', "app/f", "1") + end, dir: "app",
			want: map[string]string{"app/f": "1"},
		},
		"out": {
			content: link("app/l", "../../etc/passwd") + end, dir: "app",
			err: `app/l: it is a symbolic link out of the repository`,
		},
		"absolute": {
			content: link("app/l", "/etc/passwd") + end, dir: "app",
			err: `app/l: it is a symbolic link out of the repository`,
		},
		"circle": {
			content: link("app/l", "m") + link("app/m", "l") + end, dir: "app",
			err: "it is a symbolic link that leads in a circle",
		},
		"to nothing": {
			content: link("app/l", "none") + end, dir: "app",
			err: `app/l: it is a symbolic link to something that is not there`,
		},
		"traversal": {
			content: record('0', "../x", "1") + end, dir: "app",
			err: `"../x": not a name in a repository`,
		},
		"absolute name": {
			content: record('0', "/etc/passwd", "1") + end, dir: "app",
			err: `"/etc/passwd": not a name in a repository`,
		},
		"hard link": {content: record('1', "x", "") + end, dir: "app", err: `"x": it is a hard link`},
		"device":    {content: record('3', "x", "") + end, dir: "app", err: `"x": it is a device`},
		"twice": {
			content: record('0', "x", "1") + record('0', "./x", "2") + end, dir: "app",
			err: `"./x": it is there twice`,
		},
		"a link twice": {
			content: link("x", "y") + record('0', "x", "2") + end, dir: "app",
			err: `"x": it is there twice`,
		},
		"a large file": {
			content: record('0', "app/x", "12345678901") + end, dir: "app",
			err: `"app/x": over the limit of 10 bytes for a file, or 15 for all that are needed`,
		},
		"a large file elsewhere": {
			content: record('0', "x", "12345678901") + record('0', "app/f", "1") + end, dir: "app",
			want: map[string]string{"app/f": "1"},
		},
		"large in sum": {
			content: record('0', "app/x", "1234567890") + record('0', "app/y", "1234567890") + end,
			dir:     "app", err: `"app/y": over the limit of 10 bytes for a file, or 15 for all that are needed`,
		},
		"many": {
			content: strings.Repeat(record('5', "d/", ""), 21) + end, dir: "app",
			err: "more than 20 files",
		},
		"no end": {content: record('0', "app/f", "1"), dir: "app", err: "damaged archive: its end is missing"},
		"a strange name": {
			content: record('0', "app/a\\b", "1") + end, dir: "app",
			err: "its name has characters that are not supported",
		},
		"a strange name elsewhere": {
			content: record('0', "a\\b", "1") + record('0', "app/f", "1") + end, dir: "app",
			want: map[string]string{"app/f": "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := Pick(t.Context(), opener(gz(test.content)), limits, tree.In(test.dir, nil))
			if err != nil || test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || test.err == "" {
					t.Fatalf("%v, want %q", err, test.err)
				}
				return
			}
			var got map[string]string
			for i, f := range files {
				if got == nil {
					got = map[string]string{}
				}
				got[f.Name] = string(f.Data)
				if i > 0 && files[i-1].Name >= f.Name {
					t.Error("not in order")
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := Pick(t.Context(), opener("plain"), limits, tree.In("app", nil)); err == nil || err.Error() != "damaged archive: not gzip" {
		t.Error(err)
	}
}

// TestPickLinks: with links to directories, as a Kustomization uses them, and by name.
func TestPickLinks(t *testing.T) {
	content := link("app/l", "../base") + link("app/m", "../base/sub") + link("app/self", ".") + link("base/f", "../x") + record('0',
		"base/g", "2") + record('0', "base/sub/h", "3") + record('0', "x", "1") + record('0', "base/large", "12") + end
	for name, c := range map[string]struct {
		wanted tree.Selection
		want   string
	}{
		"all": {
			tree.Selection{Links: true},
			"app/l/f=1 app/l/g=2 app/l/large=12 app/l/sub/h=3 app/m/h=3 base/f=1 base/g=2 base/large=12 base/sub/h=3 x=1",
		},
		"a directory": {tree.Selection{Dir: "app/l"}, "app/l/f=1 app/l/g=2 app/l/large=12 app/l/sub/h=3"},
		"some of it": {tree.In("app/l", func(name string) bool {
			return !strings.HasSuffix(name, "h") && !strings.HasSuffix(name, "large")
		}), "app/l/f=1 app/l/g=2"},
		"small ones": {tree.Selection{Dir: "base", MaxBytes: 1}, "base/f=1 base/g=2 base/sub/h=3"},
		"by name": {
			tree.Selection{Names: []string{"app/l/f", "app/l/sub/h", "x", "none", "app/l/none"}},
			"app/l/f=1 app/l/sub/h=3 x=1",
		},
		"not below itself": {tree.Selection{Dir: "app/self", Links: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := Pick(t.Context(), opener(gz(content)), Limits{Entries: 20, FileBytes: 10, Bytes: 100}, c.wanted)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range files {
				got = append(got, f.Name+"="+string(f.Data))
			}
			if name == "not below itself" {
				return // that it ends is enough
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

// TestLargeLinks: links that multiply cost a bounded amount of work.
func TestLargeLinks(t *testing.T) {
	hostile.Unraced(t)
	var b strings.Builder
	const n = 300
	for level := range 5 {
		for i := range n {
			b.WriteString(link(fmt.Sprintf("d%d/l%d", level, i), fmt.Sprintf("../d%d", level+1)))
		}
	}
	b.WriteString(record('0', "d5/f", "1") + record('0', "app/s3-source.yaml", "x") + end)
	content := gz(b.String())
	if ok, err := Has(strings.NewReader(content), "app/s3-source.yaml"); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	for _, wanted := range []tree.Selection{{Names: []string{"app/s3-source.yaml"}}, {Dir: "app"}, {Dir: "d0/l1/l2/l3/l4/l5"}} {
		if _, err := Pick(t.Context(), opener(content), RepositoryLimits, wanted); err != nil {
			t.Errorf("%+v: %v", wanted, err)
		}
	}
	if _, err := Pick(t.Context(), opener(content), RepositoryLimits, tree.Selection{Links: true}); err == nil ||
		!strings.Contains(err.Error(), "symbolic links lead to more than") {
		t.Error(err)
	}
}

func TestHasLarge(t *testing.T) {
	hostile.Unraced(t)
	var links strings.Builder
	for i := range maxKept / 100 {
		links.WriteString(link(fmt.Sprint("l", i), "x"))
	}
	many := links.String()
	for name, c := range map[string]struct {
		content string
		want    bool
	}{
		"there":                 {record('0', "a", "") + record('0', "app/t.yaml", "x") + end, true},
		"there, then damage":    {record('0', "app/t.yaml", "x"), true},
		"a link":                {link("app/t.yaml", "/etc/passwd") + end, true},
		"the directory is one":  {link("app", "x") + record('0', "x/t.yaml", "x") + end, true},
		"a link in a linked":    {link("app", "x") + link("x/t.yaml", "y") + end, true},
		"elsewhere":             {record('0', "t.yaml", "x") + record('0', "app/t.yaml/x", "x") + end, false},
		"a directory":           {record('5', "app/t.yaml/", "") + end, false},
		"the directory is gone": {link("app", "x") + end, false},
		"beside many links":     {many + end, false},
		"behind many links":     {many + record('0', "app/t.yaml", "x") + end, true},
	} {
		if got, err := Has(strings.NewReader(gz(c.content)), "app/t.yaml"); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, content := range map[string]string{
		"truncated": record('0', "x", "x"), "traversal": record('0', "../x", "x") + end,
		"by one of many links": many + link("app", "x") + record('0', "x/t.yaml", "x") + end,
	} {
		if got, err := Has(strings.NewReader(gz(content)), "app/t.yaml"); got || err == nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestHasLimit: what is unpacked to find a file is bounded, also if it packs to nothing.
func TestHasLimit(t *testing.T) {
	zeros := record('0', "zeros", strings.Repeat("\x00", 1<<20))
	found, err := has(strings.NewReader(gz(zeros+record('0', "app/t.yaml", "x")+end)), "app/t.yaml", 1<<20)
	if found || err == nil || err.Error() != "searching stopped after 1048576 unpacked bytes" {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := has(strings.NewReader(gz(record('0', "app/t.yaml", "x")+zeros+end)), "app/t.yaml", 1<<20); !found || err != nil {
		t.Errorf("before the limit: %v, %v", found, err)
	}
}

func FuzzPick(f *testing.F) {
	f.Add([]byte(record('5', "./", "") + record('0', "app/a.yaml", "1") + link("app/l", "../x") + link("x", "y") + record('0', "y/f",
		"2") + end))
	limits := Limits{Entries: 20, FileBytes: 1 << 12, Bytes: 1 << 13}
	f.Fuzz(func(t *testing.T, content []byte) {
		// Stored: packing would take all of the time.
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.NoCompression)
		w.Write(content)
		w.Close()
		files, err := Pick(t.Context(), opener(packed.String()), limits, tree.In("app", nil))
		if err != nil {
			if files != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%d files and %v", len(files), err)
			}
			return
		}
		for _, file := range files {
			if !strings.HasPrefix(file.Name, "app/") || !tree.Safe(file.Name) || int64(len(file.Data)) > limits.FileBytes {
				t.Errorf("file %q has %d bytes", file.Name, len(file.Data))
			}
		}
	})
}
