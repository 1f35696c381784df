package job

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/worker"
)

// expansion is the head of a job that expands sets.
type expansion struct {
	Call            argo.Call        `json:"call"`
	Dir             string           `json:"dir"`
	Namespace       string           `json:"namespace"`
	Default         string           `json:"default"`
	Keep            bool             `json:"keep"`
	Deployed        bool             `json:"deployed"`
	Pinned          bool             `json:"pinned"`
	Embedded        bool             `json:"embedded"` // the engine is that of this program; otherwise the host has it
	EngineNamespace string           `json:"engineNamespace,omitempty"`
	AllowEmpty      bool             `json:"allowEmpty"`
	MaxSets         int              `json:"maxSets"`
	Version         versions.Version `json:"version"`
	Clusters, Git   bool
	APIs            bool
}

// expanded is the head of the answer. Its blob has the objects.
type expanded struct {
	Sets     int      `json:"sets"`
	Rendered int      `json:"rendered"`
	Warnings []string `json:"warnings,omitempty"`
	// Reads are those of sets, and Read says for each object which it has; 0 is none.
	Reads [][]appset.Read `json:"reads,omitempty"`
	Read  []int           `json:"read,omitempty"`
}

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
		Kind: "expand", What: what, Message: head, Doing: e.Doing, Answer: host.answer,
		Cost: costOfExpanded, LargeAsks: host.engine != nil, Owner: e.Call.Project,
	})
	if err != nil {
		return &appset.Expanded{Warnings: warnings}, err
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
		Objects: list, Sets: head.Sets, Rendered: head.Rendered, Warnings: head.Warnings,
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

// expandHost answers what the expansion of sets asks for.
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

// Limits of one expansion.
const (
	maxTrees = 200
	maxAsked = 2_000
	// maxWarnings bounds the warnings, and maxWarningTexts their bytes. maxFailureTexts is for those that go with an error, as a question.
	maxWarnings     = 1000
	maxWarningTexts = 256 << 10
	maxFailureTexts = 32 << 10
	// maxSpecs bounds the memory of sets for the engine of the host, and maxSetHeads the bytes of their names.
	maxSpecs    = 64 << 20
	maxSetHeads = 1 << 20
)

// errTrees says that one job reads too many repositories.
var errTrees = fmt.Errorf("one application reads more than %d repositories", maxTrees)

// question is the head of what an expansion asks for.
type question struct {
	URL      string `json:"url,omitempty"`
	Revision string `json:"revision,omitempty"`
	Tree     int    `json:"tree,omitempty"`
	Pattern  string `json:"pattern,omitempty"`
}

// opened is the head of the answer that a repository was found.
type opened struct {
	Tree   int     `json:"tree"`
	Commit *string `json:"commit,omitempty"`
}

func (h *expandHost) answer(ctx context.Context, kind string, m worker.Message) (worker.Message, error) {
	var q question
	switch kind {
	case "archive":
		if h.archive.ReaderAt == nil {
			return worker.Message{}, errAnswer
		}
		return readArchive(h.archive, m)
	case "warnings":
		if len(m.Blobs) != 1 {
			return worker.Message{}, errAnswer
		}
		lines := unpackNames(m.Blobs[0])
		if !fewWarnings(lines, maxFailureTexts) {
			return worker.Message{}, errAnswer
		}
		h.warn(lines)
		return empty()
	case "clusters":
		if h.clusters == nil {
			return worker.Message{}, errAnswer
		}
		list, err := h.clusters.Clusters(ctx)
		if err != nil {
			return worker.Message{}, err
		}
		return worker.NewMessage(list)
	case "sets":
		return h.generate(ctx, m)
	case "api":
		return h.api(ctx, m)
	}
	if err := m.Decode(&q); err != nil || h.git == nil {
		return worker.Message{}, errAnswer
	}
	if kind == "tree" {
		return h.tree(ctx, q)
	}
	if q.Tree < 0 || q.Tree >= len(h.trees) {
		return worker.Message{}, errAnswer
	}
	switch t := h.trees[q.Tree]; kind {
	case "directories":
		list, err := t.Directories(ctx)
		if err != nil {
			return worker.Message{}, err
		}
		return worker.NewMessage(list)
	case "files":
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
	if c, ok := t.(interface{ Commit() string }); ok {
		commit := c.Commit()
		o.Commit = &commit
	}
	h.trees = append(h.trees, t)
	return worker.NewMessage(o)
}

// set is an ApplicationSet without its spec.
type set struct {
	Name, Namespace, Wave string
	Position              manifest.Position
}

// generated is the head of the answer of another engine. Its blobs are the Applications of each set.
type generated struct {
	Reads    [][]appset.Read `json:"reads,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
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
	return worker.NewMessage(generated{res.Reads, res.Warnings}, blobs...)
}

// expand is the job in the worker.
func expand(h *worker.Host, m worker.Message) (worker.Message, error) {
	var x expansion
	if err := m.Decode(&x); err != nil {
		return worker.Message{}, err
	}
	remote := &remote{h}
	e := appsetplugin.Evaluation{
		Call: x.Call, Dir: x.Dir, Namespace: x.Namespace, Doing: h.Doing,
		Expansion: appset.Expansion{Namespace: x.Default, Keep: x.Keep, Deployed: x.Deployed, Pinned: x.Pinned, Engine: remote},
		Repository: func(ctx context.Context) (*tree.View, error) {
			v, err := archive.View(ctx, opener(h), archive.RepositoryLimits)
			return v, received(err)
		},
	}
	if x.Embedded {
		c := appset.Config{Namespace: x.EngineNamespace, AllowEmpty: x.AllowEmpty, MaxSets: x.MaxSets, Version: x.Version}
		if x.Clusters {
			c.Clusters = remote
		}
		if x.Git {
			c.Git = remote
		}
		if x.APIs {
			c.APIs = remote
		}
		e.Expansion.Engine = appset.Embedded(c)
	}
	out, err := appsetplugin.Here{}.Expand(context.Background(), e)
	if err != nil {
		if len(out.Warnings) > 0 {
			_, askErr := h.Ask("warnings", worker.Message{
				Head:  []byte("null"),
				Blobs: [][]byte{packNames(boundWarnings(out.Warnings, maxFailureTexts))},
			})
			err = errors.Join(err, askErr)
		}
		return worker.Message{}, err
	}
	return encodeExpanded(out)
}

// boundWarnings leaves out warnings that are too many or too long, and says how many.
func boundWarnings(lines []string, texts int) []string {
	out := make([]string, 0, min(len(lines), maxWarnings))
	for i, line := range lines {
		line = strings.ToValidUTF8(line, "\ufffd") // as JSON has it
		more := fmt.Sprintf("%d more warnings are left out", len(lines)-i)
		last := i == len(lines)-1
		if texts < len(line) || !last && (len(out) == maxWarnings-1 || texts < len(line)+len(more)) {
			return append(out, more)
		}
		texts -= len(line)
		out = append(out, line)
	}
	return out
}

// fewWarnings reports whether warnings are within the limits of boundWarnings.
func fewWarnings(lines []string, texts int) bool {
	for _, line := range lines {
		texts -= len(line)
	}
	return len(lines) <= maxWarnings && texts >= 0
}

func encodeExpanded(out *appset.Expanded) (worker.Message, error) {
	head := expanded{
		Sets: out.Sets, Rendered: out.Rendered, Warnings: boundWarnings(out.Warnings, maxWarningTexts),
		Read: make([]int, len(out.Objects)),
	}
	known := map[*appset.Read]int{}
	for i, reads := range out.Reads {
		if len(reads) == 0 {
			continue
		}
		// All Applications of a set have the same list.
		n := known[&reads[0]]
		if n == 0 {
			head.Reads = append(head.Reads, reads)
			n = len(head.Reads)
			known[&reads[0]] = n
		}
		head.Read[i] = n
	}
	data, err := encodeObjects(out.Objects)
	if err != nil {
		return worker.Message{}, err
	}
	return newAnswer(head, data)
}

// remote is, in a worker, what its host knows.
type remote struct{ host *worker.Host }

func (r *remote) ask(kind string, head, answer any) (worker.Message, error) {
	m, err := worker.NewMessage(head)
	if err != nil {
		return m, err
	}
	if m, err = r.host.Ask(kind, m); err != nil {
		return m, err
	}
	return m, m.Decode(answer)
}

// Clusters implements generator.Clusters.
func (r *remote) Clusters(context.Context) (list []generator.Cluster, err error) {
	_, err = r.ask("clusters", nil, &list)
	return list, err
}

// Tree implements generator.Repositories.
func (r *remote) Tree(_ context.Context, url, revision string) (generator.Tree, error) {
	var o opened
	if _, err := r.ask("tree", question{URL: url, Revision: revision}, &o); err != nil {
		return nil, err
	}
	t := &remoteTree{r, o.Tree}
	if o.Commit != nil {
		return &remoteCommit{t, *o.Commit}, nil
	}
	return t, nil
}

// Ask implements generator.APIs.
func (r *remote) Ask(_ context.Context, q generator.Question) (*generator.Answer, error) {
	a := &generator.Answer{}
	_, err := r.ask("api", q, a)
	return a, err
}

// Generate implements appset.Engine.
func (r *remote) Generate(_ context.Context, sets ...appset.Set) (*appset.Result, error) {
	var heads []set
	var blobs [][]byte
	for _, s := range sets {
		heads = append(heads, set{s.Name, s.Namespace, s.Wave, s.Position})
		data, err := appendValue(nil, s.Spec)
		if err != nil {
			return nil, err
		}
		blobs = append(blobs, data)
	}
	m, err := worker.NewMessage(heads, blobs...)
	if err != nil {
		return nil, err
	}
	if m, err = r.host.AskLarge("sets", m); err != nil {
		return nil, err
	}
	var head generated
	if err := m.Decode(&head); err != nil {
		return nil, err
	}
	res := &appset.Result{Reads: head.Reads, Warnings: head.Warnings}
	for _, b := range m.Blobs {
		list, err := objects(b)
		if err != nil {
			return nil, err
		}
		res.Applications = append(res.Applications, list)
	}
	return res, nil
}

// remoteTree is a repository of the host.
type remoteTree struct {
	*remote
	tree int
}

// Directories implements generator.Tree.
func (t *remoteTree) Directories(context.Context) (list []string, err error) {
	_, err = t.ask("directories", question{Tree: t.tree}, &list)
	return list, err
}

// Files implements generator.Tree.
func (t *remoteTree) Files(_ context.Context, pattern string) (map[string][]byte, error) {
	var names []string
	m, err := t.ask("files", question{Tree: t.tree, Pattern: pattern}, &names)
	if err != nil {
		return nil, err
	}
	if len(names) != len(m.Blobs) {
		return nil, errAnswer
	}
	files := make(map[string][]byte, len(names))
	for i, name := range names {
		files[name] = m.Blobs[i]
	}
	return files, nil
}

// remoteCommit is one whose commit is known.
type remoteCommit struct {
	*remoteTree
	commit string
}

// Commit is what its revision stood for.
func (t *remoteCommit) Commit() string { return t.commit }
