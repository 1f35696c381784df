// Package appset makes Applications of ApplicationSets, as Argo CD's own controller does, from values alone: no
// cluster, no network.
//
// It promises the same Applications as Argo CD, 3.2 to 3.5 (conformance/ compares), byte for byte the same for the same input,
// and all or nothing: one bad element fails the answer, because an incomplete list would delete the Applications that
// are missing from it. It refuses what cannot be deployed or would overwrite something else: no applications at all,
// two of one name, names that Kubernetes does not allow, no project, no destination.
package appset

import (
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Set is an ApplicationSet.
type Set struct {
	Name      string
	Namespace string
	Spec      map[string]any
	Wave      string // its own sync wave; "" if it has none
	Position  manifest.Position
}

// String names the set and its place for messages.
func (s Set) String() string { return fmt.Sprintf("%s: %s", s.Position, s.title()) }

func (s Set) title() string {
	if s.Name == "" {
		return argo.KindApplicationSet
	}
	return fmt.Sprintf("ApplicationSet %q", s.Name)
}

// errorf returns an error about a field of the set.
func (s Set) errorf(format string, args ...any) error {
	at := s.Position
	at.Number = 0 // the name says which
	return at.Errorf("%w", &setError{s.title(), fmt.Errorf(format, args...)})
}

// setError is a problem of a set.
type setError struct {
	title string
	err   error
}

func (e *setError) Error() string { return e.title + ": " + e.err.Error() }

func (e *setError) Unwrap() error { return e.err }

// Bare returns a problem of a set without the place and the name of the set, which its text begins with. Other errors stay as they are.
func Bare(err error) error {
	var e *setError
	if errors.As(err, &e) {
		return e.err
	}
	return err
}

// Parse reads an ApplicationSet, or the bare spec of one. It reports false for other documents.
func Parse(d manifest.Document) (s Set, ok bool, err error) {
	s.Position = d.Position
	switch {
	case argo.IsBareSpec(d.Object):
		s.Spec = d.Object
	case argo.IsApplicationSet(d.Object):
		s.Name = manifest.String(d.Object, "metadata", "name")
		s.Namespace = manifest.String(d.Object, "metadata", "namespace")
		s.Spec = manifest.Map(d.Object, "spec")
		s.Wave = manifest.String(d.Object, "metadata", "annotations", argo.SyncWaveAnnotation)
	default:
		return s, false, nil
	}
	if s.Spec == nil {
		return s, true, s.errorf("spec must be an object")
	}
	var errs []error
	for _, err := range argo.ApplicationSetSpec().Check("spec", s.Spec) {
		errs = append(errs, s.errorf("%w", err))
	}
	return s, true, errors.Join(errs...)
}

func (s Set) goTemplateOptions() []string {
	list, _ := s.Spec["goTemplateOptions"].([]any)
	out := make([]string, 0, len(list))
	for _, v := range list {
		text, _ := v.(string)
		out = append(out, text)
	}
	return out
}

func (s Set) preservesResources() bool {
	v, _ := manifest.Map(s.Spec, "syncPolicy")["preserveResourcesOnDeletion"].(bool)
	return v
}

// notOfTemplate ends a warning about a field that a template cannot have.
const notOfTemplate = "not a field of a template, ignored"

// warnings name the unknown fields of a set.
func (s Set) warnings() []string {
	var out []string
	for _, name := range argo.ApplicationSetSpec().Unknown(s.Spec) {
		out = append(out, fmt.Sprintf("spec.%s: %s", name, generator.UnknownField))
	}
	tmpl := manifest.Map(s.Spec, "template")
	for _, k := range manifest.Keys(tmpl) {
		if k != "metadata" && k != "spec" && k != "apiVersion" && k != "kind" {
			out = append(out, fmt.Sprintf("spec.template.%s: %s", k, notOfTemplate))
		}
	}
	meta := manifest.Map(tmpl, "metadata")
	for _, k := range manifest.Keys(meta) {
		if !isTemplateMetadata(k) && meta[k] != nil {
			out = append(out, fmt.Sprintf("spec.template.metadata.%s: %s", k, notOfTemplate))
		}
	}
	return out
}
