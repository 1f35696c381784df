package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/google/go-jsonnet"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// jsonnet adds the objects of a Jsonnet file: one, or a list.
func (j *job) jsonnet(name string) error {
	options := manifest.Map(j.spec, "directory", "jsonnet")
	vm := jsonnet.MakeVM()
	vm.MaxStack = 500
	for _, list := range []struct {
		field     string
		text, run func(name, value string)
	}{{"tlas", vm.TLAVar, vm.TLACode}, {"extVars", vm.ExtVar, vm.ExtCode}} {
		vars, _ := options[list.field].([]any)
		for _, v := range vars {
			m, _ := v.(map[string]any)
			set := list.text
			if code, _ := m["code"].(bool); code {
				set = list.run
			}
			set(manifest.String(m, "name"), j.expand(manifest.String(m, "value")))
		}
	}
	importer := &importer{job: j, found: map[string]jsonnet.Contents{}, paths: []string{j.dir}}
	libs, _ := options["libs"].([]any)
	for _, v := range libs {
		lib, _ := v.(string)
		// Relative to the repository, not to the source.
		dir := path.Join(".", lib)
		if dir == ".." || strings.HasPrefix(dir, "../") {
			return fmt.Errorf("source.directory.jsonnet.libs: file '%s' resolved to outside repository root", lib)
		}
		importer.paths = append(importer.paths, dir)
	}
	vm.Importer(importer)
	text, err := vm.EvaluateFile(name)
	if err != nil && importer.unreadable != nil {
		return importer.unreadable
	}
	if err != nil {
		return manifest.Errorf(j.URL(name), "evaluating Jsonnet: %w", oneLine(err))
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil {
		list = []json.RawMessage{json.RawMessage(text)}
	}
	for i, raw := range list {
		v, err := manifest.JSON(raw)
		o, ok := v.(map[string]any)
		switch {
		case err != nil:
			return manifest.Errorf(j.URL(name), "%w", err)
		case v == nil:
		case !ok:
			return manifest.Errorf(j.URL(name), "it must become an object or a list of objects, it is %s", manifest.TypeName(v))
		case manifest.String(o, "kind") == "":
			return manifest.Errorf(j.URL(name), "Object 'Kind' is missing in '%.80s'", bytes.Join(bytes.Fields(raw), []byte(" ")))
		default:
			j.add([]manifest.Document{{Object: o, Position: manifest.Position{File: j.URL(name) + " (evaluated)", Number: i + 1}}})
		}
	}
	return nil
}

// importer finds what Jsonnet imports: beside the file that imports it, then in the libraries, the last first.
type importer struct {
	*job
	paths []string
	found map[string]jsonnet.Contents
	// unreadable is an error of reading, which Jsonnet makes a text.
	unreadable error
}

// Import implements jsonnet.Importer.
func (i *importer) Import(from, imported string) (jsonnet.Contents, string, error) {
	c, at, err := i.find(from, imported)
	if errors.As(err, new(tree.UnreadableError)) {
		i.unreadable = err
	}
	return c, at, err
}

func (i *importer) find(from, imported string) (jsonnet.Contents, string, error) {
	candidates := []string{path.Join(path.Dir(from), imported)}
	if from == "" {
		candidates[0] = path.Join(".", imported)
	}
	for n := len(i.paths) - 1; n >= 0; n-- {
		candidates = append(candidates, path.Join(i.paths[n], imported))
	}
	if path.IsAbs(imported) {
		candidates = nil
	}
	for _, name := range candidates {
		if c, ok := i.found[name]; ok {
			return c, name, nil
		}
		_, kind, err := i.View.Resolve(i.ctx, name)
		if err != nil {
			return jsonnet.Contents{}, "", err
		}
		if kind != tree.Regular {
			continue
		}
		data, err := i.read(name)
		if err != nil {
			return jsonnet.Contents{}, "", err
		}
		i.found[name] = jsonnet.MakeContentsRaw(data)
		return i.found[name], name, nil
	}
	return jsonnet.Contents{}, "", fmt.Errorf("couldn't open import %q: no match in the repository", imported)
}
