package follow_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"

	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/report"
)

// control is what a terminal would obey.
func control(text string) string {
	for i, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return fmt.Sprintf("%q", text[max(0, i-60):min(len(text), i+20)])
		}
	}
	return ""
}

// evil makes every text of a value one that a terminal would obey, and keeps those that Argo CD's states are made of.
func evil(v any) any {
	const escape = "\x1b]0;owned\a\x1b[2J\r\n\u202e\u009b31m"
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = evil(x)
		}
		return out
	case []any:
		for i := range v {
			v[i] = evil(v[i])
		}
		return v
	case string:
		if strings.HasSuffix(v, "!") { // as it is
			return strings.TrimSuffix(v, "!")
		}
		return v + escape
	}
	return v
}

// hostileApps are Applications with everything that status and why print.
const hostileApps = `[
{"metadata": {"namespace": "argocd!", "name": "root", "uid": "u", "finalizers": ["f"]},
 "spec": {"project": "p", "source": {"repoURL": "r", "targetRevision": "t", "plugin": {"name": "n"}}, "destination": {"server": "s", "namespace": "d"},
   "syncPolicy": {"automated": {}}},
 "status": {"health": {"status": "Degraded", "message": "m", "lastTransitionTime": "x"}, "sync": {"status": "OutOfSync", "revision": "v"},
   "conditions": [{"type": "ComparisonError!", "message": "Failed to load target state: m"}, {"type": "SyncError!", "message": "x"}],
   "resources": [{"group": "apps!", "version": "v1", "kind": "Deployment!", "namespace": "n", "name": "d", "status": "OutOfSync!", "health": {"status": "Degraded", "message": "m"}},
     {"group": "argoproj.io!", "version": "v1alpha1!", "kind": "Application!", "namespace": "argocd!", "name": "child", "status": "OutOfSync"}],
   "operationState": {"phase": "Failed!", "message": "m", "operation": {"sync": {"revision": "v"}}, "syncResult": {"revision": "v", "resources": [
     {"group": "apps", "kind": "Deployment", "namespace": "n", "name": "d", "status": "SyncFailed!", "hookPhase": "Failed!", "hookType": "PreSync", "message": "m"}]}}}},
{"metadata": {"namespace": "n", "name": "late", "deletionTimestamp": "2026-03-01T11:00:00Z!", "finalizers": ["f"]}, "spec": {}, "status": {"health": {"status": "Healthy"}}},
{"metadata": {"namespace": "argocd!", "name": "hydrated"}, "spec": {"sourceHydrator": {"drySource": {"repoURL": "r"}}},
 "status": {"health": {"status": "Healthy!"}, "sync": {"status": "Synced!"}, "sourceHydrator": {"currentOperation": {"phase": "Failed!", "message": "m", "drySHA": "s"}}}},
{"metadata": {"namespace": "argocd!", "name": "window"}, "spec": {"project": "p"},
 "status": {"health": {"status": "Healthy!"}, "sync": {"status": "OutOfSync!"}, "operationState": {"phase": "Running!", "message": "waiting for healthy state of apps/Deployment/x"}}}
]`

// TestHostileTexts: nothing that a tenant or a controller writes into an Application reaches the terminal as it is, and everything is one
// screen.
func TestHostileTexts(t *testing.T) {
	var apps []any
	if err := json.Unmarshal([]byte(hostileApps), &apps); err != nil {
		t.Fatal(err)
	}
	large, _ := json.Marshal(evil(map[string]any{
		"metadata": map[string]any{"namespace": "argocd!", "name": "large"}, "spec": map[string]any{},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "SyncError!", "message": strings.Repeat("m", 1<<20)}}},
	}))
	var items []string
	for _, a := range apps {
		data, err := json.Marshal(evil(a))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, string(data))
	}
	a := &api{app: strings.Join(append(items, string(large)), ",")}
	for _, format := range []report.Format{report.Text, report.Markdown, report.JSON} {
		var out, talk output
		cfg := config(t, a, &out, &talk)
		cfg.Format = format
		b := open(t, cfg)
		if format != report.Markdown {
			if err := b.Status(""); err != nil {
				t.Error(err)
			}
		}
		_ = b.Why(t.Context(), "")
		if bad := control(out.String() + talk.String()); bad != "" || out.String() == "" {
			t.Errorf("%s: %s", format, bad)
		}
		if n := out.buf.Len(); n > 64<<10 {
			t.Errorf("%s: %d bytes are printed", format, n)
		}
		if format == report.Text && strings.Count(out.String(), "\n") > 120 {
			t.Errorf("%d lines", strings.Count(out.String(), "\n"))
		}
	}
}

// TestHostileAnswers: an API server that answers with garbage is an error of one short line.
func TestHostileAnswers(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\x1b[2J\nnot JSON\n") },
		"no list": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `["\x1b[2J"]`) },
		"cut off": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items": [{"metadata": {"name": "x`) },
		"deep": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"items": [{"metadata": `+strings.Repeat("[", 1<<20))
		},
		"wrong type": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"metadata": "\u001b[2J", "items": []}`) },
		"large error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, strings.Repeat("\x1b[2Jgarbage\n", 1<<16))
		},
		"large status": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			data, _ := json.Marshal(map[string]any{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500, "message": strings.Repeat("\x1b[2Jgarbage\n", 1<<16),
			})
			_, _ = w.Write(data)
		},
		"endless pages": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"metadata": {"continue": "again"}, "items": []}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(answer))
			defer server.Close()
			_, err := follow.Open(t.Context(), configOf(t, server.URL, &output{}, &output{}))
			if err == nil {
				t.Fatal("no error")
			}
			if bad := control(err.Error()); bad != "" || strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000 {
				t.Errorf("%d bytes: %.300q", len(err.Error()), err)
			}
		})
	}
}
