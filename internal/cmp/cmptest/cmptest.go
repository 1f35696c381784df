// Package cmptest is the client of plugins for tests: it can also send what no repo-server would.
package cmptest

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/argosy-cd/argosy/internal/cmp/client"
	"github.com/argosy-cd/argosy/internal/cmp/pluginpb"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Request is a request of Argo CD about an application.
type Request struct {
	Dir string
	Env map[string]string
	// Files are the repository, by name. A value that starts with "-> " is a symbolic link.
	Files map[string]string
	// Packed is sent instead of Files.
	Packed []byte
	// Checksum is sent instead of the right one.
	Checksum string
	// Size is sent instead of the right one.
	Size int64
	// Stop ends the request after so many bytes, by cancelling it. Zero does not.
	Stop int
	// Stopping is called before that. Nil is not called.
	Stopping func()
	// Chunk is how many bytes a message has. Zero is the client's.
	Chunk int
	// Sent is called when everything is sent. Nil is not called.
	Sent func()
}

// Pack packs files as the repo-server does.
func Pack(files map[string]string) []byte {
	var plain []tree.File
	links := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if to, ok := strings.CutPrefix(files[name], "-> "); ok {
			links[name] = to
			continue
		}
		plain = append(plain, tree.File{Name: name, Data: []byte(files[name])})
	}
	return client.Pack(plain, links)
}

// Generate asks for the manifests of an application.
func Generate(ctx context.Context, socket string, r Request) ([]string, error) {
	return client.With(socket, func(c pluginpb.ConfigManagementPluginServiceClient) ([]string, error) {
		if _, err := c.CheckPluginConfiguration(ctx, &emptypb.Empty{}); err != nil {
			return nil, err
		}
		res, err := send(ctx, r, c.GenerateManifest)
		return res.GetManifests(), err
	})
}

// Match asks whether an application is for a plugin.
func Match(ctx context.Context, socket string, r Request) (*pluginpb.RepositoryResponse, error) {
	return client.With(socket, func(c pluginpb.ConfigManagementPluginServiceClient) (*pluginpb.RepositoryResponse, error) {
		return send(ctx, r, c.MatchRepository)
	})
}

// Parameters asks for the parameters of a plugin.
func Parameters(ctx context.Context, socket string, r Request) ([]*pluginpb.ParameterAnnouncement, error) {
	return client.With(socket, func(c pluginpb.ConfigManagementPluginServiceClient) ([]*pluginpb.ParameterAnnouncement, error) {
		res, err := send(ctx, r, c.GetParametersAnnouncement)
		return res.GetParameterAnnouncements(), err
	})
}

// Discovers asks whether a plugin wants to see repositories that do not name it.
func Discovers(ctx context.Context, socket string) (bool, error) {
	return client.With(socket, func(c pluginpb.ConfigManagementPluginServiceClient) (bool, error) {
		res, err := c.CheckPluginConfiguration(ctx, &emptypb.Empty{})
		return res.GetIsDiscoveryConfigured(), err
	})
}

// send sends a request, as far as it goes, and returns the answer.
func send[T any](ctx context.Context, r Request, open client.Stream[T]) (*T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	packed := r.Packed
	if packed == nil {
		packed = Pack(r.Files)
	}
	m := client.Request{Dir: r.Dir, Env: r.Env, Packed: packed}.Metadata()
	m.Checksum, m.Size = cmp.Or(r.Checksum, m.Checksum), cmp.Or(r.Size, m.Size)
	return client.Send(ctx, open, m, r.chunks(packed, cancel))
}

func (r Request) chunks(packed []byte, cancel func()) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		sent := 0
		for part := range slices.Chunk(packed, cmp.Or(r.Chunk, client.Chunk)) {
			if !yield(part) {
				return
			}
			if sent += len(part); r.Stop > 0 && sent >= r.Stop {
				if r.Stopping != nil {
					r.Stopping()
				}
				cancel()
				break
			}
		}
		if r.Sent != nil {
			r.Sent()
		}
	}
}
