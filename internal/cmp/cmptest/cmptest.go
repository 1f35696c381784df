// Package cmptest is a client of config management plugins that does what Argo CD's repo-server does: a connection for
// each request, the plugin's configuration first, the repository as a gzipped tar in chunks of a kilobyte, and no look at
// the answer before everything is sent.
package cmptest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/argosy-cd/argosy/internal/cmp/pluginpb"
)

// Request is what Argo CD asks about an application.
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
	// Stopping is called before that. Nil is nothing.
	Stopping func()
	// Chunk is how many bytes a message has. Zero is 1024.
	Chunk int
	// Sent is called when everything is sent. Nil is nothing.
	Sent func()
}

// Pack packs files as the repo-server does.
func Pack(files map[string]string) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	must(err)
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		content := []byte(files[name])
		if to, ok := bytes.CutPrefix(content, []byte("-> ")); ok {
			h.Typeflag, h.Linkname, h.Size, content = tar.TypeSymlink, string(to), 0, nil
		}
		must(t.WriteHeader(h))
		_, err := t.Write(content)
		must(err)
	}
	must(t.Close())
	must(z.Close())
	return b.Bytes()
}

// must is for writers in memory.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Dial connects to a socket.
func Dial(socket string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(100<<20)))
}

func with[T any](socket string, f func(pluginpb.ConfigManagementPluginServiceClient) (T, error)) (T, error) {
	var zero T
	conn, err := Dial(socket)
	if err != nil {
		return zero, err
	}
	defer func() { _ = conn.Close() }()
	return f(pluginpb.NewConfigManagementPluginServiceClient(conn))
}

// Generate asks for the manifests of an application.
func Generate(ctx context.Context, socket string, r Request) ([]string, error) {
	return with(socket, func(c pluginpb.ConfigManagementPluginServiceClient) ([]string, error) {
		if _, err := c.CheckPluginConfiguration(ctx, &emptypb.Empty{}); err != nil {
			return nil, err
		}
		res, err := send(ctx, r, c.GenerateManifest)
		return res.GetManifests(), err
	})
}

// Match asks whether an application is for a plugin.
func Match(ctx context.Context, socket string, r Request) (*pluginpb.RepositoryResponse, error) {
	return with(socket, func(c pluginpb.ConfigManagementPluginServiceClient) (*pluginpb.RepositoryResponse, error) {
		return send(ctx, r, c.MatchRepository)
	})
}

// Parameters asks for the parameters of a plugin.
func Parameters(ctx context.Context, socket string, r Request) ([]*pluginpb.ParameterAnnouncement, error) {
	return with(socket, func(c pluginpb.ConfigManagementPluginServiceClient) ([]*pluginpb.ParameterAnnouncement, error) {
		res, err := send(ctx, r, c.GetParametersAnnouncement)
		return res.GetParameterAnnouncements(), err
	})
}

// Discovers asks whether a plugin wants to see repositories that do not name it.
func Discovers(ctx context.Context, socket string) (bool, error) {
	return with(socket, func(c pluginpb.ConfigManagementPluginServiceClient) (bool, error) {
		res, err := c.CheckPluginConfiguration(ctx, &emptypb.Empty{})
		return res.GetIsDiscoveryConfigured(), err
	})
}

// send sends a request in full and returns the answer.
func send[T any](ctx context.Context, r Request, open func(context.Context, ...grpc.CallOption) (grpc.ClientStreamingClient[pluginpb.AppStreamRequest, T], error)) (*T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := open(ctx)
	if err != nil {
		return nil, err
	}
	packed := r.Packed
	if packed == nil {
		packed = Pack(r.Files)
	}
	if err := stream.Send(&pluginpb.AppStreamRequest{Request: &pluginpb.AppStreamRequest_Metadata{Metadata: metadata(r, packed)}}); err != nil {
		return nil, fmt.Errorf("sending metadata: %w", err)
	}
	chunk := r.Chunk
	if chunk == 0 {
		chunk = 1024
	}
	sent := 0
	for part := range slices.Chunk(packed, chunk) {
		if err := stream.Send(&pluginpb.AppStreamRequest{Request: &pluginpb.AppStreamRequest_File{File: &pluginpb.File{Chunk: part}}}); err != nil {
			return nil, fmt.Errorf("sending the repository: %w", err)
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
	return stream.CloseAndRecv()
}

func metadata(r Request, packed []byte) *pluginpb.Metadata {
	sum := sha256.Sum256(packed)
	m := &pluginpb.Metadata{AppRelPath: r.Dir, Checksum: hex.EncodeToString(sum[:]), Size: int64(len(packed))}
	if r.Checksum != "" {
		m.Checksum = r.Checksum
	}
	if r.Size != 0 {
		m.Size = r.Size
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		m.Env = append(m.Env, &pluginpb.EnvEntry{Name: name, Value: r.Env[name]})
	}
	return m
}
