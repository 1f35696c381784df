package job

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/worker"
)

// listing is a view without its content. Its names travel as a blob.
type listing struct {
	Links  []int             `json:"links,omitempty"`
	Absent map[string]string `json:"absent,omitempty"`
}

// maxListing bounds the files of a view that a worker gets.
const maxListing = 500_000

// list returns the listing of a view, and its names in order.
func list(view *tree.View) (listing, []string, error) {
	all := view.All()
	if len(all) > maxListing {
		return listing{}, nil, fmt.Errorf("there are more than %d files", maxListing)
	}
	l, names := listing{Absent: view.Absent()}, slices.Sorted(maps.Keys(all))
	for i, name := range names {
		if all[name] {
			l.Links = append(l.Links, i)
		}
	}
	return l, names, nil
}

// packNames makes a blob of names, which can be bytes that JSON has no way to write.
func packNames(names []string) []byte { return []byte(strings.Join(names, "\x00")) }

func unpackNames(blob []byte) []string {
	if len(blob) == 0 {
		return nil
	}
	return strings.Split(string(blob), "\x00")
}

// packFiles makes blobs of files: their names, and the content of each.
func packFiles(files []tree.File) [][]byte {
	blobs := [][]byte{packNames(tree.Names(files))}
	for _, f := range files {
		blobs = append(blobs, f.Data)
	}
	return blobs
}

func unpackFiles(blobs [][]byte) ([]tree.File, error) {
	if len(blobs) == 0 {
		return nil, errAnswer
	}
	names := unpackNames(blobs[0])
	if len(names) != len(blobs)-1 {
		return nil, errAnswer
	}
	files := make([]tree.File, len(names))
	for i, name := range names {
		files[i] = tree.File{Name: name, Data: blobs[1+i]}
	}
	return files, nil
}

// view is, in a worker, a view of the host.
func (l listing) view(names []string, read func(ctx context.Context, name string) ([]byte, error)) (*tree.View, error) {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = false
	}
	for _, i := range l.Links {
		if i < 0 || i >= len(names) {
			return nil, errAnswer
		}
		all[names[i]] = true
	}
	return tree.NewView(all, read).Without(l.Absent), nil
}

// Questions about repositories and what else a source is made of.
const (
	askRead  worker.Question = "read"  // a file, or the target of a link, whose name is in the blob; ofTree
	askList  worker.Question = "list"  // the files of a repository; ofTree
	askURL   worker.Question = "url"   // the host's name of a file, which is in the blob
	askGit   worker.Question = "git"   // fetches a repository; ofTree
	askFile  worker.Question = "file"  // fetches a file; ofTree
	askChart worker.Question = "chart" // fetches a chart; ofChart
)

// ofTree is a worker's question about a repository.
type ofTree struct {
	URL    string `json:"url,omitempty"`
	Commit string `json:"commit,omitempty"`
	Tree   int    `json:"tree,omitempty"`
}

// ofChart is a requested chart.
type ofChart struct{ Repository, Name, Version string }

// reader reads files of a tree of the host.
func (r *remote) reader(number int) func(ctx context.Context, name string) ([]byte, error) {
	return func(_ context.Context, name string) ([]byte, error) {
		question, err := worker.NewMessage(ofTree{Tree: number}, []byte(name))
		if err != nil {
			return nil, err
		}
		m, err := r.host.Ask(askRead, question)
		if err == nil && len(m.Blobs) != 1 {
			err = errAnswer
		}
		if err != nil {
			return nil, err
		}
		return m.Blobs[0], nil
	}
}

// readTree answers with a file, or with the target of a link.
func readTree(ctx context.Context, views map[int]*tree.View, m worker.Message) (worker.Message, error) {
	var q ofTree
	if err := m.Decode(&q); err != nil || len(m.Blobs) != 1 || views[q.Tree] == nil {
		return worker.Message{}, errAnswer
	}
	data, err := views[q.Tree].Raw(ctx, string(m.Blobs[0]))
	if err != nil {
		return worker.Message{}, err
	}
	return worker.NewMessage(nil, data)
}
