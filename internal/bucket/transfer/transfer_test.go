package transfer_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/tree"
)

// write makes the files of a directory; "-> x" is a link to x.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(target, file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// files are those of a directory, without its links.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func listOf(files map[string]string) []tree.File {
	var out []tree.File
	for name, text := range files {
		out = append(out, tree.File{Name: name, Data: []byte(text)})
	}
	tree.Sort(out)
	return out
}

func TestReadDir(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
		note  string
		err   string
	}{
		"in order": {files: map[string]string{"b": "1", "a/x": "2", ".hidden": "3"}, want: []string{".hidden", "a/x", "b"}},
		"hidden directory": {
			files: map[string]string{"a": "1", ".git/x": "2"}, want: []string{"a"},
			note: ".git is left out, as all hidden directories are",
		},
		"its own index": {files: map[string]string{"a": "1", bucket.IndexName: "2"}, want: []string{"a"}},
		"a link": {
			files: map[string]string{"a": "1", "b": "-> a"},
			err:   "b: only files and directories are read, no links and no devices",
		},
		"nothing": {
			files: map[string]string{".git/x": "2"}, note: ".git is left out, as all hidden directories are",
			err: "there are no files in this directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, c.files)
			var notes []string
			list, err := transfer.ReadDir(dir, func(line string) { notes = append(notes, line) })
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasSuffix(err.Error(), c.err)) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, tree.Names(list)); diff != "" && len(c.want)+len(list) > 0 {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if strings.Join(notes, "\n") != c.note {
				t.Errorf("%q", notes)
			}
		})
	}
	if _, err := transfer.ReadDir(filepath.Join(t.TempDir(), "no"), nil); err == nil ||
		!strings.HasSuffix(err.Error(), "no: no such file or directory") {
		t.Error(err)
	}
}

func reader(m *buckettest.Memory) *bucket.Reader {
	return &bucket.Reader{Store: m, Bucket: "abc", ID: "abc", Limits: bucket.DefaultLimits}
}

// TestPushAndPull publishes a directory, as files and as archives, and gets the same back.
func TestPushAndPull(t *testing.T) {
	content := map[string]string{"a.yaml": "a", "sub/b.yaml": "b"}
	for _, path := range []string{"apps/demo", "apps/demo.tar.gz", "apps/demo.tar.zst", "apps/demo.tar"} {
		t.Run(path, func(t *testing.T) {
			m := &buckettest.Memory{}
			push := transfer.Push{
				URL: bucket.URL{Bucket: "abc", Path: path}, Archive: strings.Contains(path, ".tar"), Store: m,
				Files: listOf(content),
			}
			if err := push.Check(); err != nil {
				t.Fatal(err)
			}
			dry := push
			dry.DryRun = true
			result, err := dry.Run(t.Context())
			if err != nil || len(result.Uploaded) == 0 || len(m.Keys()) > 0 {
				t.Fatalf("%+v, %v, %v", result, m.Keys(), err)
			}
			first, err := push.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			again, err := push.Run(t.Context())
			if err != nil || len(again.Uploaded) > 0 || again.Digest != first.Digest {
				t.Errorf("%+v, %v", again, err)
			}
			snapshot, err := transfer.Read(t.Context(), reader(m), push.URL, first.Digest)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "new")
			var out strings.Builder
			if err := (transfer.Pull{URL: push.URL, Dir: dir}).Write(&out, io.Discard, snapshot); err != nil ||
				out.String() != snapshot.Digest+"\n" {
				t.Errorf("%s, %v", out.String(), err)
			}
			if diff := cmp.Diff(content, files(t, dir)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for want, p := range map[string]transfer.Push{
		"with --archive, PATH must end in .tar.gz, .tgz, .tar.zst or .tar":   {URL: bucket.URL{Path: "x.zip"}, Archive: true},
		"PATH ends as the name of an archive does; --archive makes one":      {URL: bucket.URL{Path: "x.tgz"}},
		"--prune and --archive exclude each other: an archive is one object": {URL: bucket.URL{Path: "x.tgz"}, Archive: true, Prune: true},
		"with --archive, PATH must end in .tar.gz, .tgz, .tar.zst or .tar\n": {URL: bucket.URL{Path: "x"}, Archive: true},
	} {
		if err := p.Check(); err == nil || err.Error() != strings.TrimSpace(want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestReport(t *testing.T) {
	r := &bucket.Published{Digest: "sha256:1", Uploaded: []string{"a\x1b"}, Unchanged: 2, Deleted: []string{"b"}, Left: []string{"c", "d"}}
	for dry, want := range map[bool]string{
		false: "s3://abc/x: 1 file uploaded, 2 unchanged, 1 deleted\nnote: 2 files in the bucket but not in the directory, such as c; readers do not see them, --prune deletes them\n",
		true: "upload \"a\\x1b\"\ndelete b\ns3://abc/x: 1 file would be uploaded, 2 unchanged, 1 would be deleted\n" +
			"note: 2 files in the bucket but not in the directory, such as c; readers do not see them, --prune deletes them\n",
	} {
		var out, talk strings.Builder
		if err := (transfer.Push{URL: bucket.URL{Bucket: "abc", Path: "x"}, DryRun: dry}).Report(&out, &talk, r); err != nil ||
			out.String() != "sha256:1\n" {
			t.Errorf("%s, %v", out.String(), err)
		}
		if diff := cmp.Diff(want, talk.String()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// TestPull writes what a snapshot has, and nothing outside of the directory.
func TestPull(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for name, c := range map[string]struct {
		before, snapshot, want map[string]string
		pull                   transfer.Pull
		single                 bool
		talk, err              string
	}{
		"new and changed": {
			before:   map[string]string{"a": "old", "same": "1", "mine": "2"},
			snapshot: map[string]string{"a": "new", "same": "1", "sub/b": "3"},
			want:     map[string]string{"a": "new", "same": "1", "mine": "2", "sub/b": "3"},
			talk:     "2 written, 1 unchanged, 0 deleted; 0 downloaded, 0 from the cache",
		},
		"pruned": {
			before:   map[string]string{"gone": "1", "dir/gone": "2", ".git/config": "3", ".hidden": "4", "was/a/directory": "5"},
			snapshot: map[string]string{"a": "1", "was": "2"}, pull: transfer.Pull{Prune: true},
			want: map[string]string{"a": "1", "was": "2", ".git/config": "3", ".hidden": "4"}, talk: "2 written, 0 unchanged, 3 deleted",
		},
		"a dry run": {
			before: map[string]string{"gone": "1", "a": "old"}, snapshot: map[string]string{"a": "new"},
			pull: transfer.Pull{Prune: true, DryRun: true},
			want: map[string]string{"gone": "1", "a": "old"},
			talk: "delete gone\nwrite a\ns3://abc/x: 1 would be written, 0 unchanged, 1 would be deleted",
		},
		"a link of the directory": {
			before: map[string]string{"sub": "-> " + outside}, snapshot: map[string]string{"sub/a": "1"}, want: map[string]string{},
			err: "sub/a: sub is a link",
		},
		"a key that leads out": {
			snapshot: map[string]string{"../a": "1"}, want: map[string]string{},
			err: "this key cannot be the name of a file",
		},
		"a hook of Git": {
			snapshot: map[string]string{"x/.git/hooks/a": "1"}, want: map[string]string{},
			err: "what is in a .git directory can make Git run programs; it is not written",
		},
		"pruning all but one": {
			before: map[string]string{"b": "2"}, snapshot: map[string]string{"a": "1"}, single: true,
			pull: transfer.Pull{Prune: true}, want: map[string]string{"b": "2"},
			err: "--prune would delete everything but one file; s3://abc/x is an object",
		},
		"a file for a directory": {
			before: map[string]string{"sub": "1"}, snapshot: map[string]string{"sub/a": "2"},
			want: map[string]string{"sub": "1"}, err: "sub/a: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, c.before)
			c.pull.URL, c.pull.Dir = bucket.URL{Bucket: "abc", Path: "x"}, dir
			var talk strings.Builder
			err := c.pull.Write(io.Discard, &talk, &bucket.Snapshot{Files: listOf(c.snapshot), Single: c.single})
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			if !strings.Contains(talk.String(), c.talk) {
				t.Errorf("got %s, want %s", talk.String(), c.talk)
			}
			if diff := cmp.Diff(c.want, files(t, dir)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if _, err := os.Stat(outside); err == nil {
				t.Error("something was written outside")
			}
		})
	}
}

func TestCompare(t *testing.T) {
	changes := transfer.Compare(listOf(map[string]string{"a": "1", "b": "2", "d": "4", "z": "\xff"}),
		listOf(map[string]string{"b": "2", "c": "3", "d": "5", "z": "6"}))
	d := transfer.Differences{
		Old: "s3://abc/x", New: "out/", Changes: changes,
		Unified: func(oldName string, old []byte, newName string, now []byte) []byte {
			return fmt.Appendf(nil, "%s %q %s %q\n", oldName, old, newName, now)
		},
	}
	var names, text strings.Builder
	if err := d.Write(&names, true); err != nil || names.String() != "D a\nA c\nM d\nM z\n" {
		t.Errorf("%q, %v", names.String(), err)
	}
	want := `s3://abc/x/a "1" out/a ""
s3://abc/x/c "" out/c "3"
s3://abc/x/d "4" out/d "5"
binary file z differs
`
	if err := d.Write(&text, false); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	object := map[string]any{"changes": []any{
		map[string]any{"path": "a", "change": "deleted"},
		map[string]any{"path": "c", "change": "added"},
		map[string]any{"path": "d", "change": "modified"},
		map[string]any{"path": "z", "change": "modified"},
	}}
	if diff := cmp.Diff(object, d.Object()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := transfer.Compare(nil, nil); got != nil {
		t.Error(got)
	}
}
