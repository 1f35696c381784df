package sidecar

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/argocd"
)

// installedVersion determines the version of the Argo CD in the cluster.
type installedVersion struct {
	// server reports the version. Nil uses given.
	server *argocd.Client
	// given is used until the server has answered. Zero is the newest.
	given versions.Version
	now   func() time.Time
	// tell is called when the version, its origin or the error changes.
	tell func(v versions.Version, from string, err error)

	first sync.Once
	mu    sync.Mutex
	last  versions.Version // the server's answer; 0 before the first
	told  string
	next  time.Time
}

// Times of requests to the server.
const (
	versionTimeout = 2 * time.Second
	versionRetry   = 30 * time.Second
	versionRefresh = 10 * time.Minute // Argo CD may have been upgraded
)

// current returns the version, and asks the server if that is due. All requests wait for the first answer, so that none is rendered as
// another version. A server that does not answer later delays one request, and fails none: the last answer counts, or the flag, or the
// newest version.
func (i *installedVersion) current(ctx context.Context) versions.Version {
	i.first.Do(func() { i.ask(ctx) })
	if i.due() {
		i.ask(ctx)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.best()
}

// due reports whether the caller is to ask the server.
func (i *installedVersion) due() bool {
	if i.server == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.now().Before(i.next) {
		return false
	}
	i.next = i.now().Add(versionRetry)
	return true
}

func (i *installedVersion) ask(ctx context.Context) {
	if i.server == nil {
		i.report(nil)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), versionTimeout)
	defer cancel()
	text, err := i.server.Version(ctx)
	v, exact, ok := versions.Nearest(text)
	switch {
	case err != nil:
	case !ok:
		err = fmt.Errorf("the Argo CD API server says that it is %q, which is no version", text)
	case !exact:
		err = fmt.Errorf("the Argo CD API server is version %s, and Argosy knows %s to %s; it renders as the nearest",
			text, versions.Oldest, versions.Newest)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next = i.now().Add(versionRetry)
	if ok {
		i.last, i.next = v, i.now().Add(versionRefresh)
	}
	i.report(err)
}

// best returns the server's version, or the given one, or the newest.
func (i *installedVersion) best() versions.Version {
	switch {
	case i.last != 0:
		return i.last
	case i.given != 0:
		return i.given
	}
	return versions.Newest
}

func (i *installedVersion) from() string {
	switch {
	case i.last != 0:
		return "server"
	case i.given != 0:
		return "flag"
	}
	return "newest"
}

func (i *installedVersion) report(err error) {
	if line := fmt.Sprint(i.best(), i.from(), err); line != i.told && i.tell != nil {
		i.told = line
		i.tell(i.best(), i.from(), err)
	}
}

// versioned is the embedded engine with the version of Argo CD at the time of a request.
type versioned struct {
	appset.Embedded
	version func(context.Context) versions.Version
}

// Generate implements appset.Engine.
func (v versioned) Generate(ctx context.Context, sets ...appset.Set) (*appset.Result, error) {
	return appset.Generate(ctx, v.Config(ctx), sets...)
}

// Config implements appset.Configurable.
func (v versioned) Config(ctx context.Context) appset.Config {
	e := v.Embedded
	e.Version = v.version(ctx)
	return appset.Config(e)
}
