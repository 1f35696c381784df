package workspace

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Sets returns the ApplicationSets that are plain manifests in the folder of a source. Other files of the folder may be anything.
func (r *Repositories) Sets(ctx context.Context, source map[string]any) ([]manifest.Object, error) {
	dir := path.Clean(manifest.String(source, "path"))
	tree, err := r.Tree(ctx, manifest.String(source, "repoURL"), manifest.String(source, "targetRevision"))
	if err != nil {
		return nil, err
	}
	deep := manifest.Map(source, "directory")["recurse"] == true
	var out []manifest.Object
	for _, ext := range []string{"yaml", "yml", "json"} {
		files, err := tree.Files(ctx, strings.TrimPrefix(path.Join(dir, "*."+ext), "./"))
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if !deep && path.Dir(name) != dir {
				continue
			}
			docs, err := manifest.Decode(name, files[name])
			if err != nil {
				return nil, err
			}
			for _, d := range docs {
				if argo.IsApplicationSet(d.Object) {
					out = append(out, d.Object)
				}
			}
		}
	}
	return out, nil
}
