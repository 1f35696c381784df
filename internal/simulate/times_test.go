package simulate_test

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/simulate"
)

const (
	aCluster = `{"items": [
		{"kind": "Application", "metadata": {"name": "web"}, "status": {"health": {"status": "Healthy", "lastTransitionTime": "2026-01-01T00:01:00Z"}, "operationState": {"phase": "Succeeded", "finishedAt": "2026-01-01T00:00:00Z"}}},
		{"kind": "Application", "metadata": {"name": "root"}, "status": {"health": {"status": "Healthy", "lastTransitionTime": "2026-01-01T00:02:00Z"}, "operationState": {"phase": "Succeeded", "finishedAt": "2026-01-01T00:00:00Z"}}},
		{"kind": "Application", "metadata": {"name": "db"}, "status": {"health": {"status": "Degraded"}}}]}`
	aBoot = `{"events": [{"at": 1, "application": "web", "what": "wave"}, {"at": 6, "application": "web", "what": "health", "health": "Healthy", "detail": "it is fine"}]}`
	// The same of versions that write no health.
	anOldBoot = `{"events": [{"at": 1, "application": "web", "what": "wave"}, {"at": 6, "application": "web", "what": "health", "detail": "Healthy"}]}`
)

func TestTimes(t *testing.T) {
	var made tree
	web := made.app("web", object("Deployment", 0))
	p := made.plan(made.app("root", child(web, 0)))
	files := map[string]string{
		"model.yaml": "kinds: {Deployment: 7s, Job: 1m}\napplications: {web: 5s}\n", "bad.yaml": "kinds: {Deployment: soon}\n",
		"unknown.yaml": "kind: {}\n",
		"cluster.json": aCluster, "boot.json": aBoot, "old.json": anOldBoot,
		"others.json": strings.ReplaceAll(aCluster, `"web"`, `"other"`),
		"pods.json":   `{"items": [{"kind": "Pod", "metadata": {"name": "x"}}]}`, "no.json": "x",
		"late.json": `{"events": [{"at": 1e9, "application": "web"}]}`, "never.json": `{"items": []}`,
	}
	for name, c := range map[string]struct {
		times simulate.Times
		want  map[string]time.Duration // of Applications
		kind  time.Duration            // of a Deployment, if it is not the default
		note  string
		err   string
	}{
		"nothing": {want: map[string]time.Duration{}},
		"a model": {
			times: simulate.Times{Model: "model.yaml"}, want: map[string]time.Duration{"web": 5 * s}, kind: 7 * s,
			note: "model.yaml: there is no Job in the plan",
		},
		"no time": {
			times: simulate.Times{Model: "bad.yaml"},
			err:   "kinds.Deployment must be a duration such as 30s, it is soon",
		},
		"no field": {times: simulate.Times{Model: "unknown.yaml"}, err: "unknown.yaml"},
		"a cluster": {
			times: simulate.Times{Learn: "cluster.json"}, want: map[string]time.Duration{"web": time.Minute},
			note: "cluster.json: 1 Application without a known duration (not healthy, or synced again since), such as db",
		},
		"a boot": {
			times: simulate.Times{Learn: "boot.json"},
			want:  map[string]time.Duration{"web": 5*s - simulate.DefaultModel().Apply},
		},
		"a boot without health": {
			times: simulate.Times{Learn: "old.json"},
			want:  map[string]time.Duration{"web": 5*s - simulate.DefaultModel().Apply},
		},
		"other Applications": {
			times: simulate.Times{Learn: "others.json"}, note: "others.json: 1 Application without a known duration",
			err: "others.json: no Application of the plan is in it, except for those that only deploy others",
		},
		"no Applications": {
			times: simulate.Times{Learn: "pods.json"},
			err:   `pods.json: Pod "x" is in it; it must be a list of Applications`,
		},
		"no boot":  {times: simulate.Times{Learn: "no.json"}, err: "no.json: it is not a boot; "},
		"too late": {times: simulate.Times{Learn: "late.json"}, err: "late.json: at must be seconds, 0 to "},
		"nothing to learn": {
			times: simulate.Times{Learn: "never.json"},
			err:   "never.json: it does not say of any Application how long it took to become healthy",
		},
		"no file": {times: simulate.Times{Model: "none"}, err: "file does not exist"},
		"the last wins": {
			times: simulate.Times{Model: "model.yaml", Learn: "cluster.json", Durations: []string{"web=1s", "web=2s"}},
			want:  map[string]time.Duration{"web": 2 * s}, kind: 7 * s, note: "model.yaml: ",
		},
		"a duration of none": {
			times: simulate.Times{Durations: []string{"=1s"}},
			err:   `--duration must be NAME=TIME, such as longhorn=3m; it is "=1s"`,
		},
		"a duration before it": {times: simulate.Times{Durations: []string{"web=-1s"}}, err: "--duration must be NAME=TIME"},
	} {
		t.Run(name, func(t *testing.T) {
			var notes []string
			c.times.Note = func(line string) { notes = append(notes, line) }
			c.times.Read = func(file string) ([]byte, error) {
				text, ok := files[file]
				if !ok {
					return nil, fs.ErrNotExist
				}
				return []byte(text), nil
			}
			c.times.Jitter, c.times.Seed = 0.5, 7
			m, err := c.times.Load(p)
			if c.note == "" && len(notes) > 0 || c.note != "" && (len(notes) == 0 || !strings.HasPrefix(notes[0], c.note)) {
				t.Errorf("%q", notes)
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, m.Applications); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			kind := c.kind
			if kind == 0 {
				kind = simulate.DefaultModel().Kinds["Deployment"]
			}
			if m.Kinds["Deployment"] != kind || m.Jitter != 0.5 || m.Seed != 7 {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	got, err := simulate.Faults{Fail: []string{"a"}, Never: []string{"b"}, Degrade: []string{"c@30s..2m", "d@1s"}}.Parse()
	want := []simulate.Fault{
		{App: "a", Kind: simulate.Fail},
		{App: "b", Kind: simulate.Never},
		{App: "c", Kind: simulate.Degrade, From: 30 * s, To: 2 * time.Minute},
		{App: "d", Kind: simulate.Degrade, From: s},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for text, faults := range map[string]simulate.Faults{
		`"a" is in --fail, --never and --degrade more than once`:                     {Fail: []string{"a"}, Degrade: []string{"a@1s"}},
		`--never: "a[" is not a pattern`:                                             {Never: []string{"a["}},
		`--degrade: "[" is not a pattern`:                                            {Degrade: []string{"[@1s"}},
		`--degrade must be NAME@FROM..TO, such as x@30s..2m; it is "x"`:              {Degrade: []string{"x"}},
		`--degrade must be NAME@FROM..TO, such as x@30s..2m; it is "x@2m..1m"`:       {Degrade: []string{"x@2m..1m"}},
		`--degrade must be NAME@FROM..TO, such as x@30s..2m; it is "x@-1s"`:          {Degrade: []string{"x@-1s"}},
		`--degrade must be NAME@FROM..TO, such as x@30s..2m; it is "@1s"`:            {Degrade: []string{"@1s"}},
		`--degrade must be NAME@FROM..TO, such as x@30s..2m; it is "x@1s..tomorrow"`: {Degrade: []string{"x@1s..tomorrow"}},
	} {
		if _, err := faults.Parse(); err == nil || err.Error() != text {
			t.Errorf("got %v, want %s", err, text)
		}
	}
}

func TestMatch(t *testing.T) {
	var made tree
	p := made.plan(made.app("root", child(made.app("web-a", object("Deployment", 0)), 0), child(made.app("web-b"), 0),
		child(made.app("db"), 0)))
	for pattern, want := range map[string]string{
		"db": "db", "web-*": "web-a web-b", "*": "web-a web-b db root", "web-[^a]": "web-b", "d?": "db", "web-b": "web-b",
		"web": `there is no Application "web" in the plan; did you mean db, web-a, web-b?`, "x*": `there is no Application "x*" in the plan`,
	} {
		var got []string
		faults, err := simulate.Match(p, []simulate.Fault{{App: pattern, Kind: simulate.Degrade, From: s}})
		if err != nil {
			got = []string{err.Error()}
		}
		for _, f := range faults {
			if got = append(got, f.App); f.Kind != simulate.Degrade || f.From != s {
				t.Errorf("%s: %v", pattern, f)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pattern, diff)
		}
	}
	_, err := simulate.Match(p, []simulate.Fault{{App: "web-*", Kind: simulate.Never}, {App: "web-b", Kind: simulate.Fail}})
	if err == nil || err.Error() != `"web-b" is in --fail, --never and --degrade more than once` {
		t.Error(err)
	}
}
