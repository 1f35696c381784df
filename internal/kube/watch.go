package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/retry"
)

// Watcher is told about Applications.
type Watcher struct {
	Seen func(app refresh.App)
	Gone func(app argo.Ref)
	// Listed is called when all Applications of a namespace have been told; "" is all namespaces.
	Listed func(namespace string)
	// Synced is called once, when all that may be seen have been told.
	Synced func()
	Failed func(err error)
}

// instead is how long some namespaces are watched where all of them are forbidden, before that is tried again.
const instead = time.Minute

// watching is the backoff between watches. A forbidden watch is retried, too: an API server that has just started forbids everything.
var watching = retry.Backoff{First: 500 * time.Millisecond, Last: 15 * time.Second}

// Watch reports the Applications in Argo CD's namespace and in others, and each change, until the context ends. Namespaces may be patterns:
// then all namespaces are watched, or, where that is forbidden, those that are none.
//
// Unlike client-go's reflector it decodes one Application at a time, and of that only the fields that a refresh.App needs: neither
// thousands of Applications nor a few large ones fit into a small container. An Application over a limit is not followed; Failed gets its
// name.
func (c *Client) Watch(ctx context.Context, namespaces []string, w Watcher) {
	f := &following{
		client: c, kind: argo.KindApplication, resource: applications, kept: kept{fields: refresh.Fields()},
		seen: func(o manifest.Object) { w.Seen(refresh.NewApp(o)) }, gone: w.Gone, listed: w.Listed, synced: w.Synced,
		failed: func(_ live.Scope, err error) { w.Failed(err) },
		unread: func(one live.Scope, err error) { w.Failed(fmt.Errorf("not following %s: %w", one, err)) },
	}
	f.follow(ctx, namespaces)
}

// following is a resource that is watched.
type following struct {
	client   *Client
	kind     string
	resource schema.GroupVersionResource
	kept     kept
	// optional says that the resource may not exist, which is the same as none of it.
	optional bool
	seen     func(o manifest.Object)
	gone     func(ref argo.Ref)
	// listed is called when all objects of a namespace have been told; "" is all namespaces. synced is called once, when that is so for
	// all namespaces that may be seen.
	listed func(namespace string)
	synced func()
	// failed is called with a source that cannot be watched, unread with an object of it that cannot be read: the others are followed.
	failed, unread func(source live.Scope, err error)

	patterns []string
	once     sync.Once

	mu sync.Mutex
	// known are the reported objects, and whether they are followed: false if they could not be read. They outlive a watch, so the next
	// list finds what was deleted in between.
	known map[argo.Ref]bool
}

// note keeps that an object was told, and reports whether it was followed before.
func (f *following) note(ref argo.Ref, followed bool) (before bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[argo.Ref]bool{}
	}
	before = f.known[ref]
	f.known[ref] = followed
	return before
}

// forget tells that an object is gone.
func (f *following) forget(ref argo.Ref) {
	f.mu.Lock()
	delete(f.known, ref)
	f.mu.Unlock()
	f.gone(ref)
}

// forgetExcept reports the known objects of a namespace as gone, except those that still exist.
func (f *following) forgetExcept(namespace string, there map[argo.Ref]bool) {
	var absent []argo.Ref
	f.mu.Lock()
	for ref := range f.known {
		if !there[ref] && (namespace == metav1.NamespaceAll || namespace == ref.Namespace) {
			absent = append(absent, ref)
		}
	}
	f.mu.Unlock()
	for _, ref := range absent {
		f.forget(ref)
	}
}

// follow follows Argo CD's namespace and others, until the context ends.
func (f *following) follow(ctx context.Context, namespaces []string) {
	namespaces = append([]string{f.client.Namespace}, namespaces...)
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	f.patterns = namespaces
	plain := slices.DeleteFunc(slices.Clone(namespaces), isPattern)
	if len(plain) == len(namespaces) {
		f.all(ctx, plain)
		return
	}
	for ctx.Err() == nil {
		err := f.one(ctx, metav1.NamespaceAll, func() { f.once.Do(f.synced) })
		if errors.Is(err, ErrForbidden) {
			limited, cancel := context.WithTimeout(ctx, instead)
			f.all(limited, plain)
			cancel()
		}
	}
}

// all follows several namespaces. A forbidden one does not delay the others.
func (f *following) all(ctx context.Context, namespaces []string) {
	var group sync.WaitGroup
	var mu sync.Mutex
	left := len(namespaces)
	for _, namespace := range namespaces {
		listed := sync.OnceFunc(func() {
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				f.once.Do(f.synced)
			}
		})
		group.Go(func() {
			for ctx.Err() == nil {
				if err := f.one(ctx, namespace, listed); errors.Is(err, ErrForbidden) {
					listed()
					retry.Wait(ctx, time.After(watching.Last))
				}
			}
		})
	}
	group.Wait()
}

// one follows a namespace until the context ends or it is forbidden.
func (f *following) one(ctx context.Context, namespace string, listed func()) error {
	doing := "watching " + f.source(namespace).String()
	for failures := 1; ctx.Err() == nil; failures++ {
		version, err := f.list(ctx, namespace)
		if f.optional && apierrors.IsNotFound(err) {
			f.forgetExcept(namespace, nil)
			f.listed(namespace)
			listed()
			retry.Wait(ctx, time.After(watching.Last))
			continue
		}
		if err == nil {
			f.listed(namespace)
			listed()
			failures = 1
			err = f.changes(ctx, namespace, version)
		}
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			err = explain(doing, err)
			f.failed(f.source(namespace), err)
		}
		if errors.Is(err, ErrForbidden) {
			return err
		}
		retry.Wait(ctx, time.After(watching.After(failures)))
	}
	return ctx.Err()
}

// source is what is watched in a namespace; "" is all namespaces.
func (f *following) source(namespace string) live.Scope {
	return live.Scope{Kind: f.kind, Namespace: namespace}
}

// list reports all Applications, and the known ones that are gone.
func (f *following) list(ctx context.Context, namespace string) (version string, err error) {
	there := map[argo.Ref]bool{}
	l := listing{resource: f.resource, namespace: namespace, kept: f.kept}
	version, err = f.client.list(ctx, l, func(o manifest.Object, large error) {
		there[f.tell(o, large)] = true
	})
	if err != nil {
		return "", err
	}
	f.forgetExcept(namespace, there)
	return version, nil
}

// tell tells about an object, and returns its name.
func (f *following) tell(o manifest.Object, large error) argo.Ref {
	ref := refOf(o)
	if !serves(f.patterns, ref.Namespace) {
		return ref
	}
	one := live.Scope{Kind: f.kind, Namespace: ref.Namespace, Name: ref.Name}
	switch {
	case large != nil && (f.kept.light == nil || errors.Is(large, errLarge)):
		if f.note(ref, false) {
			f.gone(ref) // before the failure: gone ends the failures of an object
		}
		f.unread(one, large)
		return ref
	case large != nil:
		o[live.CutField] = large.Error()
	}
	f.note(ref, true)
	// An Application is untrusted input: a panic must not end the process.
	if _, err := flight.Safely(func() (any, error) { f.seen(o); return nil, nil }); err != nil {
		f.unread(one, err)
	}
	return ref
}

// changes tells about each change, until the server closes the watch; nil is a normal close.
func (f *following) changes(ctx context.Context, namespace, version string) error {
	for ctx.Err() == nil {
		w, err := f.client.watch(ctx, f.resource, namespace, version)
		if err != nil {
			return err
		}
		version, err = f.drain(w, version)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return nil // it must be listed again
		}
		if err != nil {
			return err
		}
		retry.Wait(ctx, time.After(watching.First))
	}
	return nil
}

// drain handles the events of one watch. It ends without an error when the connection does.
func (f *following) drain(w io.ReadCloser, version string) (string, error) {
	defer func() { _ = w.Close() }()
	k := f.kept.inside("object")
	for s := newStream(w); ; {
		s.left = maxPage
		event, large, err := s.object(k)
		if err != nil {
			return version, ended(err)
		}
		o := manifest.Map(event, "object")
		switch kind := manifest.String(event, "type"); watch.EventType(kind) {
		case watch.Error:
			var failed struct{ Object metav1.Status }
			if err := json.Unmarshal(s.buf, &failed); err != nil {
				return version, fmt.Errorf("the answer has an error that is no Status: %w", err)
			}
			return version, apierrors.FromObject(&failed.Object)
		case watch.Added, watch.Modified:
			f.tell(o, large)
		case watch.Deleted:
			f.forget(refOf(o))
		case watch.Bookmark:
		default:
			return version, fmt.Errorf("the answer has an event of type %q", kind)
		}
		// A large object may be cut off before its version.
		if now := manifest.String(o, "metadata", "resourceVersion"); now != "" {
			version = now
		}
	}
}

func isPattern(namespace string) bool { return strings.ContainsAny(namespace, "*?[/") }

// CheckNamespace returns what is wrong with a namespace, or a pattern of namespaces as Argo CD has them.
func CheckNamespace(pattern string) error {
	_, err := path.Match(pattern, "")
	if between, ok := regular(pattern); ok {
		_, err = regexp.Compile(between)
	}
	if err != nil || pattern == "" {
		return fmt.Errorf("%q is neither a namespace nor a pattern of namespaces", pattern)
	}
	return nil
}

// regular returns a regular expression, which is between slashes.
func regular(pattern string) (string, bool) {
	return strings.Trim(pattern, "/"), len(pattern) > 2 && strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/")
}

// serves reports whether one of Argo CD's patterns is for a namespace: names, globs, and regular expressions between slashes.
func serves(patterns []string, namespace string) bool {
	for _, p := range patterns {
		if between, ok := regular(p); ok {
			if re, err := regexp.Compile(between); err == nil && re.MatchString(namespace) {
				return true
			}
			continue
		}
		if ok, err := path.Match(p, namespace); ok && err == nil {
			return true
		}
	}
	return false
}
