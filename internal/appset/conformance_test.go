package appset_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset/appsettest"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// TestConformance holds us to the answers of Argo CD 3.2.11 on file. `make conformance` writes and checks them.
//
// Argo CD's answers are those of its Go types, which add empty fields and drop others; so an empty value on one side
// may be absent on the other. conformance/ compares the typed objects, exactly.
func TestConformance(t *testing.T) {
	suite := appsettest.Load(t, "testdata")
	for _, c := range suite.Cases {
		t.Run(c.Name, func(t *testing.T) {
			got, err := suite.Ours(c)
			got = reread(t, got)
			errFile := filepath.Join(c.Dir, "error.txt")
			if err != nil {
				golden(t, errFile, []byte(err.Error()+"\n"))
			} else if _, statErr := os.Stat(errFile); statErr == nil {
				if os.Getenv("UPDATE") == "" {
					t.Fatal("no error, but there is error.txt")
				}
				_ = os.Remove(errFile)
			}
			if c.Differs != "" {
				if err == nil {
					var buf bytes.Buffer
					if err := manifest.WriteYAML(&buf, got...); err != nil {
						t.Fatal(err)
					}
					golden(t, filepath.Join(c.Dir, "ours.yaml"), buf.Bytes())
				}
				return
			}
			if _, statErr := os.Stat(filepath.Join(c.Dir, "upstream.err")); statErr == nil {
				if err == nil {
					t.Fatalf("Argo CD refuses this, we gave %d Applications", len(got))
				}
				return
			}
			if err != nil {
				t.Fatalf("Argo CD accepts this: %v", err)
			}
			data, err := os.ReadFile(filepath.Join(c.Dir, "upstream.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			docs, err := manifest.Decode("upstream.yaml", data)
			if err != nil {
				t.Fatal(err)
			}
			var want []manifest.Object
			for _, d := range docs {
				want = append(want, d.Object)
			}
			if c.AnyOrder {
				byName(want)
				byName(got)
			}
			if diff := cmp.Diff(dropEmpty(toAny(want)), dropEmpty(toAny(got))); diff != "" {
				t.Errorf("(-Argo CD +ours):\n%s", diff)
			}
		})
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; got:\n%s", err, got)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// reread sends objects through their YAML, which is what a user gets.
func reread(t *testing.T, objects []manifest.Object) []manifest.Object {
	t.Helper()
	var buf bytes.Buffer
	if err := manifest.WriteYAML(&buf, objects...); err != nil {
		t.Fatal(err)
	}
	docs, err := manifest.Decode("ours", buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	out := make([]manifest.Object, 0, len(docs))
	for _, d := range docs {
		out = append(out, d.Object)
	}
	return out
}

func byName(objects []manifest.Object) {
	slices.SortStableFunc(objects, func(a, b manifest.Object) int {
		return strings.Compare(manifest.String(a, "metadata", "name"), manifest.String(b, "metadata", "name"))
	})
}

func toAny(objects []manifest.Object) []any {
	out := make([]any, 0, len(objects))
	for _, o := range objects {
		out = append(out, o)
	}
	return out
}

// dropEmpty removes fields whose value is the zero value of its type.
func dropEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			e = dropEmpty(e)
			switch e := e.(type) {
			case nil:
				continue
			case map[string]any:
				if len(e) == 0 {
					continue
				}
			case []any:
				if len(e) == 0 {
					continue
				}
			case string:
				if e == "" {
					continue
				}
			case bool:
				if !e {
					continue
				}
			case int64:
				if e == 0 {
					continue
				}
			}
			out[k] = e
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, dropEmpty(e))
		}
		return out
	default:
		return v
	}
}

// TestStable renders every case twice and compares the bytes.
func TestStable(t *testing.T) {
	suite := appsettest.Load(t, "testdata")
	for _, c := range suite.Cases {
		if first, second := printed(t, suite, c), printed(t, suite, c); first != second {
			t.Errorf("%s: (-first +second):\n%s", c.Name, cmp.Diff(first, second))
		}
	}
}

// printed is what a user gets for a case: the YAML, or the error.
func printed(t *testing.T, suite *appsettest.Suite, c appsettest.Case) string {
	t.Helper()
	objects, err := suite.Ours(c)
	if err != nil {
		return err.Error()
	}
	var buf bytes.Buffer
	if err := manifest.WriteYAML(&buf, objects...); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}
