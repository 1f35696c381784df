package gitsource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/cachedir"
	"github.com/argosy-cd/argosy/internal/giturl"
)

// commitPattern matches full commit IDs.
var commitPattern = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// cacheSettings keep every fetched pack whole: a pack appears complete or not at all, while loose objects of a fetch that
// was killed would look like a commit without its files. Nothing is pruned.
const cacheSettings = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[fetch]\n\tunpackLimit = 1\n"

// lockPoll is how often a lock that another process holds is tried.
const lockPoll = 20 * time.Millisecond

// cachePath is the repository of a URL in Config.Cache.
func (s *Source) cachePath(url string) string {
	sum := sha256.Sum256([]byte(giturl.Key(url)))
	return filepath.Join(s.cfg.Cache, hex.EncodeToString(sum[:]))
}

// kept returns a commit that is in the cache, nil if the revision is not a full commit ID or not there.
func (s *Source) kept(ctx context.Context, url, revision string) *Tree {
	if s.cfg.Cache == "" || !commitPattern.MatchString(revision) {
		return nil
	}
	dir := s.cachePath(url)
	if !isRepository(dir) || !s.mayCache() {
		return nil
	}
	t, err := s.cachedRepository(dir).at(ctx, revision)
	if err != nil {
		return nil
	}
	return t
}

func isRepository(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "HEAD"))
	return err == nil
}

func (s *Source) cachedRepository(dir string) *repository {
	return &repository{git: git{dir: dir, env: s.cfg.Env, remote: true}, bare: true}
}

// fetchCached opens a revision of a remote repository in the cache. It asks the remote which commit the revision is,
// unless the revision is a commit ID, and fetches the commit only if the cache lacks it.
func (s *Source) fetchCached(ctx context.Context, url, revision string) (*Tree, error) {
	if t := s.kept(ctx, url, revision); t != nil {
		return t, nil
	}
	dir := s.cachePath(url)
	repo := s.cachedRepository(dir)
	ref, commit := revision, revision
	if !commitPattern.MatchString(revision) {
		var err error
		if ref, commit, err = repo.lookUp(ctx, url, revision); err != nil {
			return nil, err
		}
		if t := s.kept(ctx, url, commit); t != nil {
			return t, nil
		}
	}
	unlock, err := s.lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// The previous holder of the lock may have fetched the commit.
	if t := s.kept(ctx, url, commit); t != nil {
		return t, nil
	}
	removeStale(dir)
	kept := "refs/argosy/" + commit
	if _, err := repo.run(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--", url, "+"+ref+":"+kept); err != nil {
		return nil, fmt.Errorf("fetching revision %q: %w", revision, err)
	}
	// By the reference: a branch may have moved on since the remote was asked.
	return repo.at(ctx, kept)
}

// mayCache makes the directory of the cache, and reports whether commits in it can be trusted.
func (s *Source) mayCache() bool {
	err := cachedir.Open(s.cfg.Cache)
	if err != nil {
		s.note(fmt.Sprintf("the cache %s is not used: %v", s.cfg.Cache, err))
	}
	return err == nil
}

// initCached makes an empty repository in the cache if there is none. It reports whether the cache can be used.
func (s *Source) initCached(ctx context.Context, url string) bool {
	if !s.mayCache() {
		return false
	}
	dir := s.cachePath(url)
	if isRepository(dir) {
		return true
	}
	if err := s.makeCached(ctx, dir); err != nil {
		s.note(fmt.Sprintf("the cache %s is not used: %v", s.cfg.Cache, err))
		return false
	}
	return true
}

func (s *Source) makeCached(ctx context.Context, dir string) error {
	unlock, err := s.lock(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	if isRepository(dir) {
		return nil
	}
	temp, err := os.MkdirTemp(s.cfg.Cache, cachedir.Unfinished)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	if _, err := (git{dir: temp, env: s.cfg.Env}).run(ctx, "init", "--quiet", "--bare"); err != nil {
		return err
	}
	if err := appendFile(filepath.Join(temp, "config"), cacheSettings); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(temp, dir)
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// lookUp asks a remote for the full name of a revision's reference, and for its commit. A revision that the remote does
// not list is returned as it is.
func (g git) lookUp(ctx context.Context, url, revision string) (ref, commit string, err error) {
	revision, err = g.resolveRemote(ctx, url, revision)
	if err != nil {
		return "", "", err
	}
	// In the order in which git fetch tries them.
	names := []string{revision, "refs/" + revision, "refs/tags/" + revision, "refs/heads/" + revision}
	args := []string{"ls-remote", "--", url}
	for _, name := range names {
		args = append(args, name, name+"^{}")
	}
	out, err := g.run(ctx, args...)
	if err != nil {
		return "", "", fmt.Errorf("looking up revision %q: %w", revision, err)
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && commitPattern.MatchString(id) {
			found[name] = id
		}
	}
	for _, name := range names {
		if id, ok := found[name]; ok {
			if peeled, ok := found[name+"^{}"]; ok {
				id = peeled
			}
			return name, id, nil
		}
	}
	sum := sha256.Sum256([]byte(revision))
	return revision, hex.EncodeToString(sum[:]), nil
}

// lock locks a repository in the cache for writing, against other callers in this process and other processes.
func (s *Source) lock(ctx context.Context, dir string) (unlock func(), err error) {
	s.mu.Lock()
	turn := s.turns[dir]
	if turn == nil {
		turn = make(chan struct{}, 1)
		s.turns[dir] = turn
	}
	s.mu.Unlock()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	release, err := lockFile(ctx, dir+".lock")
	if err != nil {
		<-turn
		return nil, fmt.Errorf("locking %s.lock: %w", dir, err)
	}
	return func() { release(); <-turn }, nil
}

// removeStale removes the files that a killed git has left behind. The caller holds the lock.
func removeStale(dir string) {
	for _, pattern := range []string{"shallow.lock", "objects/pack/tmp_*", "refs/argosy/*.lock"} {
		names, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		for _, name := range names {
			_ = os.Remove(name)
		}
	}
}
