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
	"k8s.io/apimachinery/pkg/watch"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/flight"
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

// watching is how long is waited before a watch is begun again. One that is forbidden is tried again, too: an API server that has just
// started forbids everything.
var watching = retry.Backoff{First: 500 * time.Millisecond, Last: 15 * time.Second}

// Watch tells about the Applications in Argo CD's namespace and in others, and about each change, until the context ends. Namespaces
// may be patterns: then all namespaces are watched, or, where that is forbidden, those that are none.
//
// Unlike client-go's reflector it decodes one Application at a time, and of that only the fields that a refresh.App needs: neither
// thousands of Applications nor a few large ones fit into a small container. An Application over a limit is not followed; Failed gets its
// name.
func (c *Client) Watch(ctx context.Context, namespaces []string, w Watcher) {
	namespaces = append([]string{c.Namespace}, namespaces...)
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	f := &following{client: c, watcher: w, patterns: namespaces}
	plain := slices.DeleteFunc(slices.Clone(namespaces), isPattern)
	if len(plain) == len(namespaces) {
		f.all(ctx, plain)
		return
	}
	for ctx.Err() == nil {
		err := f.one(ctx, metav1.NamespaceAll, func() { f.synced.Do(w.Synced) })
		if errors.Is(err, ErrForbidden) {
			limited, cancel := context.WithTimeout(ctx, instead)
			f.all(limited, plain)
			cancel()
		}
	}
}

type following struct {
	client   *Client
	watcher  Watcher
	patterns []string
	synced   sync.Once
}

// all follows several namespaces. One that is forbidden does not keep the others waiting.
func (f *following) all(ctx context.Context, namespaces []string) {
	var group sync.WaitGroup
	var mu sync.Mutex
	left := len(namespaces)
	for _, namespace := range namespaces {
		listed := sync.OnceFunc(func() {
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				f.synced.Do(f.watcher.Synced)
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
	doing := "watching Applications in namespace " + namespace
	if namespace == metav1.NamespaceAll {
		doing = "watching Applications in all namespaces"
	}
	known := map[argo.Ref]bool{}
	for failures := 1; ctx.Err() == nil; failures++ {
		version, err := f.list(ctx, namespace, known)
		if err == nil {
			f.watcher.Listed(namespace)
			listed()
			failures = 1
			err = f.changes(ctx, namespace, version, known)
		}
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			err = explain(doing, err)
			f.watcher.Failed(err)
		}
		if errors.Is(err, ErrForbidden) {
			return err
		}
		retry.Wait(ctx, time.After(watching.After(failures)))
	}
	return ctx.Err()
}

// list tells about all Applications, and about those that are gone since they were known.
func (f *following) list(ctx context.Context, namespace string, known map[argo.Ref]bool) (version string, err error) {
	there := map[argo.Ref]bool{}
	version, err = f.client.list(ctx, listing{namespace: namespace, fields: refresh.Fields()}, func(o manifest.Object, large error) {
		if ref, ok := f.seen(o, large); ok {
			there[ref], known[ref] = true, true
		}
	})
	if err != nil {
		return "", err
	}
	for ref := range known {
		if !there[ref] {
			delete(known, ref)
			f.watcher.Gone(ref)
		}
	}
	return version, nil
}

// seen reports whether an Application is followed.
func (f *following) seen(o manifest.Object, large error) (argo.Ref, bool) {
	ref := refOf(o)
	if !serves(f.patterns, ref.Namespace) {
		return ref, false
	}
	if large != nil {
		f.watcher.Failed(fmt.Errorf("not following Application %s: %w", ref, large))
		return ref, false
	}
	// Anybody who may write an Application has written it: it must not end the process.
	if _, err := flight.Safely(func() (any, error) { f.watcher.Seen(refresh.NewApp(o)); return nil, nil }); err != nil {
		f.watcher.Failed(fmt.Errorf("reading Application %s: %w", ref, err))
	}
	return ref, true
}

// changes tells about each change, until the server ends that: nil is as it does from time to time.
func (f *following) changes(ctx context.Context, namespace, version string, known map[argo.Ref]bool) error {
	for ctx.Err() == nil {
		w, err := f.client.watch(ctx, namespace, version)
		if err != nil {
			return err
		}
		version, err = f.drain(w, version, known)
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
func (f *following) drain(w io.ReadCloser, version string, known map[argo.Ref]bool) (string, error) {
	defer func() { _ = w.Close() }()
	fields := manifest.Fields{"type": nil, "object": withIdentity(refresh.Fields())}
	for s := newStream(w); ; {
		s.left = maxPage
		event, large, err := s.object(fields, maxKept)
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
			if ref, ok := f.seen(o, large); ok {
				known[ref] = true
			} else if known[ref] {
				delete(known, ref)
				f.watcher.Gone(ref)
			}
		case watch.Deleted:
			ref := refOf(o)
			delete(known, ref)
			f.watcher.Gone(ref)
		case watch.Bookmark:
		default:
			return version, fmt.Errorf("the answer has an event of type %q", kind)
		}
		// One that is too large may end before its version.
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
