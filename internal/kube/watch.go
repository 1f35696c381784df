package kube

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Watcher is told about Applications.
type Watcher struct {
	Seen   func(o manifest.Object)
	Gone   func(app argo.Ref)
	Synced func() // all that there are have been told
	Failed func(err error)
}

// Watch tells about the Applications in Argo CD's namespace and in others, and about each change, until the context ends. Namespaces
// may be patterns: then all namespaces are watched.
func (c *Client) Watch(ctx context.Context, namespaces []string, w Watcher) {
	namespaces = append([]string{c.Namespace}, namespaces...)
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	watched := namespaces
	if slices.ContainsFunc(namespaces, isPattern) {
		watched = []string{metav1.NamespaceAll}
	}
	var group sync.WaitGroup
	left := len(watched)
	var mu sync.Mutex
	for _, namespace := range watched {
		s := &sink{w: w, serves: func(ns string) bool { return serves(namespaces, ns) }}
		s.listed = sync.OnceFunc(func() {
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				w.Synced()
			}
		})
		group.Go(func() { c.follow(ctx, namespace, s) })
	}
	group.Wait()
}

func (c *Client) follow(ctx context.Context, namespace string, s *sink) {
	r := c.stream.Resource(applications).Namespace(namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return r.Watch(ctx, o)
		},
	}
	reflector := cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, s, cache.ReflectorOptions{Name: "applications", TypeDescription: "Applications"})
	doing := "watching Applications in namespace " + namespace
	if namespace == metav1.NamespaceAll {
		doing = "watching Applications in all namespaces"
	}
	for wait := minWait; ctx.Err() == nil; {
		began := time.Now()
		err := reflector.ListAndWatchWithContext(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxWait {
			wait = minWait
		}
		if err != nil {
			s.w.Failed(explain(doing, err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, maxWait)
	}
}

// How long is waited before a watch is begun again.
const (
	minWait = 500 * time.Millisecond
	maxWait = 15 * time.Second
)

func isPattern(namespace string) bool { return strings.ContainsAny(namespace, "*?[/") }

// serves reports whether one of Argo CD's patterns is for a namespace: names, globs, and regular expressions between slashes.
func serves(patterns []string, namespace string) bool {
	for _, p := range patterns {
		if len(p) > 2 && strings.HasPrefix(p, "/") && strings.HasSuffix(p, "/") {
			if re, err := regexp.Compile(p[1 : len(p)-1]); err == nil && re.MatchString(namespace) {
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

// sink hands on what a reflector finds. It keeps names only.
type sink struct {
	w      Watcher
	serves func(namespace string) bool
	listed func()

	mu    sync.Mutex
	names map[argo.Ref]bool
}

func (s *sink) put(o any) error {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || !s.serves(u.GetNamespace()) {
		return nil
	}
	s.mu.Lock()
	if s.names == nil {
		s.names = map[argo.Ref]bool{}
	}
	s.names[argo.Ref{Namespace: u.GetNamespace(), Name: u.GetName()}] = true
	s.mu.Unlock()
	s.w.Seen(u.Object)
	return nil
}

// Add implements cache.ReflectorStore, as the others do.
func (s *sink) Add(o any) error { return s.put(o) }

// Update is told a new state.
func (s *sink) Update(o any) error { return s.put(o) }

// Delete is told that an Application is gone.
func (s *sink) Delete(o any) error {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || !s.serves(u.GetNamespace()) {
		return nil
	}
	ref := argo.Ref{Namespace: u.GetNamespace(), Name: u.GetName()}
	s.mu.Lock()
	delete(s.names, ref)
	s.mu.Unlock()
	s.w.Gone(ref)
	return nil
}

// Replace is told all that there are.
func (s *sink) Replace(list []any, _ string) error {
	s.mu.Lock()
	before := s.names
	s.names = map[argo.Ref]bool{}
	s.mu.Unlock()
	for _, o := range list {
		_ = s.put(o)
	}
	for ref := range before {
		if !s.names[ref] {
			s.w.Gone(ref)
		}
	}
	s.listed()
	return nil
}

// Resync has nothing to do.
func (s *sink) Resync() error { return nil }
