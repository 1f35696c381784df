package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/gittree"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/tree"
)

// chart answers from the vendored charts, the cache or the repository, in this order.
func (f *Fetcher) chart(ctx context.Context, repo *repository, name, version string) (*Chart, error) {
	c, err := f.vendoredChart(repo, name, version)
	if c != nil || err != nil {
		return c, err
	}
	if gittree.IsVersion(version) {
		if c := f.kept(name, "chart", repo.url, name, version); c != nil {
			return c, nil
		}
	}
	if f.cfg.Offline {
		return nil, fmt.Errorf("chart %s of %s: not in the cache, and offline", title(name, version), repo.url)
	}
	if repo.oci {
		c, err = f.registryChart(ctx, repo, name, version)
	} else {
		c, err = f.indexedChart(ctx, repo, name, version)
	}
	if err != nil {
		return nil, fmt.Errorf("fetching chart %s from %s: %w", title(name, version), repo.url, explain(ctx, err))
	}
	r := reference{Version: c.Version, Digest: c.Digest}
	f.cache.keepReference(r, "chart", repo.url, name, c.Version)
	if gittree.IsVersion(version) && version != c.Version {
		f.cache.keepReference(r, "chart", repo.url, name, version)
	}
	return c, nil
}

// kept returns a chart or an artifact from the cache, nil if it is not there whole.
func (f *Fetcher) kept(name string, key ...string) *Chart {
	r, ok := f.cache.reference(key...)
	if !ok {
		return nil
	}
	c, err := unpack(name, f.cache.blob(r.Digest), r)
	if err != nil {
		return nil
	}
	return c
}

// indexedChart fetches a chart from a repository with an index.
func (f *Fetcher) indexedChart(ctx context.Context, repo *repository, name, version string) (*Chart, error) {
	a, err := f.accessTo(repo)
	if err != nil {
		return nil, err
	}
	all, err := f.index(ctx, repo, a)
	if err != nil {
		return nil, err
	}
	r, err := all.choose(name, version)
	if err != nil {
		return nil, err
	}
	if len(r.URLs) == 0 {
		return nil, fmt.Errorf("the index has no address for version %s", r.Version)
	}
	return f.once(ctx, func(ctx context.Context) (*Chart, error) {
		return f.release(ctx, repo, a, name, r)
	}, "release", repo.url, name, r.Version)
}

// release returns a release from the cache, or downloads it.
func (f *Fetcher) release(ctx context.Context, repo *repository, a *access, name string, r release) (*Chart, error) {
	if data := f.cache.blob(r.sum()); data != nil {
		return unpack(name, data, reference{Version: r.Version})
	}
	if c := f.kept(name, "chart", repo.url, name, r.Version); c != nil && r.sum() == "" {
		return c, nil
	}
	target, err := repo.below(r.URLs[0])
	if err != nil {
		return nil, err
	}
	f.note(fmt.Sprintf("fetching chart %s %s from %s", name, r.Version, repo.url))
	data, err := f.download(ctx, a, target)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", giturl.Redact(target.String()), explain(ctx, err))
	}
	if sum := r.sum(); sum != "" && !digestOf(data, sum) {
		return nil, fmt.Errorf("%s: its digest is %s, the index says %s", giturl.Redact(target.String()), digest(data), sum)
	}
	return f.keep(name, data, reference{Version: r.Version})
}

// download gets an archive that an index names. Some indexes name archives in registries.
func (f *Fetcher) download(ctx context.Context, a *access, target *url.URL) ([]byte, error) {
	switch target.Scheme {
	case "https", "http":
		res, err := f.get(ctx, a, target, request{limit: maxArchive})
		if err != nil {
			return nil, err
		}
		return res.data, nil
	case "oci":
		repo, tag, _ := strings.Cut(strings.Trim(target.Path, "/"), ":")
		p, err := f.pull(ctx, &repository{host: target.Host, path: repo}, tag, isChartLayer)
		if err != nil {
			return nil, err
		}
		return p.data, nil
	default:
		return nil, fmt.Errorf("scheme %q is not supported; it must be https, http or oci", target.Scheme)
	}
}

// keep unpacks an archive and stores it. A refused archive is not stored.
func (f *Fetcher) keep(name string, data []byte, r reference) (*Chart, error) {
	c, err := unpack(name, data, r)
	if err != nil {
		return nil, err
	}
	f.cache.keepBlob(data)
	return c, nil
}

// unpack makes a Chart of an archive.
func unpack(name string, data []byte, r reference) (*Chart, error) {
	kind := ".tar"
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		kind = ".tgz"
	} else if isHTML(data) {
		return nil, errors.New("the server answered with an HTML page instead of an archive")
	} else if !r.Keep {
		return nil, errors.New("unpacking the archive: not a gzip file")
	}
	files, err := archive.Extract(name+kind, data, archive.DefaultLimits)
	if err != nil {
		return nil, fmt.Errorf("unpacking the archive: %w", err)
	}
	if !r.Keep {
		files = tree.Top(files)
		if _, ok := tree.Find(files, "Chart.yaml"); !ok {
			return nil, errors.New("unpacking the archive: it has no Chart.yaml, so it is not a chart")
		}
	}
	return &Chart{Name: path.Base(name), Version: r.Version, Digest: digest(data), Files: files}, nil
}
