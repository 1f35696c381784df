// Package gitserver serves synthetic Git repositories over smart HTTP: protocol versions 0, 1 and 2, clones and fetches,
// shallow ones too. Repositories have one branch with a linear history.
//
// Nothing can be pushed, because there is no code for it. Partial clones are answered with whole ones, which Git accepts. Requests are
// bounded in size; an unknown request is refused with a message that Git shows to its user.
package gitserver

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Branch is the branch of every repository.
const Branch = "refs/heads/main"

// Repository is a repository that is computed.
type Repository interface {
	// Head returns the commit that the branch is at.
	Head(ctx context.Context) (Hash, error)
	// History returns a commit and those before it, newest first. It reports false for a commit that is not known, or no
	// longer.
	History(ctx context.Context, commit Hash) (History, bool, error)
}

// History is a line of commits.
type History struct {
	Commits []Object
	// Content returns the trees and blobs of a commit.
	Content func(i int) ([]Object, error)
}

// Limits of requests.
const (
	maxRequest = 1 << 20 // unpacked: as many lines as may be
	maxHashes  = 20_000  // wants and haves
	maxWants   = 64      // there is one branch
)

// ErrNotFound is for a repository that does not exist.
var ErrNotFound = errors.New("there is no such repository")

// NotFoundError is ErrNotFound with a reason that the client is told, too.
type NotFoundError struct{ Reason string }

func (e *NotFoundError) Error() string { return ErrNotFound.Error() + ": " + e.Reason }

// Is reports that it is ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// Server is an http.Handler.
type Server struct {
	// Open returns the repository at a path such as "appset.git", or ErrNotFound, joined with a reason for the log, or a NotFoundError.
	Open func(ctx context.Context, path string) (Repository, error)
	// Failed is called with errors that the client does not see. Nil drops them.
	Failed func(path string, err error)
}

// ServeHTTP answers the requests of Git.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, service, ok := split(r)
	if !ok {
		http.Error(w, "this is a Git server; use git clone", http.StatusNotFound)
		return
	}
	if service != "git-upload-pack" {
		http.Error(w, "this server is read-only, nothing can be pushed", http.StatusForbidden)
		return
	}
	repository, err := s.Open(r.Context(), path)
	if err != nil {
		s.fail(w, path, err)
		return
	}
	w.Header().Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
	if r.Method == http.MethodGet {
		err = advertise(w, r, repository)
	} else {
		err = s.upload(w, r, repository)
	}
	if err != nil {
		s.fail(w, path, err)
	}
}

// split returns the repository and the service of a request.
func split(r *http.Request) (path, service string, ok bool) {
	switch r.Method {
	case http.MethodGet:
		path, ok = strings.CutSuffix(r.URL.Path, "/info/refs")
		service = r.URL.Query().Get("service")
		ok = ok && service != "" // without one it is the old way, which needs files
	case http.MethodPost:
		for _, s := range []string{"git-upload-pack", "git-receive-pack"} {
			if p, found := strings.CutSuffix(r.URL.Path, "/"+s); found {
				path, service, ok = p, s, true
			}
		}
	}
	return strings.TrimPrefix(path, "/"), service, ok
}

// fail answers with a message that Git shows: the first line of the body.
func (s *Server) fail(w http.ResponseWriter, path string, err error) {
	var refused *requestError
	var told *NotFoundError
	switch {
	case errors.As(err, &told):
		if s.Failed != nil {
			s.Failed(path, err)
		}
		http.Error(w, told.Error(), http.StatusNotFound)
	case errors.Is(err, ErrNotFound):
		if err.Error() != ErrNotFound.Error() && s.Failed != nil {
			s.Failed(path, err) // the client is not told why
		}
		http.Error(w, ErrNotFound.Error(), http.StatusNotFound)
	case errors.As(err, &refused):
		http.Error(w, refused.Error(), http.StatusBadRequest)
	default:
		if s.Failed != nil {
			s.Failed(path, err)
		}
		http.Error(w, "this repository cannot be read now; see the server's log", http.StatusServiceUnavailable)
	}
}

// requestError is the client's mistake.
type requestError struct{ text string }

func (e *requestError) Error() string { return e.text }

func refuse(format string, args ...any) error { return &requestError{fmt.Sprintf(format, args...)} }

// version is the version of the protocol that the client asks for.
func version(r *http.Request) int {
	for part := range strings.SplitSeq(r.Header.Get("Git-Protocol"), ":") {
		switch part {
		case "version=2":
			return 2
		case "version=1":
			return 1
		}
	}
	return 0
}

const (
	agent        = "agent=argosy"
	capabilities = "multi_ack_detailed side-band-64k side-band shallow no-progress allow-tip-sha1-in-want allow-reachable-sha1-in-want " +
		"object-format=sha1 symref=HEAD:" + Branch + " " + agent
)

// advertise answers the first request: with the references, or, in version 2, with the capabilities.
func advertise(w http.ResponseWriter, r *http.Request, repository Repository) error {
	var b strings.Builder
	v := version(r)
	if v == 2 {
		for _, text := range []string{"version 2", agent, "ls-refs=unborn", "fetch=shallow", "object-format=sha1"} {
			_ = writeLine(&b, "%s", text)
		}
		b.WriteString(flushPkt)
	} else {
		head, err := repository.Head(r.Context())
		if err != nil {
			return err
		}
		_ = writeLine(&b, "# service=git-upload-pack")
		b.WriteString(flushPkt)
		if v == 1 {
			_ = writeLine(&b, "version 1")
		}
		_ = writeLine(&b, "%s HEAD\x00%s", head, capabilities)
		_ = writeLine(&b, "%s %s", head, Branch)
		b.WriteString(flushPkt)
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	_, _ = io.WriteString(w, b.String())
	return nil
}

// upload answers the requests behind that.
func (s *Server) upload(w http.ResponseWriter, r *http.Request, repository Repository) error {
	body := io.Reader(http.MaxBytesReader(w, r.Body, maxRequest))
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return refuse("the request has Content-Encoding gzip, but is not gzip")
		}
		body = z
	default:
		return refuse("the request has an encoding that is not known")
	}
	in := bufio.NewReader(&bounded{body, maxRequest})
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	if version(r) == 2 {
		return serveV2(r.Context(), w, in, repository)
	}
	return serveV0(r.Context(), w, in, repository)
}

// bounded is a request that fails once it has more than maxRequest bytes.
type bounded struct {
	io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, refuse("the request is larger than %d bytes", maxRequest)
	}
	n, err := b.Reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
