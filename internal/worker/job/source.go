package job

import (
	"context"
	"errors"
	"sync"

	"github.com/argosy-cd/argosy/internal/manifest"
	rendering "github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/worker"
)

// ofSource is the head of a job that renders a source. Its blobs are the spec and, for a chart, the names of its files and their content.
type ofSource struct {
	Request source.Request `json:"request"`
	// Remote says that the host fetches.
	Remote bool `json:"remote"`
	// Named says that the host has other names for files.
	Named bool `json:"named"`
	// Repositories are the repository of the source, with "" as its name, and those that it refers to.
	Repositories []repository `json:"repositories"`
}

// repository is one without its content.
type repository struct {
	source.Repository
	Name    string `json:"name"`
	Err     string `json:"err,omitempty"`
	Missing string `json:"missing,omitempty"`
	// Tree is the number of its view at the host; 0 is none.
	Tree int `json:"tree,omitempty"`
	// Whole says that its files are sent with it.
	Whole bool `json:"whole,omitempty"`
}

// rendered is the head of a rendered source. Its blobs are the documents, and then the values of missing charts.
type rendered struct {
	Kind      source.Kind         `json:"kind"`
	Verdict   source.Verdict      `json:"verdict"`
	Problems  []foundProblem      `json:"problems,omitempty"`
	Inputs    []source.Input      `json:"inputs,omitempty"`
	Mentions  bool                `json:"mentions,omitempty"`
	Positions []manifest.Position `json:"positions"`
}

type foundProblem struct {
	Class     source.Class      `json:"class"`
	Text      string            `json:"text"`
	At        manifest.Position `json:"at,omitzero"`
	Field     string            `json:"field,omitempty"`
	Chart     string            `json:"chart,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Values    bool              `json:"values,omitempty"` // there is a blob with them
}

// newSourceJob returns the message to render a source, and the host that answers its questions.
func newSourceJob(ctx context.Context, r source.Request, numbers *numbers) (worker.Message, *sourceHost, error) {
	host := &sourceHost{request: r, numbers: numbers, views: map[int]*tree.View{}}
	head := ofSource{Request: r, Remote: r.Remote != nil, Named: r.URL != nil}
	spec, err := appendValue(nil, r.Spec)
	if err != nil {
		return worker.Message{}, nil, err
	}
	blobs := [][]byte{spec}
	add := func(name string, from source.Repository) *repository {
		head.Repositories = append(head.Repositories, repository{
			Repository: from, Name: name, Err: text(from.Err),
			Missing: text(from.Ref.Missing),
		})
		return &head.Repositories[len(head.Repositories)-1]
	}
	if own := add("", r.Repository); manifest.String(r.Spec, "chart") == "" {
		own.Tree = host.number(r.View)
	} else {
		// A chart is read completely.
		own.Whole = true
		files, err := r.View.Select(ctx, tree.Selection{})
		if err != nil {
			return worker.Message{}, nil, err
		}
		blobs = append(blobs, packFiles(files)...)
	}
	for _, name := range manifest.Keys(r.Refs) {
		add(name, r.Refs[name]).Tree = host.number(r.Refs[name].View)
	}
	m, err := worker.NewMessage(head, blobs...)
	return m, host, err
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func asError(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// numbers numbers views, from 1, across all jobs, so that a worker need not list a view again.
type numbers struct {
	mu    sync.Mutex
	known map[*tree.View]int
}

func (n *numbers) of(view *tree.View) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[*tree.View]int{}
	}
	if n.known[view] == 0 {
		n.known[view] = len(n.known) + 1
	}
	return n.known[view]
}

// sourceHost answers the questions of a source's rendering.
type sourceHost struct {
	request source.Request
	numbers *numbers
	views   map[int]*tree.View // of this source only
}

// number lets the worker read a view; 0 is none.
func (h *sourceHost) number(view *tree.View) int {
	if view == nil {
		return 0
	}
	n := h.numbers.of(view)
	h.views[n] = view
	return n
}

func (h *sourceHost) answer(ctx context.Context, ask worker.Question, m worker.Message) (worker.Message, error) {
	var q ofTree
	var chart ofChart
	remote := h.request.Remote
	switch {
	case ask == askRead:
		return readTree(ctx, h.views, m)
	case ask == askList && m.Decode(&q) == nil && h.views[q.Tree] != nil:
		l, names, err := list(h.views[q.Tree])
		if err != nil {
			return worker.Message{}, err
		}
		return worker.NewMessage(l, packNames(names))
	case ask == askURL && len(m.Blobs) == 1 && h.request.URL != nil:
		return worker.NewMessage(nil, []byte(h.request.URL(string(m.Blobs[0]))))
	case remote == nil:
	case ask == askGit && m.Decode(&q) == nil:
		if len(h.views) >= maxTrees {
			return worker.Message{}, errTrees
		}
		view, err := remote.Git(ctx, q.URL, q.Commit)
		if err != nil {
			return worker.Message{}, err
		}
		return worker.NewMessage(ofTree{Tree: h.number(view)})
	case ask == askFile && m.Decode(&q) == nil:
		data, err := remote.File(ctx, q.URL)
		if err != nil {
			return worker.Message{}, err
		}
		return worker.NewMessage(nil, data)
	case ask == askChart && m.Decode(&chart) == nil:
		files, err := remote.Chart(ctx, chart.Repository, chart.Name, chart.Version)
		if err != nil {
			return worker.Message{}, err
		}
		return worker.NewMessage(nil, packFiles(files)...)
	}
	return worker.Message{}, errAnswer
}

// costOfRendered is the memory that decodeRendered takes.
func costOfRendered(m worker.Message) (int64, error) {
	total, err := costOfHead(m)
	for _, b := range m.Blobs {
		size, blobErr := memory(b)
		total, err = total+size+int64(len(b)), errors.Join(err, blobErr)
	}
	if err != nil || total > maxMemory {
		return 0, errAnswer
	}
	return total, nil
}

// decodeRendered decodes a rendered source that costOfRendered has accepted.
func decodeRendered(m worker.Message) (*source.Result, error) {
	var head rendered
	if err := m.Decode(&head); err != nil || len(m.Blobs) == 0 || head.Verdict < source.Known || head.Verdict > source.Broken {
		return nil, errAnswer
	}
	list, err := objects(m.Blobs[0])
	if err != nil || len(list) != len(head.Positions) {
		return nil, errAnswer
	}
	out := &source.Result{Kind: head.Kind, Verdict: head.Verdict, Inputs: head.Inputs, Mentions: head.Mentions}
	for i, o := range list {
		out.Documents = append(out.Documents, manifest.Document{Object: o, Position: head.Positions[i]})
	}
	blobs := m.Blobs[1:]
	for _, p := range head.Problems {
		problem := source.Problem{
			Class: p.Class, Text: p.Text, At: p.At, Field: p.Field, Chart: p.Chart, Namespace: p.Namespace,
		}
		if p.Values {
			if len(blobs) == 0 {
				return nil, errAnswer
			}
			v, err := value(blobs[0])
			values, ok := v.(map[string]any)
			if err != nil || !ok {
				return nil, errAnswer
			}
			problem.Values, blobs = values, blobs[1:]
		}
		out.Problems = append(out.Problems, problem)
	}
	return out, nil
}

// renderSource is the job in the worker.
func (l *listed) renderSource(h *worker.Host, m worker.Message) (worker.Message, error) {
	r, err := (&remoteSource{remote{h}, l}).request(m)
	if err != nil {
		return worker.Message{}, err
	}
	result := source.Render(context.Background(), r)
	head := rendered{
		Kind: result.Kind, Verdict: result.Verdict, Inputs: result.Inputs, Mentions: result.Mentions,
		Positions: make([]manifest.Position, len(result.Documents)),
	}
	list := make([]map[string]any, len(result.Documents))
	for i, d := range result.Documents {
		list[i], head.Positions[i] = d.Object, d.Position
	}
	documents, err := encodeObjects(list)
	if err != nil {
		return worker.Message{}, err
	}
	blobs := [][]byte{documents}
	for _, p := range result.Problems {
		head.Problems = append(head.Problems, foundProblem{p.Class, p.Text, p.At, p.Field, p.Chart, p.Namespace, p.Values != nil})
		if p.Values != nil {
			data, err := appendValue(nil, p.Values)
			if err != nil {
				return worker.Message{}, err
			}
			blobs = append(blobs, data)
		}
	}
	return newAnswer(head, blobs...)
}

// listed are views of the host that a worker has asked for, for later jobs.
type listed struct {
	views map[int]*tree.View
	names int
}

// add keeps a view, if it is not too large.
func (l *listed) add(number int, view *tree.View) {
	n := len(view.All())
	if l.views == nil || l.names+n > maxListed {
		l.views, l.names = map[int]*tree.View{}, 0
	}
	if n <= maxListed {
		l.views[number] = view
		l.names += n
	}
}

// maxListed bounds the files of all views that a worker keeps.
const maxListed = 200_000

// remoteSource asks the host for the files of a source, in a worker.
type remoteSource struct {
	remote
	listed *listed
}

var _ rendering.Remote = (*remoteSource)(nil)

// request reads the request of the host.
func (r *remoteSource) request(m worker.Message) (source.Request, error) {
	var head ofSource
	if err := m.Decode(&head); err != nil || len(m.Blobs) == 0 {
		return source.Request{}, errAnswer
	}
	spec, err := value(m.Blobs[0])
	if err != nil {
		return source.Request{}, err
	}
	out := head.Request
	out.Spec, _ = spec.(map[string]any)
	out.Refs = map[string]source.Repository{}
	for _, from := range head.Repositories {
		to := from.Repository
		to.Err, to.Ref.Missing = asError(from.Err), asError(from.Missing)
		if from.Whole {
			files, err := unpackFiles(m.Blobs[1:])
			if err != nil {
				return source.Request{}, err
			}
			to.View = tree.Of(files)
		} else if from.Tree != 0 {
			if to.View, err = r.view(from.Tree); err != nil {
				return source.Request{}, err
			}
		}
		if from.Name == "" {
			out.Repository = to
		} else {
			out.Refs[from.Name] = to
		}
	}
	if head.Named {
		out.URL = r.url
	}
	if head.Remote {
		out.Remote = r
	}
	return out, nil
}

// view returns a view of the host. Its files are requested one by one.
func (r *remoteSource) view(number int) (*tree.View, error) {
	if known := r.listed.views[number]; known != nil {
		return known.Fresh(), nil
	}
	var l listing
	m, err := r.ask(askList, ofTree{Tree: number}, &l)
	if err == nil && len(m.Blobs) != 1 {
		err = errAnswer
	}
	if err != nil {
		return nil, err
	}
	view, err := l.view(unpackNames(m.Blobs[0]), r.reader(number))
	if err != nil {
		return nil, err
	}
	if _, err := view.Outside(context.Background()); err == nil { // which all sources in it need to know
		r.listed.add(number, view)
	}
	return view.Fresh(), nil
}

// url is the host's name of a file.
func (r *remoteSource) url(name string) string {
	m, err := r.host.Ask(askURL, worker.Message{Head: []byte("null"), Blobs: [][]byte{[]byte(name)}})
	if err != nil || len(m.Blobs) != 1 {
		return name
	}
	return string(m.Blobs[0])
}

// Git implements render.Remote.
func (r *remoteSource) Git(_ context.Context, url, revision string) (*tree.View, error) {
	var t ofTree
	if _, err := r.ask(askGit, ofTree{URL: url, Commit: revision}, &t); err != nil {
		return nil, err
	}
	return r.view(t.Tree)
}

// File implements render.Remote.
func (r *remoteSource) File(_ context.Context, url string) ([]byte, error) {
	m, err := r.ask(askFile, ofTree{URL: url}, new(any))
	if err == nil && len(m.Blobs) != 1 {
		err = errAnswer
	}
	if err != nil {
		return nil, err
	}
	return m.Blobs[0], nil
}

// Chart implements render.Remote.
func (r *remoteSource) Chart(_ context.Context, repository, name, version string) ([]tree.File, error) {
	m, err := r.ask(askChart, ofChart{repository, name, version}, new(any))
	if err != nil {
		return nil, err
	}
	return unpackFiles(m.Blobs)
}
