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

// Canonical is the same for all spellings of the URL of one repository that is reached in one way: upper and lower case, a user, slashes
// and ".git" at the end, and both forms of SSH. Argo CD compares URLs in this way, too, but for the user and the slashes (Normal). A
// repository over HTTP and over SSH are two; Key ignores the way.
func Canonical(repository string) string {
	url := strings.ToLower(strings.TrimSpace(repository))
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		scheme, rest = "ssh", strings.Replace(url, ":", "/", 1)
	}
	if _, host, ok := strings.Cut(rest, "@"); ok {
		rest = host
	}
	return scheme + "://" + strings.TrimSuffix(strings.Trim(rest, "/"), ".git")
}

// HasMore reports whether something follows the path of a URL: a query or a fragment.
func HasMore(u *url.URL) bool { return u.RawQuery != "" || u.ForceQuery || u.Fragment != "" }

// Port is the port of a URL, also where it is not written.
func Port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443", "ssh": "22"}[u.Scheme])
}

// Origin is the scheme, host and port of a URL: the server that a credential is for.
func Origin(u *url.URL) string {
	return strings.ToLower(u.Scheme+"://"+u.Hostname()) + ":" + Port(u)
}

// Normal is a URL in the form in which Argo CD compares URLs. A text that is no URL is returned unchanged.
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
// the same, too: a URL that only begins like it may belong to another host, which would get the credential.
func Covers(template, repository string) bool {
	t, r := Parse(template), Parse(repository)
	return t != nil && r != nil && strings.EqualFold(t.Hostname(), r.Hostname()) && Port(t) == Port(r) && t.Scheme == r.Scheme &&
		strings.HasPrefix(Normal(repository), Normal(template))
}
