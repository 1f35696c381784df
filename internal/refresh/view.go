package refresh

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
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

	tried    map[argo.Ref]map[string]bool // places that are looked at, with or without success
	failures                              // of no project
	batches  map[string]*batch            // by project
	keys     map[string]bool              // of the looks at all reads, also those without a hint
}

// add adds a look of a project at places of its applications.
func (v *view) add(project string, t task, places ...Place) *batch {
	b := v.batches[project]
	if b == nil {
		b = &batch{}
		v.batches[project] = b
	}
	for _, p := range places {
		if v.tried[p.App] == nil {
			v.tried[p.App] = map[string]bool{}
		}
		v.tried[p.App][p.Origin] = true
	}
	b.tasks = append(b.tasks, t)
	return b
}

// found records new content in a place that an application has not seen; nil removes the record. It takes effect at once: a slow look does
// not delay the others.
func (v *view) found(app argo.Ref, place string, f *finding) {
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	e := v.c.apps[app]
	if e == nil || !slices.Equal(e.app.Sources, v.apps[app].Sources) {
		return // it has changed since
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

// fail records a failed look. After a hint, it counts as a change.
func (v *view) fail(b *batch, app argo.Ref, place string, f finding, err error) {
	if v.only != nil {
		v.found(app, place, v.unknown(f))
	}
	b.add(app, err)
}

// deadline bounds one look: a look after a notification has less time.
func (v *view) deadline() (context.Context, context.CancelFunc) {
	limit := lookTimeout
	if v.only != nil {
		limit = hintTimeout
	}
	return context.WithTimeoutCause(v.ctx, limit, fmt.Errorf("not finished after %s", limit))
}

// unknown is a finding for content that cannot be read: the hint counts as a change, but at most every ten seconds.
func (v *view) unknown(f finding) *finding {
	f.id = fmt.Sprintf("unknown at %d", v.now.Unix()/10)
	return &f
}

// look is a bucket repository that a project reads.
type look struct{ project, url string }

func (l look) key() string { return l.project + " " + l.url }

// heads looks at bucket repositories, each once for each project.
func (v *view) heads() {
	type user struct {
		app    App
		source int
	}
	users := map[look][]user{}
	for _, app := range v.apps {
		for i, s := range app.Sources {
			u, ok := v.c.cfg.Triggers.bucket(s)
			if !ok || app.Leave {
				continue
			}
			l := look{app.Project, s.URL}
			v.keys[l.key()] = true
			if v.only.about(app.Ref, u, "") {
				users[l] = append(users[l], user{app, i})
			}
		}
	}
	for l, list := range users {
		t := task{key: l.key(), host: hostOf(l.url)}
		var places []Place
		for _, u := range list {
			places = append(places, Place{u.app.Ref, sourcePlace(u.source)})
		}
		var b *batch
		begun := func(u user) finding { return finding{where: l.url, source: u.source, at: v.now} }
		t.fail = func(err error) {
			for _, u := range list {
				v.fail(b, u.app.Ref, sourcePlace(u.source), begun(u), err)
			}
		}
		t.look = func(ctx context.Context) error {
			head, err := v.c.cfg.Looks.Head(ctx, l.url)
			if err != nil {
				return err
			}
			for _, u := range list {
				f := begun(u)
				f.id = head
				if u.app.revision(u.source) == head {
					v.found(u.app.Ref, sourcePlace(u.source), nil)
				} else {
					v.found(u.app.Ref, sourcePlace(u.source), &f)
				}
			}
			return nil
		}
		b = v.add(l.project, t, places...)
	}
}

func sourcePlace(i int) string { return fmt.Sprintf("source %d", i) }

// hostOf is the host of a URL without its port: one machine has many ports.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Hostname()
}

// read is the reads of a place.
type read struct {
	Place
	s3source.Reads
	app App
}

func (r read) key() string { return fmt.Sprintf("%s %s %s", r.app.Project, r.App, r.Origin) }

// reads adds looks at the published reads of plugins. It reports whether they are known.
func (v *view) reads() bool {
	published, err := v.c.cfg.Looks.Reads(v.ctx)
	if err != nil {
		v.failures.add(argo.Ref{}, err) // some entries may be valid
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
		if app.Leave {
			continue
		}
		one := read{place, r, app}
		v.keys[one.key()] = true
		if v.about(place, r) {
			list = append(list, one)
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
		v.failures.add(argo.Ref{}, err)
		return false
	}
	for _, r := range list {
		var b *batch
		f := finding{where: r.Sources[0].URL().String(), source: -1, at: v.now}
		t := task{key: r.key(), host: cmp.Or(hostOf(r.Sources[0].Endpoint), "S3")}
		t.fail = func(err error) { v.fail(b, r.App, r.Origin, f, err) }
		t.look = func(ctx context.Context) error {
			config := s3source.Config{
				Open: rounds.open, Policy: rules, App: argo.Call{Project: r.app.Project},
				File: "reading its sources in S3",
			}
			marks, err := config.Look(ctx, r.Reads)
			if err != nil {
				return err
			}
			if f := f; r.Changed(marks) {
				f.id = markID(marks)
				v.found(r.App, r.Origin, &f)
			} else {
				v.found(r.App, r.Origin, nil)
			}
			return nil
		}
		b = v.add(r.app.Project, t, r.Place)
	}
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

// forget removes published reads of sources that were gone at the previous look, too: a new source may not be known yet.
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
		v.failures.add(argo.Ref{}, err)
	}
}

// rounds are readers for one look, by the readers that they replace.
type rounds struct {
	plain func(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error)
	by    map[*bucket.Reader]*bucket.Reader
}

// rounds prepares to list each prefix once.
func (v *view) rounds(list []read) *rounds {
	prefixes := map[*bucket.Reader][]string{}
	for _, r := range list {
		for i, s := range r.Sources {
			// The read itself reports the error.
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
