package argo

import (
	"fmt"
	"math"
	"strconv"
	"strings"

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

// Name returns the name of the field that Go's JSON decoder takes a key for: case makes no difference. A key that is no field stays.
func (t Type) Name(key string) string {
	if _, ok := t.fields[key]; ok {
		return key
	}
	for _, name := range manifest.Keys(t.fields) {
		if strings.EqualFold(name, key) {
			return name
		}
	}
	return key
}

// Item returns the type of the elements of a list.
func (t Type) Item() Type {
	if t.items == nil {
		return Type{}
	}
	return *t.items
}

var (
	text    = Type{name: "a string", accept: is[string]}
	boolean = Type{name: "true or false", accept: is[bool]}
	number  = Type{name: "a whole number", accept: is[int64]}
	count   = Type{name: "a whole number of 32 bits or a string", accept: isCount}
	raw     = Type{raw: true}
	texts   = list(text)
	table   = Type{name: "an object", accept: is[map[string]any], values: &text}
	options = Type{name: "an object", accept: is[map[string]any], values: &boolean}
)

func is[T any](v any) bool { _, ok := v.(T); return ok }

func isCount(v any) bool {
	n, ok := v.(int64)
	return ok && n >= math.MinInt32 && n <= math.MaxInt32 || is[string](v)
}

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
	"metadata":   object(union(with(text, "name", "namespace"), with(table, "labels", "annotations"), with(texts, "finalizers"))),
	"spec": object(union(with(text, "project"), map[string]Type{
		"source":      source,
		"sources":     list(source),
		"destination": object(with(text, "server", "name", "namespace")),
		"syncPolicy":  syncPolicy,
		"ignoreDifferences": list(object(union(with(text, "group", "kind", "name", "namespace"),
			with(texts, "jsonPointers", "jqPathExpressions", "managedFieldsManagers")))),
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
		with(boolean, "forceCommonLabels", "forceCommonAnnotations", "commonAnnotationsEnvsubst", "ignoreMissingComponents",
			"labelWithoutSelector", "labelIncludeTemplates"),
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

// Check returns what is wrong with the types of v and of everything in it. A field may be null, which means absent; an
// element of a list, or of an object with any keys, may not. Fields that this type does not have are allowed, unless
// they are one that it has in another case or behind a placeholder: Argo CD would take them for that one, or drop them.
func (t Type) Check(path string, v any) []error { return checker{}.check(t, path, v) }

// CheckPatch is Check for a patch, in which null deletes and fields whose name starts with "$" are directives.
func (t Type) CheckPatch(path string, v any) []error { return checker{patch: true}.check(t, path, v) }

type checker struct{ patch bool }

func (c checker) check(t Type, path string, v any) []error {
	if v == nil || t.raw {
		return nil
	}
	if t.accept != nil && !t.accept(v) {
		return []error{fmt.Errorf("%s: must be %s, it is %s", path, t.name, describe(t, v))}
	}
	var errs []error
	switch v := v.(type) {
	case map[string]any:
		for _, k := range manifest.Keys(v) {
			switch {
			case t.values != nil && v[k] == nil && c.patch:
			case t.values != nil:
				errs = append(errs, c.element(*t.values, path+"."+k, v[k])...)
			case t.fields != nil:
				errs = append(errs, c.field(t, path, k, v[k])...)
			}
		}
	case []any:
		if t.items == nil {
			return nil
		}
		for i, e := range v {
			errs = append(errs, c.element(*t.items, path+"["+strconv.Itoa(i)+"]", e)...)
		}
	}
	return errs
}

func (c checker) field(t Type, path, k string, v any) []error {
	if c.patch && strings.HasPrefix(k, "$") {
		return nil
	}
	if ft, ok := t.fields[k]; ok {
		return c.check(ft, path+"."+k, v)
	}
	if strings.Contains(k, "{{") {
		return []error{fmt.Errorf("%s: %q: the name of a field cannot be a template", path, k)}
	}
	for name := range t.fields {
		if strings.EqualFold(name, k) {
			return []error{fmt.Errorf("%s.%s: unknown field; it is written %s", path, k, name)}
		}
	}
	return nil
}

func (c checker) element(t Type, path string, v any) []error {
	if v == nil && !t.raw && t.accept != nil {
		return []error{fmt.Errorf("%s: must be %s, it is null", path, t.name)}
	}
	return c.check(t, path, v)
}

// describe names the type of v where a t is expected, and the cure if it is obvious.
func describe(t Type, v any) string {
	switch v := v.(type) {
	case float64, int64:
		if t.name != text.name {
			return fmt.Sprint(v)
		}
		return "a number; quote it"
	case bool:
		if t.name == text.name {
			return "a boolean; quote it"
		}
	}
	return manifest.TypeName(v)
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
		"rollingSync": object(map[string]Type{"steps": list(object(map[string]Type{
			"matchExpressions": list(object(union(with(text, "key", "operator"), map[string]Type{"values": texts}))), "maxUpdate": count,
		}))}),
	}),
	"preservedFields":              object(with(texts, "annotations", "labels")),
	"ignoreApplicationDifferences": list(object(union(with(text, "name"), with(texts, "jsonPointers", "jqPathExpressions")))),
})

// Source returns the types of the fields of a source, as of Argo CD 3.2.
func Source() Type { return source }
