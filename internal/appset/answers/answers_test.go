package answers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/answers"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/scm/scmtest"
)

func render(t *testing.T, apis generator.APIs, text string) (*appset.Result, error) {
	t.Helper()
	docs, err := manifest.Decode("set.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	set, _, err := appset.Parse(docs[0])
	if err != nil {
		t.Fatal(err)
	}
	return appset.Generate(context.Background(), appset.Config{APIs: apis, AllowEmpty: true}, set)
}

// record writes to a file system in memory.
func record(t *testing.T, r *answers.Record) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	err := r.Write(func(name string, data []byte) error {
		out[name] = &fstest.MapFile{Data: data}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReplay: what was recorded renders the same Applications, without the server and without its credentials.
func TestReplay(t *testing.T) {
	docs, err := manifest.Decode("secret.yaml", []byte(scmtest.Secret))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range scmtest.Cases() {
		if c.Fails {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			server := scmtest.New(t, c.Provider)
			asker := &scm.Asker{Client: &scm.Client{Now: time.Now, Bitbucket: server.URL}, Objects: scm.Manifests{docs[0].Object}}
			set := c.Set(server.URL, true)
			files := func() fstest.MapFS {
				r := &answers.Record{APIs: asker}
				if _, err := render(t, r, set); err != nil {
					t.Fatal(err)
				}
				return record(t, r)
			}
			first := files()
			if diff := cmp.Diff(first, files()); diff != "" || len(first) != 1 {
				t.Errorf("%d files; again (-first +second):\n%s", len(first), diff)
			}
			want, err := render(t, asker, set)
			if err != nil {
				t.Fatal(err)
			}
			server.Close()
			// Another Secret, or none, is the same question.
			got, err := render(t, answers.Replay{FS: first, Dir: "dir"}, strings.ReplaceAll(set, "secretName: scm", "secretName: other"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Applications, got.Applications); diff != "" {
				t.Errorf("(-asked +replayed):\n%s", diff)
			}
			for name, f := range first {
				for _, secret := range []string{scmtest.Token, "secretName", "tokenRef", "alice", "passwordRef"} {
					if secret != "alice" && bytes.Contains(f.Data, []byte(secret)) {
						t.Errorf("%s has %q", name, secret)
					}
				}
			}
		})
	}
}

const recorded = `
question: {kind: scmProvider, provider: github, spec: {organization: acme}}
repositories:
  - {organization: acme, repository: web, url: u, branch: main, labels: [a], number: 7, branches: [{name: main, sha: abc, paths: {chart: true}}]}
  - {organization: acme, repository: bare, url: u, branch: main, labels: null, id: x, empty: true}
  - {organization: acme, repository: unasked, url: u, branch: main, labels: null, id: x}
`

func question(ask generator.Ask, path string, repos ...generator.Repository) generator.Question {
	return generator.Question{
		Ask: ask, Provider: "github",
		Spec: json.RawMessage(`{"organization": "acme", "allBranches": false, "tokenRef": {"secretName": "x"}}`), Repositories: repos,
		Path: path,
	}
}

// TestUnknown: what a file does not say is not known, and never taken for no.
func TestUnknown(t *testing.T) {
	name := ""
	{
		r := &answers.Record{APIs: fixed{}}
		if _, err := r.Ask(context.Background(), question(generator.AskRepositories, "")); err != nil {
			t.Fatal(err)
		}
		for name = range record(t, r) {
		}
	}
	if name != "scmprovider-github-acme-81de2c8d.yaml" {
		t.Errorf("the name of a file has changed: %s", name)
	}
	web := generator.Repository{Organization: "acme", Repository: "web", Branch: "main"}
	for what, c := range map[string]struct {
		data    string
		q       generator.Question
		want    string
		unknown bool
	}{
		"repositories": {recorded, question(generator.AskRepositories, ""), "", false},
		"branches": {recorded, question(generator.AskBranches, "", web,
			generator.Repository{Organization: "acme", Repository: "bare"}), "", false},
		"path": {recorded, question(generator.AskPath, "chart", web), "", false},
		"other path": {
			recorded, question(generator.AskPath, "deploy", web), "does not say whether branch main of acme/web has deploy",
			true,
		},
		"not asked": {
			recorded, question(generator.AskBranches, "", generator.Repository{Organization: "acme", Repository: "unasked"}),
			"has no branches of acme/unasked", true,
		},
		"new repository": {
			recorded, question(generator.AskBranches, "", generator.Repository{Organization: "acme", Repository: "new"}),
			"has no repository acme/new", true,
		},
		"misspelt": {
			strings.Replace(recorded, "repositories:", "repos:", 1), question(generator.AskRepositories, ""),
			`unknown field "repos"`, false,
		},
		"a number": {
			recorded + "pullRequests: [{headSHA: 123}]\n", question(generator.AskRepositories, ""),
			"pullRequests.headSHA: must be a string, it is a value of the kind number", false,
		},
		"a list": {
			"question: []\n", question(generator.AskRepositories, ""), "question: must be an object, it is a value of the kind array", false,
		},
		"not YAML": {"a: [", question(generator.AskRepositories, ""), name, false},
		"other question": {recorded, generator.Question{
			Ask: generator.AskPullRequests, Provider: "github",
			Spec: json.RawMessage(`{"owner": "acme", "repo": "web"}`),
		}, "there is no recorded answer for pullRequest github", true},
	} {
		_, err := answers.Replay{FS: fstest.MapFS{name: {Data: []byte(c.data)}}, Dir: "dir"}.Ask(context.Background(), c.q)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) ||
			errors.As(err, new(generator.Unknown)) != c.unknown {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// fixed answers with no repositories.
type fixed struct{}

func (fixed) Ask(context.Context, generator.Question) (*generator.Answer, error) {
	return &generator.Answer{}, nil
}

// FuzzReplay: no file makes a replay panic, or answer something else than what was asked.
func FuzzReplay(f *testing.F) {
	f.Add(recorded)
	f.Add("question: null\nrepositories: [null]")
	f.Add("decision: {objects: [{status: {a: [1]}}]}")
	f.Add("parameters: [{a: 1e999}]")
	f.Fuzz(func(t *testing.T, text string) {
		web := generator.Repository{Organization: "acme", Repository: "web", Branch: "main"}
		files := everything(text)
		for _, q := range []generator.Question{
			question(generator.AskRepositories, ""), question(generator.AskBranches, "", web), question(generator.AskPath, "chart", web),
			{Ask: generator.AskPullRequests, Spec: json.RawMessage(`{}`)},
			{Ask: generator.AskParameters, Spec: json.RawMessage(`{}`)},
			{Ask: generator.AskDecision, Spec: json.RawMessage(`{}`)},
		} {
			a, err := answers.Replay{FS: files, Dir: "dir"}.Ask(context.Background(), q)
			if err == nil && (q.Ask == generator.AskBranches && len(a.Branches) != 1 || q.Ask == generator.AskPath && len(a.Exists) != 1 ||
				q.Ask == generator.AskDecision && a.Decision == nil) {
				t.Errorf("%s: %+v", q.Ask, a)
			}
		}
	})
}

// everything is a file system in which every file has the same content.
type everything string

// Open implements fs.FS.
func (e everything) Open(name string) (fs.File, error) {
	return fstest.MapFS{name: {Data: []byte(e)}}.Open(name)
}
