// Package giturl knows the URLs of repositories: which are of the same one, and how they are printed without their secrets.
package giturl

import (
	"net/url"
	"regexp"
	"strings"
)

var scpPattern = regexp.MustCompile(`^((?:[^@/:]+@)?[^/:]+):([^/].*)$`)

// Parse reads the URL of a repository, also in the form of scp. It returns nil for a text that is no URL or has no host.
func Parse(repoURL string) *url.URL {
	s := strings.TrimSpace(repoURL)
	if scp := scpPattern.FindStringSubmatch(s); scp != nil && !strings.Contains(s, "://") {
		s = "ssh://" + scp[1] + "/" + scp[2]
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}
