package workspace

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// NamedMost returns the URL of a directory: the one that Applications and sets in it name most often, with existing paths; "" if they name
// none. names are the names of all its files, files those that may be manifests.
func NamedMost(names []string, files []tree.File) string {
	c := naming{dirs: map[string]bool{".": true}, times: map[string]int{}, spelt: map[string]string{}}
	for _, name := range names {
		c.dirs[name] = true // of a generator
		for dir := path.Dir(name); dir != "." && !c.dirs[dir]; dir = path.Dir(dir) {
			c.dirs[dir] = true
		}
	}
	for _, f := range files {
		if !tree.IsManifest(f.Name) || !mentions(f.Data) {
			continue
		}
		docs, _, err := manifest.DecodeLoose(f.Name, f.Data)
		if err != nil {
			continue // said by the plan, if it matters
		}
		for _, d := range docs {
			if argo.IsApplication(d.Object) || argo.IsApplicationSet(d.Object) {
				c.walk(d.Object["spec"])
			}
		}
	}
	if len(c.times) == 0 {
		return ""
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(c.times)), func(a, b string) int { return c.times[a] - c.times[b] })
	return c.spelt[most]
}

// naming counts repositories.
type naming struct {
	dirs  map[string]bool // directories and files that are there
	times map[string]int
	spelt map[string]string
}

// walk counts the sources and Git generators in a part of an Application or a set.
func (c naming) walk(v any) {
	switch v := v.(type) {
	case map[string]any:
		c.count(v)
		for _, e := range v {
			c.walk(e)
		}
	case []any:
		for _, e := range v {
			c.walk(e)
		}
	}
}

// count counts a source, or a Git generator, whose path begins with an existing name.
func (c naming) count(source map[string]any) {
	url := manifest.String(source, "repoURL")
	if url == "" || strings.ContainsAny(url, "{}<>$ ") || manifest.String(source, "chart") != "" {
		return
	}
	paths := []string{manifest.String(source, "path")}
	for _, list := range []string{"directories", "files"} {
		items, _ := source[list].([]any)
		for _, item := range items {
			m, _ := item.(map[string]any)
			paths = append(paths, manifest.String(m, "path"))
		}
	}
	for _, name := range paths {
		// Up to the first part that is a template or a pattern.
		fixed := path.Clean("/" + name)[1:]
		if i := strings.IndexAny(fixed, "{*?["); i >= 0 {
			fixed = fixed[:i]
			fixed = fixed[:strings.LastIndexByte(fixed, '/')+1]
		}
		if fixed = path.Clean(fixed); fixed != "." && c.dirs[fixed] {
			key := giturl.Key(url)
			c.times[key]++
			if c.spelt[key] == "" {
				c.spelt[key] = url
			}
			return
		}
	}
}
