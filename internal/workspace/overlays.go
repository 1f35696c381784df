package workspace

import (
	"context"
	"maps"
	"path"
	"path/filepath"
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

// patched returns the Applications and sets of a Kustomization in a local repository at top, or those of its files if it cannot be
// rendered. An unpatched object keeps the position in its file.
func (r *Repositories) patched(ctx context.Context, top, dir string, files []manifest.Document) []manifest.Document {
	docs, err := directory(ctx, r, input.Near(filepath.Join(top, dir)), source.Application{})
	if err != nil {
		r.cfg.Note("Applications are taken from the files of a Kustomization, without its patches: " +
			words.Printable(words.OneLine(err.Error(), 300)))
		return files
	}
	docs = slices.DeleteFunc(docs, func(d manifest.Document) bool { return !deploys(d) })
	for i, d := range docs {
		if same := slices.IndexFunc(files, func(f manifest.Document) bool { return reflect.DeepEqual(f.Object, d.Object) }); same >= 0 {
			docs[i] = files[same]
		}
	}
	return docs
}
