package fetch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/argosy-cd/argosy/internal/gittree"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// index has the versions of each chart of a repository.
type index map[string][]release

// release is a version of a chart, as index.yaml has it.
type release struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"` // of the archive, in hexadecimal; "" is not known
}

// keptIndex is an index in the cache. It is kept decoded, since decoding a large index.yaml takes seconds.
type keptIndex struct {
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Entries  index  `json:"entries"`
}

// index returns the index of a repository, requested once.
func (f *Fetcher) index(ctx context.Context, repo *repository, a *access) (index, error) {
	return f.indexes.do(ctx, repo.url+"?"+repo.parsed.RawQuery, func(ctx context.Context) (index, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, wholeTimeout, errTimeout)
		defer cancel()
		i, err := f.fetchIndex(ctx, repo, a)
		if err != nil {
			return nil, fmt.Errorf("index.yaml: %w", explain(ctx, err))
		}
		return i, nil
	})
}

func (f *Fetcher) fetchIndex(ctx context.Context, repo *repository, a *access) (index, error) {
	target, err := repo.below("index.yaml")
	if err != nil {
		return nil, err
	}
	kept := f.cache.index(repo.url)
	f.note(fmt.Sprintf("fetching the index of %s", repo.url))
	res, err := f.get(ctx, a, target, request{limit: maxIndex, etag: kept.ETag, modified: kept.Modified, packed: true})
	if err != nil {
		return nil, err
	}
	if res.current {
		return kept.Entries, nil
	}
	f.decoding.Lock()
	entries, err := decodeIndex(res.data)
	f.decoding.Unlock()
	if err == nil && res.etag+res.modified != "" {
		f.cache.keepIndex(repo.url, keptIndex{res.etag, res.modified, entries})
	}
	return entries, err
}

func decodeIndex(data []byte) (index, error) {
	if isHTML(data) {
		return nil, errors.New("the server answered with an HTML page instead of an index")
	}
	var file struct {
		Entries index `json:"entries"`
	}
	if err := manifest.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not the index of a Helm repository: %s", oneLine(err.Error()))
	}
	if file.Entries == nil {
		return nil, errors.New("not the index of a Helm repository: it has no entries")
	}
	return file.Entries, nil
}

// choose returns the release of a chart that a version means, as Helm does: the one that is spelled like it, or the
// highest one that satisfies it as a constraint.
func (i index) choose(name, version string) (release, error) {
	releases, ok := i[name]
	if !ok {
		return release{}, errors.New("the index has no chart of this name")
	}
	versions := make([]string, len(releases))
	for n, r := range releases {
		versions[n] = r.Version
	}
	chosen, err := choose(versions, version)
	if err != nil {
		return release{}, err
	}
	for _, r := range releases {
		if r.Version == chosen {
			return r, nil
		}
	}
	return release{}, nil
}

// choose returns one of versions.
func choose(versions []string, wanted string) (string, error) {
	for _, v := range versions {
		if v == wanted && v != "" {
			return v, nil
		}
	}
	best, err := gittree.Highest(orAny(wanted), versions)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is none of its %d versions, and not a constraint", wanted, len(versions))
	case best == "":
		return "", fmt.Errorf("none of its %d versions satisfies %q", len(versions), orAny(wanted))
	}
	return best, nil
}

// sum returns the digest of a release as this package spells it, "" if it has none.
func (r release) sum() string {
	if r.Digest == "" {
		return ""
	}
	return digestPrefix + strings.ToLower(strings.TrimPrefix(r.Digest, digestPrefix))
}
