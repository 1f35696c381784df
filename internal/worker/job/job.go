// Package job is the work on untrusted input, done by workers: they turn documents, templates and charts into objects, and decide
// nothing. In plugins, the input comes from the authors of applications; in commands that people run, from the authors of what is fetched.
//
// The host sends a worker its input, and answers its questions during the job: clusters, Git repositories, the repository that Argo CD
// sent. Each answer passes the checks of the host, as if the host itself had asked. Results are data, read within limits.
package job

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/worker"
)

// Workers do the work. It is an evaluator of the appset plugin.
type Workers struct{ Pool *worker.Pool }

// Kinds of jobs.
const (
	kindExpand  worker.Kind = "expand"
	kindCompare worker.Kind = "compare"
	kindSources worker.Kind = "sources" // reads a trigger file
	kindRender  worker.Kind = "render"  // renders what is in S3
	kindSource  worker.Kind = "source"  // renders the source of an Application
)

// Handlers are the handlers of all jobs.
func Handlers() map[worker.Kind]worker.Handler {
	return map[worker.Kind]worker.Handler{
		kindExpand: expand, kindCompare: small(compare), kindSources: small(sources), kindRender: render,
		kindSource: new(listed).renderSource,
	}
}

// small refuses answers that the host would refuse.
func small(handler worker.Handler) worker.Handler {
	return func(h *worker.Host, m worker.Message) (worker.Message, error) {
		m, err := handler(h, m)
		size := len(m.Head)
		for _, b := range m.Blobs {
			size += len(b)
		}
		if limit := worker.MaxSmall - 1<<10; err == nil && size > limit {
			return worker.Message{}, fmt.Errorf("the answer has %d bytes, and the limit is %d", size, limit)
		}
		return m, err
	}
}

// maxHead bounds the bytes of all but the objects in an answer.
const maxHead = 8 << 20

// newAnswer returns an answer, which may be large.
func newAnswer(head any, blobs ...[]byte) (worker.Message, error) {
	m, err := worker.NewMessage(head, blobs...)
	if err == nil && len(m.Head) > maxHead {
		err = fmt.Errorf("the problems and warnings about it have %d bytes, and the limit is %d", len(m.Head), maxHead)
	}
	return m, err
}

// costOfHead is the memory that the head of an answer takes at most: an empty object in a list is two bytes and a comma.
func costOfHead(m worker.Message) (int64, error) {
	if len(m.Head) > maxHead {
		return 0, errAnswer
	}
	return 32 * int64(len(m.Head)), nil
}

// errAnswer says that a worker sent something else than it should.
var errAnswer = errors.New("a worker's answer is not valid")

// empty is a message without content.
func empty() (worker.Message, error) { return worker.NewMessage(nil) }

// chunk is how much of an archive is sent at once.
const chunk = 1 << 20

// askArchive asks for the bytes of the archive at a part.
const askArchive worker.Question = "archive"

// part is a place in an archive.
type part struct {
	Offset int64 `json:"offset"`
}

// readArchive answers with a part of an archive.
func readArchive(a appsetplugin.Archive, m worker.Message) (worker.Message, error) {
	var p part
	if err := m.Decode(&p); err != nil || p.Offset < 0 || p.Offset > a.Size {
		return worker.Message{}, errAnswer
	}
	data := make([]byte, min(chunk, a.Size-p.Offset))
	if n, err := a.ReadAt(data, p.Offset); err != nil && (!errors.Is(err, io.EOF) || n < len(data)) {
		return worker.Message{}, err
	}
	return worker.NewMessage(nil, data)
}

// upload is, in a worker, the archive that its host has.
type upload struct {
	host *worker.Host
	at   int64
	rest []byte
	end  bool
}

// opener returns the archive of a host, from its beginning.
func opener(h *worker.Host) archive.Opener {
	return func(context.Context) (io.Reader, error) { return &upload{host: h}, nil }
}

func (u *upload) Read(p []byte) (int, error) {
	if len(u.rest) == 0 && !u.end {
		question, err := worker.NewMessage(part{u.at})
		if err != nil {
			return 0, err
		}
		answer, err := u.host.Ask(askArchive, question)
		if err != nil {
			return 0, err
		}
		if len(answer.Blobs) == 1 {
			u.rest = answer.Blobs[0]
		}
		u.at += int64(len(u.rest))
		u.end = len(u.rest) < chunk
	}
	if len(u.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// received says where a problem with an archive comes from.
func received(err error) error {
	if err == nil || worker.Asked(err) {
		return err
	}
	return fmt.Errorf("the repository that Argo CD sent: %w", err)
}
