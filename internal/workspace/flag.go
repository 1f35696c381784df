package workspace

import (
	"os"
	"strings"

	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// Directory refuses the value of a flag that is no directory; "" is none.
func Directory(flag, dir string) error {
	if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
		return problem.Usagef("--%s %q: there is no such directory", flag, dir)
	}
	return nil
}

// ParseRepos reads directories, and URL=PATH[@REV].
func ParseRepos(flags []string) ([]gitsource.Local, error) {
	var out []gitsource.Local
	for _, flag := range flags {
		l, err := ParseRepo(flag)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// ParseRepo reads a directory, or URL=PATH[@REV]. A directory alone has no URL yet.
func ParseRepo(flag string) (gitsource.Local, error) {
	info, err := os.Stat(flag)
	switch {
	case err == nil && info.IsDir():
		return gitsource.Local{Path: flag}, nil
	case err == nil:
		return gitsource.Local{}, problem.Usagef("--repo %s: it is not a directory", words.Printable(flag))
	case !strings.Contains(flag, "="):
		return gitsource.Local{}, problem.Usagef("--repo %q: there is no such directory", flag)
	}
	return parseMapping(flag)
}

// parseMapping reads URL=PATH[@REV]. The URL ends at the first "=" behind which there is a path that exists, because
// URLs may contain "="; the revision starts at the first "@" behind a path that exists, because both may contain "@".
func parseMapping(flag string) (gitsource.Local, error) {
	url, rest, ok := strings.Cut(flag, "=")
	if !ok || url == "" || rest == "" {
		return gitsource.Local{}, problem.Usagef("--repo %s: must be URL=PATH or URL=PATH@REV", giturl.Redact(flag))
	}
	for {
		l := splitRevision(rest)
		if _, err := os.Stat(l.Path); err == nil {
			l.URL = url
			return l, nil
		}
		more, tail, ok := strings.Cut(rest, "=")
		if !ok {
			return l, problem.Usagef("--repo %s: there is no directory %s", giturl.Redact(flag), splitRevision(rest).Path)
		}
		url, rest = url+"="+more, tail
	}
}

func splitRevision(s string) gitsource.Local {
	if _, err := os.Stat(s); err == nil {
		return gitsource.Local{Path: s}
	}
	for i := 1; i < len(s)-1; i++ {
		if s[i] != '@' {
			continue
		}
		if _, err := os.Stat(s[:i]); err == nil {
			return gitsource.Local{Path: s[:i], Revision: s[i+1:]}
		}
	}
	path, _, _ := strings.Cut(s, "@")
	return gitsource.Local{Path: path}
}
