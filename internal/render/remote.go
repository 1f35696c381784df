package render

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/tree"
)

// fetch fetches the file or the directory of a Git repository that an entry refers to, and returns the entry that replaces it.
func (l *localCheck) fetch(a at, ref string, plugins *at) (string, bool) {
	if l.k.Remote == nil {
		l.lacks(a, notFetched, ref)
		return "", false
	}
	if isFile(ref) {
		data, err := l.k.Remote.File(l.ctx, ref)
		if err != nil {
			l.lacks(a, "%v", err)
			return "", false
		}
		name := l.fresh(a, data)
		l.entry(a, name, plugins)
		return name, true
	}
	r, err := parseRepository(ref)
	if err != nil {
		l.errorf(a, "%q: %v", ref, err)
		return "", false
	}
	view, err := l.k.Remote.Git(l.ctx, r.url, r.revision)
	if err != nil {
		l.lacks(a, "%v", err)
		return "", false
	}
	mount := l.disk.mount(view, r.url)
	dir := path.Join(mount, r.dir)
	if _, kind := l.disk.find(dir); kind != tree.Directory {
		l.errorf(a, "%q: there is no directory %q in the repository", ref, r.dir)
		return "", false
	}
	l.directory(a, dir, plugins)
	// Kustomize takes relative paths only.
	up := strings.Repeat("../", strings.Count(path.Dir(a.file), "/"))
	return up + strings.TrimPrefix(dir, "/"), true
}

// isFile reports whether a URL is that of a file, as far as its name tells. Kustomize finds out by fetching it.
func isFile(ref string) bool {
	u, err := url.Parse(ref)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(u.Path)) && !strings.Contains(u.Path, "//")
}

// copied copies a file of the source whose name Kustomize would take for a Git repository, if it did not like what is in it, to a name of
// ours.
func (l *localCheck) copied(a at, s string) (string, bool) {
	name := path.Join(path.Dir(a.file), s)
	mount, _ := top(a.file)
	if at, _ := top(name); at != mount || path.IsAbs(s) || !remote(s, true) || remote(s, false) {
		return "", false
	}
	if _, kind := l.disk.find(name); kind != tree.Regular {
		return "", false
	}
	data, err := l.disk.ReadFile(name)
	if err != nil {
		return "", false
	}
	return l.fresh(a, data), true
}

// fresh writes a file beside a Kustomization, and returns its name.
func (l *localCheck) fresh(a at, data []byte) string {
	for i := len(l.disk.written); ; i++ {
		name := fmt.Sprintf("argosy-%d.yaml", i)
		if file := path.Join(path.Dir(a.file), name); !l.disk.Exists(file) {
			l.disk.written[file] = data
			return name
		}
	}
}
