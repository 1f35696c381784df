package cause_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/manifest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// boot is a boot with the objects of a file.
func boot(t *testing.T, file string) (*live.Snapshot, cause.Recorded) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := manifest.Decode(file, data)
	if err != nil {
		t.Fatal(err)
	}
	m := live.New("argocd")
	for _, d := range docs {
		m.Apply(live.Event{At: noon, What: live.Seen, Object: d.Object})
	}
	return m.Snapshot(), cause.Recorded(m.Objects())
}

// print is a report as text, without a limit.
func print(r *cause.Report) string {
	var b strings.Builder
	for i, c := range r.Causes {
		fmt.Fprintf(&b, "%d. %s: %s\n", i+1, c.Kind, c.Text)
		if !c.Blocks {
			fmt.Fprintln(&b, "   nothing waits for it")
		}
		fmt.Fprintf(&b, "   %s\n", strings.Join(c.Path, " → "))
		for _, line := range []string{c.Detail, c.Fix, strings.Join(c.Command, " ")} {
			if line != "" {
				fmt.Fprintf(&b, "   %s\n", line)
			}
		}
	}
	for _, line := range r.NotRead() {
		fmt.Fprintf(&b, "not looked at: %s\n", line)
	}
	return b.String()
}

// TestCases explains all roots of testdata/*.yaml, and compares with the file beside it. UPDATE=1 writes that.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			s, cluster := boot(t, file)
			got := print(cause.ExplainAt(t.Context(), s.At, s, cluster, s.Roots...))
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// blind is a cluster that may not be looked at.
type blind struct{}

var errForbidden = live.Refusal(`forbidden: pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "apps"`,
	&live.Right{Verb: "list", Resource: "pods", Namespace: "apps"})

func (blind) Get(context.Context, live.Key) (manifest.Object, error) { return nil, errForbidden }
func (blind) List(context.Context, string, string, string) ([]manifest.Object, error) {
	return nil, errForbidden
}

func (blind) Events(context.Context, live.Key) ([]manifest.Object, error) { return nil, errForbidden }

func (blind) Checks(context.Context) (health.Customizations, error) { return nil, errForbidden }

func (blind) Version(context.Context) versions.Version { return 0 }

// TestBlind: without rights nothing is taken for healthy, and the report says what was not looked at.
func TestBlind(t *testing.T) {
	s, _ := boot(t, "testdata/image-pull.yaml")
	for _, cluster := range []cause.Cluster{blind{}, nil} {
		r := cause.ExplainAt(t.Context(), s.At, s, cluster, s.Roots...)
		if len(r.Causes) == 0 || r.Causes[0].Kind != cause.Unknown || len(r.Unseen) == 0 || r.Good() {
			t.Errorf("%v:\n%s", cluster, print(r))
		}
	}
	r := cause.ExplainAt(t.Context(), s.At, s, blind{}, s.Roots...)
	if want := "no right to list pods in namespace apps"; len(r.Unseen) != 1 || r.Unseen[0].Text != want {
		t.Errorf("%q, want %q", r.Unseen, want)
	}
}

// TestLost: a source that cannot be watched is named, and nothing is called healthy.
func TestLost(t *testing.T) {
	m := live.New("argocd")
	m.Apply(live.Event{At: noon, What: live.Lost, Source: live.Scope{Kind: "Application"}, Reason: "connection refused"})
	s := m.Snapshot()
	r := cause.ExplainAt(t.Context(), s.At, s, cause.Recorded{})
	if len(r.Unseen) == 0 || r.Unseen[0].Text != "Applications in all namespaces: connection refused" || r.Good() {
		t.Error(r.Unseen, r.Good())
	}
}

// many counts the requests about endless objects.
type many struct {
	blind
	requests int
}

func (m *many) Get(_ context.Context, k live.Key) (manifest.Object, error) {
	m.requests++
	return manifest.Object{
		"apiVersion": "apps/v1", "kind": k.Kind, "metadata": map[string]any{"namespace": k.Namespace, "name": k.Name, "uid": "u"},
	}, nil
}

// TestRequests: however many objects are broken, the number of requests has a limit, and the report says that it was reached.
func TestRequests(t *testing.T) {
	m := live.New("argocd")
	for i := range 100 {
		var resources []any
		for j := range 100 {
			resources = append(resources, map[string]any{
				"group": "apps", "version": "v1", "kind": "StatefulSet", "namespace": fmt.Sprintf("n%d", i), "name": fmt.Sprintf("s%d", j),
			})
		}
		m.Apply(live.Event{At: noon, What: live.Seen, Object: manifest.Object{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
			"metadata": map[string]any{"namespace": "argocd", "name": fmt.Sprintf("a%d", i)},
			"status": map[string]any{
				"health": map[string]any{"status": "Progressing"}, "sync": map[string]any{"status": "Synced"}, "resources": resources,
			},
		}})
	}
	s := m.Snapshot()
	cluster := &many{}
	r := cause.ExplainAt(t.Context(), s.At, s, cluster, s.Roots...)
	if cluster.requests > 400 {
		t.Errorf("%d requests", cluster.requests)
	}
	text := strings.Join(r.NotRead(), "\n")
	for _, want := range []string{"more objects: the limit of 400 requests is reached; argosy why APP", "objects of a0: 40 of 100 were read"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// FuzzExplain: objects are from tenants, and may be anything.
func FuzzExplain(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 10 {
		f.Fatal(len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		docs, err := manifest.Decode(file, data)
		if err != nil {
			f.Fatal(err)
		}
		var b bytes.Buffer
		for _, d := range docs {
			if err := live.Write(&b, live.Event{At: noon, What: live.Seen, Object: d.Object}); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := live.New("argocd")
		_ = live.Read("fuzz", bytes.NewReader(data), m.Apply)
		s := m.Snapshot()
		r := cause.ExplainAt(t.Context(), noon, s, cause.Recorded(m.Objects()), s.Roots...)
		if len(s.Roots) > 0 && !r.Good() && len(r.Causes) == 0 {
			t.Errorf("nothing is said about\n%s", data)
		}
	})
}
