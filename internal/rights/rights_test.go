package rights_test

import (
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/rights"
)

const (
	web    = "https://git.example.com/team/web"
	shared = "https://git.example.com/shared/charts"
)

func TestChoose(t *testing.T) {
	type credential = rights.Credential
	all := credential{URL: web, Complete: true}
	settings := credential{URL: web}
	teams := credential{URL: web, Project: "team", Complete: true}
	others := credential{URL: web, Project: "other", Complete: true}
	host := credential{URL: "https://git.example.com", Template: true, Complete: true}
	group := credential{URL: "https://git.example.com/team", Template: true, Complete: true}
	othersGroup := credential{URL: "https://git.example.com/team/w", Template: true, Project: "other", Complete: true}
	for name, c := range map[string]struct {
		all           []credential
		project       string
		own, template int
	}{
		"none":                                {nil, "team", -1, -1},
		"the repository's":                    {[]credential{all}, "team", 0, -1},
		"the project's before everybody's":    {[]credential{all, teams}, "team", 1, -1},
		"in any order":                        {[]credential{teams, all}, "team", 0, -1},
		"everybody's for another project":     {[]credential{all, teams}, "third", 0, -1},
		"another project's":                   {[]credential{others}, "team", -1, -1},
		"another project's, for no project":   {[]credential{others}, "", -1, -1},
		"the longest template":                {[]credential{host, group}, "team", -1, 1},
		"a longer one of another project":     {[]credential{group, othersGroup}, "team", -1, 0},
		"the repository's before a template":  {[]credential{group, all}, "team", 1, -1},
		"settings of one, secrets of another": {[]credential{settings, group}, "team", 0, 1},
		"settings without any secrets":        {[]credential{settings}, "team", 0, -1},
		"a template is not for a longer host": {
			[]credential{{URL: "https://git.example.co", Template: true, Complete: true}},
			"team", -1,
			-1,
		},
		"a template of the repository's name": {[]credential{{URL: web, Template: true, Complete: true}}, "team", -1, 0},
		"one without a URL is for nothing":    {[]credential{{Complete: true}}, "team", -1, -1},
		"spelt in another way": {
			[]credential{{URL: "https://GIT.example.com/Team/web.git", Complete: true}},
			"team", 0,
			-1,
		},
		"with a user it is another repository": {
			[]credential{{URL: "https://me@git.example.com/team/web", Complete: true}},
			"team", -1,
			-1,
		},
	} {
		if own, template := rights.Choose(c.all, web, c.project); own != c.own || template != c.template {
			t.Errorf("%s: got %d and %d, want %d and %d", name, own, template, c.own, c.template)
		}
	}
}

func TestReadRepository(t *testing.T) {
	rules := func(text string) *policy.Policy {
		p, err := policy.Parse("policy.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	lenient := rules("projects: [{name: team, applications: [{projects: [team], repositories: ['https://git.example.com/shared/']}]}]\n")
	closed := rules("projects: [{name: other, applications: [{projects: [other]}]}]\n")
	for name, c := range map[string]struct {
		project string
		admin   bool
		policy  *policy.Policy
		url     string
		owner   string // of the credential
		denied  string
	}{
		"its own":                               {project: "team", url: web},
		"its own, spelt in another way":         {project: "team", url: "https://GIT.example.com:443/team/web.git/"},
		"its own, under a policy without it":    {project: "team", policy: closed, url: web},
		"its own with capitals is another one":  {project: "team", url: "https://git.example.com/Team/web", denied: "of its own repositories only"},
		"its own with a query is another one":   {project: "team", url: web + "?x=", denied: "of its own repositories only"},
		"with its project's credential":         {project: "team", url: shared, owner: "team"},
		"with everybody's credential":           {project: "team", url: shared, denied: "of its own repositories only"},
		"with another project's credential":     {project: "team", url: shared, owner: "other", denied: "of its own repositories only"},
		"without a project":                     {url: shared, denied: "of its own repositories only"},
		"an administrator":                      {project: "default", admin: true, url: shared},
		"an administrator with rules for teams": {project: "default", admin: true, policy: closed, url: shared, denied: `"default"`},
		"allowed by the policy":                 {project: "team", policy: lenient, url: shared},
		"not allowed by the policy": {
			project: "team", policy: lenient, url: "https://git.example.com/secret/x",
			denied: "does not include",
		},
	} {
		a := rights.Asker{Parent: policy.Parent{Project: c.project, Admin: c.admin}, Repository: web, Policy: c.policy}
		err := a.ReadRepository(c.url, c.owner)
		if (err == nil) != (c.denied == "") || err != nil && !strings.Contains(err.Error(), c.denied) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCluster(t *testing.T) {
	for _, c := range []struct {
		project string
		admin   bool
		owner   string
		want    bool
	}{
		{"team", false, "", true},
		{"team", false, "team", true},
		{"team", false, "other", false},
		{"", false, "other", false},
		{"", false, "", true},
		{"default", true, "other", true},
	} {
		a := rights.Asker{Parent: policy.Parent{Project: c.project, Admin: c.admin}}
		if got := a.Cluster(c.owner); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// TestAskAPI: the policy decides what is asked, and whose Secrets are used.
func TestAskAPI(t *testing.T) {
	rules, err := policy.Parse("p.yaml", []byte(`
projects:
  - name: team
    applications: [{projects: [team], apis: ['https://api.github.com/acme', 'configmap/team-*']}]
  - name: platform
    applications: [{projects: ['*'], apis: ['https://*/acme']}]
`))
	if err != nil {
		t.Fatal(err)
	}
	team, admin := policy.Parent{Project: "team", Namespace: "team"}, policy.Parent{Project: "default", Namespace: "argocd", Admin: true}
	for _, c := range []struct {
		name    string
		policy  *policy.Policy
		parent  policy.Parent
		target  rights.Target
		allowed bool
	}{
		{"admin", nil, admin, rights.Target{Resource: "https://x/y", Namespace: "anything", Role: "r"}, true},
		{"no policy", nil, team, rights.Target{Resource: "https://api.github.com/acme"}, false},
		{"rule", rules, team, rights.Target{Resource: "https://api.github.com/acme", Namespace: "team"}, true},
		{"below", rules, team, rights.Target{Resource: "https://api.github.com/acme/web", Namespace: "argocd"}, true},
		{"beside", rules, team, rights.Target{Resource: "https://api.github.com/acme2"}, false},
		{"up", rules, team, rights.Target{Resource: "https://api.github.com/acme/../other"}, false},
		{"other host", rules, team, rights.Target{Resource: "https://evil.example.com/acme"}, false},
		{"other namespace", rules, team, rights.Target{Resource: "https://api.github.com/acme", Namespace: "kube-system"}, false},
		{"role", rules, team, rights.Target{Resource: "configmap/team-x", Role: "r"}, false},
		{"plugin", rules, team, rights.Target{Resource: "configmap/team-x"}, true},
		{"other plugin", rules, team, rights.Target{Resource: "configmap/ours"}, false},
		{"admin with rules", rules, admin, rights.Target{Resource: "https://api.github.com/acme"}, false},
		{"pattern", rules, policy.Parent{Project: "platform", Namespace: "p"}, rights.Target{Resource: "https://git.example.com/acme"}, true},
	} {
		if err := (rights.Asker{Parent: c.parent, Policy: c.policy}).AskAPI(c.target, "argocd"); (err == nil) != c.allowed {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestAdministrators: what only applications of administrators' projects may do.
func TestAdministrators(t *testing.T) {
	for _, admin := range []bool{false, true} {
		a := rights.Asker{Parent: policy.Parent{Project: "team", Admin: admin}}
		if a.MarkedTokens() == admin {
			t.Errorf("admin %t: marked tokens %t", admin, a.MarkedTokens())
		}
		if err := a.ServerEngine(); (err == nil) != admin || err != nil && !strings.Contains(err.Error(), `project "team"`) {
			t.Errorf("admin %t: %v", admin, err)
		}
	}
}
