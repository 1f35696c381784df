package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/handover"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
)

// maxListed bounds the Applications of a namespace whose metadata is kept.
const maxListed = 50_000

// resourceOf returns the resource of a kind of Argo CD.
func resourceOf(kind string) schema.GroupVersionResource {
	if kind == argo.KindApplicationSet {
		return schema.GroupVersionResource{Group: argo.Group, Version: "v1alpha1", Resource: "applicationsets"}
	}
	return applications
}

// passes explains an error, which is also ErrPassing of package handover if it may be gone at the next attempt.
func passes(doing string, err error) error {
	if Passing(err) {
		return &passing{explain(doing, err)}
	}
	return explain(doing, err)
}

type passing struct{ error }

func (p *passing) Is(target error) bool { return target == handover.ErrPassing }

func (p *passing) Unwrap() error { return p.error }

// Object implements handover.Cluster.
func (c *Client) Object(ctx context.Context, kind string, ref argo.Ref) (manifest.Object, error) {
	o, err := c.api.Resource(resourceOf(kind)).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, passes(fmt.Sprintf("reading %s %s", kind, ref), err)
	}
	return o.Object, nil
}

// Owned implements handover.Cluster.
func (c *Client) Owned(ctx context.Context, namespace string) (map[string][]string, error) {
	out := map[string][]string{}
	options := metav1.ListOptions{Limit: 500}
	for {
		list, err := c.meta.Resource(applications).Namespace(namespace).List(ctx, options)
		if err != nil {
			return nil, passes("listing Applications in namespace "+namespace, err)
		}
		for _, o := range list.Items {
			out[o.Name] = []string{}
			for _, owner := range o.OwnerReferences {
				out[o.Name] = append(out[o.Name], string(owner.UID))
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return out, nil
		}
		if len(out) > maxListed {
			return nil, fmt.Errorf("namespace %s has more than %d Applications", namespace, maxListed)
		}
	}
}

// Create implements handover.Cluster.
func (c *Client) Create(ctx context.Context, o manifest.Object) error {
	kind, ref := manifest.String(o, "kind"), refOf(o)
	_, err := c.api.Resource(resourceOf(kind)).Namespace(ref.Namespace).Create(ctx, &unstructured.Unstructured{Object: o},
		metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return passes(fmt.Sprintf("creating %s %s", kind, ref), err)
	}
	return nil
}

// Patch implements handover.Cluster by a merge patch.
func (c *Client) Patch(ctx context.Context, kind string, ref argo.Ref, patch map[string]any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.api.Resource(resourceOf(kind)).Namespace(ref.Namespace).Patch(ctx, ref.Name, types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: manager})
	if apierrors.IsConflict(err) {
		return fmt.Errorf("changing %s %s: %w", kind, ref, handover.ErrConflict)
	}
	if err != nil {
		return passes(fmt.Sprintf("changing %s %s", kind, ref), err)
	}
	return nil
}

// Delete implements handover.Cluster. The garbage collector leaves the objects that it owns, and removes their references to it.
func (c *Client) Delete(ctx context.Context, kind string, ref argo.Ref, uid string) error {
	orphan, id := metav1.DeletePropagationOrphan, types.UID(uid)
	err := c.api.Resource(resourceOf(kind)).Namespace(ref.Namespace).Delete(ctx, ref.Name, metav1.DeleteOptions{
		PropagationPolicy: &orphan, Preconditions: &metav1.Preconditions{UID: &id},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return passes(fmt.Sprintf("deleting %s %s", kind, ref), err)
	}
	return nil
}

// Tracking returns how Argo CD marks the objects that an Application deploys.
func (c *Client) Tracking(ctx context.Context) (argo.Tracking, error) {
	data, err := c.configMap(ctx, settings.ConfigMap)
	return settings.TrackingOf(data), err
}
