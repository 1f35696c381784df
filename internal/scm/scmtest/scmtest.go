// Package scmtest has servers that answer like GitHub, GitLab, Gitea, Bitbucket Cloud, Bitbucket Server, Azure DevOps and AWS CodeCommit,
// in the shapes that their documentation has, over one small world of repositories and pull requests. Lists have pages of two. Our own code
// and Argo CD's are tested with them.
package scmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Token is the token that every server requires.
const Token = "s3cr3t-token-of-the-test"

// Organization owns all repositories, and Project is theirs where there is one.
const (
	Organization = "acme"
	Project      = "shop"
)

// Repo is a repository.
type Repo struct {
	Name     string
	ID       int
	UUID     string
	Default  string // "" is an empty repository
	Branches []Branch
	Topics   []string
	Archived bool
}

// Branch is a branch with its files.
type Branch struct {
	Name, SHA string
	Files     []string
}

// Pull is an open pull request.
type Pull struct {
	Number              int
	Title, From, To     string
	SHA, Author         string
	Labels              []string
	Repository          string
	WithoutMergeAttempt bool // Azure DevOps has no commit of it
}

// World is the content of the servers.
type World struct {
	Repos []Repo
	Pulls []Pull
}

// NewWorld returns a world that has a bit of everything.
func NewWorld() World {
	sha := func(c string) string { return strings.Repeat(c, 40) }
	return World{
		Repos: []Repo{
			{"web", 101, "11111111-1111-4111-8111-111111111111", "main", []Branch{
				{"main", sha("a"), []string{"chart/Chart.yaml", "README.md"}},
				{"dev", sha("b"), []string{"README.md"}},
				{"feature/Big_Thing", sha("c"), []string{"chart/Chart.yaml"}},
			}, []string{"deploy", "go"}, false},
			{
				"api", 102, "22222222-2222-4222-8222-222222222222", "trunk",
				[]Branch{{"trunk", sha("d"), []string{"deploy/kustomization.yaml", "charts/a b/Chart.yaml"}}},
				[]string{"deploy"},
				false,
			},
			{"old", 103, "33333333-3333-4333-8333-333333333333", "main", []Branch{{"main", sha("e"), nil}}, nil, true},
			{
				"infra.live", 104, "44444444-4444-4444-8444-444444444444", "main",
				[]Branch{{"main", sha("f"), []string{"chart/Chart.yaml"}}, {"v1", sha("0"), nil}},
				[]string{"ops"},
				false,
			},
			{"empty", 105, "55555555-5555-4555-8555-555555555555", "", nil, nil, false},
		},
		Pulls: []Pull{
			{1, "Add caching", "feature/Cache_it", "main", sha("1"), "alice", []string{"preview", "go"}, "web", false},
			{2, "Fix & polish the login page", "fix@login", "main", sha("2"), "bob", []string{"preview"}, "web", false},
			{
				7, "WIP", "a-very-long-branch-name-that-is-longer-than-fifty-characters-in-all", "release/1.x", sha("3"), "carol", nil, "web",
				false,
			},
			{9, "Übersetzung", "über/Größe", "main", sha("4"), "dörte", []string{"i18n"}, "web", false},
			{12, "Elsewhere", "x", "main", sha("5"), "alice", []string{"preview"}, "api", false},
		},
	}
}

// Server is a running server. Before is called before each request; if it returns true, it has answered the request.
type Server struct {
	*httptest.Server
	World World

	mu       sync.Mutex
	requests []string
	before   func(w http.ResponseWriter, r *http.Request) bool
}

// Before sets a function that is called before each request, and that returns true if it has answered the request.
func (s *Server) Before(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Requests returns the requests so far, and forgets them.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests = nil
	return out
}

// New starts the server of a provider.
func New(tb testing.TB, provider string) *Server {
	tb.Helper()
	return start(tb, provider, httptest.NewServer)
}

// NewTLS starts the server of a provider with a self-signed certificate.
func NewTLS(tb testing.TB, provider string) *Server {
	tb.Helper()
	return start(tb, provider, httptest.NewTLSServer)
}

func start(tb testing.TB, provider string, listen func(http.Handler) *httptest.Server) *Server {
	tb.Helper()
	s := &Server{World: NewWorld()}
	handlers := map[string]func(*call){
		"github": s.github, "gitlab": s.gitlab, "gitea": s.gitea, "bitbucket": s.bitbucket, "bitbucketServer": s.bitbucketServer,
		"azureDevOps": s.azure, "awsCodeCommit": s.codeCommit,
	}
	handle := handlers[provider]
	if handle == nil {
		tb.Fatalf("no server for %s", provider)
	}
	s.Server = listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
		before := s.before
		s.mu.Unlock()
		if before != nil && before(w, r) {
			return
		}
		c := &call{w: w, r: r, server: s}
		if !c.authorized(provider) {
			c.fail(http.StatusUnauthorized, "Bad credentials")
			return
		}
		handle(c)
		if !c.answered {
			c.fail(http.StatusNotFound, "Not Found")
		}
	}))
	tb.Cleanup(s.Close)
	return s
}

// call is a request.
type call struct {
	w        http.ResponseWriter
	r        *http.Request
	server   *Server
	answered bool
}

func (c *call) authorized(provider string) bool {
	_, password, _ := c.r.BasicAuth()
	auth := c.r.Header.Get("Authorization")
	switch provider {
	case "github":
		return auth == "Bearer "+Token
	case "gitlab":
		return c.r.Header.Get("Private-Token") == Token
	case "gitea":
		return auth == "token "+Token
	case "awsCodeCommit":
		return strings.HasPrefix(auth, "AWS4-HMAC-SHA256 ")
	}
	return password == Token || auth == "Bearer "+Token
}

// path matches the path of a request, as it is escaped, with a pattern whose stars are one element each; a last ** is the rest.
func (c *call) path(pattern string) ([]string, bool) {
	have, want := strings.Split(strings.Trim(c.r.URL.EscapedPath(), "/"), "/"), strings.Split(pattern, "/")
	var out []string
	for i, w := range want {
		if w == "**" {
			rest, err := url.PathUnescape(strings.Join(have[min(i, len(have)):], "/"))
			return append(out, rest), err == nil
		}
		if i >= len(have) {
			return nil, false
		}
		h, err := url.PathUnescape(have[i])
		if err != nil || w != "*" && h != w {
			return nil, false
		}
		if w == "*" {
			out = append(out, h)
		}
	}
	return out, len(have) == len(want)
}

func (c *call) json(v any) {
	c.answered = true
	c.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(c.w).Encode(v)
}

func (c *call) fail(status int, message string) {
	c.answered = true
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_ = json.NewEncoder(c.w).Encode(map[string]any{"message": message})
}

// page returns the items of a page of two, and the numbers of this page, of the next one (0 is none) and of all.
func page[T any](c *call, items []T) (list []T, this, next, total int) {
	this, _ = strconv.Atoi(c.r.URL.Query().Get("page"))
	this = max(this, 1)
	total = (len(items) + 1) / 2
	if this < total {
		next = this + 1
	}
	return items[min(len(items), 2*(this-1)):min(len(items), 2*this)], this, next, total
}

// link writes the Link header of GitHub and Gitea.
func (c *call) link(next int) {
	if next == 0 {
		return
	}
	q := c.r.URL.Query()
	q.Set("page", strconv.Itoa(next))
	c.w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next", <%s/?page=9>; rel="last"`, c.server.URL, c.r.URL.Path, q.Encode(),
		c.server.URL))
}

func (c *call) repo(name string) *Repo {
	i := slices.IndexFunc(c.server.World.Repos, func(r Repo) bool { return r.Name == name || strconv.Itoa(r.ID) == name || r.UUID == name })
	if i < 0 {
		return nil
	}
	return &c.server.World.Repos[i]
}

func (r *Repo) branch(name string) *Branch {
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.Branches, func(b Branch) bool { return b.Name == strings.TrimPrefix(name, "refs/heads/") || b.SHA == name })
	if i < 0 {
		return nil
	}
	return &r.Branches[i]
}

// kind is "file", "dir" or "" for a path.
func (b *Branch) kind(path string) string {
	if b == nil {
		return ""
	}
	path = strings.Trim(path, "/")
	for _, f := range b.Files {
		if f == path {
			return "file"
		}
		if strings.HasPrefix(f, path+"/") {
			return "dir"
		}
	}
	return ""
}

func (c *call) pulls(repository string) []Pull {
	return slices.DeleteFunc(slices.Clone(c.server.World.Pulls), func(p Pull) bool { return p.Repository != repository })
}

func each[T any](list []T, f func(T) any) []any {
	out := []any{}
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}

type object = map[string]any

func labels(names []string) []any {
	return each(names, func(n string) any { return object{"name": n} })
}

func (r Repo) defaultOr(name string) string {
	if r.Default == "" {
		return name
	}
	return r.Default
}
