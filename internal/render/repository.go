package render

import (
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// repository is a directory of a Git repository.
type repository struct{ url, dir, revision string }

var errNotRepository = errors.New("not a file in the source, and not the URL of a Git repository")

// parseRepository parses a reference to a Git repository by Kustomize's rules (NewRepoSpecFromURL): https://host/org/repo//dir?ref=v1,
// github.com/org/repo/dir, git@host:org/repo.git/dir, and so on.
func parseRepository(ref string) (repository, error) {
	var r repository
	ref, query, _ := strings.Cut(ref, "?")
	if values, err := url.ParseQuery(query); err == nil {
		if r.revision = values.Get("ref"); r.revision == "" {
			r.revision = values.Get("version")
		}
	}
	host, inside, ok := splitHost(ref)
	if !ok || path.IsAbs(ref) {
		return r, errNotRepository
	}
	repo, dir, ok := splitRepository(inside)
	if !ok {
		repo, dir, ok = splitSegments(inside, host == "file://")
	}
	if !ok || repo == "" {
		return r, errNotRepository
	}
	if r.dir = path.Clean(strings.TrimPrefix(dir, "/")); r.dir == ".." || strings.HasPrefix(r.dir, "../") {
		return r, errors.New("url path exits repo")
	}
	r.url = host + repo
	return r, nil
}

var userName = regexp.MustCompile("^[a-zA-Z][a-zA-Z0-9-]*@")

// splitHost splits a reference into the host, with scheme and user, and the path. Without a scheme, there must be a user, or it is
// GitHub's.
func splitHost(ref string) (host, inside string, ok bool) {
	rest, _ := cutPrefixFold(ref, "git::")
	scheme := ""
	for _, s := range []string{"ssh://", "https://", "http://", "file://"} {
		if after, ok := cutPrefixFold(rest, s); ok {
			scheme, rest = s, after
			break
		}
	}
	if scheme == "file://" {
		return scheme, rest, true
	}
	user := userName.FindString(rest)
	rest = rest[len(user):]
	_, github := cutPrefixFold(rest, "github.com/")
	_, colon := cutPrefixFold(rest, "github.com:")
	github = github || colon
	if scheme == "" && user == "" && !github {
		return "", "", false
	}
	at := strings.IndexByte(rest, '/')
	if i := strings.IndexByte(rest, ':'); scheme == "" && (at < 0 || i > 0 && i < at) {
		at = i
	}
	host, inside = rest[:at+1], rest[at+1:]
	if at < 0 {
		host, inside = rest, ""
	}
	switch {
	case !github:
		return scheme + user + host, inside, host != ""
	case scheme == "ssh://" || user != "":
		return user + "github.com:", inside, true
	default:
		return "https://github.com/", inside, true
	}
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// splitRepository splits a path at a marker into that of the repository and that of the directory in it.
func splitRepository(inside string) (repo, dir string, ok bool) {
	if before, after, found := strings.Cut(inside, "_git/"); found {
		name, dir, _ := strings.Cut(after, "/")
		return before + "_git/" + name, dir, true
	}
	if before, after, found := strings.Cut(inside, "//"); found {
		return before, after, true
	}
	if before, after, found := strings.Cut(inside, ".git"); found {
		return before + ".git", after, true
	}
	return "", "", false
}

// splitSegments splits a path after organization and repository, as GitHub has them. A repository on disk is all of the path.
func splitSegments(inside string, all bool) (repo, dir string, ok bool) {
	if all {
		return inside, "", true
	}
	parts := strings.SplitN(inside, "/", 3)
	switch len(parts) {
	case 2:
		return inside, "", true
	case 3:
		return parts[0] + "/" + parts[1], parts[2], true
	}
	return "", "", false
}
