package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// API is a client of the lab's API server for objects of any kind.
type API struct {
	Config  *rest.Config
	Dynamic dynamic.Interface
	mu      sync.Mutex
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newAPI(kubeconfig string) (*API, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 1000, 1000
	// The API server warns about what the lab does on purpose.
	cfg.WarningHandler = rest.NoWarnings{}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &API{Config: cfg, Dynamic: dyn, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}, nil
}

// ServiceAccount returns a kubeconfig with the rights of a service account.
func (l *Lab) ServiceAccount(ctx context.Context, namespace, name string) (kubeconfig string, err error) {
	accounts, err := l.api.resource("ServiceAccount", namespace)
	if err != nil {
		return "", err
	}
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{},
	}}
	answer, err := accounts.Create(ctx, request, metav1.CreateOptions{}, "token")
	if err != nil {
		return "", err
	}
	token, _, err := unstructured.NestedString(answer.Object, "status", "token")
	if err != nil {
		return "", err
	}
	return l.writeKubeconfig("kubeconfig-"+name, l.api.Config.Host, l.api.Config.CAFile, token)
}

// API returns the client.
func (l *Lab) API() *API { return l.api }

// resource returns the client for a kind: "Application.argoproj.io", "Deployment.apps", "Pod".
func (a *API) resource(kind, namespace string) (dynamic.ResourceInterface, error) {
	name, group, _ := strings.Cut(kind, ".")
	a.mu.Lock()
	defer a.mu.Unlock()
	mapping, err := a.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: name})
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: name})
	}
	if err != nil {
		return nil, err
	}
	r := a.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && namespace != "" {
		return r.Namespace(namespace), nil
	}
	return r, nil
}

func kindOf(o *unstructured.Unstructured) string {
	gvk := o.GroupVersionKind()
	if gvk.Group == "" {
		return gvk.Kind
	}
	return gvk.Kind + "." + gvk.Group
}

// Apply applies YAML or JSON documents by server-side apply. A kind whose definition was applied a moment ago is
// waited for.
func (l *Lab) Apply(ctx context.Context, manifests ...string) error {
	force := true
	return l.applyAll(ctx, metav1.PatchOptions{FieldManager: "lab", Force: &force}, manifests)
}

// ApplyAs is like Apply, for another manager of fields. Strictly, and a field that somebody else manages is an error.
func (l *Lab) ApplyAs(ctx context.Context, manager string, manifests ...string) error {
	return l.applyAll(ctx, metav1.PatchOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict}, manifests)
}

// Validate lets the API server check manifests, strictly: unknown and duplicate fields are errors. Nothing is changed.
func (l *Lab) Validate(ctx context.Context, manifests ...string) error {
	force := true
	return l.applyAll(ctx, metav1.PatchOptions{
		FieldManager: "lab", Force: &force, FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll},
	}, manifests)
}

func (l *Lab) applyAll(ctx context.Context, options metav1.PatchOptions, manifests []string) error {
	for _, text := range manifests {
		for doc := range strings.SplitSeq(text, "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
				return err
			}
			if len(o.Object) == 0 {
				continue
			}
			if err := l.apply(ctx, o, options); err != nil {
				return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
			}
		}
	}
	return nil
}

func (l *Lab) apply(ctx context.Context, o *unstructured.Unstructured, options metav1.PatchOptions) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	namespace := o.GetNamespace()
	if namespace == "" {
		namespace = "default"
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		r, err := l.api.resource(kindOf(o), namespace)
		if err == nil {
			_, err = r.Patch(ctx, o.GetName(), types.ApplyPatchType, data, options)
		}
		retry := meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
		if err == nil || !retry || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Get returns an object, nil if there is none.
func (l *Lab) Get(ctx context.Context, kind, namespace, name string) (*unstructured.Unstructured, error) {
	r, err := l.api.resource(kind, namespace)
	if err != nil {
		return nil, err
	}
	o, err := r.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

// Names returns the names of all objects of a kind.
func (l *Lab) Names(ctx context.Context, kind, namespace string) ([]string, error) {
	r, err := l.api.resource(kind, namespace)
	if err != nil {
		return nil, err
	}
	list, err := r.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for _, o := range list.Items {
		names = append(names, o.GetName())
	}
	return names, nil
}

// UIDs returns the UIDs of all objects of a kind, in all namespaces.
func (l *Lab) UIDs(ctx context.Context, kind string) ([]string, error) {
	r, err := l.api.resource(kind, "")
	if err != nil {
		return nil, err
	}
	list, err := r.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	uids := make([]string, 0, len(list.Items))
	for _, o := range list.Items {
		uids = append(uids, string(o.GetUID()))
	}
	return uids, nil
}

// Delete deletes an object, if it is there.
func (l *Lab) Delete(ctx context.Context, kind, namespace, name string) error {
	r, err := l.api.resource(kind, namespace)
	if err != nil {
		return err
	}
	if err := r.Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// Patch applies a JSON merge patch to an object.
func (l *Lab) Patch(ctx context.Context, kind, namespace, name, patch string) error {
	r, err := l.api.resource(kind, namespace)
	if err != nil {
		return err
	}
	_, err = r.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// Wait waits through a watch until cond holds for an object, which is nil while there is none. When ctx ends first, the
// error shows the object as it was last.
func (l *Lab) Wait(ctx context.Context, kind, namespace, name string,
	cond func(*unstructured.Unstructured) bool,
) (*unstructured.Unstructured, error) {
	r, err := l.api.resource(kind, namespace)
	if err != nil {
		return nil, err
	}
	only := "metadata.name=" + name
	var last *unstructured.Unstructured
	for {
		list, err := r.List(ctx, metav1.ListOptions{FieldSelector: only})
		if err != nil {
			return nil, waitError(ctx, kind, name, last, err)
		}
		last = nil
		if len(list.Items) > 0 {
			last = &list.Items[0]
		}
		if cond(last) {
			return last, nil
		}
		w, err := r.Watch(ctx, metav1.ListOptions{FieldSelector: only, ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			return nil, waitError(ctx, kind, name, last, err)
		}
		for event := range w.ResultChan() {
			o, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				break
			}
			if last = o; event.Type == watch.Deleted {
				last = nil
			}
			if cond(last) {
				w.Stop()
				return last, nil
			}
		}
		w.Stop()
		if ctx.Err() != nil {
			return nil, waitError(ctx, kind, name, last, ctx.Err())
		}
	}
}

func waitError(ctx context.Context, kind, name string, last *unstructured.Unstructured, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if last == nil {
		return fmt.Errorf("waiting for %s %s: %w; it does not exist", kind, name, err)
	}
	last.SetManagedFields(nil)
	dump, _ := yaml.Marshal(last.Object)
	return fmt.Errorf("waiting for %s %s: %w; it is\n%s", kind, name, err, dump)
}
