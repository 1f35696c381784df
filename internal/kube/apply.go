package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Result is what was done with an object; "" is nothing, because of an error or because the object is not there.
type Result string

// Results. Those of Apply are Created, Changed and Unchanged.
const (
	Created   Result = "created"
	Changed   Result = "changed"
	Unchanged Result = "unchanged"
	Deleted   Result = "deleted"
	// Left is an object that Helm or Argo CD deploys.
	Left Result = "left"
)

// ErrConflict says that another manager has set a field to another value.
var ErrConflict = errors.New("another manager owns a field")

// Apply is how objects are applied. The zero Apply takes no field from another manager.
type Apply struct {
	// Namespace is the namespace of namespaced objects that name none.
	Namespace string
	// DryRun changes nothing.
	DryRun bool
	// Force takes fields from other managers.
	Force bool
	// Additions says that the object has only additions to an object of another owner. They get their own field manager, because an apply
	// removes the fields that its manager has applied before and that the object no longer has.
	Additions bool
}

// additions is the manager of Additions.
const additions = manager + "-additions"

// Apply applies an object on the server, as the field manager argosy, and says whether that changed it. The object is not changed.
func (l *Lookup) Apply(ctx context.Context, o manifest.Object, how Apply) (result Result, err error) {
	k, err := l.kind(ctx, manifest.Group(o), manifest.String(o, "kind"))
	if err != nil {
		return "", err
	}
	o, _ = manifest.Copy(o).(map[string]any)
	u := &unstructured.Unstructured{Object: o}
	if !k.namespaced {
		u.SetNamespace("")
	} else if u.GetNamespace() == "" {
		u.SetNamespace(how.Namespace)
	}
	doing := "applying " + live.KeyOf(o).String()
	resource := l.Client.api.Resource(k.resource.GroupResource().WithVersion(versionOf(o))).Namespace(u.GetNamespace())
	before, err := resource.Get(ctx, u.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return "", explain("reading "+live.KeyOf(o).String(), err)
	}
	data, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	options := metav1.PatchOptions{FieldManager: manager, Force: &how.Force, FieldValidation: metav1.FieldValidationStrict}
	if how.Additions {
		options.FieldManager = additions
	}
	if how.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	after, err := resource.Patch(ctx, u.GetName(), types.ApplyPatchType, data, options)
	switch {
	case apierrors.IsConflict(err):
		return "", fmt.Errorf("%s: %w: %s", doing, ErrConflict, conflicts(err))
	case err != nil:
		return "", explain(doing, err)
	case before == nil || before.GetUID() == "":
		return Created, nil
	case same(before, after):
		return Unchanged, nil
	}
	return Changed, nil
}

// same reports whether an object was not changed. A controller may have written its status in between, and with it the version.
func same(before, after *unstructured.Unstructured) bool {
	for _, o := range []*unstructured.Unstructured{before, after} {
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		delete(o.Object, "status")
	}
	one, _ := json.Marshal(before.Object)
	other, _ := json.Marshal(after.Object)
	return string(one) == string(other)
}

func versionOf(o manifest.Object) string {
	version := manifest.String(o, "apiVersion")
	if _, after, ok := strings.Cut(version, "/"); ok {
		return after
	}
	return version
}

// conflicts names the managers and the fields.
func conflicts(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return err.Error()
	}
	var out []string
	for _, c := range status.Status().Details.Causes {
		out = append(out, fmt.Sprintf("%s (%s)", c.Field, c.Message))
	}
	return strings.Join(out, "; ")
}

// Forget makes it ask for kinds again, because some were added.
func (l *Lookup) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.discovered = nil
}

// Serves reports whether the API server serves a kind.
func (l *Lookup) Serves(ctx context.Context, group, kind string) (bool, error) {
	_, err := l.kind(ctx, group, kind)
	if errors.Is(err, cause.ErrNoKind) {
		return false, nil
	}
	return err == nil, err
}

// ServerVersion returns the version of Kubernetes. It needs no rights.
func (c *Client) ServerVersion(ctx context.Context) (string, error) {
	var v struct{ GitVersion string }
	if err := (&Lookup{Client: c}).decode(ctx, &v, "/version"); err != nil {
		return "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	return v.GitVersion, nil
}

// May asks the API server whether the user has a right.
func (c *Client) May(ctx context.Context, r live.Right) (bool, error) {
	review := map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"verb": r.Verb, "group": r.Group, "resource": r.Resource, "namespace": r.Namespace, "name": r.Name,
		}},
	}
	resource := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
	o, err := c.api.Resource(resource).Create(ctx, &unstructured.Unstructured{Object: review}, metav1.CreateOptions{})
	if err != nil {
		return false, explain("asking for the right to "+r.String(), err)
	}
	allowed, _, _ := unstructured.NestedBool(o.Object, "status", "allowed")
	return allowed, nil
}

// Resource returns the resource name of a kind, for rights.
func (l *Lookup) Resource(ctx context.Context, group, kind string) (resource string, namespaced bool, err error) {
	k, err := l.kind(ctx, group, kind)
	return k.resource.Resource, k.namespaced, err
}

// PatchApplication changes an Application by a merge patch, if it is still at a version. It reports false if it is not.
func (c *Client) PatchApplication(ctx context.Context, app argo.Ref, version string, patch map[string]any) (bool, error) {
	meta, _ := manifest.Copy(manifest.Map(patch, "metadata")).(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["resourceVersion"] = version
	patch["metadata"] = meta
	data, err := json.Marshal(patch)
	if err != nil {
		return false, err
	}
	_, err = c.api.Resource(applications).Namespace(app.Namespace).Patch(ctx, app.Name, types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: manager})
	if apierrors.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, explain(fmt.Sprintf("changing Application %s", app), err)
	}
	return true, nil
}

// Labelled returns the objects of a kind in a namespace that have a label.
func (l *Lookup) Labelled(ctx context.Context, group, kind, namespace, label string) ([]manifest.Object, error) {
	k, err := l.kind(ctx, group, kind)
	if err != nil {
		return nil, err
	}
	list, err := l.Client.pages(ctx, k.resource, namespace, metav1.ListOptions{LabelSelector: label}, maxObjects)
	if err != nil {
		return nil, err
	}
	return list, nil
}
