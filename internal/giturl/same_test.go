package giturl

import "testing"

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"https://git.example.com/team/web.git", "https://GIT.example.com:443/team/web/", true},
		{"https://git.example.com/team/web.git", "https://git.example.com/Team/web", false},
		{"https://git.example.com/team/web.git", "https://git.example.com/team/web.git?x=", false},
		{"https://git.example.com/team/web.git", "https://git.example.com/team/web.git?", false},
		{"https://git.example.com/team/web.git", "https://git.example.com/team/web.git#x", false},
		{"https://git.example.com/team/web.git", "https://git.example.com/team%2Fweb.git", false},
		{"https://user@git.example.com/team/web", "https://git.example.com/team/web", true},
		{"git@git.example.com:team/web.git", "ssh://git@git.example.com:22/team/web", true},
		{"https://git.example.com/team/web", "http://git.example.com/team/web", false},
		{"https://git.example.com/team/web", "https://git.example.com:22/team/web", false},
		{"https://git.example.com/team/web", "ssh://git@git.example.com/team/web", false},
		{"https://git.example.com/team/web", "https://git.example.com/team/web2", false},
	} {
		if Same(c.a, c.b) != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, !c.want)
		}
	}
}

func TestNormal(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{" https://Git.example.com/Team/Web.git ", "https://git.example.com/team/web"},
		{"git@git.example.com:team/web.git", "git@git.example.com/team/web"},
		{"ssh://git@git.example.com/team/web", "git@git.example.com/team/web"},
		{"https://git.example.com:443/team/web/", "https://git.example.com:443/team/web/"},
		{"https://git.example.com/%zz", "https://git.example.com/%zz"},
	} {
		if got := Normal(c.url); got != c.want {
			t.Errorf("%s: got %s, want %s", c.url, got, c.want)
		}
	}
}

func TestCanonical(t *testing.T) {
	for url, want := range map[string]string{
		"https://me@Git.example.com/Team/Web/": "https://git.example.com/team/web",
		"https://git.example.com/team/web.git": "https://git.example.com/team/web",
		"git@git.example.com:team/web.git":     "ssh://git.example.com/team/web",
		"ssh://git@git.example.com/team/web/":  "ssh://git.example.com/team/web",
		"http://git.example.com/team/web":      "http://git.example.com/team/web",
	} {
		if got := Canonical(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		template, repository string
		want                 bool
	}{
		{"https://git.example.com", "https://git.example.com/team/web", true},
		{"https://git.example.com/team", "https://GIT.example.com/TEAM/web.git", true},
		{"https://git.example.com/team", "https://git.example.com/team-b/web", true}, // as in Argo CD
		{"https://git.example.com/team", "https://git.example.com/other/web", false},
		{"https://git.example.com", "https://git.example.com.evil.test/web", false},
		{"https://git.example.com", "https://git.example.com@evil.test/web", false},
		{"https://git.example.com", "http://git.example.com/web", false},
		{"https://git.example.com", "https://git.example.com:8443/web", false},
		{"git@git.example.com:team", "ssh://git@git.example.com/team/web", true},
		{"", "https://git.example.com/web", false},
	} {
		if got := Covers(c.template, c.repository); got != c.want {
			t.Errorf("%q and %q: got %v", c.template, c.repository, got)
		}
	}
}
