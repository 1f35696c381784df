package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// schemas are our schemas, with the names of the files that editors check by them. A policy has no fixed name; this is one for editors.
var schemas = map[string]struct{ file, name, description string }{
	"s3-source.json": {triggerfile.Name, "Argosy S3 source", "Which buckets the manifests of an Argo CD Application are read from"},
	"policy.json":    {"argosy-policy.yaml", "Argosy policy", "What projects of Argo CD may make Argosy do"},
	"lint.json":      {lint.ConfigName, "Argosy lint", "Severities of the rules of argosy lint"},
}

// catalog has the entries for the catalogue of SchemaStore, in its format.
func catalog() map[string]any {
	var entries []any
	for _, file := range slices.Sorted(maps.Keys(schemas)) {
		s := schemas[file]
		entries = append(entries, map[string]any{
			"name": s.name, "description": s.description, "fileMatch": []any{s.file},
			"url": "https://raw.githubusercontent.com/argosy-cd/argosy/main/schemas/" + file,
		})
	}
	return map[string]any{
		"$schema": "https://json.schemastore.org/schema-catalog.json", "version": 1, "schemas": entries,
	}
}

// TestSchemas: each schema has an identity of its own and an entry in the catalogue, and takes the files of the examples.
func TestSchemas(t *testing.T) {
	files, err := filepath.Glob("../../schemas/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(schemas)+1 {
		t.Errorf("%d files, and %d schemas in the catalogue", len(files), len(schemas))
	}
	checked := map[string]int{}
	for file, s := range schemas {
		data, err := os.ReadFile(filepath.Join("../../schemas", file))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		id, _ := doc.(map[string]any)["$id"].(string)
		if path.Base(id) != file {
			t.Errorf("%s: $id is %q", file, id)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource(id, doc); err != nil {
			t.Fatal(err)
		}
		schema, err := compiler.Compile(id)
		if err != nil {
			t.Fatal(err)
		}
		err = fs.WalkDir(os.DirFS("../.."), "examples", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Base(name) != s.file && (file != "policy.json" || path.Base(name) != "policy.yaml") {
				return err
			}
			text, err := os.ReadFile(filepath.Join("../..", name))
			if err != nil {
				return err
			}
			value, err := manifest.Value(text)
			if err != nil {
				return err
			}
			plain, err := json.Marshal(value)
			if err != nil {
				return err
			}
			instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
			if err != nil {
				return err
			}
			checked[file]++
			return schema.Validate(instance)
		})
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if schema.Validate(map[string]any{"nope": true}) == nil {
			t.Errorf("%s takes an unknown field", file)
		}
	}
	if checked["s3-source.json"] < 4 || checked["policy.json"] < 2 {
		t.Errorf("files that were checked: %v", checked)
	}
}
