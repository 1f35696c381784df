package trigger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Files is a repository whose tree is the last one that Set got, such as a work tree on disk. Each change is a commit on top of the
// one before; when there are too many, history begins anew.
type Files struct {
	// Date and Message are the same for every commit.
	Date    time.Time
	Message string

	mu      sync.Mutex
	commits []filesCommit // oldest first
}

type filesCommit struct {
	tree    gitserver.Hash
	object  gitserver.Object
	content []gitserver.Object
}

// maxFilesCommits bounds the history, and with it how many trees are kept.
const maxFilesCommits = 32

// Set commits files, if they differ from the last commit.
func (f *Files) Set(files []tree.File) error {
	root := newFolder()
	for _, file := range files {
		if err := root.add(file); err != nil {
			return err
		}
	}
	var c filesCommit
	c.tree = root.objects(&c.content)
	f.mu.Lock()
	defer f.mu.Unlock()
	commit := gitserver.Commit{Tree: c.tree, Date: f.Date.Truncate(time.Second), Message: f.Message}
	if n := len(f.commits); n > 0 {
		if f.commits[n-1].tree == c.tree {
			return nil
		}
		if n == maxFilesCommits {
			f.commits = nil
		} else {
			parent := f.commits[n-1].object.Hash()
			commit.Parent = &parent
		}
	}
	c.object = commit.Object()
	f.commits = append(f.commits, c)
	return nil
}

// Head implements gitserver.Repository.
func (f *Files) Head(context.Context) (gitserver.Hash, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.commits) == 0 {
		return gitserver.Hash{}, errors.New("the repository has no commit yet")
	}
	return f.commits[len(f.commits)-1].object.Hash(), nil
}

// History implements gitserver.Repository.
func (f *Files) History(_ context.Context, commit gitserver.Hash) (gitserver.History, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.IndexFunc(f.commits, func(c filesCommit) bool { return c.object.Hash() == commit })
	if at < 0 {
		return gitserver.History{}, false, nil
	}
	line := slices.Clone(f.commits[:at+1])
	slices.Reverse(line)
	h := gitserver.History{Content: func(i int) ([]gitserver.Object, error) { return line[i].content, nil }}
	for _, c := range line {
		h.Commits = append(h.Commits, c.object)
	}
	return h, true, nil
}
