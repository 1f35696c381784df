package convert

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// IsParent reports whether an Application has sets in the parameter of the plugin.
func IsParent(o manifest.Object) bool {
	return argo.IsApplication(o) && slices.ContainsFunc(argo.Deployed(o), func(s map[string]any) bool { return specOf(s) != "" })
}

// specOf returns the parameter spec of a source of the plugin.
func specOf(source map[string]any) string {
	given, _ := appsetplugin.SourceParameters(source)
	return given.Spec
}

// Set returns the set of an Application that uses the plugin. Warnings name what an ApplicationSet cannot have.
func Set(app manifest.Object) (set manifest.Object, warnings []string, err error) {
	sources := argo.Deployed(app)
	if len(sources) != 1 || specOf(sources[0]) == "" {
		return nil, nil, errors.New("it must have one source, with the plugin appset and its parameter spec")
	}
	docs, err := manifest.Decode("parameter spec", []byte(specOf(sources[0])))
	if err != nil {
		return nil, nil, err
	}
	if len(docs) != 1 || !argo.IsBareSpec(docs[0].Object) && !argo.IsApplicationSet(docs[0].Object) {
		return nil, nil, errors.New("parameter spec: it must be one ApplicationSet, or the spec of one")
	}
	meta := manifest.Copy(manifest.Map(app, "metadata")).(map[string]any)
	delete(meta, "finalizers")
	set = manifest.Object{"apiVersion": app["apiVersion"], "kind": argo.KindApplicationSet, "metadata": meta, "spec": docs[0].Object}
	if inner := docs[0].Object; argo.IsApplicationSet(inner) {
		set["spec"] = inner["spec"]
		if finalizers := finalizersOf(inner); len(finalizers) > 0 {
			meta["finalizers"] = finalizers
		}
		for _, k := range manifest.Keys(manifest.Map(inner, "metadata")) {
			if k != "name" && k != "finalizers" && !reflect.DeepEqual(manifest.Map(inner, "metadata")[k], meta[k]) {
				warnings = append(warnings, fmt.Sprintf("parameter spec: metadata.%s: lost; that of the Application is kept", k))
			}
		}
	}
	if err := check(set); err != nil {
		return nil, nil, err
	}
	return set, append(warnings, lost(app, set)...), nil
}

// lost names the fields of an Application that the set cannot keep.
func lost(app, set manifest.Object) []string {
	again, _, err := Options{}.application(set, "")
	if err != nil {
		return nil
	}
	var out []string
	spec := manifest.Map(app, "spec")
	for _, k := range manifest.Keys(spec) {
		switch k {
		case "source", "sources", "project", "destination": // a set has its own ways
			continue
		}
		if !reflect.DeepEqual(spec[k], manifest.Map(again, "spec")[k]) {
			out = append(out, fmt.Sprintf("spec.%s: lost; the applicationset-controller has no equivalent", k))
		}
	}
	list, _ := manifest.Map(argo.Deployed(app)[0], "plugin")["parameters"].([]any)
	for _, v := range list {
		if m, _ := v.(map[string]any); manifest.String(m, "name") != appsetplugin.ParameterSpec {
			out = append(out, fmt.Sprintf("spec.source.plugin.parameters: %s: lost; the applicationset-controller has no equivalent",
				manifest.String(m, "name")))
		}
	}
	return out
}
