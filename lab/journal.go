package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// Entry is something that happened to an object.
type Entry struct {
	// Revision orders entries of all kinds: it is the revision of etcd.
	Revision int64
	Kind     string // Application
	Name     string
	UID      string
	// What happened: "created", "deleted", and for what an object says about itself a word and its new value:
	// "health Healthy", "sync Synced", "operation Running", "revision <hash>", "target <revision>", "available", "refresh".
	What string
}

// Journal records what the API server tells about objects, in the order in which it happened.
type Journal struct {
	mu      sync.Mutex
	entries []Entry
	changed chan struct{}
	stop    context.CancelFunc
	wg      sync.WaitGroup
	out     io.Writer // of a recording; nil is none
	err     error     // of the first line that could not be written
}

// Journal starts to record kinds, in all namespaces: "Application.argoproj.io", "Deployment.apps".
func (l *Lab) Journal(ctx context.Context, kinds ...string) (*Journal, error) {
	return l.Record(ctx, nil, kinds...)
}

// Record is Journal, and writes a recording as argosy status --recording reads it.
func (l *Lab) Record(ctx context.Context, out io.Writer, kinds ...string) (*Journal, error) {
	ctx, cancel := context.WithCancel(ctx)
	j := &Journal{changed: make(chan struct{}), stop: cancel, out: out}
	for _, kind := range kinds {
		r, err := l.api.resource(kind, "")
		if err != nil {
			cancel()
			return nil, err
		}
		list, err := r.List(ctx, metav1.ListOptions{})
		if err != nil {
			cancel()
			return nil, err
		}
		state := map[string]map[string]string{}
		for i := range list.Items {
			state[list.Items[i].GetName()] = facts(&list.Items[i])
			j.write("seen", &list.Items[i])
		}
		version := list.GetResourceVersion()
		short, _, _ := strings.Cut(kind, ".")
		j.wg.Go(func() {
			for ctx.Err() == nil {
				w, err := r.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
				if err != nil {
					continue
				}
				for event := range w.ResultChan() {
					if event.Type == watch.Error {
						// An API server that was started again does not know what was before. What happened meanwhile is not in the
						// journal.
						if list, err := r.List(ctx, metav1.ListOptions{}); err == nil {
							version = list.GetResourceVersion()
							j.catchUp(short, state, list)
						}
						continue
					}
					if o, ok := event.Object.(*unstructured.Unstructured); ok {
						version = o.GetResourceVersion()
						if event.Type != watch.Bookmark {
							j.record(short, state, event.Type, o)
						}
					}
				}
			}
		})
	}
	return j, nil
}

// catchUp records what is different.
func (j *Journal) catchUp(kind string, state map[string]map[string]string, list *unstructured.UnstructuredList) {
	there := map[string]bool{}
	for i := range list.Items {
		there[list.Items[i].GetName()] = true
		j.record(kind, state, watch.Modified, &list.Items[i])
	}
	for name := range state {
		if !there[name] {
			o := &unstructured.Unstructured{}
			o.SetName(name)
			o.SetResourceVersion(list.GetResourceVersion())
			j.record(kind, state, watch.Deleted, o)
		}
	}
}

// Stop ends the recording.
func (j *Journal) Stop() {
	j.stop()
	j.wg.Wait()
}

// write adds a line to the recording.
func (j *Journal) write(what string, o *unstructured.Unstructured) {
	if j.out == nil || j.err != nil {
		return
	}
	line, err := json.Marshal(map[string]any{"at": time.Now().UTC(), "what": what, "object": o.Object})
	if err == nil {
		_, err = j.out.Write(append(line, '\n'))
	}
	j.err = err
}

// Err is the first error of writing the recording. Call it after Stop.
func (j *Journal) Err() error { return j.err }

// facts are what an object says about itself.
func facts(o *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for name, path := range map[string][]string{
		"health": {"status", "health", "status"}, "sync": {"status", "sync", "status"}, "revision": {"status", "sync", "revision"},
		"operation": {"status", "operationState", "phase"}, "target": {"spec", "source", "targetRevision"},
	} {
		if v, ok, _ := unstructured.NestedString(o.Object, path...); ok && v != "" {
			out[name] = v
		}
	}
	if o.GetAnnotations()["argocd.argoproj.io/refresh"] != "" {
		out["refresh"] = o.GetAnnotations()["argocd.argoproj.io/refresh"]
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if m["type"] == "Available" && m["status"] == "True" {
			out["available"] = ""
		}
	}
	if o.GetDeletionTimestamp() != nil {
		out["deleting"] = ""
	}
	return out
}

func (j *Journal) record(kind string, state map[string]map[string]string, event watch.EventType, o *unstructured.Unstructured) {
	revision, _ := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	name := o.GetName()
	add := func(what string) {
		j.entries = append(j.entries, Entry{revision, kind, name, string(o.GetUID()), strings.TrimSpace(what)})
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	old := state[name]
	if event == watch.Deleted {
		j.write("gone", o)
		add("deleted")
		delete(state, name)
	} else {
		if old == nil {
			add("created")
		}
		j.write("seen", o)
		now := facts(o)
		for _, k := range []string{"deleting", "refresh", "target", "revision", "operation", "sync", "available", "health"} {
			if v, ok := now[k]; ok {
				if before, had := old[k]; !had || before != v {
					add(k + " " + v)
				}
			}
		}
		state[name] = now
	}
	slices.SortStableFunc(j.entries, func(a, b Entry) int { return int(a.Revision - b.Revision) })
	close(j.changed)
	j.changed = make(chan struct{})
}

// First returns the first entry about an object, after a revision.
func (j *Journal) First(kind, name, what string, after int64) (Entry, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.entries {
		if e.Revision > after && e.Kind == kind && e.Name == name && e.What == what {
			return e, true
		}
	}
	return Entry{}, false
}

// Await waits for an entry about an object, after a revision. When ctx ends first, the error has the whole journal.
func (j *Journal) Await(ctx context.Context, kind, name, what string, after int64) (Entry, error) {
	for {
		j.mu.Lock()
		changed := j.changed
		j.mu.Unlock()
		if e, ok := j.First(kind, name, what, after); ok {
			return e, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Entry{}, fmt.Errorf("%s %s did not become %q: %w; the journal is\n%s", kind, name, what, ctx.Err(), j)
		}
	}
}

// AwaitCount waits until something has happened to so many objects of a kind.
func (j *Journal) AwaitCount(ctx context.Context, kind, what string, n int) error {
	for {
		j.mu.Lock()
		changed, names := j.changed, map[string]bool{}
		for _, e := range j.entries {
			if e.Kind == kind && e.What == what {
				names[e.Name] = true
			}
		}
		j.mu.Unlock()
		if len(names) >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d %ss became %q: %w", len(names), n, kind, what, ctx.Err())
		}
	}
}

// Before reports whether the first entry a of an object came before the first entry b of another. Both must be there.
func (j *Journal) Before(a, b Entry) bool {
	first, ok1 := j.First(a.Kind, a.Name, a.What, a.Revision)
	second, ok2 := j.First(b.Kind, b.Name, b.What, b.Revision)
	return ok1 && ok2 && first.Revision < second.Revision
}

// Entries returns what happened to an object.
func (j *Journal) Entries(kind, name string) []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []Entry
	for _, e := range j.entries {
		if e.Kind == kind && e.Name == name {
			out = append(out, e)
		}
	}
	return out
}

// All returns every object that something happened to.
func (j *Journal) All(what string) []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []Entry
	for _, e := range j.entries {
		if e.What == what {
			out = append(out, e)
		}
	}
	return out
}

// Count returns how often something happened to an object.
func (j *Journal) Count(kind, name, what string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, e := range j.entries {
		if e.Kind == kind && e.Name == name && e.What == what {
			n++
		}
	}
	return n
}

// String is the journal, a line per entry.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var b strings.Builder
	for _, e := range j.entries {
		fmt.Fprintf(&b, "%6d %s %s %s\n", e.Revision, e.Kind, e.Name, e.What)
	}
	return b.String()
}
