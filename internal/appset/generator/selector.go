package generator

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// selector is a Kubernetes label selector.
type selector []requirement

type requirement struct {
	key, operator string
	values        []string
}

// valueCheck reports what is wrong with a value of a selector.
type valueCheck func(string) error

// anyValue is for selectors on parameters, which can be anything, for example a URL.
func anyValue(string) error { return nil }

var labelValuePattern = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`)

// labelValue is for selectors on labels.
func labelValue(s string) error {
	if len(s) > 63 || !labelValuePattern.MatchString(s) {
		return fmt.Errorf("value %q: a label value has at most 63 letters, digits, dashes, dots and underscores, letters or digits at "+
			"the ends", s)
	}
	return nil
}

func newSelector(path string, v any, check valueCheck) (selector, error) {
	if v == nil {
		return nil, nil
	}
	f := newFields(path, v, nil)
	var s selector
	table := f.table("matchLabels")
	for _, k := range manifest.Keys(table) {
		s = append(s, requirement{k, "In", []string{table[k]}})
	}
	for _, item := range f.objects("matchExpressions") {
		r := requirement{item.text("key"), item.text("operator"), item.strings("values")}
		f.errs = append(f.errs, item.errs...)
		s = append(s, r)
	}
	if len(f.errs) > 0 {
		return nil, errors.Join(f.errs...)
	}
	var errs []error
	for _, r := range s {
		if err := r.validate(check); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", path, r.key, err))
		}
	}
	return s, errors.Join(errs...)
}

func (s selector) matches(labels map[string]string) bool {
	for _, r := range s {
		if !r.matches(labels) {
			return false
		}
	}
	return true
}

func (r requirement) validate(check valueCheck) error {
	if err := qualifiedName(r.key); err != nil {
		return err
	}
	switch r.operator {
	case "In", "NotIn":
		if len(r.values) == 0 {
			return fmt.Errorf("operator %s needs values", r.operator)
		}
	case "Exists", "DoesNotExist":
		if len(r.values) > 0 {
			return fmt.Errorf("operator %s takes no values", r.operator)
		}
	default:
		return fmt.Errorf("operator %q: must be In, NotIn, Exists or DoesNotExist", r.operator)
	}
	for _, v := range r.values {
		if err := check(v); err != nil {
			return err
		}
	}
	return nil
}

func (r requirement) matches(labels map[string]string) bool {
	v, has := labels[r.key]
	switch r.operator {
	case "In":
		return has && slices.Contains(r.values, v)
	case "NotIn":
		return !has || !slices.Contains(r.values, v)
	case "Exists":
		return has
	default:
		return !has
	}
}

var (
	namePattern   = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	prefixPattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// qualifiedName checks a label key: an optional DNS prefix, a slash, a name of at most 63 characters.
func qualifiedName(key string) error {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = "", key
	}
	if found && (len(prefix) > 253 || !prefixPattern.MatchString(prefix)) || len(name) > 63 || !namePattern.MatchString(name) {
		return errors.New("not a label key, which has at most 63 letters, digits, dashes, dots and underscores, and may begin with " +
			"a DNS name and a slash")
	}
	return nil
}
