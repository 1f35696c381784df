package live

import (
	"fmt"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
)

// Scope names a part of the cluster that is watched: the objects of a kind, or one of them.
type Scope struct {
	// Kind is the kind of the objects. Empty is no kind: Name says what it is.
	Kind string `json:"kind,omitempty"`
	// Namespace is theirs. Empty is all namespaces.
	Namespace string `json:"namespace,omitempty"`
	// Name is the one object. Empty is all.
	Name string `json:"name,omitempty"`
}

const (
	everywhere   = "in all namespaces"
	oneNamespace = "in namespace "
)

// String names it for people, such as "Applications in all namespaces".
func (s Scope) String() string {
	switch {
	case s.Kind == "":
		return s.Name
	case s.Name != "":
		return Key{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}.String()
	case s.Namespace == "":
		return fmt.Sprintf("%ss %s", s.Kind, everywhere)
	}
	return fmt.Sprintf("%ss %s%s", s.Kind, oneNamespace, s.Namespace)
}

// parseScope reads a String of an older recording.
func parseScope(text string) Scope {
	word, where, _ := strings.Cut(text, " ")
	for _, kind := range []string{argo.KindApplication, argo.KindApplicationSet} {
		namespace, one := strings.CutPrefix(where, oneNamespace)
		switch {
		case word == kind+"s" && where == everywhere:
			return Scope{Kind: kind}
		case word == kind+"s" && one:
			return Scope{Kind: kind, Namespace: namespace}
		case word == kind && where != "":
			namespace, name, ok := strings.Cut(where, "/")
			if !ok {
				return Scope{Kind: kind, Name: where}
			}
			return Scope{kind, namespace, name}
		}
	}
	return Scope{Name: text}
}
