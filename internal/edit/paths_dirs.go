package edit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
)

// pathSet collects the paths of an Application: its own directories, and what it reads elsewhere.
//
// Argo CD resolves relative paths against the path of each source, and applies absolute ones to all of them (GetSourceRefreshPaths in
// util/app/path/path.go of 3.2.11). A file that one source reads in the directory of another must therefore be an absolute path.
type pathSet struct {
	own      []string        // directories of the sources
	relative bool            // each source has a directory, so that "." stands for it
	files    map[string]bool // elsewhere
	dirs     map[string]bool // elsewhere
}

// paths returns the paths of an Application, in order. The error says why it has none.
func (w *pathWriter) paths(ctx context.Context, app *plan.Application) ([]string, error) {
	set := &pathSet{relative: true, files: map[string]bool{}, dirs: map[string]bool{}}
	for _, s := range app.Sources {
		own := path.Clean(cmp.Or(s.Path, "."))
		switch {
		case !s.InGit():
			continue
		case own != ".":
			set.own = append(set.own, own)
		case s.Kind != source.Values:
			return nil, errors.New("its path is the root of the repository, so every commit may change it")
		}
		set.relative = set.relative && own != "."
	}
	for _, s := range app.Sources {
		for _, input := range s.Inputs {
			if from, ok := sourceOf(app, s, input.Ref); ok {
				set.add(s, input.Ref, input.Path)
				set.add(s, input.Ref, w.real(ctx, from, input.Path))
			}
		}
		if err := set.optional(app, s); err != nil {
			return nil, err
		}
	}
	out := set.list()
	switch {
	case len(out) == 0:
		return nil, errors.New("made of charts only, which no commit changes")
	case slices.ContainsFunc(out, func(p string) bool { return strings.Contains(p, ";") }):
		return nil, errors.New("one of its paths has a semicolon, which separates paths in the annotation")
	}
	return out, nil
}

// sourceOf returns the source that an input of s is in, if that is in Git.
func sourceOf(app *plan.Application, s plan.Source, ref string) (plan.Source, bool) {
	if ref == "" {
		return s, s.InGit()
	}
	for _, other := range app.Sources {
		if "$"+manifest.String(other.Spec, "ref") == ref {
			return other, other.InGit()
		}
	}
	return plan.Source{}, false
}

// real is a file behind links: Git sees a change where they lead.
func (w *pathWriter) real(ctx context.Context, s plan.Source, name string) string {
	repo, err := w.open(ctx, s.Repository, argo.TargetRevision(s.Spec))
	if err != nil {
		return name
	}
	real, _, err := repo.View.Resolve(ctx, name)
	if err != nil {
		return name
	}
	return real
}

// add adds a file that a source reads, unless it is in the source's own directory.
func (p *pathSet) add(s plan.Source, ref, file string) {
	if own := path.Clean(cmp.Or(s.Path, ".")); ref != "" || !within(own, file) {
		p.files[file] = true
	}
}

// optional adds files that a source would read if they existed.
func (p *pathSet) optional(app *plan.Application, s plan.Source) error {
	helm, kustomize := manifest.Map(s.Spec, "helm"), manifest.Map(s.Spec, "kustomize")
	if on, _ := helm["ignoreMissingValueFiles"].(bool); on {
		names, _ := helm["valueFiles"].([]any)
		for _, v := range names {
			name, _ := v.(string)
			ref, file := "", path.Join(s.Path, name)
			if first, rest, _ := strings.Cut(name, "/"); strings.HasPrefix(name, "$") {
				if _, ok := sourceOf(app, s, first); ok {
					ref, file = first, rest
				}
			}
			if path.IsAbs(name) {
				file = path.Clean(name)[1:]
			}
			_, ok := sourceOf(app, s, ref)
			switch {
			case strings.Contains(name, "://") || !ok:
			case strings.Contains(path.Dir(file), "$"):
				return fmt.Errorf("the directory of its optional value file %s depends on variables", name)
			default:
				p.add(s, ref, path.Clean(file))
			}
		}
	}
	if on, _ := kustomize["ignoreMissingComponents"].(bool); on {
		names, _ := kustomize["components"].([]any)
		for _, v := range names {
			name, _ := v.(string)
			if dir := path.Join(s.Path, name); !strings.Contains(name, "://") && !within(path.Clean(s.Path), dir) {
				p.dirs[dir] = true
			}
		}
	}
	return nil
}

// list returns the paths: "." or the own directories, then what is elsewhere, in order and without those in others.
func (p *pathSet) list() []string {
	var out []string
	dirs := map[string]bool{}
	if p.relative && len(p.own) > 0 {
		out = append(out, ".")
	} else {
		for _, own := range p.own {
			dirs[own] = true
		}
	}
	for dir := range p.dirs {
		dirs[dir] = true
	}
	for file := range p.files {
		dirs[p.around(file)] = true
	}
	names := manifest.Keys(dirs)
	for _, name := range names {
		if !slices.ContainsFunc(names, func(other string) bool { return other != name && within(other, name) }) {
			out = append(out, "/"+name)
		}
	}
	return out
}

// around returns the directory of a file, or the file itself if that directory is the root or contains the Application's own one; a chart
// is always its directory, because files that do not exist yet may become part of it.
func (p *pathSet) around(file string) string {
	dir := path.Dir(file)
	above := dir == "." || slices.ContainsFunc(p.own, func(own string) bool { return own != dir && within(dir, own) })
	if above && !p.files[path.Join(dir, "Chart.yaml")] {
		return file
	}
	return dir
}

// within reports whether a file or directory is in a directory, or is the directory.
func within(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// samePaths reports whether the current annotation means the same as the new one.
func samePaths(app *plan.Application, value, current string) bool {
	return value == current || coversPaths(app, value, current) && coversPaths(app, current, value)
}

// coversPaths reports whether the current paths cover each of the new paths.
func coversPaths(app *plan.Application, paths, current string) bool {
	for _, s := range app.Sources {
		if !s.InGit() {
			continue
		}
		own := path.Clean(cmp.Or(s.Path, "."))
		covering := absolute(own, current)
		for _, p := range absolute(own, paths) {
			if !slices.ContainsFunc(covering, func(c string) bool { return c == "/" || within(c, p) }) {
				return false
			}
		}
	}
	return true
}

// relativePaths returns paths relative to the directory of an Application with one source in Git; of another one they stay as they are.
func relativePaths(app *plan.Application, paths []string) []string {
	var own []string
	for _, s := range app.Sources {
		if s.InGit() {
			own = append(own, path.Clean(cmp.Or(s.Path, ".")))
		}
	}
	if len(own) != 1 {
		return paths
	}
	var out []string
	for _, p := range paths {
		if rel, err := filepath.Rel(filepath.FromSlash("/"+own[0]), filepath.FromSlash(p)); err == nil && path.IsAbs(p) {
			p = filepath.ToSlash(rel)
		}
		out = append(out, p)
	}
	return out
}

// absolute returns the paths of an annotation, absolute, in order and once each.
func absolute(own, value string) []string {
	var out []string
	for item := range strings.SplitSeq(value, ";") {
		switch {
		case item == "":
		case path.IsAbs(item):
			out = append(out, path.Clean(item))
		default:
			out = append(out, "/"+path.Join(own, item))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
