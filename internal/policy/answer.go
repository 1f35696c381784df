package policy

import (
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Answer returns nil if a plugin may answer with objects for a parent, whichever plugin it is. Objects without a namespace are deployed to that of the
// parent's destination. The warnings are about objects that Argo CD takes and does not deploy.
func (p *Policy) Answer(parent Parent, destination string, objects []manifest.Object) (warnings []string, err error) {
	var errs []error
	for _, o := range objects {
		// Also of Applications that only look as if they were of another kind.
		if _, ok := o["items"].([]any); ok {
			errs = append(errs, fmt.Errorf("%s: Argo CD takes an object with a list items for that list, and deploys what is in it instead", title(o)))
		}
		hook, unknown := order.UnknownHook(o)
		own := manifest.Group(o) == argo.Group && isOwn(manifest.String(o, "kind"))
		switch {
		case unknown && own:
			errs = append(errs, fmt.Errorf("%s: the hook type %q is refused: Argo CD does not know it, so it would not deploy the object, and delete it if it is there", title(o), hook))
		case unknown:
			warnings = append(warnings, fmt.Sprintf("%s: Argo CD does not know the hook type %q, so it does not deploy the object, and deletes it if it is there", title(o), hook))
		}
		if own {
			errs = append(errs, p.own(parent, destination, o)...)
		}
	}
	return warnings, errors.Join(errs...)
}

func isOwn(kind string) bool {
	return kind == argo.KindApplication || kind == argo.KindApplicationSet || kind == argo.KindAppProject
}

// own returns what speaks against an object of Argo CD's own.
func (p *Policy) own(parent Parent, destination string, o manifest.Object) (errs []error) {
	kind := manifest.String(o, "kind")
	if kind == argo.KindAppProject || p.Unrestricted(parent) {
		return nil
	}
	if present(o["operation"]) {
		errs = append(errs, fmt.Errorf("%s: operation is refused: it syncs from any source, past the policy", title(o)))
	}
	if present(o["status"]) {
		errs = append(errs, fmt.Errorf("%s: status is refused: Argo CD goes on with an operation that is in it, past the policy; remove status from the manifest", title(o)))
	}
	if kind == argo.KindApplicationSet {
		return append(errs, fmt.Errorf("%s is refused: Argo CD would generate Applications from it, past the policy; use the plugin appset, which asks the policy about them", title(o)))
	}
	ref := Ref(o, destination)
	return append(errs, p.Application(parent, Child{
		Name: ref.Name, Namespace: ref.Namespace, Project: manifest.String(o, "spec", "project"),
		Server: manifest.String(o, "spec", "destination", "server"), Cluster: manifest.String(o, "spec", "destination", "name"),
		Destination: manifest.String(o, "spec", "destination", "namespace"), Repositories: argo.Repositories(o),
	}))
}

// present reports whether a field says anything: tools write an empty status.
func present(field any) bool {
	m, ok := field.(map[string]any)
	return field != nil && (!ok || len(m) > 0)
}

// Ref is an object's name; without a namespace of its own it is deployed to that of the parent's destination.
func Ref(o manifest.Object, destination string) argo.Ref {
	namespace := manifest.String(o, "metadata", "namespace")
	if namespace == "" {
		namespace = destination
	}
	return argo.Ref{Namespace: namespace, Name: manifest.String(o, "metadata", "name")}
}

func title(o manifest.Object) string {
	return fmt.Sprintf("%s %q", manifest.String(o, "kind"), manifest.String(o, "metadata", "name"))
}
