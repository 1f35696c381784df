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
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// TestConformance holds us to the answers of Argo CD 3.2.11 on file, which `make conformance` writes and checks, and to those of 3.5.1,
// which were written once: they are in upstream-3.5.yaml where they are not those of 3.2.11.
//
// Argo CD's answers are those of its Go types, which add empty fields and drop others; so an empty value on one side
// may be absent on the other. conformance/ compares the typed objects, exactly.
func TestConformance(t *testing.T) {
	hostile.Unraced(t)
	suite := appsettest.Load(t, "testdata")
	newer := 0
	for _, c := range suite.Cases {
		t.Run(c.Name, func(t *testing.T) {
			conform(t, suite, c, 2)
		})
		t.Run(c.Name+" with 3.5", func(t *testing.T) {
			conform(t, suite, c, 5)
		})
		if c.Newer != nil {
			newer++
		}
	}
	if newer != 18 {
		t.Errorf("%d cases have an answer of 3.5, not 18", newer)
	}
}

func conform(t *testing.T, suite *appsettest.Suite, c appsettest.Case, version versions.Version) {
	t.Helper()
	got, err := suite.Ours(c, version)
	got = reread(t, got)
	answer := answerOf(t, c, version)
	errFile := filepath.Join(c.Dir, "error.txt")
	if err != nil {
		golden(t, errFile, []byte(err.Error()+"\n"))
	} else if _, statErr := os.Stat(errFile); statErr == nil && c.Newer == nil {
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
	if answer == nil {
		if err == nil {
			t.Fatalf("Argo CD refuses this, we gave %d Applications", len(got))
		}
		return
	}
	if err != nil {
		t.Fatalf("Argo CD accepts this: %v", err)
	}
	docs, err := manifest.Decode("upstream.yaml", answer)
	if err != nil {
		t.Fatal(err)
	}
	var want []manifest.Object
	for _, d := range docs {
		want = append(want, d.Object)
	}
	// 3.5 lists clusters in an order that changes from run to run; only that the local cluster is the last is certain.
	random := version == 5 && bytes.Contains(c.Input, []byte("clusters:"))
	if random && c.Newer != nil && len(want) > 0 && len(got) > 0 {
		const local = "in-cluster"
		if a, b := want[len(want)-1], got[len(got)-1]; manifest.String(a, "metadata", "name") == local &&
			manifest.String(b, "metadata", "name") != local {
			t.Errorf("the local cluster is not the last, that is %v", b)
		}
	}
	if c.AnyOrder || random {
		byName(want)
		byName(got)
	}
	if diff := cmp.Diff(dropEmpty(toAny(want)), dropEmpty(toAny(got))); diff != "" {
		t.Errorf("(-Argo CD %s +ours):\n%s", version, diff)
	}
	if version == 5 {
		for _, app := range got {
			if directory := manifest.Map(app, "spec", "source", "directory"); directory["jsonnet"] != nil &&
				len(manifest.Map(directory, "jsonnet")) == 0 {
				t.Errorf("an empty jsonnet is left: %v", directory)
			}
		}
	}
}

// answerOf is what a version of Argo CD gives, nil if it refuses the case.
func answerOf(t *testing.T, c appsettest.Case, version versions.Version) []byte {
	t.Helper()
	if version == 5 && c.Newer != nil {
		return c.Newer
	}
	data, err := os.ReadFile(filepath.Join(c.Dir, "upstream.yaml"))
	if err == nil {
		return data
	}
	if _, refusal := os.Stat(filepath.Join(c.Dir, "upstream.err")); refusal != nil {
		t.Fatal(err)
	}
	return nil
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

// threeValued are the fields of syncPolicy.automated whose false is not the same as nothing, in some versions.
var threeValued = []string{"prune", "selfHeal", "allowEmpty"}

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
				if !e && !slices.Contains(threeValued, k) {
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

// TestConformanceStable renders every case twice and compares the bytes.
func TestConformanceStable(t *testing.T) {
	hostile.Unraced(t)
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
	objects, err := suite.Ours(c, 0)
	if err != nil {
		return err.Error()
	}
	var buf bytes.Buffer
	if err := manifest.WriteYAML(&buf, objects...); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}
