package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/refresh"
)

// manager is the field manager of our writes.
const manager = "argosy"

// Refresh implements refresh.API.
func (c *Client) Refresh(ctx context.Context, app argo.Ref, version string, kind refresh.Kind) (string, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": version, "annotations": map[string]string{argo.RefreshAnnotation: string(kind)},
	}})
	if err != nil {
		return "", err
	}
	o, err := c.meta.Resource(applications).Namespace(app.Namespace).Patch(ctx, app.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: manager})
	doing := fmt.Sprintf("asking for a refresh of %s", app)
	switch {
	case err == nil:
		return o.ResourceVersion, nil
	case apierrors.IsConflict(err):
		return "", refresh.ErrConflict
	case apierrors.IsNotFound(err):
		return "", refresh.ErrGone
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return "", errors.Join(refresh.ErrRefused, explain(doing, err))
	default:
		return "", explain(doing, err)
	}
}

// Warn implements refresh.API by an Event. Its name derives from the warning's ID, so that several writers create it once.
func (c *Client) Warn(ctx context.Context, app refresh.App, w refresh.Warning) error {
	sum := sha256.Sum256([]byte(app.UID + w.ID))
	at := w.At.UTC().Format(time.RFC3339)
	event := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": w.Reason, "message": w.Message, "firstTimestamp": at,
		"lastTimestamp": at, "count": int64(1),
		"metadata": map[string]any{
			"name":      fmt.Sprintf("%.230s.", app.Ref.Name) + hex.EncodeToString(sum[:8]),
			"namespace": app.Ref.Namespace,
		},
		"involvedObject": map[string]any{
			"apiVersion": argo.APIVersion, "kind": argo.KindApplication, "namespace": app.Ref.Namespace, "name": app.Ref.Name,
			"uid": app.UID, "resourceVersion": app.Version,
		},
		"source": map[string]any{"component": manager}, "reportingComponent": manager,
	}}
	_, err := c.api.Resource(events).Namespace(app.Ref.Namespace).Create(ctx, event, metav1.CreateOptions{FieldManager: manager})
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return explain(fmt.Sprintf("writing an Event about %s", app.Ref), err)
}
