// Package gitsource reads Git repositories for a user, by the git command: a work tree as it lies on disk, a revision of a local
// repository, or a shallow fetch of a remote one, which a cache may keep.
//
// Credentials, ignore rules and every repository format work as the user has them. The configuration of a repository on disk makes it run
// no program, and so nothing is fetched into a partial clone. It never writes to a repository, lets git ask for no password, never follows
// a link out of a tree, and refuses trees and files over its limits, and work trees that are not complete. URLs in errors have no
// credentials in them.
package gitsource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/gittree"
	"github.com/argosy-cd/argosy/internal/giturl"
)

// Config configures a Source.
type Config struct {
	// Local says which repositories are local, the last of two for one repository counting. The same repository under
	// another scheme, with or without ".git" or a user, is the same.
	Local []Local
	// Offline refuses to fetch what Local does not have.
	Offline bool
	// NoPaths refuses URLs that are paths of this machine and not in Local: the planned manifests may be untrusted, and must not read other
	// files of this machine.
	NoPaths bool
	// Env is the environment of git commands: the user's PATH, home and credentials.
	Env environ.Environ
	// Note is called with a line about a decision that the user should know of, one call at a time. Nil drops them.
	Note func(string)
	// Cache is a directory that keeps fetched commits between runs, in a bare repository for each URL. It is made if it does not exist,
	// may be shared by processes, and is not used if another user owns it or may write to it. "" fetches into a temporary directory that
	// Close removes.
	Cache string
}

// Local is a repository, or a directory of one, on disk.
type Local struct {
	// URL is the URL of the repository, as Applications name it.
	URL string
	// Path is a work tree, a directory in one, a bare repository, or a directory that is not under Git at all.
	Path string
	// Revision, if set, answers every revision. If not, a work tree answers as it lies on disk, except for revisions
	// that are a tag, a commit or another branch; a bare repository answers with the revision asked for.
	Revision string
	// Branch is the branch that the work tree will be merged into, and stands for besides the checked-out one. "" is none.
	Branch string
}

// Source opens trees. It is safe for concurrent use; Close removes what it fetched.
type Source struct {
	cfg   Config
	local map[string]Local
	// opening lets callers of the same tree share one fetch; different trees are opened in parallel.
	opening flight.Group[*Tree]
	noting  sync.Mutex
	noted   map[string]bool

	mu     sync.Mutex
	trees  map[[2]string]*Tree
	failed map[[2]string]error
	turns  map[string]chan struct{} // to write to a repository in the cache
	temp   string
}

// New returns a Source.
func New(cfg Config) *Source {
	s := &Source{
		cfg: cfg, local: map[string]Local{}, trees: map[[2]string]*Tree{}, failed: map[[2]string]error{}, noted: map[string]bool{},
		turns: map[string]chan struct{}{},
	}
	for _, l := range cfg.Local {
		s.local[giturl.Key(l.URL)] = l
	}
	return s
}

// Close removes everything that was fetched.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.trees {
		t.close()
	}
	s.trees = map[[2]string]*Tree{}
	if s.temp == "" {
		return nil
	}
	temp := s.temp
	s.temp = ""
	return os.RemoveAll(temp)
}

// Tree opens a repository at a revision; "" is HEAD. Trees and failures are kept, so a second call is free.
func (s *Source) Tree(ctx context.Context, url, revision string) (*Tree, error) {
	if revision == "" {
		revision = "HEAD"
	}
	id := [2]string{giturl.Key(url), revision}
	if t, err := s.opened(id); t != nil || err != nil {
		return t, err
	}
	t, _, err := s.opening.Do(ctx, id[0]+"\x00"+id[1], func(ctx context.Context) (*Tree, error) {
		if t, err := s.opened(id); t != nil || err != nil {
			return t, err
		}
		t, err := s.openListed(ctx, url, revision)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			err = fmt.Errorf("repository %s: %w", giturl.Redact(url), err)
			if ctx.Err() == nil { // a server that cannot be reached is asked once
				s.failed[id] = err
			}
			return nil, err
		}
		s.trees[id] = t
		return t, nil
	})
	return t, err
}

func (s *Source) opened(id [2]string) (*Tree, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trees[id], s.failed[id]
}

// openListed opens a tree and lists it, so that a Tree never changes after it was handed out.
func (s *Source) openListed(ctx context.Context, url, revision string) (*Tree, error) {
	t, err := s.open(ctx, url, revision)
	if err != nil {
		return nil, err
	}
	if err := t.list(ctx); err != nil {
		return nil, err
	}
	for _, name := range t.submodules {
		s.note(fmt.Sprintf("%s: the content of submodule %s is not here; Argo CD would look into it", giturl.Redact(url), name))
	}
	return t, nil
}

func (s *Source) open(ctx context.Context, url, revision string) (*Tree, error) {
	if l, ok := s.local[giturl.Key(url)]; ok {
		return s.openLocal(ctx, url, l, revision)
	}
	if s.cfg.Offline {
		if t := s.kept(ctx, url, revision); t != nil {
			return t, nil
		}
		return nil, errors.New("not fetched because of --offline; map it with --repo URL=PATH")
	}
	if s.cfg.NoPaths && giturl.IsPath(url) {
		return nil, errors.New("it is a path of this machine, and not mapped; map it with --repo URL=PATH")
	}
	return s.fetch(ctx, url, revision)
}

func (s *Source) openLocal(ctx context.Context, url string, l Local, revision string) (*Tree, error) {
	abs, err := filepath.Abs(l.Path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(abs); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", l.Path)
	}
	repo, err := findRepository(ctx, s.cfg.Env, abs)
	if err != nil {
		return nil, err
	}
	if repo != nil {
		wanted := revision
		if l.Revision != "" {
			wanted = l.Revision
		}
		if wanted, err = repo.resolve(ctx, wanted); err != nil {
			return nil, err
		}
		if l.Revision != "" || repo.bare {
			return repo.at(ctx, wanted)
		}
		revision = wanted
	}
	switch {
	case repo == nil && l.Revision != "":
		return nil, fmt.Errorf("%s is not in a Git repository, so it has no revision %q", l.Path, l.Revision)
	case repo == nil:
		return &Tree{dir: abs}, nil
	case revision == "HEAD" || strings.TrimPrefix(revision, "refs/heads/") == repo.branch(ctx):
		return &Tree{repo: repo, dir: abs}, nil
	case l.Branch != "" && strings.TrimPrefix(revision, "refs/heads/") == l.Branch:
		s.note(fmt.Sprintf("%s: the work tree %s stands for branch %s, as if it was merged", giturl.Redact(url), l.Path, l.Branch))
		return &Tree{repo: repo, dir: abs}, nil
	case repo.isBranch(ctx, revision):
		return repo.at(ctx, revision)
	case repo.has(ctx, revision+"^{commit}") || isPin(revision):
		return repo.at(ctx, revision)
	}
	// A checkout of a pull request often has no branch but its own, so this may be right, and must be said.
	s.note(fmt.Sprintf("%s: revision %q is not known in %s and is answered from the work tree as it is on disk", giturl.Redact(url),
		revision, l.Path))
	return &Tree{
		repo: repo, dir: abs,
		instead: fmt.Sprintf("revision %q is not in this clone, and the work tree was read instead; fetch it, or correct it", revision),
	}, nil
}

// isPin reports whether a revision cannot be a branch by its looks: a commit, a version or a reference to a tag.
func isPin(revision string) bool {
	return gittree.MayBeCommit(revision) || gittree.IsVersion(revision) || strings.HasPrefix(revision, "refs/tags/")
}

func (s *Source) note(line string) {
	s.noting.Lock()
	defer s.noting.Unlock()
	if s.cfg.Note != nil && !s.noted[line] {
		s.noted[line] = true
		s.cfg.Note(line)
	}
}

// fetchTimeout bounds a fetch; a server that does not answer would hold it for ever.
const fetchTimeout = 3 * time.Minute

// fetch gets one revision of a remote repository, without history, into a temporary bare repository.
func (s *Source) fetch(ctx context.Context, url, revision string) (*Tree, error) {
	if strings.HasPrefix(url, "-") {
		return nil, errors.New("not a URL")
	}
	if strings.HasPrefix(revision, "-") || strings.ContainsAny(revision, " \t\n:") {
		return nil, fmt.Errorf("revision %q is not one that can be fetched", revision)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if s.cfg.Cache != "" && s.initCached(ctx, url) {
		return s.fetchCached(ctx, url, revision)
	}
	dir, err := s.tempDir()
	if err != nil {
		return nil, err
	}
	g := git{dir: dir, env: s.cfg.Env, remote: true}
	if _, err := g.run(ctx, "init", "--quiet", "--bare"); err != nil {
		return nil, err
	}
	ref, err := g.resolveRemote(ctx, url, revision)
	if err != nil {
		return nil, err
	}
	if _, err := g.run(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--", url, ref); err != nil {
		return nil, fmt.Errorf("fetching revision %q: %w", revision, err)
	}
	repo := &repository{git: g, bare: true}
	return repo.at(ctx, "FETCH_HEAD")
}

// tempDir makes a directory that Close removes.
func (s *Source) tempDir() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temp == "" {
		temp, err := os.MkdirTemp("", "argosy-git-")
		if err != nil {
			return "", err
		}
		s.temp = temp
	}
	return os.MkdirTemp(s.temp, "repo-")
}

// FindRemotes returns the work tree that dir is in, for each remote of its repository; nothing outside a repository.
func FindRemotes(ctx context.Context, env environ.Environ, dir string) ([]Local, error) {
	repo, err := findRepository(ctx, env, dir)
	if err != nil || repo == nil || repo.bare {
		return nil, err
	}
	out, err := repo.run(ctx, "config", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return nil, nil // a repository without remotes
	}
	var remotes []Local
	for line := range strings.Lines(out) {
		if _, url, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			remotes = append(remotes, Local{URL: url, Path: repo.top})
		}
	}
	return remotes, nil
}

// TopLevel returns the root of the work tree that dir is in, "" outside one.
func TopLevel(ctx context.Context, env environ.Environ, dir string) (string, error) {
	repo, err := findRepository(ctx, env, dir)
	if err != nil || repo == nil || repo.bare {
		return "", err
	}
	return repo.top, nil
}

// DefaultBranch returns the branch that a repository is cloned with: HEAD of the remote "origin" or, if that is not known here, main or
// master. It is "" if there is none of these.
func DefaultBranch(ctx context.Context, env environ.Environ, dir string) string {
	repo, err := findRepository(ctx, env, dir)
	if err != nil || repo == nil {
		return ""
	}
	if out, err := repo.run(ctx, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"); err == nil {
		return strings.TrimPrefix(strings.TrimSpace(out), "origin/")
	}
	for _, name := range []string{"main", "master"} {
		if repo.isBranch(ctx, name) {
			return name
		}
	}
	return ""
}

// OnDefault reports whether the default branch of the repository that dir is in is checked out there.
func OnDefault(ctx context.Context, env environ.Environ, dir string) bool {
	repo, err := findRepository(ctx, env, dir)
	if err != nil || repo == nil || repo.bare {
		return false
	}
	branch := repo.branch(ctx)
	return branch != "" && branch == DefaultBranch(ctx, env, dir)
}

// IsBranch reports whether a revision is a branch of the repository that dir is in, here or at a remote, and not also a tag.
func IsBranch(ctx context.Context, env environ.Environ, dir, revision string) bool {
	repo, err := findRepository(ctx, env, dir)
	return err == nil && repo != nil && repo.isBranch(ctx, revision) && !repo.has(ctx, "refs/tags/"+revision)
}
