package cmp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cmp/pluginpb"
	"github.com/argosy-cd/argosy/internal/words"
)

func stalled(after time.Duration) error {
	return &coded{codes.DeadlineExceeded, fmt.Errorf("the repository is not complete, and Argo CD has sent nothing for %s", after)}
}

// head reads the first message of a request. If none comes, the end of the request ends the read.
func (s *service) head(in stream) (*pluginpb.AppStreamRequest, error) {
	type result struct {
		m   *pluginpb.AppStreamRequest
		err error
	}
	got := make(chan result, 1)
	go func() {
		m, err := in.Recv()
		got <- result{m, err}
	}()
	timer := time.NewTimer(s.cfg.Stall)
	defer timer.Stop()
	select {
	case r := <-got:
		if status.Code(r.err) == codes.ResourceExhausted {
			return nil, &coded{
				codes.ResourceExhausted,
				fmt.Errorf("the parameters of the application have more than %d MiB, as Argo CD sends them", maxMessageSize>>20),
			}
		}
		return r.m, r.err
	case <-timer.C:
		return nil, stalled(s.cfg.Stall)
	}
}

// receive reads the head of a request, and keeps the parts that an answer needs. A refused head is an error in the Request: the rest of the
// stream must still be read.
func (s *service) receive(in stream, method Method, reads func(argo.Call) bool) (*Request, error) {
	c := connOf(in.Context())
	c.begin()
	defer c.end()
	first, err := s.head(in)
	if err != nil {
		return nil, err
	}
	meta := first.GetMetadata()
	if meta == nil {
		return nil, &coded{codes.InvalidArgument, errors.New("the request does not begin with its metadata")}
	}
	r := s.request(meta, method)
	size := proto.Size(meta)
	if err := s.heads.take(r.Project, size); err != nil {
		r.Call, r.Dir, r.err = argo.Call{Project: r.Project, Revision: r.Revision}, ".", err
		r.upload.unread = true
		return r, nil
	}
	r.head = size
	switch {
	case method == MethodMatch && reads(r.Call):
		r.upload.toReader()
	case r.err != nil || reads != nil && !reads(r.Call):
		r.upload.unread = true
	case meta.GetSize() > s.cfg.MaxUpload && method != MethodMatch:
		r.upload.refuse(tooLarge(meta.GetSize(), s.cfg.MaxUpload))
	}
	return r, nil
}

// request returns the request that a head describes.
func (s *service) request(meta *pluginpb.Metadata, method Method) *Request {
	env := make(map[string]string, len(meta.GetEnv()))
	for _, v := range meta.GetEnv() {
		env[v.GetName()] = v.GetValue()
	}
	r := &Request{Dir: path.Clean(path.Join(".", meta.GetAppRelPath())), name: env["ARGOCD_APP_NAME"]}
	r.Doing("waiting for the answer to the same request")
	r.Call, r.err = argo.NewCall(func(name string) string { return env[name] }, s.plugin.Parameters)
	if !fs.ValidPath(r.Dir) {
		r.err = fmt.Errorf("path %q is outside of the repository", words.Shorten(meta.GetAppRelPath(), maxMessage))
	}
	if method == MethodGenerate {
		r.key = key(env, r.Dir, meta.GetChecksum())
	}
	r.upload = &upload{
		checksum: meta.GetChecksum(), limit: s.cfg.MaxUpload, said: meta.GetSize(), budget: s.memory, dir: s.cfg.TempDir,
		ended: make(chan struct{}), stalled: make(chan struct{}),
	}
	r.upload.units = unitsOf(meta.GetSize(), s.cfg.MaxUpload)
	return r
}

// receive reads a stream to its end, and closes stalled if no data arrives for that time.
func (u *upload) receive(in stream, stall time.Duration) {
	timer := time.AfterFunc(stall, sync.OnceFunc(func() {
		close(u.stalled)
		if u.writer != nil {
			_ = u.writer.CloseWithError(stalled(stall))
		}
	}))
	defer timer.Stop()
	for {
		timer.Reset(stall)
		m, err := in.Recv()
		timer.Stop()
		if errors.Is(err, io.EOF) {
			u.finish(nil)
			return
		}
		if err != nil {
			u.finish(fmt.Errorf("%w: %w", errGone, err))
			return
		}
		u.write(m.GetFile().GetChunk())
	}
}
