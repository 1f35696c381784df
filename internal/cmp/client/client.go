// Package client asks config management plugins as Argo CD's repo-server does: a connection for each request, the plugin's
// configuration first, the repository as a gzipped tar in chunks of a kilobyte, and the answer is read only after everything is sent.
package client

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/argosy-cd/argosy/internal/cmp/pluginpb"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Chunk is how many bytes of a repository a message has.
const Chunk = 1024

// Request is a request to a plugin about an application.
type Request struct {
	Dir string // of the application, in the repository
	Env map[string]string
	// Packed is the repository, as Pack makes it.
	Packed []byte
}

// Metadata is the first message of a request.
func (r Request) Metadata() *pluginpb.Metadata {
	sum := sha256.Sum256(r.Packed)
	m := &pluginpb.Metadata{AppRelPath: r.Dir, Checksum: hex.EncodeToString(sum[:]), Size: int64(len(r.Packed))}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		m.Env = append(m.Env, &pluginpb.EnvEntry{Name: name, Value: r.Env[name]})
	}
	return m
}

// Pack packs a repository: files, and links by name.
func Pack(files []tree.File, links map[string]string) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	must(err)
	t := tar.NewWriter(z)
	for _, f := range files {
		must(t.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o644, Size: int64(len(f.Data)), Typeflag: tar.TypeReg}))
		_, err := t.Write(f.Data)
		must(err)
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		must(t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeSymlink, Linkname: links[name]}))
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
	// As it is: a name with a # in it is no URL.
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return grpc.NewClient("passthrough:///plugin", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(100<<20)))
}

// With asks on a connection of its own.
func With[T any](socket string, ask func(pluginpb.ConfigManagementPluginServiceClient) (T, error)) (T, error) {
	var zero T
	conn, err := Dial(socket)
	if err != nil {
		return zero, err
	}
	defer func() { _ = conn.Close() }()
	return ask(pluginpb.NewConfigManagementPluginServiceClient(conn))
}

// Generate asks for the manifests of an application.
func Generate(ctx context.Context, socket string, r Request) ([]string, error) {
	return With(socket, func(c pluginpb.ConfigManagementPluginServiceClient) ([]string, error) {
		if _, err := c.CheckPluginConfiguration(ctx, &emptypb.Empty{}); err != nil {
			return nil, plain(err)
		}
		res, err := Send(ctx, c.GenerateManifest, r.Metadata(), slices.Chunk(r.Packed, Chunk))
		return res.GetManifests(), plain(err)
	})
}

// Match asks whether an application that names no plugin is this one's.
func Match(ctx context.Context, socket string, r Request) (bool, error) {
	return With(socket, func(c pluginpb.ConfigManagementPluginServiceClient) (bool, error) {
		config, err := c.CheckPluginConfiguration(ctx, &emptypb.Empty{})
		if err != nil || !config.GetIsDiscoveryConfigured() {
			return false, plain(err)
		}
		res, err := Send(ctx, c.MatchRepository, r.Metadata(), slices.Chunk(r.Packed, Chunk))
		return res.GetIsSupported(), plain(err)
	})
}

// plain is the message of a plugin's error, without the gRPC status.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(status.Convert(err).Message())
}

// Stream opens a request.
type Stream[T any] func(context.Context, ...grpc.CallOption) (grpc.ClientStreamingClient[pluginpb.AppStreamRequest, T], error)

// Send sends a request in full and returns the answer.
func Send[T any](ctx context.Context, open Stream[T], m *pluginpb.Metadata, chunks iter.Seq[[]byte]) (*T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := open(ctx)
	if err != nil {
		return nil, err
	}
	if err := stream.Send(&pluginpb.AppStreamRequest{Request: &pluginpb.AppStreamRequest_Metadata{Metadata: m}}); err != nil {
		return nil, sending(ctx, "metadata", err)
	}
	for part := range chunks {
		file := &pluginpb.AppStreamRequest_File{File: &pluginpb.File{Chunk: part}}
		if err := stream.Send(&pluginpb.AppStreamRequest{Request: file}); err != nil {
			return nil, sending(ctx, "the repository", err)
		}
	}
	return stream.CloseAndRecv()
}

// sending is why something could not be sent. As the repo-server, it does not ask a plugin that has ended the request for its reason; but
// if we have, that is it.
func sending(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return fmt.Errorf("sending %s: %w", what, err)
}
