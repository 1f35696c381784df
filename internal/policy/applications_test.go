package policy

import (
	"strings"
	"testing"
)

const rules = `projects:
  - name: team-*
    applications:
      - projects: [team-a, "team-a-*"]
        destinations:
          - {namespace: team-a-*}
          - {server: "https://prod.example.com/", namespace: shared}
          - {name: dev}
        repositories: ["https://git.example.com/team-a", "https://*.example.org/charts", "git@git.example.com:team-a"]
      - projects: [sandbox]
        namespaces: [argocd, team-*]
  - name: platform
    applications: [{projects: ["*"], namespaces: ["*"], repositories: ["*"]}]
  - name: empty
`

func TestApplication(t *testing.T) {
	p, err := Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	parent := Parent{Project: "team-a", Namespace: "argocd"}
	ok := Child{
		Name: "web", Namespace: "argocd", Project: "team-a", Server: "https://kubernetes.default.svc", Destination: "team-a-web",
		Repositories: []string{"https://git.example.com/team-a/web.git"},
	}
	const refused = `Application "web": refused by policy.yaml for project "team-a": projects[0].applications[0].`
	for name, c := range map[string]struct {
		change func(*Child)
		want   string
	}{
		"allowed":        {func(*Child) {}, ""},
		"another server": {func(c *Child) { c.Server, c.Destination = "https://prod.example.com", "shared" }, ""},
		"by name":        {func(c *Child) { c.Server, c.Cluster, c.Destination = "", "dev", "any" }, ""},
		"second rule":    {func(c *Child) { c.Project, c.Namespace, c.Destination = "sandbox", "team-x", "any" }, ""},
		"repositories": {func(c *Child) {
			c.Repositories = []string{"https://charts.example.org/charts/x", "git@git.example.com:team-a/web"}
		}, ""},
		"project": {func(c *Child) { c.Project = "infra" }, strings.Replace(refused, "[0].", "[1].", 2)},
		"namespace": {func(c *Child) {
			c.Namespace = "kube-system"
		}, refused + `namespaces is not set, and the namespace "kube-system" is not that of the parent`},
		"destination": {func(c *Child) {
			c.Destination = "kube-system"
		}, refused + `destinations does not include namespace "kube-system" of https://kubernetes.default.svc`},
		"shared elsewhere": {func(c *Child) { c.Destination = "shared" }, refused + `destinations does not include namespace "shared"`},
		"repository": {func(c *Child) {
			c.Repositories = append(c.Repositories, "https://u:p@git.example.com/team-b/x")
		}, refused + `repositories does not include "https://git.example.com/team-b/x"`},
		"a password with a slash": {func(c *Child) {
			c.Repositories = append(c.Repositories, "https://u:p/p@git.example.com/team-b/x?token=p")
		}, refused + `repositories does not include "https://git.example.com/team-b/x"`},
		"neighbour": {func(c *Child) { c.Repositories = []string{"https://git.example.com/team-ab/x"} }, refused + "repositories"},
		"up": {func(c *Child) {
			c.Repositories = []string{"https://git.example.com/team-a/../secret"}
		}, refused + "repositories"},
		"up, encoded": {func(c *Child) {
			c.Repositories = []string{"https://git.example.com/team-a/%2e%2e/secret"}
		}, refused + "repositories"},
		"up, twice": {func(c *Child) {
			c.Repositories = []string{"https://git.example.com/team-a/%252e%252e/secret"}
		}, refused + "repositories"},
		"query": {func(c *Child) {
			c.Repositories = []string{"https://evil.test?.example.org/charts"}
		}, refused + "repositories"},
		"host": {func(c *Child) {
			c.Repositories = []string{"https://evil.test/.example.org/charts"}
		}, refused + "repositories"},
	} {
		t.Run(name, func(t *testing.T) {
			child := ok
			child.Repositories = append([]string(nil), ok.Repositories...)
			c.change(&child)
			err := p.Application(parent, child)
			switch {
			case name == "project":
				if err == nil || !strings.HasSuffix(err.Error(), `projects[0].applications[1].projects does not include "infra"`) {
					t.Error(err)
				}
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	if err := p.Application(Parent{Project: "platform"}, Child{
		Project: "x", Namespace: "y",
		Repositories: []string{"anything/../at all"},
	}); err != nil {
		t.Error(err)
	}
	if err := p.Application(Parent{Project: "empty", Admin: true}, ok); err == nil ||
		!strings.HasSuffix(err.Error(), "projects[2] (empty) allows no Applications") {
		t.Error(err)
	}
	if err := p.Generator(parent, "https://git.example.com/team-a/x"); err != nil {
		t.Error(err)
	}
	// The second rule says nothing about repositories, but it is for Applications of the project sandbox, and a generator
	// reads before there is one: what one rule allows is allowed.
	if err := p.Generator(parent, "https://git.example.com/team-b/x"); err != nil {
		t.Error(err)
	}
}

func TestNoRules(t *testing.T) {
	s3Only, err := Parse("policy.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	child := Child{Name: "web", Namespace: "argocd", Project: "infra"}
	for name, p := range map[string]*Policy{"no file": nil, "a file about S3": s3Only} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				parent Parent
				want   string
			}{
				{Parent{Project: "default", Namespace: "argocd", Admin: true}, ""},
				{Parent{Project: "infra", Namespace: "argocd"}, ""},
				{
					Parent{Project: "team-a", Namespace: "argocd"},
					`Application "web": project "infra" is refused: its parent is in project "team-a"`,
				},
				{
					Parent{Project: "infra", Namespace: "team-a"},
					`Application "web": namespace "argocd" is refused: its parent is in namespace "team-a"`,
				},
				{Parent{}, `Application "web": refused: the parent's project is not known`},
			} {
				err := p.Application(c.parent, child)
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
					t.Errorf("%+v: %v", c.parent, err)
				}
			}
			if err := p.Generator(Parent{Project: "default", Admin: true}, "x"); err != nil {
				t.Error(err)
			}
			if err := p.Generator(Parent{Project: "team-a"}, "x"); err == nil {
				t.Error("credentials for everybody")
			}
		})
	}
}

func TestApplicationRuleErrors(t *testing.T) {
	_, err := Parse("policy.yaml",
		[]byte("projects:\n- name: a\n  applications:\n  - projects: []\n    destinations: [{namespace: '['}]\n  - repositories: ['']\n"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"policy.yaml:4:15: projects[0].applications[0].projects must name a project",
		`projects[0].applications[0].destinations[0].namespace: "[" is not a pattern`,
		"projects[0].applications[1].projects must be set",
		`projects[0].applications[1].repositories: "" is not a pattern`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}
