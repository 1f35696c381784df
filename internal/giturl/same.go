package giturl

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
)

// Same reports whether two URLs are certainly of one repository that is reached in one way: the same scheme, host, port and path, capitals
// included, and nothing behind it.
func Same(a, b string) bool {
	x, y := Parse(a), Parse(b)
	if x == nil || y == nil {
		return a == b
	}
	trim := func(u *url.URL) string { return strings.TrimSuffix(strings.Trim(u.EscapedPath(), "/"), ".git") }
	return x.Scheme == y.Scheme && strings.EqualFold(x.Hostname(), y.Hostname()) && Port(x) == Port(y) && trim(x) == trim(y) &&
		!HasMore(x) && !HasMore(y)
}

// HasMore reports whether something follows the path of a URL: a query or a fragment.
func HasMore(u *url.URL) bool { return u.RawQuery != "" || u.ForceQuery || u.Fragment != "" }

// Port is the port of a URL, also where it is not written.
func Port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443", "ssh": "22"}[u.Scheme])
}

// Normal is a URL in the form in which Argo CD compares URLs. A text that is no URL stays as it is.
func Normal(repository string) string { return cmp.Or(Compared(repository), repository) }

// Compared is a URL as Argo CD compares them (util/git/git.go, NormalizeGitURL, v3.2.11): in lower case, without ".git" at the end, with
// its user, port and query; "" for one that is none.
func Compared(repository string) string {
	s := strings.ToLower(strings.TrimSpace(repository))
	if sshPattern.MatchString(s) && !strings.HasPrefix(s, "ssh://") {
		s = "ssh://" + strings.Replace(s, ":", "/", 1)
	}
	u, err := url.Parse(strings.TrimSuffix(s, ".git"))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.String(), "ssh://")
}

var sshPattern = regexp.MustCompile(`^(ssh://)?([^/:]*?)@[^@]+$`)

// Covers reports whether a template of credentials is for a repository: the repository begins with it, as in Argo CD. Here the host must be
// the same, too: of a URL that only begins like it, the credential would go to somebody else.
func Covers(template, repository string) bool {
	t, r := Parse(template), Parse(repository)
	return t != nil && r != nil && strings.EqualFold(t.Hostname(), r.Hostname()) && Port(t) == Port(r) && t.Scheme == r.Scheme &&
		strings.HasPrefix(Normal(repository), Normal(template))
}
