package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/internal/appset/appsettest"
)

const testdata = "../internal/appset/testdata"

// tempPath matches what is different in each run of Argo CD's errors.
var tempPath = regexp.MustCompile(`(file://)?/\S*/TestConformance[^/\s]*(/[^\s'",:]*)?`)

// TestConformance compares our answer with Argo CD's as objects of Argo CD's own types, and Argo CD's answer with the
// one on file. UPDATE=1 writes the files.
func TestConformance(t *testing.T) {
	upstream := NewUpstream(t, testdata)
	suite := appsettest.Load(t, testdata)
	for _, c := range suite.Cases {
		t.Run(c.Name, func(t *testing.T) {
			want, wantErr := upstream.Generate(c)
			onFile(t, c, want, wantErr)

			ours, err := suite.Ours(c, 2)
			if c.Differs != "" {
				return
			}
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("Argo CD: %v\nours: %v", wantErr, err)
			}
			if err != nil {
				return
			}
			got := typed(t, ours)
			for i := range want {
				want[i].TypeMeta = metav1.TypeMeta{Kind: "Application", APIVersion: "argoproj.io/v1alpha1"}
			}
			// Through JSON, so that both sides went through the same decoder.
			want = typed(t, want)
			if c.AnyOrder {
				byName(want)
				byName(got)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Transformer("raw", rawJSON)); diff != "" {
				t.Errorf("(-Argo CD +ours):\n%s", diff)
			}
		})
	}
}

// rawJSON compares arbitrary JSON by meaning.
func rawJSON(raw json.RawMessage) any {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	return v
}

// typed decodes Applications into Argo CD's types; arbitrary JSON in them is brought into one form.
func typed[T any](t *testing.T, objects []T) []v1alpha1.Application {
	t.Helper()
	out := make([]v1alpha1.Application, 0, len(objects))
	for _, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		if data, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
		var app v1alpha1.Application
		if err := json.Unmarshal(data, &app); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		out = append(out, app)
	}
	return out
}

func byName(apps []v1alpha1.Application) {
	slices.SortStableFunc(apps, func(a, b v1alpha1.Application) int { return strings.Compare(a.Name, b.Name) })
}

// onFile writes or checks Argo CD's answer on file.
func onFile(t *testing.T, c appsettest.Case, apps []v1alpha1.Application, genErr error) {
	t.Helper()
	answer, refusal := filepath.Join(c.Dir, "upstream.yaml"), filepath.Join(c.Dir, "upstream.err")
	if genErr != nil {
		if os.Getenv("UPDATE") != "" {
			_ = os.Remove(answer)
			write(t, refusal, []byte(tempPath.ReplaceAllString(genErr.Error(), "<tmp>")+"\n"))
		} else if _, err := os.Stat(refusal); err != nil {
			t.Errorf("Argo CD refuses: %v; %v", genErr, err)
		}
		return
	}
	if c.AnyOrder {
		byName(apps)
	}
	var buf bytes.Buffer
	for _, app := range apps {
		app.TypeMeta = metav1.TypeMeta{Kind: "Application", APIVersion: "argoproj.io/v1alpha1"}
		data, err := json.Marshal(app)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		delete(v, "status")
		if meta, ok := v["metadata"].(map[string]any); ok {
			delete(meta, "creationTimestamp")
		}
		text, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		buf.WriteString("---\n")
		buf.Write(text)
	}
	if os.Getenv("UPDATE") != "" {
		_ = os.Remove(refusal)
		write(t, answer, buf.Bytes())
		return
	}
	have, err := os.ReadFile(answer)
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(string(have), buf.String()); diff != "" {
		t.Errorf("the answer on file is not Argo CD's (-file +Argo CD):\n%s", diff)
	}
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
