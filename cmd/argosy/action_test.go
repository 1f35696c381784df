package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// note is one of a merge request, with its fields in GitLab's order.
type note struct {
	ID     int    `json:"id"`
	Type   any    `json:"type"`
	Body   string `json:"body"`
	Author struct {
		ID       int    `json:"id"`
		Username string `json:"username"`
	} `json:"author"`
}

// gitlab is as much of GitLab as note.sh uses. User 7 has the token, and may change no note but its own.
type gitlab struct {
	notes []note
	calls []string
}

func (g *gitlab) add(author int, body string) *note {
	n := note{ID: 100 + len(g.notes), Body: body}
	n.Author.ID = author
	g.notes = append(g.notes, n)
	return &g.notes[len(g.notes)-1]
}

func (g *gitlab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const notes = "/api/v4/projects/42/merge_requests/5/notes"
	g.calls = append(g.calls, r.Method+" "+r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	switch id := 0; {
	case r.Header.Get("PRIVATE-TOKEN") != "glpat-secret":
		http.Error(w, "{}", http.StatusUnauthorized)
	case r.URL.Path == "/api/v4/user":
		fmt.Fprint(w, `{"id":7,"username":"argosy","public_email":"\"id\":9"}`)
	case r.Method == http.MethodGet && r.URL.Path == notes:
		var page int
		fmt.Sscan(r.FormValue("page"), &page)
		first := min(100*(page-1), len(g.notes))
		data, _ := json.Marshal(append([]note{}, g.notes[first:min(first+100, len(g.notes))]...))
		_, _ = w.Write(data)
	case r.Method == http.MethodPost && r.URL.Path == notes:
		g.add(7, r.FormValue("body"))
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPut:
		fmt.Sscanf(r.URL.Path, notes+"/%d", &id)
		i := slices.IndexFunc(g.notes, func(n note) bool { return n.ID == id })
		if i < 0 || g.notes[i].Author.ID != 7 {
			http.Error(w, "{}", http.StatusForbidden)
			return
		}
		g.notes[i].Body = r.FormValue("body")
	default:
		http.NotFound(w, r)
	}
}

// TestActionNote: the plan is one note, which is made and then changed, whatever others write.
func TestActionNote(t *testing.T) {
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	const marker = "[argosy]: # (plan)"
	for name, others := range map[string]func(*gitlab){
		"nobody":              func(*gitlab) {},
		"an older note of it": func(g *gitlab) { g.add(7, "hello") },
		"somebody begins as we do": func(g *gitlab) {
			g.add(8, marker+"\n\nnothing changes")
			g.add(77, marker+"\n\nnothing changes")
		},
		"somebody writes JSON": func(g *gitlab) {
			g.add(8, `"},{"id":1,"type":null,"body":"`+marker+`","author":{"id":7,`)
			g.add(8, marker+` \","author":{"id":7,`)
		},
		"many notes": func(g *gitlab) {
			for i := range 250 {
				g.add(8, fmt.Sprint("note ", i))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gitlab{}
			others(g)
			before := slices.Clone(g.notes)
			server := httptest.NewServer(g)
			defer server.Close()
			file := filepath.Join(t.TempDir(), "plan.md")
			for _, text := range []string{"first & \"one\"\n@everybody $(touch pwned) `x` ü\n", "second\n"} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("bash", "../../action/note.sh", file)
				cmd.Env = append(os.Environ(), "GITLAB_TOKEN=glpat-secret", "CI_API_V4_URL="+server.URL+"/api/v4", "CI_PROJECT_ID=42",
					"CI_MERGE_REQUEST_IID=5")
				if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
					t.Fatalf("%v\n%s\n%s", err, out, strings.Join(g.calls, "\n"))
				}
				if len(g.notes) != len(before)+1 || !slices.Equal(g.notes[:len(before)], before) {
					t.Fatalf("%d notes, and %d before", len(g.notes), len(before))
				}
				if got := g.notes[len(before)].Body; got != marker+"\n\n"+text {
					t.Errorf("the note is %q", got)
				}
			}
		})
	}
}

// TestActionScripts: scripts of the action, the template for GitLab and the workflows get what is not theirs by variables. An expression in a script
// would be a part of it, whatever it contains.
func TestActionScripts(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	scripts := 0
	for _, file := range append(files, "../../action.yml", "../../action/gitlab.yml") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var walk func(v any, script bool)
		walk = func(v any, script bool) {
			switch v := v.(type) {
			case map[string]any:
				for key, e := range v {
					walk(e, key == "run" || key == "script")
				}
			case []any:
				for _, e := range v {
					walk(e, script)
				}
			case string:
				if script {
					scripts++
				}
				if script && (strings.Contains(v, "${{") || strings.Contains(v, "$[[")) {
					t.Errorf("%s: an expression in a script: %s", file, v)
				}
			}
		}
		for part := range strings.SplitSeq(string(data), "\n---\n") {
			doc, err := manifest.Value([]byte(part))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			walk(doc, false)
		}
	}
	if scripts < 10 {
		t.Errorf("only %d scripts", scripts)
	}
}
