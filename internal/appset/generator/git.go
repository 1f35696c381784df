package generator

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

type pattern struct {
	path    string
	exclude bool
}

type gitSpec struct {
	path                  string // of the generator, for messages
	url, revision, prefix string
	directories, files    []pattern
	values                *values
}

// git gives one set for each directory that matches, or one for each object in each file that matches.
func (r *run) git(f *fields) ([]Set, error) {
	g, err := r.gitSpec(f)
	if err != nil {
		return nil, err
	}
	if r.Git == nil {
		return nil, fmt.Errorf("%s: no Git repositories here", f.path)
	}
	tree, err := r.Git.Tree(r.ctx, g.url, g.revision)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	var sets []Set
	if len(g.directories) > 0 {
		sets, err = r.gitDirectories(g, tree)
	} else {
		sets, err = r.gitFiles(g, tree)
	}
	return sets, problem.Wrap(err, func(e error) error { return fmt.Errorf("%s: %w", f.path, e) })
}

func (r *run) gitSpec(f *fields) (*gitSpec, error) {
	g := &gitSpec{
		path: f.path, url: f.text("repoURL"), revision: f.text("revision"), prefix: f.text("pathParamPrefix"),
		directories: patterns(f, "directories"), files: patterns(f, "files"),
	}
	table := f.table("values")
	f.requeue()
	if g.url == "" && len(f.errs) == 0 {
		f.errs = append(f.errs, fmt.Errorf("%s: repoURL must be set", f.path))
	}
	if len(g.directories) == 0 && len(g.files) == 0 && len(f.errs) == 0 {
		f.errs = append(f.errs, fmt.Errorf("%s: directories or files must be set", f.path))
	}
	if len(g.directories)+len(g.files) > maxPatterns {
		f.errs = append(f.errs, fmt.Errorf("%s: more than %d patterns", f.path, maxPatterns))
		g.directories = nil
	}
	for i, p := range g.directories {
		if _, err := path.Match(p.path, ""); err != nil {
			f.errs = append(f.errs, fmt.Errorf("%s.directories[%d].path: %q is not a pattern", f.path, i, p.path))
		}
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	if len(g.directories) > 0 && len(g.files) > 0 {
		r.warned[f.path+".files: ignored, because directories are set too"] = ""
	}
	var err error
	g.values, err = r.newValues(table)
	return g, problem.Wrap(err, func(e error) error { return fmt.Errorf("%s.%w", f.path, e) })
}

func patterns(f *fields, name string) []pattern {
	var out []pattern
	for _, item := range f.objects(name) {
		out = append(out, pattern{item.text("path"), item.boolean("exclude")})
		if err := item.err(); err != nil {
			f.errs = append(f.errs, err)
		}
	}
	return out
}

func (r *run) gitDirectories(g *gitSpec, tree Tree) ([]Set, error) {
	all, err := tree.Directories(r.ctx)
	if err != nil {
		return nil, err
	}
	var sets []Set
	var errs []error
	for _, dir := range all {
		if len(errs) >= maxErrors {
			break
		}
		if hidden(dir) || !selected(g.directories, dir) {
			continue
		}
		if !utf8.ValidString(dir) {
			errs = append(errs, fmt.Errorf("directory %q: the name is not UTF-8, so no Application can point to it", dir))
			continue
		}
		if len(sets) == r.MaxSets {
			return nil, fmt.Errorf("more than %d parameter sets", r.MaxSets)
		}
		params := Params{}
		r.addPath(params, g.prefix, dir, "")
		if err := r.keep("directory "+dir, len(params)); err != nil {
			return nil, err
		}
		if err := g.values.addTo(params); err != nil {
			errs = append(errs, problem.Wrap(err, func(e error) error { return fmt.Errorf("directory %s: %w", dir, e) }))
		}
		sets = append(sets, Set{params, Origin{What: "directory " + dir}})
	}
	return sets, errors.Join(errs...)
}

// hidden reports whether Argo CD skips a directory: one whose name, or a parent's, starts with a dot.
func hidden(dir string) bool {
	return dir[0] == '.' || strings.Contains(dir, "/.")
}

// selected reports whether a pattern includes dir and none excludes it.
func selected(patterns []pattern, dir string) bool {
	include := false
	for _, p := range patterns {
		// The patterns were checked before.
		if match, _ := path.Match(p.path, dir); !match {
			continue
		}
		if p.exclude {
			return false
		}
		include = true
	}
	return include
}

// addPath adds the parameters that describe a directory and, for the file generator, a file in it.
func (r *run) addPath(params Params, prefix, dir, file string) {
	segments := strings.Split(dir, "/")
	base := path.Base(dir)
	if r.Engine.Go() {
		p := map[string]any{
			"path": dir, "basename": base, "basenameNormalized": template.Normalize(base), "segments": segments,
		}
		if file != "" {
			p["filename"], p["filenameNormalized"] = file, template.Normalize(file)
		}
		if prefix != "" {
			params[prefix] = map[string]any{"path": p}
		} else {
			params["path"] = p
		}
		return
	}
	name := "path"
	if prefix != "" {
		name = prefix + ".path"
	}
	params[name] = dir
	params[name+".basename"], params[name+".basenameNormalized"] = base, template.Normalize(base)
	if file != "" {
		params[name+".filename"], params[name+".filenameNormalized"] = file, template.Normalize(file)
	}
	for i, s := range segments {
		if s != "" {
			params[name+"["+strconv.Itoa(i)+"]"] = s
		}
	}
}

func (r *run) gitFiles(g *gitSpec, tree Tree) ([]Set, error) {
	files := map[string][]byte{}
	matched := make([]map[string][]byte, len(g.files))
	for _, exclude := range []bool{false, true} {
		for i, p := range g.files {
			if p.exclude != exclude {
				continue
			}
			found, err := tree.Files(r.ctx, p.path)
			if err != nil {
				return nil, err
			}
			matched[i] = found
			for name, data := range found {
				if exclude {
					delete(files, name)
				} else {
					files[name] = data
				}
			}
		}
	}
	for i, p := range g.files {
		if deep := deeper(p.path, matched[i], files); deep != "" && !p.exclude {
			text := fmt.Sprintf("%s.files[%d].path: %q also matches %s, which is deeper than the pattern", g.path, i, p.path, deep)
			r.warned[text] = PatternDeeper
		}
	}
	var sets []Set
	var errs []error
	for _, name := range manifest.Keys(files) {
		if len(errs) >= maxErrors {
			break
		}
		more, err := r.gitFile(g, name, files[name])
		if err != nil {
			errs = append(errs, problem.Wrap(err, func(e error) error { return fmt.Errorf("file %s: %w", name, e) }))
		}
		if sets = append(sets, more...); len(sets) > r.MaxSets {
			return nil, fmt.Errorf("more than %d parameter sets", r.MaxSets)
		}
	}
	return sets, errors.Join(errs...)
}

// deeper is a file that a pattern matches in a deeper directory than it has itself, "" for none: * matches slashes, too. With ** that is
// meant.
func deeper(pattern string, matched, files map[string][]byte) string {
	if strings.Contains(pattern, "**") || !strings.Contains(pattern, "*") {
		return ""
	}
	for _, name := range manifest.Keys(matched) {
		if _, kept := files[name]; kept && strings.Count(name, "/") > strings.Count(pattern, "/") {
			return name
		}
	}
	return ""
}

// decodeObjects reads YAML that is an object, a list of objects, or nothing, which is an empty object.
func decodeObjects(data []byte) ([]map[string]any, error) {
	var v any
	if err := manifest.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	switch v := v.(type) {
	case nil:
		return []map[string]any{{}}, nil
	case map[string]any:
		return []map[string]any{v}, nil
	case []any:
		return listOfObjects(v)
	default:
		return nil, fmt.Errorf("must be an object or a list of objects, it is %s", manifest.TypeName(v))
	}
}

// listOfObjects allows null for an empty object.
func listOfObjects(list []any) ([]map[string]any, error) {
	out := make([]map[string]any, len(list))
	for i, e := range list {
		o, ok := e.(map[string]any)
		if !ok && e != nil {
			return nil, fmt.Errorf("[%d]: must be an object, it is %s", i, manifest.TypeName(e))
		}
		out[i] = o
	}
	return out, nil
}

// gitFile reads a file that holds an object or a list of objects. An empty file is an empty object.
func (r *run) gitFile(g *gitSpec, name string, data []byte) ([]Set, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%d bytes is over the limit of %d", len(data), maxFile)
	}
	what := "file " + name
	objects, err := decodeObjects(data)
	if err != nil {
		return nil, err
	}
	var sets []Set
	for i, object := range objects {
		params := Params{}
		if r.Engine.Go() {
			for k, v := range object {
				params[k] = v
			}
		} else {
			flat, err := flattenText(object)
			if err != nil {
				return nil, err
			}
			for k, v := range flat {
				params[k] = v
			}
		}
		if err := r.keep(what, len(params)); err != nil {
			return nil, err
		}
		r.addPath(params, g.prefix, path.Dir(name), path.Base(name))
		if err := g.values.addTo(params); err != nil {
			return nil, err
		}
		origin := what
		if len(objects) > 1 {
			origin = fmt.Sprintf("%s [%d]", what, i)
		}
		sets = append(sets, Set{params, Origin{What: origin}})
	}
	return sets, nil
}
