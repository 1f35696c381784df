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
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/worker"
)

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
		if warnings := generator.Texts(out.Warnings); len(warnings) > 0 {
			_, askErr := h.Ask(askWarnings, worker.Message{
				Head:  []byte("null"),
				Blobs: [][]byte{packNames(boundWarnings(warnings, maxFailureTexts))},
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

func encodeExpanded(out *appset.Expanded) (worker.Message, error) {
	head := expanded{
		Sets: out.Sets, Rendered: out.Rendered, Warnings: boundWarnings(generator.Texts(out.Warnings), maxWarningTexts),
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

// remote asks the host for clusters, APIs and repositories, in a worker.
type remote struct{ host *worker.Host }

func (r *remote) ask(q worker.Question, head, answer any) (worker.Message, error) {
	m, err := worker.NewMessage(head)
	if err != nil {
		return m, err
	}
	if m, err = r.host.Ask(q, m); err != nil {
		return m, err
	}
	return m, m.Decode(answer)
}

// Clusters implements generator.Clusters.
func (r *remote) Clusters(context.Context) (list []generator.Cluster, err error) {
	_, err = r.ask(askClusters, nil, &list)
	return list, err
}

// Tree implements generator.Repositories.
func (r *remote) Tree(_ context.Context, url, revision string) (generator.Tree, error) {
	var o opened
	if _, err := r.ask(askTree, question{URL: url, Revision: revision}, &o); err != nil {
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
	_, err := r.ask(askAPI, q, a)
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
	if m, err = r.host.AskLarge(askSets, m); err != nil {
		return nil, err
	}
	var head generated
	if err := m.Decode(&head); err != nil {
		return nil, err
	}
	res := &appset.Result{Reads: head.Reads, Warnings: generator.Warnings("", head.Warnings...)}
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
	_, err = t.ask(askDirectories, question{Tree: t.tree}, &list)
	return list, err
}

// Files implements generator.Tree.
func (t *remoteTree) Files(_ context.Context, pattern string) (map[string][]byte, error) {
	var names []string
	m, err := t.ask(askFiles, question{Tree: t.tree, Pattern: pattern}, &names)
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

var _ generator.Committed = (*remoteCommit)(nil)

// Commit implements generator.Committed.
func (t *remoteCommit) Commit() string { return t.commit }
