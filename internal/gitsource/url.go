package gitsource

import (
	"net/url"
	"regexp"
	"strings"
)

// Key returns what is the same for all URLs of one repository: host and path, without scheme, user, default port and
// ".git", in lower case.
func Key(repoURL string) string {
	s := strings.TrimSpace(repoURL)
	if scp := scpPattern.FindStringSubmatch(s); scp != nil && !strings.Contains(s, "://") {
		s = "ssh://" + scp[1] + "/" + scp[2]
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return strings.TrimSuffix(strings.TrimRight(s, "/"), ".git")
	}
	host := u.Hostname()
	switch port := u.Port(); port {
	case "", "22", "80", "443":
	default:
		host += ":" + port
	}
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	return strings.ToLower(host + "/" + path)
}

var scpPattern = regexp.MustCompile(`^((?:[^@/:]+@)?[^/:]+):([^/].*)$`)

// Redact returns a URL without user and password, for messages.
func Redact(repoURL string) string {
	scheme, rest, ok := strings.Cut(repoURL, "://")
	if !ok {
		return repoURL
	}
	// A password may contain a slash, which ends the host everywhere else.
	if user, _, ok := strings.Cut(rest, "@"); ok && passwordPattern.MatchString(user) {
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
	}
	authority, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	return scheme + "://" + authority + "/" + path
}

// passwordPattern matches a user and a password, but not a host and a port with a path.
var passwordPattern = regexp.MustCompile(`^[^/:]*:(\d+[^/\d]|\D)`)

var urlPattern = regexp.MustCompile(`[a-z+]+://[^\s'"]+`)

func redactWords(line string) string {
	return urlPattern.ReplaceAllStringFunc(line, Redact)
}
