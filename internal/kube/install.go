package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// RefreshLease is the Lease of the process that keeps intervals.
const RefreshLease = "argosy-refresh"

// Deleted is a result of Remove.
const Deleted = "deleted"

// Install adds things to an Argo CD, and takes them away.
type Install struct {
	Lookup *Lookup
	// Theirs are additions to objects of Argo CD, Ours are whole objects.
	Theirs, Ours []manifest.Object
	// Force takes fields from other managers.
	Force bool
	// Tell is called with each result.
	Tell func(result string, key live.Key)
}

// Add applies all objects, or none if Argo CD is not there or the API server would refuse one. Those of Argo CD come last, because they
// restart it.
func (i *Install) Add(ctx context.Context) error {
	for _, o := range i.Theirs {
		have, err := i.Lookup.Get(ctx, live.KeyOf(o))
		if err != nil {
			return err
		}
		if have == nil {
			return fmt.Errorf("there is no %s; --namespace and --argocd-name say where Argo CD is, and what it is called", live.KeyOf(o))
		}
	}
	for _, dry := range []bool{true, false} {
		for n, o := range slices.Concat(i.Ours, i.Theirs) {
			result, err := i.apply(ctx, o, Apply{DryRun: dry, Additions: n >= len(i.Ours)})
			if err != nil {
				return err
			}
			if !dry {
				i.Tell(result, live.KeyOf(o))
			}
		}
	}
	return nil
}

func (i *Install) apply(ctx context.Context, o manifest.Object, how Apply) (string, error) {
	how.Force = i.Force
	result, err := i.Lookup.Apply(ctx, o, how)
	if errors.Is(err, ErrConflict) {
		err = fmt.Errorf("%w; take the field with --force-conflicts", err)
	}
	return result, err
}

// Remove takes the additions away, and then deletes our objects and the Lease of our processes. It goes on where something cannot be
// deleted, and can be run again.
func (i *Install) Remove(ctx context.Context) error {
	for _, o := range i.Theirs {
		key := live.KeyOf(o)
		if have, err := i.Lookup.Get(ctx, key); err != nil {
			return err
		} else if have == nil {
			continue
		}
		empty := manifest.Object{
			"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": map[string]any{"name": key.Name, "namespace": key.Namespace},
		}
		result, err := i.apply(ctx, empty, Apply{Additions: true})
		if err != nil {
			return err
		}
		i.Tell(result, key)
	}
	keys := []live.Key{{Group: leases.Group, Kind: "Lease", Namespace: i.Lookup.Client.Namespace, Name: RefreshLease}}
	for _, o := range i.Ours {
		keys = append(keys, live.KeyOf(o))
	}
	slices.Reverse(keys)
	var failed []error
	for _, key := range keys {
		there, err := i.Lookup.remove(ctx, key)
		if failed = append(failed, err); there && err == nil {
			i.Tell(Deleted, key)
		}
	}
	return errors.Join(failed...)
}

// remove deletes an object, and reports whether it was there.
func (l *Lookup) remove(ctx context.Context, key live.Key) (bool, error) {
	k, err := l.kind(ctx, key.Group, key.Kind)
	if err != nil {
		return false, err
	}
	if !k.namespaced {
		key.Namespace = ""
	}
	err = l.Client.api.Resource(k.resource).Namespace(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return true, explain("deleting "+key.String(), err)
	}
	return true, nil
}
