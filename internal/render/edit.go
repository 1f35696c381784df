package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Edits are the changes of an Application's source to its Kustomization (spec.source.kustomize). Argo CD runs "kustomize edit" for most of
// them.
type Edits struct {
	NamePrefix, NameSuffix, Namespace string
	Images                            []string // name=new:tag, name:tag, name@digest
	Replicas                          map[string]int64
	CommonLabels, CommonAnnotations   map[string]string
	ForceLabels, ForceAnnotations     bool // also overwrite existing ones
	WithoutSelectors                  bool // labels are not added to selectors
	IncludeTemplates                  bool // labels are added to templates, too
	Components                        []string
	Patches                           []any
}

// fits refuses a Kustomization that Argo CD cannot add patches to: it looks at the text, which the other edits write anew.
func (e *Edits) fits(data []byte) error {
	if len(e.Patches) == 0 || e.writes() {
		return nil
	}
	v, err := manifest.LooseValue(data)
	if err != nil {
		return err
	}
	m, _ := v.(map[string]any)
	if patches, ok := m["patches"]; ok && patches == nil {
		return errors.New("patches: must be a list for kustomize.patches of the Application, it is null; remove the field")
	}
	return nil
}

// writes reports whether there are edits that write the Kustomization anew before patches are added.
func (e *Edits) writes() bool {
	return e.NamePrefix != "" || e.NameSuffix != "" || e.Namespace != "" ||
		len(e.Images)+len(e.Replicas)+len(e.CommonLabels)+len(e.CommonAnnotations) > 0
}

// apply makes the edits.
func (e *Edits) apply(k *types.Kustomization) error {
	k.NamePrefix = cmp.Or(e.NamePrefix, k.NamePrefix)
	k.NameSuffix = cmp.Or(e.NameSuffix, k.NameSuffix)
	k.Namespace = cmp.Or(e.Namespace, k.Namespace)
	if err := errors.Join(e.images(k), e.labels(k), e.annotations(k), e.patches(k)); err != nil {
		return err
	}
	for name, count := range e.Replicas {
		k.Replicas = slices.DeleteFunc(k.Replicas, func(r types.Replica) bool { return r.Name == name })
		k.Replicas = append(k.Replicas, types.Replica{Name: name, Count: count})
	}
	for _, c := range e.Components {
		if !slices.Contains(k.Components, c) {
			k.Components = append(k.Components, c)
		}
	}
	return nil
}

func (e *Edits) images(k *types.Kustomization) error {
	for _, text := range e.Images {
		image, err := parseImage(text)
		if err != nil {
			return err
		}
		for _, old := range k.Images {
			if old.Name == image.Name {
				image.NewName, image.NewTag, image.Digest = preserved(image.NewName, old.NewName), preserved(image.NewTag, old.NewTag),
					preserved(image.Digest, old.Digest)
			}
		}
		image.NewName, image.NewTag, image.Digest = preserved(image.NewName, ""), preserved(image.NewTag, ""), preserved(image.Digest, "")
		k.Images = slices.DeleteFunc(k.Images, func(i types.Image) bool { return i.Name == image.Name })
		k.Images = append(k.Images, image)
	}
	if len(e.Images) > 0 {
		slices.SortFunc(k.Images, func(a, b types.Image) int { return cmp.Compare(a.Name, b.Name) })
	}
	return nil
}

// preserved returns a part of an image: an asterisk keeps the Kustomization's value.
func preserved(value, old string) string {
	if value == "*" {
		return old
	}
	return value
}

// parseImage reads NAME=NEW:TAG@DIGEST, of which NAME= may be left out. A name that is empty changes nothing.
func parseImage(text string) (types.Image, error) {
	key, value, named := strings.Cut(text, "=")
	if !named {
		key, value = "", text
	}
	name, tag, digest := splitImage(value)
	if name == text {
		return types.Image{}, fmt.Errorf("kustomize.images: %q must be NAME=NEW:TAG, NAME:TAG or NAME@DIGEST", text)
	}
	if key == "" {
		return types.Image{Name: name, NewTag: tag, Digest: digest}, nil
	}
	return types.Image{Name: key, NewName: name, NewTag: tag, Digest: digest}, nil
}

// splitImage splits NAME:TAG@DIGEST as Kustomize does: the part before the first slash may have a port.
func splitImage(image string) (name, tag, digest string) {
	host := max(0, strings.IndexByte(image, '/'))
	rest := image[host:]
	if i := strings.IndexByte(rest, '@'); i >= 0 {
		rest, digest = rest[:i], rest[i+1:]
	}
	if i := strings.IndexByte(rest, ':'); i >= 0 {
		rest, tag = rest[:i], rest[i+1:]
	}
	return image[:host] + rest, tag, digest
}

func (e *Edits) labels(k *types.Kustomization) error {
	if e.IncludeTemplates && !e.WithoutSelectors && len(e.CommonLabels) > 0 {
		return errors.New("kustomize.labelIncludeTemplates: labelWithoutSelector must be set, too")
	}
	if len(e.CommonLabels) == 0 {
		return nil
	}
	if !e.WithoutSelectors {
		if k.CommonLabels == nil { //nolint:staticcheck // deprecated, and what kustomize edit writes
			k.CommonLabels = map[string]string{} //nolint:staticcheck // likewise
		}
		return merge("label", k.CommonLabels, e.CommonLabels, e.ForceLabels) //nolint:staticcheck // likewise
	}
	i := slices.IndexFunc(k.Labels, func(l types.Label) bool { return !l.IncludeSelectors && l.IncludeTemplates == e.IncludeTemplates })
	if i < 0 {
		i = len(k.Labels)
		k.Labels = append(k.Labels, types.Label{IncludeTemplates: e.IncludeTemplates, Pairs: map[string]string{}})
	}
	if k.Labels[i].Pairs == nil {
		k.Labels[i].Pairs = map[string]string{}
	}
	return merge("label", k.Labels[i].Pairs, e.CommonLabels, e.ForceLabels)
}

func (e *Edits) annotations(k *types.Kustomization) error {
	if len(e.CommonAnnotations) == 0 {
		return nil
	}
	if k.CommonAnnotations == nil {
		k.CommonAnnotations = map[string]string{}
	}
	return merge("annotation", k.CommonAnnotations, e.CommonAnnotations, e.ForceAnnotations)
}

// merge adds labels or annotations. It overwrites existing ones only if forced is set.
func merge(what string, to, from map[string]string, forced bool) error {
	field := map[string]string{"label": "forceCommonLabels", "annotation": "forceCommonAnnotations"}[what]
	for _, name := range manifest.Keys(from) {
		if _, ok := to[name]; ok && !forced {
			return fmt.Errorf("%s %s is already in the Kustomization; kustomize.%s of the Application overrides it", what, name, field)
		}
		to[name] = from[name]
	}
	return nil
}

func (e *Edits) patches(k *types.Kustomization) error {
	if len(e.Patches) == 0 {
		return nil
	}
	text, err := manifest.Marshal(e.Patches)
	if err != nil {
		return err
	}
	var patches []types.Patch
	if err := manifest.Unmarshal(text, &patches); err != nil {
		return fmt.Errorf("kustomize.patches: %w", err)
	}
	k.Patches = append(k.Patches, patches...)
	return nil
}
