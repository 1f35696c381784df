package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/worker"
)

// comparison is the head of a job that compares commits. Its blobs are the sources of each content.
type comparison struct {
	KubeVersion string          `json:"kubeVersion"`
	APIVersions []string        `json:"apiVersions,omitempty"`
	Pairs       [][2]headOfPair `json:"pairs"`
}

type headOfPair struct {
	URL         string             `json:"url"`
	Key         string             `json:"key"`
	Commit      string             `json:"commit"`
	Sum         string             `json:"sum,omitempty"`
	Application source.Application `json:"application"`
}

// compared is the answer for a pair.
type compared struct {
	Sum [2]string `json:"sum"`
	// Problem is why it is unknown, and Open the number of the commit that could not be opened, from 1; 0 is none.
	Problem string `json:"problem,omitempty"`
	Open    int    `json:"open,omitempty"`
}

// Compare implements appsetplugin.Evaluator.
func (w Workers) Compare(ctx context.Context, c appsetplugin.Comparison) ([]appsetplugin.Sums, error) {
	head := comparison{KubeVersion: c.KubeVersion, APIVersions: c.APIVersions}
	var blobs [][]byte
	for _, pair := range c.Pairs {
		var p [2]headOfPair
		for i, content := range pair {
			p[i] = headOfPair{content.URL, content.Key, content.Commit, content.Sum, content.Application}
			data, err := encodeObjects(content.Sources)
			if err != nil {
				return nil, err
			}
			blobs = append(blobs, data)
		}
		head.Pairs = append(head.Pairs, p)
	}
	m, err := worker.NewMessage(head, blobs...)
	if err != nil {
		return nil, err
	}
	host := &compareHost{open: c.Open, views: map[int]*tree.View{}, most: 2 * len(c.Pairs)}
	if m, err = w.Pool.Do(ctx, worker.Job{Kind: kindCompare, What: "comparing commits", Message: m, Answer: host.answer}); err != nil {
		return nil, err
	}
	return decodeCompared(m, len(c.Pairs), host.failed)
}

// maxSum bounds the bytes of a sum, which is kept for later comparisons.
const maxSum = 128

// decodeCompared reads the answer for so many pairs.
func decodeCompared(m worker.Message, pairs int, failed []error) ([]appsetplugin.Sums, error) {
	list, err := worker.DecodeList[compared](m.Head, pairs)
	if err != nil || len(list) != pairs {
		return nil, errAnswer
	}
	out := make([]appsetplugin.Sums, len(list))
	for i, s := range list {
		if len(s.Sum[0]) > maxSum || len(s.Sum[1]) > maxSum {
			return nil, errAnswer
		}
		out[i].Sum = s.Sum
		switch {
		case s.Open > 0 && s.Open <= len(failed):
			out[i].Err = failed[s.Open-1]
		case s.Problem != "":
			out[i].Err = errors.New(s.Problem)
		}
	}
	return out, nil
}

// compareHost answers the questions of a comparison.
type compareHost struct {
	open   appsetplugin.Commits
	views  map[int]*tree.View
	failed []error
	most   int // commits that are opened
}

// askOpen asks for a commit; ofTree. askRead is the other question of a comparison.
const askOpen worker.Question = "open"

// commit is the head of the answer with a commit's files. Failed says that it could not be opened. Its blobs are the names.
type commit struct {
	listing
	Tree   int      `json:"tree"`
	IDs    []string `json:"ids"`
	Failed int      `json:"failed,omitempty"`
}

func (h *compareHost) answer(ctx context.Context, ask worker.Question, m worker.Message) (worker.Message, error) {
	switch ask {
	case askOpen:
		var q ofTree
		if err := m.Decode(&q); err != nil || len(h.views)+len(h.failed) >= h.most {
			return worker.Message{}, errAnswer
		}
		return h.list(ctx, q)
	case askRead:
		return readTree(ctx, h.views, m)
	}
	return worker.Message{}, errAnswer
}

func (h *compareHost) list(ctx context.Context, q ofTree) (worker.Message, error) {
	t, err := h.open(ctx, q.URL, q.Commit)
	var c commit
	var names []string
	if err == nil {
		if c.listing, names, err = list(t.View()); err != nil {
			err = fmt.Errorf("commit %.12s: %w", q.Commit, err)
		}
	}
	if err != nil {
		h.failed = append(h.failed, err)
		return worker.NewMessage(commit{Failed: len(h.failed)}, nil)
	}
	for _, name := range names {
		c.IDs = append(c.IDs, t.ID(name))
	}
	c.Tree = len(h.views)
	h.views[c.Tree] = t.View()
	return worker.NewMessage(c, packNames(names))
}

// compare is the job in the worker.
func compare(h *worker.Host, m worker.Message) (worker.Message, error) {
	var head comparison
	if err := m.Decode(&head); err != nil {
		return worker.Message{}, err
	}
	r := &remoteCommits{remote: remote{h}, trees: map[[2]string]*remoteFiles{}}
	c := appsetplugin.Comparison{KubeVersion: head.KubeVersion, APIVersions: head.APIVersions, Open: r.open}
	for i, pair := range head.Pairs {
		var p [2]appsetplugin.Content
		for j, one := range pair {
			if 2*i+j >= len(m.Blobs) {
				return worker.Message{}, errAnswer
			}
			list, err := objects(m.Blobs[2*i+j])
			if err != nil {
				return worker.Message{}, err
			}
			p[j] = appsetplugin.Content{
				URL: one.URL, Key: one.Key, Commit: one.Commit, Sum: one.Sum, Application: one.Application, Sources: list,
			}
		}
		c.Pairs = append(c.Pairs, p)
	}
	sums, err := appsetplugin.Here{}.Compare(context.Background(), c)
	if err != nil {
		return worker.Message{}, err
	}
	out := make([]compared, len(sums))
	for i, s := range sums {
		out[i].Sum = s.Sum
		if s.Err != nil {
			out[i].Problem = s.Err.Error()
			var failed *openError
			if errors.As(s.Err, &failed) {
				out[i].Open = failed.number
			}
		}
	}
	return worker.NewMessage(out)
}

// openError says, in a worker, that its host could not open a commit.
type openError struct{ number int }

func (e *openError) Error() string { return "the commit cannot be read" }

// remoteCommits opens commits of the host, each once.
type remoteCommits struct {
	remote
	trees map[[2]string]*remoteFiles
}

func (r *remoteCommits) open(_ context.Context, url, hash string) (appsetplugin.Tree, error) {
	id := [2]string{url, hash}
	if t := r.trees[id]; t != nil {
		return t, t.err()
	}
	var c commit
	m, err := r.ask(askOpen, ofTree{URL: url, Commit: hash}, &c)
	if err != nil {
		return nil, err
	}
	if len(m.Blobs) != 1 {
		return nil, errAnswer
	}
	names := unpackNames(m.Blobs[0])
	if len(names) != len(c.IDs) {
		return nil, errAnswer
	}
	t := &remoteFiles{failed: c.Failed, ids: make(map[string]string, len(names))}
	r.trees[id] = t
	for i, name := range names {
		t.ids[name] = c.IDs[i]
	}
	if t.view, err = c.view(names, r.reader(c.Tree)); err != nil {
		return nil, err
	}
	return t, t.err()
}

// remoteFiles is a commit of the host.
type remoteFiles struct {
	view   *tree.View
	ids    map[string]string
	failed int
}

func (t *remoteFiles) err() error {
	if t.failed > 0 {
		return &openError{t.failed}
	}
	return nil
}

// View implements appsetplugin.Tree.
func (t *remoteFiles) View() *tree.View { return t.view }

// ID implements appsetplugin.Tree.
func (t *remoteFiles) ID(name string) string { return t.ids[name] }
