package giturl

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/words"
)

// Key returns a key that is the same for all URLs of one repository: host and path, without scheme, user, default port and ".git", in lower
// case.
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

// IsPath reports whether a URL is a path of this machine, as git takes it.
func IsPath(repoURL string) bool {
	scheme, _, ok := strings.Cut(repoURL, "://")
	if ok {
		return strings.EqualFold(scheme, "file")
	}
	return scpPattern.FindStringSubmatch(repoURL) == nil
}

// Redact returns a URL without user, password, query and fragment, for messages; the revision in the query of a Kustomization's resource
// stays. Where a password may end is not always clear: what may be a part of one is left out, though it may be a host.
func Redact(repoURL string) string {
	scheme, rest, ok := strings.Cut(repoURL, "://")
	if !ok {
		// As scp has it; a user has no password there.
		if user, host, ok := cutLast(repoURL, "@"); ok && strings.Contains(user, ":") {
			return host
		}
		return repoURL
	}
	digest := digestPattern.FindString(rest)
	rest = strings.TrimSuffix(rest, digest)
	// A password may contain all that ends a host: a slash, a question mark, an at sign. An at sign in a path is known only behind what can
	// be nothing but a host.
	if before, behind, ok := cutLast(rest, "@"); ok && !hostPattern.MatchString(before) {
		rest = behind
	}
	revision := ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		revision = revisionPattern.FindString(rest[i:])
		rest = rest[:i]
	}
	if !strings.Contains(rest, "/") {
		rest += "/"
	}
	return scheme + "://" + rest + revision + digest
}

var (
	// digestPattern matches the digest of an OCI artifact.
	digestPattern = regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)
	// revisionPattern matches a query that begins with a revision, such as ?ref=v1.2.
	revisionPattern = regexp.MustCompile(`^\?(ref|version)=[A-Za-z0-9._/-]{1,100}`)
	// hostPattern matches a host with a path: it has a dot and no port, which could be the beginning of a password.
	hostPattern = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+/`)
	// schemePattern matches where a URL begins in a text.
	schemePattern = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)
	portPattern   = regexp.MustCompile(`^[^:]*(:\d*)?[,.;)]*$`)
)

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Message returns an untrusted message without secrets of URLs, and with at most so many bytes.
func Message(text string, most int) string {
	if len(text) > 2*most {
		text = text[:2*most]
		// A URL that is cut inside its password cannot be recognised. It is left out: it may show once those before it are shorter.
		if last := strings.LastIndexAny(text, wordEnds) + 1; strings.Contains(text[last:], "://") {
			text = text[:last]
		}
		text = strings.ToValidUTF8(text, "") + " …"
	}
	return words.Shorten(RedactText(text), most)
}

// Line returns an untrusted message as Message does, on one line and without control characters.
func Line(text string, most int) string {
	return words.Harmless(Message(words.OneLine(text, 4*most), most))
}

// RedactText redacts all URLs in a text: those that are known by their exact spelling, others as far as they can be recognised.
func RedactText(text string, known ...string) string {
	for _, url := range known {
		if strings.Contains(url, "://") {
			text = strings.ReplaceAll(text, url, Redact(url))
		}
	}
	if !strings.Contains(text, "://") {
		return text // most messages: a thousand of them are read for each Application
	}
	var out strings.Builder
	for {
		at := schemePattern.FindStringIndex(text)
		if at == nil {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:at[0]])
		end := urlEnd(text, at[1])
		word := text[at[0]:end]
		if strings.ContainsAny(word, "@?#") {
			word = Redact(word)
		}
		out.WriteString(word)
		text = text[end:]
	}
}

// wordEnds are the characters that end a URL in a text.
const wordEnds = " \t\r\n'\"<>`"

// urlEnd finds where a URL in a text ends, whose host or user begins at start. A password may contain blanks and quotes.
func urlEnd(text string, start int) int {
	wordEnd := func(from int) int {
		if i := strings.IndexAny(text[from:], wordEnds); i >= 0 {
			return from + i
		}
		return len(text)
	}
	end := wordEnd(start)
	word := text[start:end]
	if strings.Contains(word, "@") || strings.HasSuffix(word, ":") {
		return end
	}
	more := text[end:]
	if next := schemePattern.FindStringIndex(more); next != nil {
		more = more[:next[0]]
	}
	i := strings.LastIndex(more, "@")
	if i < 0 {
		return end
	}
	authority := word
	if j := strings.IndexAny(word, "/?#"); j >= 0 {
		authority = word[:j]
	}
	// Behind a host with a port, or without one, a text goes on with a colon or a quote, and may name a mail address.
	if portPattern.MatchString(authority) && (strings.Contains(more[:i], ": ") || hostPattern.MatchString(authority+"/") &&
		!strings.Contains(authority, ":")) {
		return end
	}
	return wordEnd(end + i)
}
