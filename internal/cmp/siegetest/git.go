package siegetest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/gitserver"
)

// repository is a Git repository that the sidecar is asked to read: commits, the newest first.
type repository struct {
	commits []gitserver.Object
	content [][]gitserver.Object
}

// Head implements gitserver.Repository.
func (r *repository) Head(context.Context) (gitserver.Hash, error) { return r.commits[0].Hash(), nil }

// History implements gitserver.Repository.
func (r *repository) History(_ context.Context, commit gitserver.Hash) (gitserver.History, bool, error) {
	for i, c := range r.commits {
		if c.Hash() == commit {
			return gitserver.History{Commits: r.commits[i : i+1], Content: func(int) ([]gitserver.Object, error) {
				return r.content[i], nil
			}}, true, nil
		}
	}
	return gitserver.History{}, false, nil
}

// commit is a commit by its number, the oldest first.
func (r *repository) commit(i int) string { return r.commits[len(r.commits)-1-i].Hash().String() }

// add adds a commit with the tree that comes last in its content.
func (r *repository) add(content []gitserver.Object) {
	c := gitserver.Commit{Tree: content[len(content)-1].Hash(), Date: time.Unix(1_700_000_000+int64(len(r.commits)), 0), Message: "x"}
	r.commits, r.content = slices.Insert(r.commits, 0, c.Object()), slices.Insert(r.content, 0, content)
}

// ofFiles is a repository with a commit for each directory of files.
func ofFiles(versions ...map[string]string) *repository {
	r := &repository{}
	for _, files := range versions {
		var out []gitserver.Object
		directory(files, &out)
		r.add(out)
	}
	return r
}

// directory appends the objects of a directory, its own tree last.
func directory(files map[string]string, out *[]gitserver.Object) gitserver.Hash {
	below, entries := map[string]map[string]string{}, map[string]gitserver.Hash{}
	for name, content := range files {
		if dir, rest, ok := strings.Cut(name, "/"); ok {
			if below[dir] == nil {
				below[dir] = map[string]string{}
			}
			below[dir][rest] = content
			continue
		}
		blob := gitserver.Object{Kind: gitserver.KindBlob, Data: []byte(content)}
		*out = append(*out, blob)
		entries[name] = blob.Hash()
	}
	for name, files := range below {
		entries[name+"/"] = directory(files, out)
	}
	return tree(entries, out)
}

// tree appends a tree. Names of directories end with a slash.
func tree(entries map[string]gitserver.Hash, out *[]gitserver.Object) gitserver.Hash {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(entries)) { // Git sorts directories as if they ended so
		mode := "100644"
		plain, isDir := strings.CutSuffix(name, "/")
		if isDir {
			mode = "40000"
		}
		hash := entries[name]
		fmt.Fprintf(&b, "%s %s\x00%s", mode, plain, hash[:])
	}
	t := gitserver.Object{Kind: gitserver.KindTree, Data: b.Bytes()}
	*out = append(*out, t)
	return t.Hash()
}

// bomb is a repository whose directories are all the same one, under names that begin so: width^levels paths in a few kilobytes. At the end
// of each is a file, or nothing.
func bomb(width, levels int, name string, file bool) *repository {
	var out []gitserver.Object
	last := map[string]gitserver.Hash{}
	if file {
		blob := gitserver.Object{Kind: gitserver.KindBlob, Data: []byte("x")}
		out = append(out, blob)
		last["f"] = blob.Hash()
	}
	hash := tree(last, &out)
	for range levels {
		entries := map[string]gitserver.Hash{}
		for i := range width {
			entries[fmt.Sprintf("%s%d/", name, i)] = hash
		}
		hash = tree(entries, &out)
	}
	r := &repository{}
	r.add(out)
	return r
}

// gitServer serves repositories by their names, up to a dash. Those of other names never answer.
func gitServer(repositories map[string]*repository) http.Handler {
	find := func(path string) *repository {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), ".git")
		name, _, _ = strings.Cut(name, "-")
		return repositories[name]
	}
	server := &gitserver.Server{Open: func(_ context.Context, path string) (gitserver.Repository, error) { return find(path), nil }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if find(r.URL.Path) == nil {
			<-r.Context().Done()
			return
		}
		server.ServeHTTP(w, r)
	})
}
