package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/worker"
)

// Expand implements appsetplugin.Evaluator.
func (w Workers) Expand(ctx context.Context, e appsetplugin.Evaluation) (*appset.Expanded, error) {
	x := expansion{
		Call: e.Call, Dir: e.Dir, Namespace: e.Namespace, Default: e.Expansion.Namespace, Keep: e.Expansion.Keep,
		Deployed: e.Expansion.Deployed, Pinned: e.Expansion.Pinned,
	}
	host := &expandHost{}
	if engine, ok := e.Expansion.Engine.(appset.Configurable); !ok {
		host.engine = e.Expansion.Engine
	} else {
		c := engine.Config(ctx)
		x.Embedded, x.EngineNamespace, x.AllowEmpty, x.MaxSets, x.Version, x.Clusters, x.Git = true, c.Namespace, c.AllowEmpty, c.MaxSets,
			c.Version, c.Clusters != nil, c.Git != nil
		x.APIs = c.APIs != nil
		host.clusters, host.git, host.apis = c.Clusters, c.Git, c.APIs
	}
	what := "reading the parameter spec"
	if appsetplugin.Reads(e.Call) {
		what = "reading the repository"
		if e.Archive == nil {
			return nil, errors.New("a worker needs the repository as an archive")
		}
		// Before a worker is taken.
		var err error
		if host.archive, err = e.Archive(ctx); err != nil {
			return nil, err
		}
	}
	head, err := worker.NewMessage(x)
	if err != nil {
		return nil, err
	}
	warnings := []string(nil)
	host.warn = func(lines []string) { warnings = lines }
	m, err := w.Pool.Do(ctx, worker.Job{
		Kind: kindExpand, What: what, Message: head, Doing: e.Doing, Answer: host.answer,
		Cost: costOfExpanded, LargeAsks: host.engine != nil, Owner: e.Call.Project,
	})
	if err != nil {
		return &appset.Expanded{Warnings: generator.Warnings("", warnings...)}, err
	}
	return decodeExpanded(m)
}

// costOfExpanded is the memory that decodeExpanded takes.
func costOfExpanded(m worker.Message) (int64, error) {
	head, err := costOfHead(m)
	if err != nil {
		return 0, err
	}
	size, err := costOfObjects(m)
	return head + size, err
}

// decodeExpanded reads an answer that costOfExpanded has accepted.
func decodeExpanded(m worker.Message) (*appset.Expanded, error) {
	var head expanded
	if err := m.Decode(&head); err != nil || len(m.Blobs) != 1 {
		return nil, errAnswer
	}
	list, err := objects(m.Blobs[0])
	if err != nil || len(list) != len(head.Read) || !fewWarnings(head.Warnings, maxWarningTexts) {
		return nil, errAnswer
	}
	out := &appset.Expanded{
		Objects: list, Sets: head.Sets, Rendered: head.Rendered, Warnings: generator.Warnings("", head.Warnings...),
		Reads: make([][]appset.Read, len(list)),
	}
	for i, n := range head.Read {
		if n < 0 || n > len(head.Reads) {
			return nil, errAnswer
		}
		if n > 0 {
			out.Reads[i] = head.Reads[n-1]
		}
	}
	return out, nil
}

// expandHost answers the questions of an expansion.
type expandHost struct {
	archive  appsetplugin.Archive
	engine   appset.Engine // nil if the worker has it: then it must not be asked for templates
	clusters generator.Clusters
	git      generator.Repositories
	apis     generator.APIs
	asked    int // of apis
	trees    []generator.Tree
	warn     func([]string)
}

func (h *expandHost) answer(ctx context.Context, ask worker.Question, m worker.Message) (worker.Message, error) {
	var q question
	switch ask {
	case askArchive:
		if h.archive.ReaderAt == nil {
			return worker.Message{}, errAnswer
		}
		return readArchive(h.archive, m)
	case askWarnings:
		if len(m.Blobs) != 1 {
			return worker.Message{}, errAnswer
		}
		lines := unpackNames(m.Blobs[0])
		if !fewWarnings(lines, maxFailureTexts) {
			return worker.Message{}, errAnswer
		}
		h.warn(lines)
		return empty()
	case askClusters:
		if h.clusters == nil {
			return worker.Message{}, errAnswer
		}
		list, err := h.clusters.Clusters(ctx)
		if err != nil {
			return worker.Message{}, err
		}
		return worker.NewMessage(list)
	case askSets:
		return h.generate(ctx, m)
	case askAPI:
		return h.api(ctx, m)
	}
	if err := m.Decode(&q); err != nil || h.git == nil {
		return worker.Message{}, errAnswer
	}
	if ask == askTree {
		return h.tree(ctx, q)
	}
	if q.Tree < 0 || q.Tree >= len(h.trees) {
		return worker.Message{}, errAnswer
	}
	switch t := h.trees[q.Tree]; ask {
	case askDirectories:
		list, err := t.Directories(ctx)
		if err != nil {
			return worker.Message{}, err
		}
		return worker.NewMessage(list)
	case askFiles:
		files, err := t.Files(ctx, q.Pattern)
		if err != nil {
			return worker.Message{}, err
		}
		names, blobs := manifest.Keys(files), [][]byte(nil)
		for _, name := range names {
			blobs = append(blobs, files[name])
		}
		return worker.NewMessage(names, blobs...)
	}
	return worker.Message{}, errAnswer
}

// api asks an API.
func (h *expandHost) api(ctx context.Context, m worker.Message) (worker.Message, error) {
	var q generator.Question
	if err := m.Decode(&q); err != nil || h.apis == nil {
		return worker.Message{}, errAnswer
	}
	if h.asked++; h.asked > maxAsked {
		return worker.Message{}, fmt.Errorf("the sets of one application ask APIs more than %d times", maxAsked)
	}
	a, err := h.apis.Ask(ctx, q)
	if err != nil {
		return worker.Message{}, err
	}
	return worker.NewMessage(a)
}

func (h *expandHost) tree(ctx context.Context, q question) (worker.Message, error) {
	if len(h.trees) >= maxTrees {
		return worker.Message{}, errTrees
	}
	t, err := h.git.Tree(ctx, q.URL, q.Revision)
	if err != nil {
		return worker.Message{}, err
	}
	o := opened{Tree: len(h.trees)}
	if c, ok := t.(generator.Committed); ok {
		commit := c.Commit()
		o.Commit = &commit
	}
	h.trees = append(h.trees, t)
	return worker.NewMessage(o)
}

// generate has the engine of the host render sets.
func (h *expandHost) generate(ctx context.Context, m worker.Message) (worker.Message, error) {
	var heads []set
	if h.engine == nil || len(m.Head) > maxSetHeads {
		return worker.Message{}, errAnswer
	}
	if err := m.Decode(&heads); err != nil || len(heads) != len(m.Blobs) {
		return worker.Message{}, errAnswer
	}
	sets, total := make([]appset.Set, len(heads)), int64(0)
	for i, s := range heads {
		size, err := memory(m.Blobs[i])
		if total += size; err != nil || total > maxSpecs {
			return worker.Message{}, errAnswer
		}
		spec, err := value(m.Blobs[i])
		o, ok := spec.(map[string]any)
		if err != nil || !ok {
			return worker.Message{}, errAnswer
		}
		sets[i] = appset.Set{Name: s.Name, Namespace: s.Namespace, Wave: s.Wave, Position: s.Position, Spec: o}
	}
	res, err := h.engine.Generate(ctx, sets...)
	if err != nil {
		return worker.Message{}, err
	}
	var blobs [][]byte
	for _, list := range res.Applications {
		data, err := encodeObjects(list)
		if err != nil {
			return worker.Message{}, err
		}
		blobs = append(blobs, data)
	}
	return worker.NewMessage(generated{res.Reads, generator.Texts(res.Warnings)}, blobs...)
}

// fewWarnings reports whether warnings are within the limits of boundWarnings.
func fewWarnings(lines []string, texts int) bool {
	for _, line := range lines {
		texts -= len(line)
	}
	return len(lines) <= maxWarnings && texts >= 0
}
