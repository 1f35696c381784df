package argo

import (
	"fmt"
	"strconv"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Type is the type of a field of an Application. The zero Type allows everything.
type Type struct {
	name   string
	accept func(v any) bool
	fields map[string]Type // of an object
	items  *Type           // of a list
	values *Type           // of an object with any keys
	raw    bool
}

// Raw reports whether the field holds arbitrary JSON that Argo CD does not look into.
func (t Type) Raw() bool { return t.raw }

// Field returns the type of a field of an object.
func (t Type) Field(name string) Type {
	if t.values != nil {
		return *t.values
	}
	return t.fields[name]
}

var (
	text    = Type{name: "a string", accept: is[string]}
	boolean = Type{name: "true or false", accept: is[bool]}
	number  = Type{name: "a whole number", accept: is[int64]}
	count   = Type{name: "a number or a string", accept: func(v any) bool { return is[int64](v) || is[string](v) }}
	raw     = Type{raw: true}
	texts   = list(text)
	table   = Type{name: "an object", accept: is[map[string]any], values: &text}
	options = Type{name: "an object", accept: is[map[string]any], values: &boolean}
)

func is[T any](v any) bool { _, ok := v.(T); return ok }

func list(item Type) Type {
	return Type{name: "a list", accept: is[[]any], items: &item}
}

func object(fields map[string]Type) Type {
	return Type{name: "an object", accept: is[map[string]any], fields: fields}
}

// with returns a table of fields of one type.
func with(t Type, names ...string) map[string]Type {
	m := make(map[string]Type, len(names))
	for _, n := range names {
		m[n] = t
	}
	return m
}

func union(tables ...map[string]Type) map[string]Type {
	out := map[string]Type{}
	for _, t := range tables {
		for k, v := range t {
			out[k] = v
		}
	}
	return out
}

// Application returns the types of the fields of an Application, as of Argo CD 3.2. It is also the type of the
// template of an ApplicationSet.
func Application() Type { return application }

var application = object(map[string]Type{
	"apiVersion": text,
	"kind":       text,
	"metadata": object(union(with(text, "name", "namespace", "generateName"), with(table, "labels", "annotations"),
		map[string]Type{"finalizers": texts, "ownerReferences": list(object(nil))})),
	"spec": object(union(with(text, "project"), map[string]Type{
		"source":               source,
		"sources":              list(source),
		"destination":          object(with(text, "server", "name", "namespace")),
		"syncPolicy":           syncPolicy,
		"ignoreDifferences":    list(object(union(with(text, "group", "kind", "name", "namespace"), with(texts, "jsonPointers", "jqPathExpressions", "managedFieldsManagers")))),
		"info":                 list(object(with(text, "name", "value"))),
		"revisionHistoryLimit": number,
		"sourceHydrator": object(map[string]Type{
			"drySource":  object(with(text, "repoURL", "targetRevision", "path")),
			"syncSource": object(with(text, "targetBranch", "path")),
			"hydrateTo":  object(with(text, "targetBranch")),
		}),
	})),
})

var source = object(union(with(text, "repoURL", "path", "targetRevision", "chart", "ref", "name"), map[string]Type{
	"helm": object(union(with(text, "releaseName", "values", "version", "namespace", "kubeVersion"),
		with(boolean, "passCredentials", "ignoreMissingValueFiles", "skipCrds", "skipTests", "skipSchemaValidation"),
		with(texts, "valueFiles", "apiVersions"),
		map[string]Type{
			"valuesObject":   raw,
			"parameters":     list(object(union(with(text, "name", "value"), with(boolean, "forceString")))),
			"fileParameters": list(object(with(text, "name", "path"))),
		})),
	"kustomize": object(union(with(text, "namePrefix", "nameSuffix", "version", "namespace", "kubeVersion"),
		with(boolean, "forceCommonLabels", "forceCommonAnnotations", "commonAnnotationsEnvsubst", "ignoreMissingComponents", "labelWithoutSelector", "labelIncludeTemplates"),
		with(texts, "images", "components", "apiVersions"), with(table, "commonLabels", "commonAnnotations"),
		map[string]Type{
			"replicas": list(object(map[string]Type{"name": text, "count": count})),
			"patches": list(object(map[string]Type{
				"path": text, "patch": text, "options": options,
				"target": object(with(text, "group", "version", "kind", "name", "namespace", "annotationSelector", "labelSelector")),
			})),
		})),
	"directory": object(union(with(text, "exclude", "include"), with(boolean, "recurse"), map[string]Type{
		"jsonnet": object(map[string]Type{"extVars": list(jsonnetVar), "tlas": list(jsonnetVar), "libs": texts}),
	})),
	"plugin": object(map[string]Type{
		"name": text, "env": list(object(with(text, "name", "value"))),
		"parameters": list(object(union(with(text, "name", "string"), map[string]Type{"array": texts, "map": table}))),
	}),
}))

var jsonnetVar = object(union(with(text, "name", "value"), with(boolean, "code")))

var syncPolicy = object(map[string]Type{
	"automated":   object(with(boolean, "prune", "selfHeal", "allowEmpty", "enabled")),
	"syncOptions": texts,
	"retry": object(map[string]Type{
		"limit": number, "refresh": boolean,
		"backoff": object(union(with(text, "duration", "maxDuration"), with(number, "factor"))),
	}),
	"managedNamespaceMetadata": object(with(table, "labels", "annotations")),
})

// Check returns what is wrong with the types of v and of everything in it. Null is allowed everywhere and means that
// the field is absent. Fields whose name starts with "$" are directives of a patch.
func (t Type) Check(path string, v any) []error {
	if v == nil || t.raw {
		return nil
	}
	if t.accept != nil && !t.accept(v) {
		cure := ""
		if t.name == "a string" {
			cure = "; quote it"
		}
		return []error{fmt.Errorf("%s: must be %s, it is %s%s", path, t.name, manifest.TypeName(v), cure)}
	}
	var errs []error
	switch v := v.(type) {
	case map[string]any:
		if t.fields == nil && t.values == nil {
			return nil
		}
		for _, k := range manifest.Keys(v) {
			if k != "" && k[0] == '$' {
				continue
			}
			errs = append(errs, t.Field(k).Check(path+"."+k, v[k])...)
		}
	case []any:
		if t.items == nil {
			return nil
		}
		for i, e := range v {
			errs = append(errs, t.items.Check(path+"["+strconv.Itoa(i)+"]", e)...)
		}
	}
	return errs
}

// Unknown returns the fields of v that an object of this type does not have, in order.
func (t Type) Unknown(v map[string]any) []string {
	var out []string
	for _, k := range manifest.Keys(v) {
		if _, ok := t.fields[k]; !ok {
			out = append(out, k)
		}
	}
	return out
}

// ApplicationSetSpec returns the types of the fields of an ApplicationSet's spec, as of Argo CD 3.2. Generators are
// checked where they are evaluated.
func ApplicationSetSpec() Type { return applicationSetSpec }

var applicationSetSpec = object(map[string]Type{
	"goTemplate": boolean, "goTemplateOptions": texts, "applyNestedSelectors": boolean, "templatePatch": text,
	"generators": list(object(nil)),
	"template":   application,
	"syncPolicy": object(map[string]Type{"preserveResourcesOnDeletion": boolean, "applicationsSync": text}),
	"strategy": object(map[string]Type{
		"type": text, "deletionOrder": text,
		"rollingSync": object(map[string]Type{"steps": list(object(nil))}),
	}),
	"preservedFields":              object(with(texts, "annotations", "labels")),
	"ignoreApplicationDifferences": list(object(union(with(text, "name"), with(texts, "jsonPointers", "jqPathExpressions")))),
})
