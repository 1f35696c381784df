// Package fetch gets charts, OCI artifacts and files from remote servers, for the commands that people run: with the
// user's own credentials, and into a cache by digest.
//
// An exact version in the cache costs no request. Nothing is requested twice in one process, failures included. Every
// answer is bounded in size and time, archives are unpacked by package archive, and a credential goes only to the host it
// belongs to. No error and no note contains a credential.
//
// Every error means that the content is unavailable here and now: the network, the server, the credentials or the cache
// may be the cause. No error proves that the request is wrong.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Limits of one fetch.
const (
	maxIndex   = 64 << 20
	maxArchive = 64 << 20
	maxFile    = 16 << 20

	wholeTimeout = 3 * time.Minute
	idleTimeout  = 30 * time.Second
	atOnce       = 8
)

// Config configures a Fetcher. Its zero value fetches anonymously and keeps everything in memory.
type Config struct {
	// Dir is the cache directory. It is made with mode 0700 if it does not exist. "" keeps content in memory only.
	Dir string
	// Offline forbids every request: only exact versions in the cache, and Charts, are answered.
	Offline bool
	// Charts is a folder of vendored archives named NAME-VERSION.tgz, up to four levels deep. It is searched before the
	// cache and the network. Archives below a first folder with a dot in its name, such as charts.jetstack.io, are used for
	// repositories on that host only. "" is none.
	Charts string
	// Env is the environment: home, proxies, and where the files of Helm, Docker and netrc are. Its zero value has no
	// credentials and no proxies.
	Env environ.Environ
	// Note is called with progress lines, such as "fetching chart cert-manager 1.19.1 from https://charts.jetstack.io". Calls
	// do not overlap. Nil drops them.
	Note func(string)
	// Client sends the requests. Its CheckRedirect is replaced. Nil is a client with timeouts, and proxies from Env.
	Client *http.Client
	// PlainHTTP reports whether a registry, as host:port, speaks http. Nil is loopback addresses only.
	PlainHTTP func(host string) bool
}

// Chart is the content of a chart or of an artifact. It is shared between callers and must not be modified.
type Chart struct {
	// Name is the last element of the chart's name, or of an artifact's path.
	Name string
	// Version is the version that was chosen. For an artifact it is the tag or the digest.
	Version string
	// Digest is the checksum of the archive, as "sha256:" and 64 digits.
	Digest string
	// Files are sorted by name, and do not have the top directory of the archive in their names.
	Files []tree.File
}

// Fetcher fetches. It is safe for concurrent use.
type Fetcher struct {
	cfg      Config
	env      environment
	cache    cache
	base     http.RoundTripper
	wire     *wire
	registry *auth.Client

	charts  memo[*Chart]
	files   memo[[]byte]
	indexes memo[index]
	tags    memo[[]string]

	repositories func() ([]helmRepository, error)
	netrc        func() map[string]login
	vendored     func() ([]vendoredChart, error)
	keychains    func() []keychain
	decoding     sync.Mutex // of one index at a time, since decoding takes many times its size
	noting       sync.Mutex
	noted        map[string]bool
}

// New returns a Fetcher. It reads and requests nothing yet.
func New(cfg Config) *Fetcher {
	f := &Fetcher{cfg: cfg, env: environment{cfg.Env}, noted: map[string]bool{}}
	f.cache.dir, f.cache.note = cfg.Dir, f.noteOnce
	f.base = defaultTransport(cfg.Env)
	if cfg.Client != nil && cfg.Client.Transport != nil {
		f.base = cfg.Client.Transport
	}
	f.wire = &wire{slots: make(chan struct{}, atOnce), idle: idleTimeout}
	f.wire.wait = func(ctx context.Context, d time.Duration) bool { return retry.Wait(ctx, time.After(d)) }
	f.repositories = sync.OnceValues(f.readRepositories)
	f.netrc = sync.OnceValue(f.readNetrc)
	f.vendored = sync.OnceValues(f.listVendored)
	f.keychains = sync.OnceValue(f.openKeychains)
	f.registry = &auth.Client{
		Client: f.client(registryTransport{f.base, f.plain}), Header: http.Header{"User-Agent": {userAgent}},
		Credential: f.registryCredential, Cache: auth.NewCache(), ClientID: userAgent,
	}
	return f
}

// Close drops everything in memory, and idle connections. The cache on disk stays.
func (f *Fetcher) Close() error {
	f.charts.clear()
	f.files.clear()
	f.indexes.clear()
	f.tags.clear()
	if t, ok := f.base.(interface{ CloseIdleConnections() }); ok && f.cfg.Client == nil {
		t.CloseIdleConnections()
	}
	return nil
}

// Chart fetches a chart. The repository is spelled as in an Application or a Chart.yaml: https://host/path for one with an
// index.yaml, oci://host/path or host/path for a registry, @name or alias:name for one of Helm's repositories.yaml. The
// version is exact, a constraint such as "1.*", or "" for the newest stable version.
func (f *Fetcher) Chart(ctx context.Context, repository, name, version string) (*Chart, error) {
	repo, err := f.repository(repository)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", title(name, version), err)
	}
	if name == "" {
		return nil, fmt.Errorf("repository %s: the name of the chart must be set", repo.url)
	}
	return f.once(ctx, func(ctx context.Context) (*Chart, error) {
		return f.chart(ctx, repo, name, version)
	}, "chart", repo.url, name, version)
}

// Artifact fetches the only content layer of an OCI artifact, as Argo CD does for a source with oci:// and without a chart.
// The revision is a tag, a digest, a constraint, or "" for the highest version among the tags.
func (f *Fetcher) Artifact(ctx context.Context, url, revision string) (*Chart, error) {
	repo, err := f.repository(url)
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	if !repo.oci || repo.path == "" {
		return nil, fmt.Errorf("artifact %s: the URL must be oci://host/path", repo.url)
	}
	return f.once(ctx, func(ctx context.Context) (*Chart, error) { return f.artifact(ctx, repo, revision) }, "artifact", repo.url, revision)
}

// File fetches a file over http or https. It is kept in memory only, and so is not available offline.
func (f *Fetcher) File(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("file: the address must be an https or http URL")
	}
	if f.cfg.Offline {
		return nil, fmt.Errorf("file %s: files are not cached, and this is offline", giturl.Redact(address))
	}
	return f.files.do(ctx, address, func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, wholeTimeout, errTimeout)
		defer cancel()
		f.note(fmt.Sprintf("fetching file %s", giturl.Redact(address)))
		res, err := f.get(ctx, f.anonymous(), u, request{limit: maxFile})
		if err != nil {
			return nil, fmt.Errorf("fetching file %s: %w", giturl.Redact(address), explain(ctx, err))
		}
		return res.data, nil
	})
}

// once calls fn, bounded in time, unless a call with the same key has ended or is under way.
func (f *Fetcher) once(ctx context.Context, fn func(context.Context) (*Chart, error), key ...string) (*Chart, error) {
	return f.charts.do(ctx, strings.Join(key, "\x00"), func(ctx context.Context) (*Chart, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, wholeTimeout, errTimeout)
		defer cancel()
		return fn(ctx)
	})
}

func (f *Fetcher) note(line string) {
	f.noting.Lock()
	defer f.noting.Unlock()
	if f.cfg.Note != nil {
		f.cfg.Note(line)
	}
}

// noteOnce drops a line that was noted before.
func (f *Fetcher) noteOnce(line string) {
	f.noting.Lock()
	known := f.noted[line]
	f.noted[line] = true
	f.noting.Unlock()
	if !known {
		f.note(line)
	}
}

// title names a chart in messages.
func title(name, version string) string {
	return strings.TrimSpace(fmt.Sprintf("%q %s", name, version))
}

// orAny is the constraint that a version is.
func orAny(version string) string { return cmp.Or(version, "*") }
