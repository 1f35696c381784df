package scm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/secret"
)

// Objects are the objects of a cluster that sets refer to.
type Objects interface {
	// Secret and ConfigMap return nil if there is none of that name.
	Secret(ctx context.Context, namespace, name string) (*Secret, error)
	ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error)
	// List returns the objects of a resource in a namespace, in the order of their names.
	List(ctx context.Context, q List) ([]manifest.Object, error)
}

// Secret is a Secret, decoded.
type Secret struct {
	Labels map[string]string
	Data   map[string]secret.Text
}

// List selects objects: those of one name, or all.
type List struct {
	Namespace, Group, Version, Resource string
	Name                                string
}

// Manifests are objects from files. A namespace that is not written is any.
type Manifests []manifest.Object

func (m Manifests) find(kind, namespace, name string) manifest.Object {
	i := slices.IndexFunc(m, func(o manifest.Object) bool {
		return manifest.String(o, "kind") == kind && manifest.String(o, "apiVersion") == "v1" &&
			manifest.String(o, "metadata", "name") == name && inNamespace(o, namespace)
	})
	if i < 0 {
		return nil
	}
	return m[i]
}

func inNamespace(o manifest.Object, namespace string) bool {
	own := manifest.String(o, "metadata", "namespace")
	return own == "" || namespace == "" || own == namespace
}

// Secret implements Objects.
func (m Manifests) Secret(_ context.Context, namespace, name string) (*Secret, error) {
	o := m.find("Secret", namespace, name)
	if o == nil {
		return nil, nil
	}
	return NewSecret(o)
}

// NewSecret decodes a Secret. Errors name fields, and never their content.
func NewSecret(o manifest.Object) (*Secret, error) {
	s := &Secret{Labels: map[string]string{}, Data: map[string]secret.Text{}}
	for key, v := range manifest.Map(o, "metadata", "labels") {
		s.Labels[key], _ = v.(string)
	}
	for _, field := range []string{"data", "stringData"} {
		for _, key := range manifest.Keys(manifest.Map(o, field)) {
			value, err := manifest.SecretValue(o, key)
			if err != nil {
				return nil, fmt.Errorf("Secret %s: %w", manifest.String(o, "metadata", "name"), err)
			}
			s.Data[key] = value
		}
	}
	return s, nil
}

// ConfigMap implements Objects.
func (m Manifests) ConfigMap(_ context.Context, namespace, name string) (map[string]string, error) {
	o := m.find("ConfigMap", namespace, name)
	if o == nil {
		return nil, nil
	}
	return ConfigMapData(o), nil
}

// ConfigMapData is the data of a ConfigMap, not nil.
func ConfigMapData(o manifest.Object) map[string]string {
	out := map[string]string{}
	for key, v := range manifest.Map(o, "data") {
		out[key], _ = v.(string)
	}
	return out
}

// List implements Objects. The plural name of a kind is that of English, as Kubernetes guesses it, too.
func (m Manifests) List(_ context.Context, q List) ([]manifest.Object, error) {
	var out []manifest.Object
	for _, o := range m {
		if manifest.String(o, "apiVersion") == q.Group+"/"+q.Version && isPlural(q.Resource, manifest.String(o, "kind")) &&
			inNamespace(o, q.Namespace) &&
			(q.Name == "" || manifest.String(o, "metadata", "name") == q.Name) {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b manifest.Object) int {
		return strings.Compare(manifest.String(a, "metadata", "name"), manifest.String(b, "metadata", "name"))
	})
	return out, nil
}

func isPlural(resource, kind string) bool {
	kind, resource = strings.ToLower(kind), strings.ToLower(resource)
	stem, y := strings.CutSuffix(kind, "y")
	return kind != "" && (resource == kind || resource == kind+"s" || resource == kind+"es" || y && resource == stem+"ies")
}

// secretRef is a reference to a key of a Secret.
type secretRef struct {
	SecretName string `json:"secretName"`
	Key        string `json:"key"`
}

// caRef is a reference to a key of a ConfigMap.
type caRef struct {
	ConfigMapName string `json:"configMapName"`
	Key           string `json:"key"`
}

// secret reads a Secret.
func (a *Asker) secret(ctx context.Context, namespace, name string) (*Secret, error) {
	var s *Secret
	var err error
	if a.Objects != nil {
		s, err = a.Objects.Secret(ctx, namespace, name)
	}
	if err == nil && s == nil {
		err = generator.Unknown{Reason: fmt.Sprintf("the Secret %s%s is not known%s", name, where(namespace), a.Hint)}
	}
	return s, err
}

// where names the namespace in a message, if it is known.
func where(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

// token reads what a reference names; a nil reference is none (applicationset/utils/kubernetes.go, v3.2.11).
func (a *Asker) token(ctx context.Context, set generator.SetName, ref *secretRef) (secret.Text, error) {
	if ref == nil {
		return secret.Text{}, nil
	}
	s, err := a.secret(ctx, set.Namespace, ref.SecretName)
	if err != nil {
		return secret.Text{}, err
	}
	if a.Strict && s.Labels[argo.SecretTypeLabel] != string(argo.SecretSCMCreds) {
		return secret.Text{}, fmt.Errorf("the Secret %s must have the label %s: %s, so that sets may use it", ref.SecretName,
			argo.SecretTypeLabel, argo.SecretSCMCreds)
	}
	token, ok := s.Data[ref.Key]
	if !ok {
		return secret.Text{}, fmt.Errorf("the Secret %s has no key %q", ref.SecretName, ref.Key)
	}
	return token, nil
}

// ca reads certificates; a nil reference is none.
func (a *Asker) ca(ctx context.Context, set generator.SetName, ref *caRef) ([]byte, error) {
	if ref == nil {
		return nil, nil
	}
	data, err := a.configMap(ctx, set.Namespace, ref.ConfigMapName)
	if err != nil {
		return nil, err
	}
	text, ok := data[ref.Key]
	if !ok {
		return nil, fmt.Errorf("the ConfigMap %s has no key %q", ref.ConfigMapName, ref.Key)
	}
	return []byte(text), nil
}

func (a *Asker) configMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	var data map[string]string
	var err error
	if a.Objects != nil {
		data, err = a.Objects.ConfigMap(ctx, namespace, name)
	}
	if err == nil && data == nil {
		err = generator.Unknown{Reason: fmt.Sprintf("the ConfigMap %s%s is not known%s", name, where(namespace), a.Hint)}
	}
	return data, err
}
