package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
)

// kustomizationNames are the names of the file of a Kustomization.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// maxBeside bounds a manifest that is looked into.
const maxBeside = 1 << 20

// beside finds manifests in the directories of a source's Kustomizations that none of them reads, and reports whether its own Kustomization
// is a Component. A file whose name a Kustomization mentions, for example in a comment, is left out on purpose.
func (l *loader) beside(s map[string]any, result *source.Result) (unlisted []string, component bool) {
	repo, err := l.cfg.Loader.Open(l.ctx, manifest.String(s, "repoURL"), argo.TargetRevision(s))
	if err != nil || result.Verdict != source.Known {
		return nil, false
	}
	read := map[string]bool{}
	var texts []string
	var dirs []string
	for _, in := range result.Inputs {
		if in.Ref != "" {
			continue
		}
		read[in.Path] = true
		if dir := path.Dir(in.Path); slices.Contains(kustomizationNames, path.Base(in.Path)) && !slices.Contains(dirs, dir) {
			data, err := repo.View.Read(l.ctx, in.Path)
			if err != nil {
				continue
			}
			dirs, texts = append(dirs, dir), append(texts, string(data))
			if dir == path.Clean(manifest.String(s, "path")) {
				component = isComponent(in.Path, data)
			}
		}
	}
	for _, dir := range dirs {
		for _, name := range repo.View.Names(dir) {
			file := path.Join(dir, name)
			ext := path.Ext(name)
			if read[file] || ext != ".yaml" && ext != ".yml" || strings.HasPrefix(name, ".") ||
				slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, name) }) {
				continue
			}
			if data, err := repo.View.Read(l.ctx, file); err == nil && len(data) <= maxBeside && isManifest(file, data) {
				unlisted = append(unlisted, file)
			}
		}
	}
	return unlisted, component
}

func isComponent(file string, data []byte) bool {
	docs, _, _ := manifest.DecodeLoose(file, data)
	return len(docs) == 1 && manifest.String(docs[0].Object, "kind") == "Component"
}

// isManifest reports whether a file has nothing but objects that Argo CD could deploy. Objects of Argo CD itself may be applied by hand,
// and files that configure tools are no manifests.
func isManifest(file string, data []byte) bool {
	docs, _, err := manifest.DecodeLoose(file, data)
	if err != nil || len(docs) == 0 {
		return false
	}
	return !slices.ContainsFunc(docs, func(d manifest.Document) bool {
		group := manifest.Group(d.Object)
		return manifest.String(d.Object, "kind") == "" || manifest.String(d.Object, "apiVersion") == "" ||
			manifest.String(d.Object, "metadata", "name") == "" || group == argo.Group || strings.HasSuffix(group, "config.k8s.io")
	})
}
