package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/settings"
)

// Lookup reads single objects of any kind, for the causes of a boot that waits. It never reads Secrets.
type Lookup struct {
	Client *Client
	// Now is the clock. Nil discovers each API group once, also if a kind is missing in it.
	Now func() time.Time

	mu         sync.Mutex
	discovered *discovered // nil before the first lookup
}

// discovered are the API groups that the API server was asked for. Requests are made without the lock.
type discovered struct {
	groups map[string]groupOf
	calls  flight.Group[map[string]kindOf]
}

// groupOf is an API group as it was at a time. A group that does not exist has no kinds.
type groupOf struct {
	kinds map[string]kindOf
	at    time.Time
}

// kindOf is how the API server names a kind.
type kindOf struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// Get implements cause.Cluster.
func (l *Lookup) Get(ctx context.Context, key live.Key) (manifest.Object, error) {
	if key.Group == "" && key.Kind == "Secret" {
		return nil, errors.New("contents of Secrets are not read")
	}
	k, err := l.kind(ctx, key.Group, key.Kind)
	if err != nil {
		return nil, err
	}
	namespace := key.Namespace
	if !k.namespaced {
		namespace = ""
	}
	o, err := l.Client.api.Resource(k.resource).Namespace(namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, explain("reading "+key.String(), err)
	}
	return o.Object, nil
}

// List implements cause.Cluster.
func (l *Lookup) List(ctx context.Context, group, kind, namespace string) ([]manifest.Object, error) {
	k, err := l.kind(ctx, group, kind)
	if err != nil {
		return nil, err
	}
	return l.Client.List(ctx, scm.List{
		Group: k.resource.Group, Version: k.resource.Version, Resource: k.resource.Resource, Namespace: namespace,
	})
}

// maxEvents bounds the Events about one object.
const maxEvents = 2_000

// Events implements cause.Cluster. If there are too many, it returns some of them with the error.
func (l *Lookup) Events(ctx context.Context, key live.Key) ([]manifest.Object, error) {
	namespace := key.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // for Events of cluster-scoped objects
	}
	about := fields.AndSelectors(fields.OneTermEqualSelector("involvedObject.kind", key.Kind),
		fields.OneTermEqualSelector("involvedObject.name", key.Name))
	return l.Client.pages(ctx, events, namespace, metav1.ListOptions{FieldSelector: about.String()}, maxEvents)
}

// Checks returns the health checks of Argo CD's settings.
func (l *Lookup) Checks(ctx context.Context) (health.Customizations, error) {
	o, err := l.Client.api.Resource(configMaps).Namespace(l.Client.Namespace).Get(ctx, settings.ConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no ConfigMap %s in namespace %s", settings.ConfigMap, l.Client.Namespace)
	}
	if err != nil {
		return nil, explain("reading ConfigMap "+settings.ConfigMap, err)
	}
	s, _, err := settings.FromObject(o.Object)
	if s == nil {
		return nil, err
	}
	return s.Health, nil // a check that is wrong does not hide the others
}

// controllers is the label of the Pods that assess the health of objects.
const controllers = argo.NameLabel + "=" + argo.ApplicationController

// Version implements cause.Cluster: by the image of the application-controller's Pods.
func (l *Lookup) Version(ctx context.Context) versions.Version {
	pods, _ := l.Labelled(ctx, "", "Pod", l.Client.Namespace, controllers) // without the right to list them, it is not known
	for _, pod := range pods {
		if v, _, ok := versions.Nearest(settings.VersionOfPod(manifest.Map(pod, "spec"))); ok {
			return v
		}
	}
	return 0
}

// rediscover is how long a kind counts as missing before its group is read again: a boot adds kinds.
const rediscover = 10 * time.Second

// kind asks the API server for a kind: the version that it prefers.
func (l *Lookup) kind(ctx context.Context, group, kind string) (kindOf, error) {
	l.mu.Lock()
	if l.discovered == nil {
		l.discovered = &discovered{groups: map[string]groupOf{}}
	}
	d := l.discovered
	g, known := d.groups[group]
	l.mu.Unlock()
	k, ok := g.kinds[kind]
	if !ok && (!known || l.now().Sub(g.at) >= rediscover) {
		kinds, _, err := d.calls.Do(ctx, group, func(ctx context.Context) (map[string]kindOf, error) { return l.discover(ctx, group) })
		if err != nil {
			return kindOf{}, explain(fmt.Sprintf("discovering the API group %q", group), err)
		}
		l.mu.Lock()
		d.groups[group] = groupOf{kinds, l.now()}
		l.mu.Unlock()
		k, ok = kinds[kind]
	}
	if !ok {
		return kindOf{}, fmt.Errorf("%w %s of group %q", cause.ErrNoKind, kind, group)
	}
	return k, nil
}

func (l *Lookup) now() time.Time {
	if l.Now == nil {
		return time.Time{}
	}
	return l.Now()
}

// maxVersions bounds the versions of a group that are looked at.
const maxVersions = 8

// discover returns the kinds of a group, each in the version that the API server prefers, or in the first that has it.
func (l *Lookup) discover(ctx context.Context, group string) (map[string]kindOf, error) {
	out := map[string]kindOf{}
	if group == "" {
		return out, l.resources(ctx, out, schema.GroupVersion{Version: "v1"}, "/api", "v1")
	}
	var g metav1.APIGroup
	err := l.decode(ctx, &g, "/apis", group)
	if apierrors.IsNotFound(err) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	versions := append([]metav1.GroupVersionForDiscovery{g.PreferredVersion}, g.Versions...)
	for _, v := range versions[:min(len(versions), maxVersions)] {
		if err := l.resources(ctx, out, schema.GroupVersion{Group: group, Version: v.Version}, "/apis", group, v.Version); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// resources adds the kinds of a version that are not known yet.
func (l *Lookup) resources(ctx context.Context, out map[string]kindOf, v schema.GroupVersion, path ...string) error {
	var list metav1.APIResourceList
	if err := l.decode(ctx, &list, path...); err != nil {
		return err
	}
	for _, r := range list.APIResources {
		if _, known := out[r.Kind]; !known && !strings.Contains(r.Name, "/") { // names with a slash are subresources
			out[r.Kind] = kindOf{v.WithResource(r.Name), r.Namespaced}
		}
	}
	return nil
}

func (l *Lookup) decode(ctx context.Context, v any, path ...string) error {
	data, err := l.Client.read.Get().AbsPath(path...).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
