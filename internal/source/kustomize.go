package source

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// kustomize builds a Kustomization.
func (j *job) kustomize() error {
	version := manifest.String(j.spec, "kustomize", "version")
	if version != "" && j.KustomizeVersions != nil && !slices.Contains(j.KustomizeVersions, version) {
		return fmt.Errorf("kustomize.version: %s is not registered in Argo CD's settings", version)
	}
	edits, err := j.edits()
	if err != nil {
		return err
	}
	k := render.Kustomization{
		View: j.View, Dir: j.dir, Edits: edits, Remote: j.Remote, Strict: j.Strict, URL: j.URL, KubeVersion: j.KubeVersion,
		APIVersions: j.APIVersions,
		Read:        func(name string) { j.used("", name) },
	}
	if v := manifest.String(j.spec, "kustomize", "kubeVersion"); v != "" {
		k.KubeVersion = v
	}
	if list := manifest.Strings(manifest.Map(j.spec, "kustomize")["apiVersions"]); len(list) > 0 {
		k.APIVersions = list
	}
	if err := j.buildOptions(&k); err != nil {
		return err
	}
	built, err := render.Build(j.ctx, k)
	if err != nil {
		return err
	}
	j.lacks(built.Missing...)
	j.warn(Lenient, built.Warnings)
	j.warn(Deprecated, built.Deprecated)
	j.add(built.Documents)
	return nil
}

// edits returns the source's own changes to the Kustomization.
func (j *job) edits() (*render.Edits, error) {
	k := manifest.Map(j.spec, "kustomize")
	if isZero(k) {
		return nil, nil
	}
	flag := func(name string) bool { b, _ := k[name].(bool); return b }
	e := &render.Edits{
		NamePrefix: manifest.String(k, "namePrefix"), NameSuffix: manifest.String(k, "nameSuffix"),
		Namespace:   manifest.String(k, "namespace"),
		ForceLabels: flag("forceCommonLabels"), ForceAnnotations: flag("forceCommonAnnotations"),
		WithoutSelectors: flag("labelWithoutSelector"), IncludeTemplates: flag("labelIncludeTemplates"),
		CommonLabels: map[string]string{}, CommonAnnotations: map[string]string{}, Replicas: map[string]int64{},
	}
	for _, image := range manifest.Strings(k["images"]) {
		e.Images = append(e.Images, j.expand(image))
	}
	for name, v := range manifest.Map(k, "commonLabels") {
		text, _ := v.(string)
		e.CommonLabels[name] = j.expand(text)
	}
	for name, v := range manifest.Map(k, "commonAnnotations") {
		text, _ := v.(string)
		if flag("commonAnnotationsEnvsubst") {
			text = j.expand(text)
		}
		e.CommonAnnotations[name] = text
	}
	replicas, _ := k["replicas"].([]any)
	for _, v := range replicas {
		m, _ := v.(map[string]any)
		n, ok := count(m["count"])
		if !ok {
			return nil, errors.New("source.kustomize.replicas: count must be a whole number")
		}
		e.Replicas[manifest.String(m, "name")] = n
	}
	e.Patches, _ = k["patches"].([]any)
	for _, c := range manifest.Strings(k["components"]) {
		if flag("ignoreMissingComponents") && !j.exists(c) {
			continue
		}
		e.Components = append(e.Components, c)
	}
	return e, nil
}

// exists reports whether a directory beside the source is there.
func (j *job) exists(name string) bool {
	_, kind, err := j.View.Resolve(j.ctx, path.Join(j.dir, name))
	return err == nil && kind != tree.None
}
