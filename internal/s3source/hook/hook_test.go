package hook_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/s3source/hook"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// directory has a trigger file; "" is none.
func directory(t *testing.T, trigger string) string {
	t.Helper()
	dir := t.TempDir()
	if trigger != "" {
		if err := os.WriteFile(filepath.Join(dir, triggerfile.Name), []byte(trigger), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestDiscover(t *testing.T) {
	odd := t.TempDir()
	if err := os.Mkdir(filepath.Join(odd, triggerfile.Name), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		env  map[string]string
		want string
	}{
		"a file":      {dir: directory(t, "bucket: abc\n"), want: triggerfile.Name},
		"none":        {dir: directory(t, "")},
		"a directory": {dir: odd},
		"a parameter": {dir: "/does/not/matter", env: map[string]string{argo.Variable("source"): "bucket: abc"}, want: "parameter source"},
	} {
		if got, err := hook.Discover(c.dir, environment(c.env)); got != c.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := hook.Discover(filepath.Join(odd, "no"), environment(nil)); err == nil ||
		!strings.HasSuffix(err.Error(), "no: no such file or directory") {
		t.Error(err)
	}
}

// world is one bucket.
func world(m *buckettest.Memory) func(context.Context, triggerfile.Access) (*bucket.Reader, error) {
	return func(_ context.Context, a triggerfile.Access) (*bucket.Reader, error) {
		if a.Bucket != "abc" {
			return nil, errors.New("there is no such bucket")
		}
		return &bucket.Reader{Store: m, Bucket: a.Bucket, ID: a.Bucket, Limits: bucket.DefaultLimits}, nil
	}
}

func TestObjects(t *testing.T) {
	m := &buckettest.Memory{}
	m.Set("app/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
	m.Set("apps/app.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: other}\nspec: {project: other, source: {repoURL: https://x/y, path: x}, destination: {name: in-cluster, namespace: x}}\n")
	closed, err := policy.Parse("policy.yaml", []byte("projects: [{name: team, s3: [{buckets: [other]}]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		trigger   string
		env       map[string]string
		policy    *policy.Policy
		want, err string
	}{
		"a file":                      {trigger: "bucket: abc\npath: app\n", want: "x"},
		"a parameter":                 {env: map[string]string{argo.Variable("source"): "{bucket: abc, path: app}"}, want: "x"},
		"nothing":                     {err: triggerfile.Name},
		"not valid":                   {trigger: "bucket: abc\npaths: app\n", err: triggerfile.Name + ":2"},
		"not there":                   {trigger: "bucket: abc\npath: no\n", err: "s3://abc/no"},
		"no such bucket":              {trigger: "bucket: other\npath: app\n", err: "there is no such bucket"},
		"an Application for the user": {trigger: "bucket: abc\npath: apps\n", want: "other"},
		"an Application of another": {
			trigger: "bucket: abc\npath: apps\n",
			env:     map[string]string{"ARGOCD_APP_NAME": "web", "ARGOCD_APP_PROJECT_NAME": "team"}, err: "other",
		},
		"a bucket that is not the team's": {
			trigger: "bucket: abc\npath: app\n",
			env:     map[string]string{"ARGOCD_APP_NAME": "web", "ARGOCD_APP_PROJECT_NAME": "team"}, policy: closed, err: "policy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := generate(t, hook.Config{
				Dir: directory(t, c.trigger), Policy: c.policy, Open: world(m),
				Getenv: environment(c.env),
			})
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			var names []string
			for _, o := range objects {
				names = append(names, manifest.String(o, "metadata", "name"))
			}
			if err == nil && strings.Join(names, " ") != c.want {
				t.Errorf("got %v, want %s", names, c.want)
			}
		})
	}
}

func generate(t *testing.T, cfg hook.Config) ([]manifest.Object, error) {
	t.Helper()
	s, err := hook.Open(cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	objects, _, err := s.Objects(t.Context(), func(c argo.Call) policy.Parent { return policy.ParentOf(c, "argocd", nil) })
	return objects, err
}

// TestTooLate gives up when the time is over.
func TestTooLate(t *testing.T) {
	m := &buckettest.Memory{}
	m.Set("app/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
	s, err := hook.Open(hook.Config{Dir: directory(t, "bucket: abc\npath: app\n"), Open: world(m), Getenv: environment(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("not finished after 45s"))
	if _, _, err := s.Objects(ctx, nil); err == nil || !strings.Contains(err.Error(), "not finished after 45s") {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte("projects: [{name: team, s3: [{buckets: [abc]}]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		trigger, project string
		policy           *policy.Policy
		n                int
		err              string
	}{
		"valid":      {trigger: "bucket: abc\npath: a\n", n: 1},
		"two":        {trigger: "sources: [{bucket: abc, path: a}, {bucket: abc, path: b}]\n", n: 2},
		"not valid":  {trigger: "bucket: abc\npaths: a\n", err: triggerfile.Name + ":2"},
		"none":       {err: triggerfile.Name + ": no such file or directory"},
		"allowed":    {trigger: "bucket: abc\npath: a\n", policy: p, project: "team", n: 1},
		"forbidden":  {trigger: "bucket: other\npath: a\n", policy: p, project: "team", n: 1, err: "other"},
		"no project": {trigger: "bucket: abc\npath: a\n", policy: p, project: "x", n: 1, err: `"x"`},
	} {
		dir := directory(t, c.trigger)
		for _, arg := range []string{dir, filepath.Join(dir, triggerfile.Name)} {
			n, err := hook.Validate(arg, c.policy, c.project)
			if n != c.n || c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
	}
}
