// Package cmp is Argo CD's plugin protocol: it serves config management plugins on Unix sockets, as argocd-cmp-server does,
// but in process.
//
// It promises that an answer is all or nothing and an error is one line; that a request ends before its deadline, and says
// what was slow; that identical requests which wait are answered by one call, never by one that began before they arrived;
// that no more than so many calls run at once, and that no project and no plugin can take them all from others; and that a
// panic or a client that goes away hurts one request only. What a client sends is not trusted: size, checksum, names and
// number of files are checked, and only what the plugin wants of a repository is unpacked, into memory.
package cmp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cmp/pluginpb"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Plugin is a plugin, which has its own socket.
type Plugin struct {
	Name    string
	Version string // "" is none
	// Discover is the file in an application's directory that makes the application this plugin's. "" is none: the plugin
	// must be named.
	Discover   string
	Parameters []argo.Parameter
	// Reads reports whether an answer needs the repository. Nil is always.
	Reads func(argo.Call) bool
	// Generate returns the objects of an application. Argo CD deletes live objects that are missing from it.
	Generate func(ctx context.Context, r *Request) ([]manifest.Object, error)
}

// Method is what Argo CD asks a plugin for.
type Method string

// Methods.
const (
	MethodGenerate   Method = "generate"   // the objects of an application
	MethodMatch      Method = "match"      // whether an application is the plugin's
	MethodParameters Method = "parameters" // which parameters there are
)

// Event is a request that was answered.
type Event struct {
	Plugin   string
	Method   Method
	App      string // as Argo CD names it; with its namespace if that is not Argo CD's
	Revision string
	Objects  int
	Shared   bool // answered by the call of another request
	Took     time.Duration
	Waited   time.Duration // for a free slot
	Bytes    int64         // of the repository
	Err      error
	Code     codes.Code
	Stack    []byte // of a panic
}

// service is a plugin's side of the protocol.
type service struct {
	pluginpb.UnimplementedConfigManagementPluginServiceServer
	plugin  Plugin
	cfg     Config
	slots   *gate // for calls of plugins
	uploads *gate // for repositories that are being received, or are kept for a call
	looks   *gate // for discovery, which unpacks repositories in this process
	memory  *budget
	heads   *heads
	calls   flight.Group[answer]
}

type answer struct {
	manifests []string
	waited    time.Duration
}

// CheckPluginConfiguration says whether the plugin wants to see repositories that do not name it.
func (s *service) CheckPluginConfiguration(context.Context, *emptypb.Empty) (*pluginpb.CheckPluginConfigurationResponse, error) {
	return &pluginpb.CheckPluginConfigurationResponse{IsDiscoveryConfigured: s.plugin.Discover != ""}, nil
}

type stream interface {
	Context() context.Context
	Recv() (*pluginpb.AppStreamRequest, error)
}

// GenerateManifest answers with the objects of an application.
func (s *service) GenerateManifest(stream grpc.ClientStreamingServer[pluginpb.AppStreamRequest, pluginpb.ManifestResponse]) error {
	var got answer
	err := s.handle(stream, MethodGenerate, s.plugin.Reads, func(ctx context.Context, r *Request, e *Event) (err error) {
		if r.err != nil {
			return r.err
		}
		got, e.Shared, err = s.share(ctx, r)
		e.Objects, e.Waited = len(got.manifests), got.waited
		return err
	})
	if err != nil {
		return err
	}
	return stream.SendAndClose(&pluginpb.ManifestResponse{Manifests: got.manifests})
}

// MatchRepository says whether an application is for this plugin.
func (s *service) MatchRepository(stream grpc.ClientStreamingServer[pluginpb.AppStreamRequest, pluginpb.RepositoryResponse]) error {
	found := false
	err := s.handle(stream, MethodMatch, s.discovers, func(ctx context.Context, r *Request, _ *Event) (err error) {
		if s.plugin.Discover == "" {
			return nil
		}
		if r.upload.reader == nil { // refused
			return r.err
		}
		r.Doing("waiting for its turn behind other requests")
		pass, err := s.looks.enter(ctx, s.tenant(r), 1)
		if err != nil {
			return err
		}
		defer pass.leave()
		r.Doing("looking for " + s.plugin.Discover)
		found, err = archive.Has(&stoppable{ctx, r.upload.stream()}, path.Join(r.Dir, s.plugin.Discover))
		return err
	})
	if err != nil && stream.Context().Err() != nil {
		return err
	}
	// If this request fails, Argo CD renders the directory as plain manifests, and deletes what the plugin has deployed. So an error counts
	// as a match: the plugin's own answer will then be the error.
	//
	// Without the file, discovery is reported as off: then Argo CD still calls the plugin for an application that names it, and shows the
	// plugin's error, and not only that no plugin was found.
	found = found || err != nil
	return stream.SendAndClose(&pluginpb.RepositoryResponse{IsSupported: found, IsDiscoveryEnabled: found})
}

// discovers reports whether the plugin looks for a file.
func (s *service) discovers(argo.Call) bool { return s.plugin.Discover != "" }

// GetParametersAnnouncement says which parameters there are.
func (s *service) GetParametersAnnouncement(stream grpc.ClientStreamingServer[pluginpb.AppStreamRequest,
	pluginpb.ParametersAnnouncementResponse],
) error {
	no := func(argo.Call) bool { return false }
	if err := s.handle(stream, MethodParameters, no, func(context.Context, *Request, *Event) error { return nil }); err != nil {
		return err
	}
	out := &pluginpb.ParametersAnnouncementResponse{}
	for _, p := range s.plugin.Parameters {
		out.ParameterAnnouncements = append(out.ParameterAnnouncements, &pluginpb.ParameterAnnouncement{
			Name: p.Name, Title: p.Title, Tooltip: p.Help, ItemType: "string", CollectionType: "string", String_: p.Default,
		})
	}
	return stream.SendAndClose(out)
}

// handle reads a request to its end and calls do; at once if the repository is not kept. The answer waits for the end of the request: Argo
// CD reads no answer before it has sent everything.
func (s *service) handle(in stream, method Method, reads func(argo.Call) bool,
	do func(context.Context, *Request, *Event) error,
) (err error) {
	began := s.cfg.Now()
	e := Event{Plugin: s.plugin.Name, Method: method}
	defer func() {
		e.Err, e.Took = err, s.cfg.Now().Sub(began)
		var p *flight.PanicError
		if errors.As(err, &p) {
			e.Stack = p.Stack
		}
		e.Code, err = failure(err)
		s.cfg.Observe(e)
	}()
	limit := s.cfg.Timeout
	if deadline, ok := in.Context().Deadline(); ok {
		// Time for the answer to be heard.
		limit = min(limit, deadline.Sub(began)-min(time.Second, deadline.Sub(began)/10))
	}
	ctx, cancel := context.WithTimeout(in.Context(), limit)
	defer cancel()
	r, err := s.receive(in, method, reads)
	if err != nil {
		return err
	}
	defer s.heads.give(r.Project, r.head)
	e.App, e.Revision = r.name, r.Revision
	err = s.work(ctx, in, r, func() error { return do(ctx, r, &e) })
	e.Bytes = r.upload.size()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && in.Context().Err() == nil && err != nil {
		err = &coded{codes.DeadlineExceeded, fmt.Errorf("not finished after %s: it was %s", limit.Round(time.Millisecond), r.doing())}
	}
	return err
}

// work receives the repository of a request and calls do. A repository that is kept is complete before that, so that a client that does not
// go on sending holds up its own project only.
func (s *service) work(ctx context.Context, in stream, r *Request, do func() error) error {
	kept := !r.upload.unread && r.upload.err == nil
	if kept {
		r.Doing("waiting until other repositories of the project are received")
		pass, err := s.uploads.enter(ctx, s.tenant(r), r.upload.units)
		if err != nil {
			return err
		}
		defer pass.leave()
	}
	defer r.upload.close()
	received := make(chan struct{})
	go func() {
		defer close(received)
		r.upload.receive(in, s.cfg.Stall)
	}()
	if kept {
		r.Doing("receiving the repository from Argo CD")
		select {
		case <-received:
		case <-r.upload.stalled:
			return stalled(s.cfg.Stall)
		case <-ctx.Done():
			return ctx.Err()
		}
		r.Doing("waiting for the answer to the same request")
	}
	_, err := flight.Safely(func() (struct{}, error) { return struct{}{}, do() })
	r.upload.done()
	select {
	case <-received:
	case <-r.upload.stalled:
		return stalled(s.cfg.Stall)
	case <-in.Context().Done():
		return in.Context().Err()
	}
	return err
}

// tenant is for whom a request is.
func (s *service) tenant(r *Request) tenantKey {
	return tenantKey{plugin: s.plugin.Name, project: r.Project}
}

// share answers a request, or lets the call of an identical request do so.
func (s *service) share(ctx context.Context, r *Request) (got answer, shared bool, err error) {
	for {
		got, shared, err = s.calls.Do(ctx, r.key, func(ctx context.Context) (answer, error) { return s.run(ctx, r) })
		// The request that was to bring the repository has gone; this one has it, too.
		if !shared || !errors.Is(err, errGone) || ctx.Err() != nil {
			return got, shared, err
		}
	}
}

// run calls the plugin when there is a free slot.
func (s *service) run(ctx context.Context, r *Request) (a answer, err error) {
	began := s.cfg.Now()
	r.Doing("waiting for its turn behind other requests")
	pass, err := s.slots.enter(ctx, s.tenant(r), 1)
	if err != nil {
		return a, err
	}
	defer pass.leave()
	a.waited = s.cfg.Now().Sub(began)
	// Not everything can be stopped.
	defer context.AfterFunc(ctx, pass.abandon)()
	r.Doing("generating")
	objects, err := s.plugin.Generate(ctx, r)
	if err != nil {
		return a, err
	}
	a.manifests, err = encode(objects)
	return a, err
}

// key is the same for requests that have the same answer.
func key(env map[string]string, dir, checksum string) string {
	h := sha256.New()
	write := func(texts ...string) {
		for _, text := range texts {
			fmt.Fprintf(h, "%d ", len(text))
			_, _ = io.WriteString(h, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		write(name, env[name])
	}
	write(dir, checksum)
	return hex.EncodeToString(h.Sum(nil))
}
