package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// RefreshLease is the Lease of the process that keeps intervals.
const RefreshLease = "argosy-refresh"

// Install adds things to an Argo CD, and takes them away.
type Install struct {
	Lookup *Lookup
	// Theirs are additions to objects of Argo CD, Ours are whole objects.
	Theirs, Ours []manifest.Object
	// Sidecar is the name of our container, for Remove.
	Sidecar string
	// Later is the Deployment whose added container another controller, the operator, removes a moment later. "" is none.
	Later string
	// Force takes fields from other managers.
	Force bool
	// Tell is called with each result.
	Tell func(result Result, key live.Key)
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

func (i *Install) apply(ctx context.Context, o manifest.Object, how Apply) (result Result, err error) {
	how.Force = i.Force
	err = Persist(ctx, func() error {
		result, err = i.Lookup.Apply(ctx, o, how)
		return err
	})
	if errors.Is(err, ErrConflict) {
		err = fmt.Errorf("%w; take the field with --force-conflicts", err)
	}
	return result, err
}

// Remove takes the additions away, and then deletes our objects and the Lease of our processes, unless a sidecar is left: its Pod would not
// start again without them. Objects that Helm or Argo CD deploys are left to them. It goes on where something cannot be deleted, and can be
// run again.
func (i *Install) Remove(ctx context.Context) error {
	changed := []string{i.Later}
	for _, o := range i.Theirs {
		changed = append(changed, manifest.String(o, "metadata", "name"))
	}
	if err := i.alone(ctx, changed); err != nil {
		return err
	}
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
	if err := i.alone(ctx, []string{i.Later}); err != nil {
		return err
	}
	keys := []live.Key{{Group: leases.Group, Kind: "Lease", Namespace: i.Lookup.Client.Namespace, Name: RefreshLease}}
	for _, o := range i.Ours {
		keys = append(keys, live.KeyOf(o))
	}
	slices.Reverse(keys)
	var failed []error
	for _, key := range keys {
		result, err := i.Lookup.remove(ctx, key)
		if failed = append(failed, err); result != "" && err == nil {
			i.Tell(result, key)
		}
	}
	return errors.Join(failed...)
}

// alone refuses to go on while a Deployment has our sidecar, except some. It was added in another way, or to an Argo CD of another name.
func (i *Install) alone(ctx context.Context, except []string) error {
	list, err := i.Lookup.List(ctx, "apps", "Deployment", i.Lookup.Client.Namespace)
	if err != nil {
		return err
	}
	for _, o := range list {
		containers, _ := manifest.Map(o, "spec", "template", "spec")["containers"].([]any)
		if slices.ContainsFunc(containers, func(v any) bool {
			c, _ := v.(map[string]any)
			return manifest.String(c, "name") == i.Sidecar
		}) && !slices.Contains(except, manifest.String(o, "metadata", "name")) {
			return fmt.Errorf("%s still has the container %s, which does not start without the objects that --remove deletes; remove "+
				"the container where it was added (--for operator, --argocd-name NAME, values of the chart argo-cd, a Kustomize "+
				"component), and run this again", live.KeyOf(o), i.Sidecar)
		}
	}
	return nil
}

// remove deletes an object, unless it is deployed by Helm or Argo CD. "" says that it was not there.
func (l *Lookup) remove(ctx context.Context, key live.Key) (result Result, err error) {
	k, err := l.kind(ctx, key.Group, key.Kind)
	if err != nil {
		return "", err
	}
	if !k.namespaced {
		key.Namespace = ""
	}
	resource := l.Client.api.Resource(k.resource).Namespace(key.Namespace)
	have, err := resource.Get(ctx, key.Name, metav1.GetOptions{})
	if err == nil {
		_, tracked := argo.Tracked(have.Object, l.Client.Namespace)
		if _, released := have.GetAnnotations()["meta.helm.sh/release-name"]; released || tracked {
			return Left, nil
		}
		uid := have.GetUID()
		err = resource.Delete(ctx, key.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	}
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", explain("deleting "+key.String(), err)
	}
	return Deleted, nil
}
