package job

import (
	"context"
	"errors"

	"github.com/argosy-cd/argosy/internal/manifest"
	rendering "github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/worker"
)

// ofSource is the head of a job that renders a source. Its blobs are the spec, the names of each repository in order, and then the files of a
// chart.
type ofSource struct {
	Request source.Request `json:"request"`
	// Remote says that the host fetches.
	Remote bool `json:"remote"`
	// Named says that the host has other names for files.
	Named bool `json:"named"`
	// Repositories are that of the source, with "" as its name, and those that it refers to.
	Repositories []repository `json:"repositories"`
}

// repository is one without its content.
type repository struct {
	source.Repository
	Name    string   `json:"name"`
	View    *listing `json:"view,omitempty"` // nil is not available
	Err     string   `json:"err,omitempty"`
	Missing string   `json:"missing,omitempty"`
	// Whole says that its files are sent with it.
	Whole bool `json:"whole,omitempty"`
}

// rendered is the head of what a source becomes. Its blobs are the documents, and then the values of missing charts.
type rendered struct {
	Kind      source.Kind         `json:"kind"`
	Verdict   source.Verdict      `json:"verdict"`
	Problems  []foundProblem      `json:"problems,omitempty"`
	Inputs    []source.Input      `json:"inputs,omitempty"`
	Mentions  bool                `json:"mentions,omitempty"`
	Positions []manifest.Position `json:"positions"`
}

type foundProblem struct {
	Class     source.Class `json:"class"`
	Text      string       `json:"text"`
	Chart     string       `json:"chart,omitempty"`
	Namespace string       `json:"namespace,omitempty"`
	Values    bool         `json:"values,omitempty"` // there is a blob with them
}

// newSourceJob returns what a worker needs to render a source.
func newSourceJob(ctx context.Context, r source.Request) (worker.Message, *sourceHost, error) {
	host := &sourceHost{request: r}
	head := ofSource{Request: r, Remote: r.Remote != nil, Named: r.URL != nil}
	spec, err := appendValue(nil, r.Spec)
	if err != nil {
		return worker.Message{}, nil, err
	}
	blobs := [][]byte{spec}
	var files [][]byte
	add := func(name string, from source.Repository) error {
		to := repository{Repository: from, Name: name, Err: text(from.Err), Missing: text(from.Ref.Missing)}
		// A chart is read completely.
		to.Whole = name == "" && manifest.String(r.Spec, "chart") != ""
		var names []string
		if from.View != nil {
			l, all, err := list(from.View, len(host.views))
			if err != nil {
				return err
			}
			to.View, names = &l, all
			host.views = append(host.views, from.View)
		}
		for _, file := range names {
			if !to.Whole {
				break
			}
			data, err := from.View.Raw(ctx, file)
			if err != nil {
				return err
			}
			files = append(files, data)
		}
		head.Repositories = append(head.Repositories, to)
		blobs = append(blobs, packNames(names))
		return nil
	}
	if err := add("", r.Repository); err != nil {
		return worker.Message{}, nil, err
	}
	for _, name := range manifest.Keys(r.Refs) {
		if err := add(name, r.Refs[name]); err != nil {
			return worker.Message{}, nil, err
		}
	}
	m, err := worker.NewMessage(head, append(blobs, files...)...)
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

// sourceHost answers what the rendering of a source asks for.
type sourceHost struct {
	request source.Request
	views   []*tree.View
}

// ofChart is a chart that is asked for.
type ofChart struct{ Repository, Name, Version string }

func (h *sourceHost) answer(ctx context.Context, kind string, m worker.Message) (worker.Message, error) {
	var q ofTree
	var chart ofChart
	remote := h.request.Remote
	switch {
	case kind == "read":
		return readTree(ctx, h.views, m)
	case kind == "url" && len(m.Blobs) == 1 && h.request.URL != nil:
		return worker.NewMessage(nil, []byte(h.request.URL(string(m.Blobs[0]))))
	case remote == nil:
	case kind == "git" && m.Decode(&q) == nil:
		if len(h.views) >= maxTrees {
			return worker.Message{}, errTrees
		}
		view, err := remote.Git(ctx, q.URL, q.Commit)
		if err != nil {
			return worker.Message{}, err
		}
		l, names, err := list(view, len(h.views))
		if err != nil {
			return worker.Message{}, err
		}
		h.views = append(h.views, view)
		return worker.NewMessage(l, packNames(names))
	case kind == "file" && m.Decode(&q) == nil:
		data, err := remote.File(ctx, q.URL)
		if err != nil {
			return worker.Message{}, err
		}
		return worker.NewMessage(nil, data)
	case kind == "chart" && m.Decode(&chart) == nil:
		files, err := remote.Chart(ctx, chart.Repository, chart.Name, chart.Version)
		if err != nil {
			return worker.Message{}, err
		}
		blobs := [][]byte{packNames(tree.Names(files))}
		for _, f := range files {
			blobs = append(blobs, f.Data)
		}
		return worker.NewMessage(nil, blobs...)
	}
	return worker.Message{}, errAnswer
}

// decodeRendered reads what a source has become.
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
		problem := source.Problem{Class: p.Class, Text: p.Text, Chart: p.Chart, Namespace: p.Namespace}
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
func renderSource(h *worker.Host, m worker.Message) (worker.Message, error) {
	r, err := decodeSource(&remoteSource{remote{h}}, m)
	if err != nil {
		return worker.Message{}, err
	}
	result := source.Render(context.Background(), r)
	head := rendered{Kind: result.Kind, Verdict: result.Verdict, Inputs: result.Inputs, Mentions: result.Mentions, Positions: make([]manifest.Position, len(result.Documents))}
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
		head.Problems = append(head.Problems, foundProblem{p.Class, p.Text, p.Chart, p.Namespace, p.Values != nil})
		if p.Values != nil {
			data, err := appendValue(nil, p.Values)
			if err != nil {
				return worker.Message{}, err
			}
			blobs = append(blobs, data)
		}
	}
	return worker.NewMessage(head, blobs...)
}

// decodeSource reads the request of a host.
func decodeSource(host *remoteSource, m worker.Message) (source.Request, error) {
	var head ofSource
	if err := m.Decode(&head); err != nil {
		return head.Request, err
	}
	r := head.Request
	n := len(head.Repositories)
	if len(m.Blobs) < 1+n || n == 0 {
		return r, errAnswer
	}
	spec, err := value(m.Blobs[0])
	if err != nil {
		return r, err
	}
	r.Spec, _ = spec.(map[string]any)
	files := m.Blobs[1+n:]
	r.Refs = map[string]source.Repository{}
	for i, from := range head.Repositories {
		to := from.Repository
		to.Err, to.Ref.Missing = asError(from.Err), asError(from.Missing)
		if from.View != nil {
			names := unpackNames(m.Blobs[1+i])
			read := host.reader(from.View.Tree)
			if from.Whole {
				if len(files) != len(names) {
					return r, errAnswer
				}
				content := make(map[string][]byte, len(names))
				for j, name := range names {
					content[name] = files[j]
				}
				read = func(_ context.Context, name string) ([]byte, error) { return content[name], nil }
			}
			if to.View, err = from.View.view(names, read); err != nil {
				return r, err
			}
		}
		if from.Name == "" {
			r.Repository = to
		} else {
			r.Refs[from.Name] = to
		}
	}
	if head.Named {
		r.URL = host.url
	}
	if head.Remote {
		r.Remote = host
	}
	return r, nil
}

// remoteSource is, in a worker, what its host has for a source.
type remoteSource struct{ remote }

var _ rendering.Remote = (*remoteSource)(nil)

// url is what the host calls a file.
func (r *remoteSource) url(name string) string {
	m, err := r.host.Ask("url", worker.Message{Head: []byte("null"), Blobs: [][]byte{[]byte(name)}})
	if err != nil || len(m.Blobs) != 1 {
		return name
	}
	return string(m.Blobs[0])
}

// Git implements render.Remote.
func (r *remoteSource) Git(_ context.Context, url, revision string) (*tree.View, error) {
	var l listing
	m, err := r.ask("git", ofTree{URL: url, Commit: revision}, &l)
	if err == nil && len(m.Blobs) != 1 {
		err = errAnswer
	}
	if err != nil {
		return nil, err
	}
	return l.view(unpackNames(m.Blobs[0]), r.reader(l.Tree))
}

// File implements render.Remote.
func (r *remoteSource) File(_ context.Context, url string) ([]byte, error) {
	m, err := r.ask("file", ofTree{URL: url}, new(any))
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
	m, err := r.ask("chart", ofChart{repository, name, version}, new(any))
	if err != nil {
		return nil, err
	}
	if len(m.Blobs) == 0 {
		return nil, errAnswer
	}
	names := unpackNames(m.Blobs[0])
	if len(names) != len(m.Blobs)-1 {
		return nil, errAnswer
	}
	files := make([]tree.File, len(names))
	for i, name := range names {
		files[i] = tree.File{Name: name, Data: m.Blobs[1+i]}
	}
	return files, nil
}
