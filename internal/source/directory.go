package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/gobwas/glob"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// manifestFile matches the files that Argo CD reads in a directory.
var manifestFile = regexp.MustCompile(`^.*\.(yaml|yml|json|jsonnet)$`)

// skipMarker anywhere in a file keeps Argo CD from reading it.
const skipMarker = "+argocd:skip-file-rendering"

// directory reads plain manifests and Jsonnet. Argo CD does not look into a directory whose path is a link.
func (j *job) directory() error {
	if j.linked != "" {
		j.note(Lenient, "%s: the path is a symbolic link to %s, and Argo CD finds no manifests behind it: nothing is deployed; set path "+
			"to %s", j.linked, j.dir, j.dir)
		return nil
	}
	names, err := j.manifests()
	if err != nil {
		return err
	}
	values, bytesRead := 0, 0
	for _, name := range names {
		data, err := j.read(name)
		values += manifest.Nodes(data)
		bytesRead += len(data)
		switch {
		case err != nil:
			return err
		case values > render.MaxValues || bytesRead > render.MaxBytes:
			return manifest.Errorf(j.URL(name), "all manifests together are over the limit of %d values or %d bytes", render.MaxValues,
				render.MaxBytes)
		case bytes.Contains(data, []byte(skipMarker)):
			continue
		case strings.HasSuffix(name, ".jsonnet") && !j.Unbounded:
			j.noteError(Missing, manifest.Errorf(j.URL(name), "Jsonnet is not evaluated here, because nothing bounds its time and memory"))
		case strings.HasSuffix(name, ".jsonnet"):
			err = j.jsonnet(name)
		default:
			err = j.file(name, data)
		}
		j.fail(err)
	}
	return nil
}

// manifests returns the files of a directory that Argo CD reads, in order.
func (j *job) manifests() ([]string, error) {
	options := manifest.Map(j.spec, "directory")
	recurse, _ := options["recurse"].(bool)
	recurse = recurse || j.Recurse
	include, exclude := j.pattern(options, "include"), j.pattern(options, "exclude")
	at := tree.Selection{Dir: j.dir}
	var names []string
	var errs []error
	// Links to directories are not followed.
	err := j.View.Walk(j.ctx, j.dir, false, func(name string, kind tree.Kind) error {
		if kind == tree.Directory {
			if !recurse {
				return fs.SkipDir
			}
			return nil
		}
		rel := at.Relative(name)
		if !recurse && strings.Contains(rel, "/") || !manifestFile.MatchString(path.Base(name)) {
			return nil
		}
		if j.View.IsLink(name) {
			_, kind, err := j.View.Resolve(j.ctx, name)
			switch {
			case errors.Is(err, tree.ErrOutside):
				errs = append(errs, manifest.Errorf(j.URL(name), "illegal filepath in symlink: %w", tree.ErrOutside))
				return nil
			case err != nil:
				return err
			case kind != tree.Regular:
				return nil
			}
		}
		if exclude != nil && exclude(rel) || include != nil && !include(rel) {
			return nil
		}
		names = append(names, name)
		return nil
	})
	return names, errors.Join(append(errs, err)...)
}

// pattern is directory.include or directory.exclude, nil if it is not set. A star also stands for slashes. A pattern that is none matches
// nothing.
func (j *job) pattern(options map[string]any, field string) func(string) bool {
	text := manifest.String(options, field)
	if text == "" {
		return nil
	}
	compiled, err := glob.Compile(text)
	if err != nil {
		j.note(Lenient, "source.directory.%s: %q is no pattern (%v), so it matches nothing", field, text, err)
		return func(string) bool { return false }
	}
	return compiled.Match
}

// file adds the objects of a file.
func (j *job) file(name string, data []byte) error {
	data = utf8Of(data)
	if j.Strict {
		docs, _, err := render.Plain(j.ctx, []tree.File{{Name: j.URL(name), Data: data}}, false)
		j.result.Documents = append(j.result.Documents, docs...)
		return err
	}
	if strings.HasSuffix(name, ".json") {
		return j.json(name, data)
	}
	docs, warnings, err := manifest.Stream(j.URL(name), data)
	for i, d := range docs {
		if manifest.String(d.Object, "kind") == "" {
			docs, err = docs[:i], d.Errorf("Object 'Kind' is missing")
			break
		}
	}
	switch {
	case err != nil && (len(docs) > 0 || looksLikeManifest(data)):
		return err
	case err != nil:
		return nil // something else, such as values
	}
	j.warn(Lenient, warnings)
	j.add(docs)
	return nil
}

// json adds the object of a JSON file, which must be one.
func (j *job) json(name string, data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return manifest.Errorf(j.URL(name), "%w", oneLine(err))
	}
	if dec.More() {
		return manifest.Errorf(j.URL(name), "found multiple objects; only single objects are allowed in JSON files")
	}
	docs, warnings, err := manifest.Stream(j.URL(name), data[:dec.InputOffset()])
	switch {
	case err != nil:
		return err
	case len(docs) > 0 && manifest.String(docs[0].Object, "kind") == "":
		return docs[0].Errorf("Object 'Kind' is missing")
	}
	j.warn(Lenient, warnings)
	j.add(docs)
	return nil
}

// looksLikeManifest reports whether Argo CD takes a file that it cannot read for a manifest with a mistake in it, and not for something
// else.
func looksLikeManifest(data []byte) bool {
	for _, word := range []string{"apiVersion:", "kind:", "metadata:"} {
		if !bytes.Contains(data, []byte(word)) {
			return false
		}
	}
	return true
}

// add adds documents, with lists of any kind replaced by their items.
func (j *job) add(docs []manifest.Document) {
	for _, d := range docs {
		v, ok := d.Object["items"]
		items, isList := v.([]any)
		switch {
		case ok && v == nil && d.Object["spec"] == nil && d.Object["status"] == nil:
			// a list without items
		case !isList:
			j.result.Documents = append(j.result.Documents, d)
		default:
			for i, item := range items {
				o, ok := item.(map[string]any)
				switch {
				case !ok:
					j.noteError(Failure, d.Errorf("items[%d] must be an object, it is %s", i, manifest.TypeName(item)))
					continue
				case manifest.String(o, "kind") == "":
					j.noteError(Failure, d.Errorf("items[%d]: Object 'Kind' is missing", i))
					continue
				}
				pos := d.Position
				pos.Item = strings.TrimSpace(fmt.Sprintf("%s items[%d]", pos.Item, i))
				j.result.Documents = append(j.result.Documents, manifest.Document{Object: o, Position: pos})
			}
		}
	}
}
