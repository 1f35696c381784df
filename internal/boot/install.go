package boot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/words"
)

// poll is how often a workload or a CRD of Argo CD is looked at.
const poll = time.Second

// install applies Argo CD: Namespaces, then CRDs until they are established, then the rest, until its workloads are ready. An object that
// Argo CD deploys itself by now is left to it.
func (b *boot) install(ctx context.Context) error {
	docs, err := b.Lint.Planner.Manifests(ctx, b.Install, b.client.Namespace)
	if err != nil {
		return fmt.Errorf("--install: %w", err)
	}
	// An Argo CD that cannot be asked deploys nothing yet, or the next request fails.
	b.tracking, _ = b.client.Tracking(ctx)
	objects := manifest.Objects(docs)
	slices.SortStableFunc(objects, func(x, y manifest.Object) int { return rank(x) - rank(y) })
	counts := map[kube.Result]int{}
	var workloads []live.Key
	crds := slices.IndexFunc(objects, func(o manifest.Object) bool { return rank(o) > 1 })
	if crds < 0 {
		crds = len(objects)
	}
	for i, o := range objects {
		if i == crds {
			if err := b.established(ctx, objects[:crds]); err != nil {
				return err
			}
		}
		var result kube.Result
		var key live.Key
		err := kube.Persist(ctx, func() (err error) {
			result, key, err = b.installOne(ctx, o)
			return err
		})
		if err != nil {
			return fmt.Errorf("--install: %w", err)
		}
		counts[result]++
		if kind := key.Kind; key.Group == "apps" && (kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet") {
			workloads = append(workloads, key)
		}
	}
	b.say(eventInstalled, map[string]any{
		"created": int64(counts[kube.Created]), "changed": int64(counts[kube.Changed]), "unchanged": int64(counts[kube.Unchanged]),
		"leftToArgoCD": int64(counts[kube.Left]),
	}, "installed %s: %d created, %d changed, %d unchanged, %d left to Argo CD, which deploys them", words.Count(len(objects), "object"),
		counts[kube.Created], counts[kube.Changed], counts[kube.Unchanged], counts[kube.Left])
	for _, key := range workloads {
		if err := b.await(ctx, key, isReady); err != nil {
			return err
		}
	}
	b.say(eventInstalled, map[string]any{"workloads": int64(len(workloads))}, "%s of Argo CD ready",
		words.Count(len(workloads), "workload"))
	return nil
}

// installOne applies an object, unless Argo CD deploys it: then it is left.
func (b *boot) installOne(ctx context.Context, o manifest.Object) (kube.Result, live.Key, error) {
	key := live.KeyOf(o)
	_, namespaced, err := b.lookup.Resource(ctx, key.Group, key.Kind)
	if err != nil {
		return "", key, err
	}
	switch {
	case !namespaced:
		key.Namespace = ""
	case key.Namespace == "":
		key.Namespace = b.client.Namespace
	}
	if key.Kind != "Secret" || key.Group != "" { // contents of Secrets are not read
		have, err := b.lookup.Get(ctx, key)
		if err != nil {
			return "", key, err
		}
		if have != nil && b.tracking.Marked(have) {
			return kube.Left, key, nil
		}
	}
	result, err := b.lookup.Apply(ctx, o, kube.Apply{Namespace: b.client.Namespace, Force: b.ForceConflicts})
	if errors.Is(err, kube.ErrConflict) {
		err = fmt.Errorf("%w; take the field with --force-conflicts", err)
	}
	return result, key, err
}

// established waits until the API server serves the kinds of CRDs.
func (b *boot) established(ctx context.Context, objects []manifest.Object) error {
	for _, o := range objects {
		if key := live.KeyOf(o); key.Kind == "CustomResourceDefinition" {
			if err := b.await(ctx, key, isEstablished); err != nil {
				return err
			}
		}
	}
	b.lookup.Forget()
	return nil
}

func isEstablished(o manifest.Object) bool {
	return manifest.String(manifest.Condition(o, "Established"), "status") == "True"
}

// await waits until something holds for an object. It retries if the API server does not answer, but not if it forbids the read. After the
// timeout, the error describes the object, or says why it could not be read.
func (b *boot) await(ctx context.Context, key live.Key, holds func(manifest.Object) bool) error {
	var unread error // the last one
	for told := false; ; {
		o, err := b.lookup.Get(ctx, key)
		switch {
		case err == nil && o != nil && holds(o):
			return nil
		case errors.Is(err, kube.ErrForbidden):
			return err
		case ctx.Err() == nil:
			unread = err
		}
		if !told {
			told = true
			b.say(eventWaiting, map[string]any{"kind": key.Kind, "namespace": key.Namespace, "name": key.Name}, "waiting for %s", key)
		}
		if !retry.Wait(ctx, time.After(poll)) {
			if unread != nil {
				return fmt.Errorf("waiting for %s: %w", key, unread)
			}
			text := "it is not there"
			if o != nil {
				text = "it is not established"
				if h, ok, err := health.Evaluate(o, nil, health.Limits{}); ok && err == nil {
					text = fmt.Sprintf("it is %s: %s", h.Status, h.Message)
				}
			}
			return fmt.Errorf("waiting for %s: %s", key, text)
		}
	}
}
