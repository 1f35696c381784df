package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/scm"
)

// maxObjects bounds a list of objects that decide about clusters.
const maxObjects = 5_000

// Secret implements scm.Objects. With only the right to list, it lists that one Secret.
func (c *Client) Secret(ctx context.Context, namespace, name string) (*scm.Secret, error) {
	o, err := c.one(ctx, secrets, namespace, name)
	if err != nil || o == nil {
		return nil, err
	}
	return scm.NewSecret(o)
}

// ConfigMap implements scm.Objects.
func (c *Client) ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	o, err := c.one(ctx, configMaps, namespace, name)
	if err != nil || o == nil {
		return nil, err
	}
	return scm.ConfigMapData(o), nil
}

// one returns nil if there is no object of that name.
func (c *Client) one(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (manifest.Object, error) {
	doing := fmt.Sprintf("reading %s %s/%s", resource.Resource, namespace, name)
	o, err := c.api.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err == nil:
		return o.Object, nil
	case !apierrors.IsForbidden(err):
		return nil, explain(doing, err)
	}
	list, listErr := c.api.Resource(resource).Namespace(namespace).List(ctx,
		metav1.ListOptions{FieldSelector: "metadata.name=" + name, Limit: 1})
	if listErr != nil {
		return nil, explain(doing, err)
	}
	i := slices.IndexFunc(list.Items, func(o unstructured.Unstructured) bool { return o.GetName() == name })
	if i < 0 {
		return nil, nil
	}
	return list.Items[i].Object, nil
}

// List implements scm.Objects.
func (c *Client) List(ctx context.Context, q scm.List) ([]manifest.Object, error) {
	var options metav1.ListOptions
	if q.Name != "" {
		options.FieldSelector = "metadata.name=" + q.Name
	}
	resource := schema.GroupVersionResource{Group: q.Group, Version: q.Version, Resource: q.Resource}
	out, err := c.pages(ctx, resource, q.Namespace, options, maxObjects)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b manifest.Object) int {
		return strings.Compare(manifest.String(a, "metadata", "name"), manifest.String(b, "metadata", "name"))
	})
	return out, nil
}

// pages lists objects page by page. If there are more than most, it returns that many and an error.
func (c *Client) pages(
	ctx context.Context, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions, most int,
) ([]manifest.Object, error) {
	options.Limit = 500
	var out []manifest.Object
	for {
		list, err := c.api.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return out, explain(fmt.Sprintf("listing %s in namespace %s", resource.GroupResource(), namespace), err)
		}
		for _, o := range list.Items {
			if len(out) == most {
				return out, fmt.Errorf("there are more than %d %s in namespace %s", most, resource.GroupResource(), namespace)
			}
			out = append(out, o.Object)
		}
		next := list.GetContinue()
		if next == "" {
			return out, nil
		}
		if next == options.Continue {
			return out, errEndless
		}
		options.Continue = next
	}
}
