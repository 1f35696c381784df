package refresh

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// view is one look at all that applications read.
type view struct {
	c    *Controller
	ctx  context.Context
	only *hints
	apps map[argo.Ref]App
	now  time.Time

	mu     sync.Mutex
	tried  map[argo.Ref]map[string]bool // places that were looked at, whatever came of it
	failed map[string]*failure          // by text
}

type failure struct {
	app   argo.Ref
	times int
	err   error
}

// found takes note of what an application has not seen in a place; nil is nothing. It is known at once: one look that takes long is
// no reason for others to wait.
func (v *view) found(app argo.Ref, place string, f *finding) {
	v.try(app, place)
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	e := v.c.apps[app]
	if e == nil {
		return
	}
	old, known := e.found[place]
	switch {
	case f == nil:
		delete(e.found, place)
		delete(e.asked, place)
	case !known || old.id != f.id:
		e.found[place] = *f
		v.c.poke()
	}
}

func (v *view) try(app argo.Ref, place string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tried[app] == nil {
		v.tried[app] = map[string]bool{}
	}
	v.tried[app][place] = true
}

// fail takes note of a look that failed. Where there was a hint it is believed.
func (v *view) fail(app argo.Ref, place string, f finding, err error) {
	if v.only != nil {
		v.found(app, place, v.unknown(f))
	}
	v.try(app, place)
	v.problem(app, err)
}

// problem is told once, however many applications have it.
func (v *view) problem(app argo.Ref, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.failed[err.Error()]
	if f == nil {
		f = &failure{app: app, err: err}
		v.failed[err.Error()] = f
	}
	f.times++
}

// deadline bounds one look: who notifies does not wait for long.
func (v *view) deadline() (context.Context, context.CancelFunc) {
	limit := lookTimeout
	if v.only != nil {
		limit = hintTimeout
	}
	return context.WithTimeoutCause(v.ctx, limit, fmt.Errorf("not finished after %s", limit))
}

// unknown is content that may be new, and cannot be looked at. A hint is then believed, but not every second.
func (v *view) unknown(f finding) *finding {
	f.id = fmt.Sprintf("unknown at %d", v.now.Unix()/10)
	return &f
}

// each calls f for all elements, some at a time.
func each[T any](atOnce int, list []T, f func(i int, x T)) {
	var group sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i, x := range list {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			f(i, x)
		})
	}
	group.Wait()
}

// heads looks at bucket repositories, each once.
func (v *view) heads() {
	type user struct {
		app    App
		source int
	}
	users := map[string][]user{}
	for _, app := range v.apps {
		for i, s := range app.Sources {
			if u, ok := v.c.cfg.Triggers.bucket(s); ok && !app.Leave && v.only.about(app.Ref, u, "") {
				users[s.URL] = append(users[s.URL], user{app, i})
			}
		}
	}
	each(looking, slices.Sorted(maps.Keys(users)), func(_ int, url string) {
		ctx, cancel := v.deadline()
		defer cancel()
		head, err := v.c.cfg.Looks.Head(ctx, url)
		for _, u := range users[url] {
			place := fmt.Sprintf("source %d", u.source)
			f := finding{id: head, where: url, source: u.source, at: v.now}
			switch {
			case err != nil:
				v.fail(u.app.Ref, place, f, err)
			case u.app.revision(u.source) == head:
				v.found(u.app.Ref, place, nil)
			default:
				v.found(u.app.Ref, place, &f)
			}
		}
	})
}

// read is what a place reads.
type read struct {
	Place
	s3source.Reads
	app App
}

// reads looks at what plugins have read. It reports whether that is known.
func (v *view) reads() bool {
	published, err := v.c.cfg.Looks.Reads(v.ctx)
	if err != nil {
		v.problem(argo.Ref{}, err) // some of it may have been understood
	}
	var list []read
	var gone []Place
	for place, r := range published {
		app, ok := v.apps[place.App]
		if !ok && v.c.cfg.Knows != nil && !v.c.cfg.Knows(place.App.Namespace) {
			continue
		}
		if !ok || !slices.ContainsFunc(app.Sources, func(s Source) bool { return s.Origin == place.Origin && !s.Plain }) {
			gone = append(gone, place)
			continue
		}
		if !app.Leave && v.about(place, r) {
			list = append(list, read{place, r, app})
		}
	}
	if v.only == nil && published != nil {
		v.forget(gone)
	}
	slices.SortFunc(list, func(a, b read) int {
		return cmp.Or(cmp.Compare(a.App.String(), b.App.String()), cmp.Compare(a.Origin, b.Origin))
	})
	rounds := v.rounds(list)
	rules, err := v.c.cfg.Looks.Policy()
	if err != nil {
		v.problem(argo.Ref{}, err)
		return false
	}
	each(looking, list, func(_ int, r read) {
		ctx, cancel := v.deadline()
		defer cancel()
		config := s3source.Config{Open: rounds.open, Policy: rules, App: argo.Call{Project: r.app.Project}, File: "looking at what it reads"}
		marks, err := config.Look(ctx, r.Reads)
		f := finding{id: markID(marks), where: r.Sources[0].URL().String(), source: -1, at: v.now}
		switch {
		case err != nil:
			v.fail(r.App, r.Origin, f, err)
		case r.Changed(marks):
			v.found(r.App, r.Origin, &f)
		default:
			v.found(r.App, r.Origin, nil)
		}
	})
	return published != nil
}

func (v *view) about(place Place, r s3source.Reads) bool {
	for i, s := range r.Sources {
		if v.only.about(place.App, s.URL(), r.Key(i)) {
			return true
		}
	}
	return false
}

func markID(marks []bucket.Mark) string {
	h := sha256.New()
	for _, m := range marks {
		fmt.Fprintf(h, "%q %q\n", m.Key, m.Sum)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// forget removes what is published about sources that were gone a look ago, too: one that is new may not be known yet.
func (v *view) forget(gone []Place) {
	v.c.mu.Lock()
	before := v.c.gone
	v.c.gone = map[Place]bool{}
	var twice []Place
	for _, p := range gone {
		v.c.gone[p] = true
		if before[p] {
			twice = append(twice, p)
		}
	}
	v.c.mu.Unlock()
	if len(twice) == 0 || v.c.cfg.Looks.Forget == nil {
		return
	}
	if err := v.c.cfg.Looks.Forget(v.ctx, twice); err != nil {
		v.problem(argo.Ref{}, err)
	}
}

// rounds are readers for one look, by those that they stand for.
type rounds struct {
	plain func(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error)
	by    map[*bucket.Reader]*bucket.Reader
}

// rounds prepares to list each prefix once.
func (v *view) rounds(list []read) *rounds {
	prefixes := map[*bucket.Reader][]string{}
	for _, r := range list {
		for i, s := range r.Sources {
			// An error is told by who reads.
			if reader, err := v.c.cfg.Looks.Open(v.ctx, s.Access); err == nil && s.Digest == "" {
				prefixes[reader] = append(prefixes[reader], r.Prefix(i))
			}
		}
	}
	out := &rounds{plain: v.c.cfg.Looks.Open, by: map[*bucket.Reader]*bucket.Reader{}}
	for reader, list := range prefixes {
		once := *reader
		once.Store = bucket.Round(reader.Store, list)
		out.by[reader] = &once
	}
	return out
}

func (r *rounds) open(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error) {
	reader, err := r.plain(ctx, a)
	if err == nil && r.by[reader] != nil {
		reader = r.by[reader]
	}
	return reader, err
}
