package policy

import (
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// maxProblems bounds the problems of an answer that are reported, and the warnings that have details. Each object can have some.
const maxProblems = 100

// Answer returns nil if a plugin may answer with objects for a parent, whichever plugin it is. Objects without a namespace are deployed to
// that of the parent's destination. The warnings are about objects that Argo CD takes and does not deploy.
func (p *Policy) Answer(parent Parent, destination string, objects []manifest.Object) (warnings []string, err error) {
	var errs []error
	for _, o := range objects {
		if len(errs) >= maxProblems {
			errs = append(errs, fmt.Errorf("checking stopped after %d problems; there may be more", len(errs)))
			break
		}
		// Also of Applications that only look as if they were of another kind.
		if _, ok := o["items"].([]any); ok {
			errs = append(errs, fmt.Errorf("%s: Argo CD treats an object with an items list as a List, and deploys the items instead",
				title(o)))
		}
		hook, unknown := order.UnknownHook(o)
		own := manifest.Group(o) == argo.Group && isOwn(manifest.String(o, "kind"))
		switch {
		case unknown && own:
			errs = append(errs, fmt.Errorf("%s: the hook type %s is refused: Argo CD does not know it, so it would not deploy the "+
				"object, and would delete it if it exists", title(o), quote(hook)))
		case unknown && len(warnings) >= maxProblems:
			warnings = append(warnings, "one more object has a hook type that Argo CD does not know")
		case unknown:
			warnings = append(warnings,
				fmt.Sprintf("%s: Argo CD does not know the hook type %s, so it does not deploy the object, and deletes it if it exists",
					title(o), quote(hook)))
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

// own returns the violations of an object of Argo CD's own kinds.
func (p *Policy) own(parent Parent, destination string, o manifest.Object) (errs []error) {
	kind := manifest.String(o, "kind")
	if kind == argo.KindAppProject || p.Unrestricted(parent) {
		return nil
	}
	// Argo CD begins an operation that is there, even an empty one.
	if o["operation"] != nil {
		errs = append(errs, fmt.Errorf("%s: operation is refused: it syncs from any source, and so bypasses the policy; remove "+
			"operation from the manifest", title(o)))
	}
	if present(o["status"]) {
		errs = append(errs, fmt.Errorf("%s: status is refused: Argo CD continues an operation that is in it, which bypasses the policy; "+
			"remove status from the manifest", title(o)))
	}
	if kind == argo.KindApplicationSet {
		return append(errs, fmt.Errorf("%s is refused: Argo CD would generate Applications from it, which bypasses the policy; "+
			"use the plugin appset, which checks them against the policy", title(o)))
	}
	ref := Ref(o, destination)
	err := p.Application(parent, Child{
		Name: ref.Name, Namespace: ref.Namespace, Project: manifest.String(o, "spec", "project"),
		Server: manifest.String(o, "spec", "destination", "server"), Cluster: manifest.String(o, "spec", "destination", "name"),
		Destination: manifest.String(o, "spec", "destination", "namespace"), Repositories: argo.Repositories(o),
	})
	if err != nil {
		errs = append(errs, err)
	}
	return errs
}

// present reports whether a status says anything: tools write an empty one.
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
	return words.Shorten(manifest.String(o, "kind"), maxQuoted) + " " + quote(manifest.String(o, "metadata", "name"))
}

// maxQuoted bounds a value in a message. Names in Kubernetes have up to 253 bytes.
const maxQuoted = 300

// quote is a value for messages. Authors of applications choose values, and their length.
func quote(value string) string { return fmt.Sprintf("%q", words.Shorten(value, maxQuoted)) }
