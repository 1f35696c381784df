package workspace

import (
	"context"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// overlays are the Kustomizations of a repository.
type overlays struct {
	users   map[string][]string // by file or directory: the directories whose Kustomization names it
	patches map[string]bool     // files that are patches, and no objects
}

func newOverlays(files []tree.File) overlays {
	o := overlays{users: map[string][]string{}, patches: map[string]bool{}}
	for _, f := range files {
		if !render.IsKustomization(path.Base(f.Name)) {
			continue
		}
		docs, _, err := manifest.DecodeLoose(f.Name, f.Data)
		if err != nil || len(docs) == 0 {
			continue
		}
		dir, kustomization := path.Dir(f.Name), docs[0].Object
		for _, field := range []string{"resources", "bases", "components"} {
			for _, name := range manifest.Strings(kustomization[field]) {
				if used := path.Join(dir, name); name != "" && !strings.Contains(name, "://") {
					o.users[used] = append(o.users[used], dir)
				}
			}
		}
		for _, name := range patches(kustomization) {
			o.patches[path.Join(dir, name)] = true
		}
	}
	return o
}

// patches are the files of patches that a Kustomization names, and patches in it, which are no names of files.
func patches(kustomization manifest.Object) []string {
	out := manifest.Strings(kustomization["patchesStrategicMerge"])
	for _, field := range []string{"patches", "patchesJson6902"} {
		list, _ := kustomization[field].([]any)
		for _, p := range list {
			if patch, ok := p.(map[string]any); ok {
				out = append(out, manifest.String(patch, "path"))
			}
		}
	}
	return out
}

// above returns the Kustomizations that people apply for a file: they deploy it, directly or through others, and no other deploys them.
func (o overlays) above(file string) []string {
	seen, top := map[string]bool{}, map[string]bool{}
	queue := slices.Clone(o.users[file])
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if users := o.users[dir]; len(users) > 0 {
			queue = append(queue, users...)
		} else {
			top[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(top))
}

// deployed is an Application or a set in a file that a Kustomization deploys.
type deployed struct {
	manifest.Document
	once bool // no other applied Kustomization deploys the file
}

// patched adds the Applications and sets of a Kustomization to out, or those of its files if it cannot be rendered. An object keeps the
// position in its file if it is not changed, or if only this Kustomization changes it.
func (r *Repositories) patched(ctx context.Context, dir string, files []deployed, out *candidates) {
	docs, err := directory(ctx, r, input.Near(dir), source.Application{})
	if err != nil {
		r.cfg.Note("Applications are taken from the files of a Kustomization, without its patches: " +
			words.Printable(words.OneLine(err.Error(), 300)))
		for _, f := range files {
			out.docs = append(out.docs, f.Document)
		}
		return
	}
	for _, d := range docs {
		if !deploys(d) {
			continue
		}
		if f := slices.IndexFunc(files, func(f deployed) bool { return reflect.DeepEqual(f.Object, d.Object) }); f >= 0 {
			d = files[f].Document
		} else if at, ok := origin(files, d.Object); ok {
			d.Position = at
			out.changed[at] = input.Near(dir)
		}
		out.docs = append(out.docs, d)
	}
}

// origin is the position of the only object of a kind and name, if only one Kustomization deploys it.
func origin(files []deployed, o manifest.Object) (manifest.Position, bool) {
	same := func(f deployed) bool {
		return manifest.Group(f.Object) == manifest.Group(o) && manifest.String(f.Object, "kind") == manifest.String(o, "kind") &&
			manifest.String(f.Object, "metadata", "name") == manifest.String(o, "metadata", "name")
	}
	first := slices.IndexFunc(files, same)
	if first < 0 || !files[first].once || slices.ContainsFunc(files[first+1:], same) {
		return manifest.Position{}, false
	}
	return files[first].Position, true
}
