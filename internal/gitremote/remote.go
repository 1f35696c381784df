// Package gitremote reads remote Git repositories for a server, without the git command and with Argo CD's credentials: each time it asks
// which commit a revision is, and it fetches a commit once, without history.
//
// A caller that may not read a repository does not get a commit that another caller has fetched. Answers, packs, trees, memory and disk
// have limits. A repository at a link-local address is refused. URLs in errors have no credentials in them.
package gitremote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/gittree"
	"github.com/argosy-cd/argosy/internal/giturl"
)

// fetchTimeout bounds a fetch; a server that does not answer would hold it for ever. Tests change it.
var fetchTimeout = 3 * time.Minute

// Remote reads remote repositories without the git command, for long-running servers. For each call it resolves the revision at the
// repository, with the credential of the caller. It fetches each commit once, without history. It speaks HTTP, HTTPS and SSH.
type Remote struct {
	// Dir holds fetched commits, and nothing else. Open empties it.
	Dir string
	// MaxBytes bounds the bytes of one fetch. Zero is 512 MiB.
	MaxBytes int64
	Now      func() time.Time
	// Env has the proxies for HTTP and HTTPS.
	Env environ.Environ
	// KnownHosts returns the keys of SSH servers, as in ~/.ssh/known_hosts. Nil is none.
	KnownHosts func(ctx context.Context) ([]byte, error)
	// CA returns the certificates in PEM to verify a host with; none means the system's. Nil is the system's for every host.
	CA func(ctx context.Context, host string) ([]byte, error)
	// Instead returns the URL and the revision to fetch in the place of others, or an error that refuses them. Nil replaces and refuses
	// nothing.
	Instead func(url, revision string) (string, string, error)

	refs    flight.Group[*packp.AdvRefs]
	fetches flight.Group[*snapshot]
	tokens  tokens

	mu        sync.Mutex
	kept      map[string]*snapshot
	unpacking map[string]bool // by owner
	changed   chan struct{}   // closed when waiting fetches may have room
}

// Open makes Dir, and removes what an earlier process left there.
func (r *Remote) Open() error {
	// Each call resolves its revision anew.
	r.refs.Fresh = true
	if err := os.RemoveAll(r.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.Dir), 0o700); err != nil {
		return err
	}
	// Mkdir fails if another process has created Dir in the meantime.
	return os.Mkdir(r.Dir, 0o700)
}

// Tree opens a repository at a revision; "" is HEAD. A nil credential is none. The tree can be read until the context ends, and for two
// minutes at least if it never does.
func (r *Remote) Tree(ctx context.Context, url, revision string, c *Credential) (*gittree.Tree, error) {
	t, err := flight.Safely(func() (*gittree.Tree, error) { return r.open(ctx, url, revision, c) })
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("repository %s: %w", giturl.Redact(url), err)
	}
	return t, nil
}

// Commit resolves a revision to a commit, and fetches nothing.
func (r *Remote) Commit(ctx context.Context, url, revision string, c *Credential) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	commit, err := flight.Safely(func() (string, error) {
		a, err := r.ask(ctx, url, revision, c)
		if err != nil {
			return "", err
		}
		return a.commit.String(), a.session.Close()
	})
	if err != nil {
		return "", fmt.Errorf("repository %s: %w", giturl.Redact(url), err)
	}
	return commit, nil
}

// errLeft is for callers that shared the session of a cancelled caller: over SSH its connection ends with it.
var errLeft = errors.New("the request that shared this session was cancelled")

// advertised reads the references. A caller without access to them does not get a commit that another caller has fetched.
func (r *Remote) advertised(ctx context.Context, s session, url string, c *Credential) (*packp.AdvRefs, error) {
	for {
		refs, _, err := r.refs.Do(ctx, url+"\x00"+c.id(), func(call context.Context) (*packp.AdvRefs, error) {
			refs, err := s.AdvertisedReferencesContext(call)
			if err != nil && ctx.Err() != nil {
				err = errLeft
			}
			return refs, err
		})
		if errors.Is(err, errLeft) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, explain(err)
		}
		return refs, nil
	}
}

// asked is the answer of a repository about a revision.
type asked struct {
	url     string // the repository that has answered
	session session
	refs    *packp.AdvRefs
	commit  plumbing.Hash
}

// ask finds the commit of a revision. The session is open then.
func (r *Remote) ask(ctx context.Context, url, revision string, c *Credential) (*asked, error) {
	if r.Instead != nil {
		var err error
		if url, revision, err = r.Instead(url, revision); err != nil {
			return nil, err
		}
	}
	a := &asked{url: url}
	var err error
	if a.session, err = r.session(ctx, url, c); err != nil {
		return nil, err
	}
	if a.refs, err = r.advertised(ctx, a.session, url, c); err == nil {
		a.commit, err = resolveRefs(a.refs, revision)
	}
	if err != nil {
		_ = a.session.Close()
		return nil, err
	}
	return a, nil
}

func (r *Remote) open(ctx context.Context, url, revision string, c *Credential) (*gittree.Tree, error) {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	a, err := r.ask(ctx, url, revision, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.session.Close() }()
	key := a.url + "\x00" + a.commit.String()
	snap, err := r.commit(ctx, key, func(ctx context.Context) (*snapshot, error) { return r.fetch(ctx, a.commit, a.refs, a.session) })
	if err != nil {
		return nil, fmt.Errorf("fetching revision %q: %w", revision, explain(err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.use(whole, snap)
	return snap.tree, nil
}

// resolveRefs finds the commit of a revision.
func resolveRefs(refs *packp.AdvRefs, revision string) (plumbing.Hash, error) {
	if revision == "" || revision == "HEAD" {
		if refs.Head == nil {
			return plumbing.ZeroHash, errors.New("it has no HEAD")
		}
		return *refs.Head, nil
	}
	if gittree.IsConstraint(revision) {
		var tags []string
		for name := range refs.References {
			if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok && !strings.HasSuffix(tag, "^{}") {
				tags = append(tags, tag)
			}
		}
		tag, err := gittree.HighestTag(revision, tags)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		revision = "refs/tags/" + tag
	}
	for _, name := range []string{revision, "refs/heads/" + revision, "refs/tags/" + revision} {
		if hash, ok := refs.Peeled[name]; ok {
			return hash, nil
		}
		if hash, ok := refs.References[name]; ok {
			return hash, nil
		}
	}
	if plumbing.IsHash(revision) {
		return plumbing.NewHash(revision), nil
	}
	if gittree.MayBeCommit(revision) {
		return plumbing.ZeroHash, fmt.Errorf("there is no branch or tag %q; a commit must have all of its 40 digits", revision)
	}
	return plumbing.ZeroHash, fmt.Errorf("there is no branch or tag %q", revision)
}
