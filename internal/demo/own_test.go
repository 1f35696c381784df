package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestExample: what is beside a trigger file is in S3, and not in Git; later there is more.
func TestExample(t *testing.T) {
	x, err := Example()
	if err != nil {
		t.Fatal(err)
	}
	if x.later == nil || len(x.roots) == 0 || len(x.artifacts) == 0 || x.Close() != nil {
		t.Fatalf("%+v", x)
	}
	names := func(x *Exhibit) map[string]bool {
		files, err := x.repos[0].read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for _, f := range files {
			out[f.Name] = true
		}
		return out
	}
	now, later := names(x), names(x.later)
	triggers := 0
	for name := range now {
		if filepath.Base(name) != triggerfile.Name {
			continue
		}
		triggers++
		for other := range now {
			if other != name && filepath.Dir(other) == filepath.Dir(name) {
				t.Errorf("%s is in Git, and belongs to S3", other)
			}
		}
	}
	if triggers != len(x.artifacts) {
		t.Errorf("%d trigger files and %d places in S3", triggers, len(x.artifacts))
	}
	if len(later) <= len(now) {
		t.Errorf("%d files later, %d now", len(later), len(now))
	}
}

// own is a repository in a directory, and what the functions of a command would find.
func own(t *testing.T) (Own, *[]string) {
	t.Helper()
	dir, notes := t.TempDir(), new([]string)
	put(t, filepath.Join(dir, "root.yaml"), testFiles["root.yaml"])
	return Own{
		Local:   []gitsource.Local{{Path: dir}},
		Env:     environ.New(os.Environ()...),
		Note:    func(line string) { *notes = append(*notes, line) },
		Named:   func([]string, []tree.File) string { return testURL },
		ReadDir: func(string) ([]tree.File, error) { return []tree.File{{Name: "cm.yaml"}}, nil },
		Find: func(context.Context, []gitsource.Local, []string) ([]manifest.Document, *Elsewhere, error) {
			return nil, &Elsewhere{Close: func() error { return errors.New("closed") }}, nil
		},
	}, notes
}

func put(t *testing.T, name, data string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOwn: directories are read as they are now, with the URL that their Applications name.
func TestOwn(t *testing.T) {
	o, notes := own(t)
	dir := o.Local[0].Path
	put(t, filepath.Join(dir, "big"), strings.Repeat("x", maxOwnFile+1))
	o.Local = append(o.Local, gitsource.Local{URL: "s3://artifacts/a", Path: "elsewhere"})
	o.Roots = []string{"root.yaml", "-", "nowhere.yaml"}
	find := o.Find
	o.Find = func(ctx context.Context, local []gitsource.Local, roots []string) ([]manifest.Document, *Elsewhere, error) {
		if d := diff.Diff([]gitsource.Local{{URL: testURL, Path: dir}, o.Local[1]}, local); d != "" {
			t.Error(d)
		}
		if d := diff.Diff([]string{filepath.Join(dir, "root.yaml"), "-", "nowhere.yaml"}, roots); d != "" {
			t.Error(d)
		}
		return find(ctx, local, roots)
	}
	x, err := o.Exhibit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x.title != dir || x.sets != plan.SetsByPlugin || len(x.artifacts[bucket.URL{Bucket: "artifacts", Path: "a"}]) != 1 {
		t.Errorf("%+v", x)
	}
	if err := x.Close(); err == nil || err.Error() != "closed" {
		t.Errorf("closing: %v", err)
	}
	if len(*notes) != 1 || !strings.Contains((*notes)[0], "1 file of "+dir+" is not served: over 4 MiB") ||
		!strings.HasSuffix((*notes)[0], "; such as big") {
		t.Errorf("%q", *notes)
	}
	put(t, filepath.Join(dir, "new.yaml"), "{}")
	files, err := x.repos[0].read(t.Context())
	if d := diff.Diff([]string{"new.yaml", "root.yaml"}, tree.Names(files)); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestOwnErrors(t *testing.T) {
	for want, change := range map[string]func(*Own){
		"no Application in it has its source in it": func(o *Own) { o.Named = func([]string, []tree.File) string { return "" } },
		"no roots": func(o *Own) {
			o.Find = func(context.Context, []gitsource.Local, []string) ([]manifest.Document, *Elsewhere, error) {
				return nil, nil, errors.New("no roots")
			}
		},
		"--repo must name a repository": func(o *Own) { o.Local = []gitsource.Local{{URL: "s3://artifacts", Path: "x"}} },
		"s3:///x":                       func(o *Own) { o.Local = []gitsource.Local{{URL: "s3:///x", Path: "x"}} },
		"not readable": func(o *Own) {
			o.Local = []gitsource.Local{{URL: "s3://artifacts", Path: "x"}}
			o.ReadDir = func(string) ([]tree.File, error) { return nil, errors.New("not readable") }
		},
	} {
		o, _ := own(t)
		change(&o)
		_, err := o.Exhibit(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		var usage problem.UsageError
		if isUsage := strings.HasPrefix(want, "--") || strings.HasPrefix(want, "s3"); errors.As(err, &usage) != isUsage {
			t.Errorf("%v: a problem of usage: %t", err, !isUsage)
		}
	}
}
