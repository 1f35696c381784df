package render

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/tree"
)

// fetch gets what an entry of a Kustomization refers to, a file or a directory of a Git repository, and returns what to write instead.
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
		name := fmt.Sprintf("argosy-remote-%d.yaml", len(l.disk.written))
		l.disk.written[path.Join(path.Dir(a.file), name)] = data
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

// repository is a directory of a Git repository.
type repository struct{ url, dir, revision string }

// parseRepository reads what Kustomize takes for a Git repository: https://github.com/org/repo//dir?ref=v1, github.com/org/repo/dir,
// git@host:org/repo.git/dir, and so on.
func parseRepository(ref string) (repository, error) {
	ref, query, _ := strings.Cut(ref, "?")
	var r repository
	if values, err := url.ParseQuery(query); err == nil {
		if r.revision = values.Get("ref"); r.revision == "" {
			r.revision = values.Get("version")
		}
	}
	ref = strings.TrimPrefix(ref, "git::")
	scheme, rest, ok := strings.Cut(ref, "://")
	if !ok {
		scheme, rest = "", ref
	}
	host, inside := splitHost(scheme, rest)
	if strings.EqualFold(host, "github.com") && scheme == "" {
		scheme = "https"
	}
	repo, dir, ok := splitRepository(scheme, inside)
	if !ok || host == "" && scheme != "file" {
		return r, fmt.Errorf("not a file in the source, and not the URL of a Git repository")
	}
	switch dir = path.Clean("/" + dir)[1:]; {
	case scheme == "":
		r.url = host + ":" + repo
	default:
		r.url = scheme + "://" + strings.TrimPrefix(host+"/"+repo, "/")
		if scheme == "file" {
			r.url = "file://" + repo
		}
	}
	r.dir = dir
	return r, nil
}

func splitHost(scheme, rest string) (host, inside string) {
	if scheme == "file" {
		return "", rest
	}
	separators := "/"
	if scheme == "" {
		separators = "/:"
	}
	i := strings.IndexAny(rest, separators)
	if i < 0 {
		return "", rest
	}
	return rest[:i], rest[i+1:]
}

// splitRepository splits a path into that of the repository and that of the directory in it: at markers, or after two parts, as on GitHub.
func splitRepository(scheme, inside string) (repo, dir string, ok bool) {
	if i := strings.Index(inside, "_git/"); i >= 0 {
		name, rest, _ := strings.Cut(inside[i+len("_git/"):], "/")
		return inside[:i+len("_git/")] + name, rest, name != ""
	}
	if before, after, found := strings.Cut(inside, "//"); found {
		return before, after, before != ""
	}
	if i := strings.Index(inside, ".git"); i >= 0 {
		return inside[:i+len(".git")], inside[i+len(".git"):], true
	}
	if scheme == "file" {
		return inside, "", inside != ""
	}
	parts := strings.SplitN(inside, "/", 3)
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" {
		return "", "", false
	}
	if len(parts) == 3 {
		dir = parts[2]
	}
	return parts[0] + "/" + parts[1], dir, true
}
