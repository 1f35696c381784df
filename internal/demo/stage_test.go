package demo

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/screen"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/trigger"
)

// TestInstead: repositories are those of the exhibit, and trigger repositories on whatever host; nothing else is read.
func TestInstead(t *testing.T) {
	s := &stage{
		git: "http://git", clocks: &trigger.Clocks{Interval: interval, Now: time.Now},
		repos: []servedRepo{{key: giturl.Key(testURL), path: "secret/cluster.git"}},
	}
	for url, want := range map[string]string{
		testURL:          "http://git/secret/cluster.git",
		testURL + ".git": "http://git/secret/cluster.git",
		"http://appset-repo.argocd.svc/appset.git": "http://git/appset.git",
		"https://host/appset":                      "http://git/appset.git",
		"http://host/every/10m/team-a.git":         "http://git/every/10m/team-a.git",
		"http://host/every/banana/team-a.git":      "",
		"ssh://host/appset.git":                    "",
		"https://git.example.com/other":            "",
		"https://host/%zz":                         "",
	} {
		got, revision, err := s.instead(url, "v1")
		if got != want || (err == nil) != (want != "") || want != "" && revision != "HEAD" {
			t.Errorf("%s: %s at %s, %v, want %q", url, got, revision, err, want)
		}
	}
}

// TestEnvironment: what a plugin is told about an Application.
func TestEnvironment(t *testing.T) {
	s := &stage{Config: Config{Namespace: "argocd"}}
	base := func(name string) map[string]string {
		return map[string]string{
			"ARGOCD_APP_NAME": name, "ARGOCD_APP_NAMESPACE": "media", "ARGOCD_APP_PROJECT_NAME": "home", "ARGOCD_APP_REVISION": "abc",
			"ARGOCD_APP_SOURCE_REPO_URL": testURL, "ARGOCD_APP_SOURCE_PATH": "p", "ARGOCD_APP_SOURCE_TARGET_REVISION": "main",
		}
	}
	with := func(env map[string]string, more ...string) map[string]string {
		for _, m := range more {
			name, value, _ := strings.Cut(m, "=")
			env[name] = value
		}
		return env
	}
	parameters := map[string]any{"name": "appset", "parameters": []any{map[string]any{"name": "recurse", "string": "false"}}}
	for name, tt := range map[string]struct {
		namespace string
		spec      map[string]any
		want      map[string]string
	}{
		"Argo CD's namespace": {"argocd", nil, base("jellyfin")},
		"another namespace":   {"team", nil, base("team_jellyfin")},
		"parameters": {
			"argocd",
			map[string]any{"plugin": parameters},
			with(base("jellyfin"), "PARAM_RECURSE=false", `ARGOCD_APP_PARAMETERS=[{"name":"recurse","string":"false"}]`),
		},
		"a directory": {
			"argocd",
			map[string]any{"directory": map[string]any{"recurse": true}},
			with(base("jellyfin"), "PARAM_RECURSE=true"),
		},
		"both, the plugin counts": {
			"argocd",
			map[string]any{"directory": map[string]any{"recurse": true}, "plugin": parameters},
			with(base("jellyfin"), "PARAM_RECURSE=false", `ARGOCD_APP_PARAMETERS=[{"name":"recurse","string":"false"}]`),
		},
	} {
		app := &plan.Application{Ref: argo.Ref{Name: "jellyfin", Namespace: tt.namespace}, Project: "home", Destination: plan.Destination{Cluster: "in-cluster", Namespace: "media"}}
		got := s.environment(app, plan.Source{Repository: testURL, Path: "p", Revision: "main", Spec: tt.spec}, "abc")
		if d := diff.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestPicture: a line for each wave, and if there are too many of them, those that are not done.
func TestPicture(t *testing.T) {
	height := 24
	boot := &simulate.Boot{Runs: []*simulate.Run{
		{Name: "root"},
		{Name: "a", Parent: "root"},
		{Name: "b", Parent: "root", Wave: 1},
		{Name: "c", Parent: "root", Wave: 1},
		{Name: "d", Parent: "root", Wave: 2},
	}}
	v := &show{Screen: screen.New(screen.Config{Size: func() (int, int) {
		return 80, height
	}}), boot: boot, clock: &bootClock{}, last: "ticked", state: map[string]health.Status{
		"root": health.Progressing, "a": health.Healthy, "b": health.Degraded, "c": health.Progressing,
	}}
	want := []string{
		"",
		"     0s  " + strings.Repeat("█", 6) + strings.Repeat("░", 24) + "  1 of 5 healthy",
		"         root wave 0            ●  ",
		"         root wave 1            ✗◐  b c",
		"         root wave 2            ·  ",
		"         ticked",
	}
	if d := diff.Diff(want, v.picture()); d != "" {
		t.Error(d)
	}
	height = 6 // for one wave
	if d := diff.Diff([]string{want[0], want[1], want[3], want[5]}, v.picture()); d != "" {
		t.Error(d)
	}
	boot.Runs = boot.Runs[:2]
	for range 30 {
		boot.Runs = append(boot.Runs, boot.Runs[1])
	}
	if got := v.picture()[2]; got != "         root wave 0            31 of 31  " {
		t.Errorf("%q", got)
	}
}

// TestSweep: only a demo's directory is removed, and not before the demo has ended.
func TestSweep(t *testing.T) {
	t.Cleanup(func() { signal.Reset() })
	dir := t.TempDir()
	if err := Sweep(strings.NewReader(""), dir); err == nil || !strings.HasSuffix(err.Error(), " is not the directory of a demo") {
		t.Error(err)
	}
	inside := filepath.Join(dir, dirPrefix+"x")
	if err := os.MkdirAll(filepath.Join(inside, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	there := reader(func([]byte) (int, error) {
		if _, err := os.Stat(inside); err != nil {
			t.Error("removed while the demo goes on")
		}
		return 0, os.ErrClosed
	})
	if err := Sweep(there, inside); err == nil {
		t.Error("a pipe that cannot be read is no end")
	}
	if _, err := os.Stat(inside); err != nil {
		t.Error(err)
	}
	if err := Sweep(strings.NewReader(""), inside); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(inside); err == nil {
		t.Error("it is still there")
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }
