package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	dir := flags.String("layout", "", "write an OCI layout to this directory, which must be empty")
	push := flags.String("push", "", "write to a registry, as NAME:TAG; the credentials are Docker's")
	b := build{binaries: map[string]string{}}
	flags.StringVar(&b.version, "version", "", "version, for a label")
	flags.StringVar(&b.revision, "revision", "", "commit, for a label")
	created := flags.Int64("created", 0, "time of the commit, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, arg := range flags.Args() {
		platform, file, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not PLATFORM=FILE", arg)
		}
		b.binaries[platform] = file
	}
	if len(b.binaries) == 0 || *dir == "" && *push == "" {
		return fmt.Errorf("needed: binaries, such as linux/amd64=argosy, and -layout or -push")
	}
	b.created = time.Unix(*created, 0).UTC()
	index, err := b.index(slices.Sorted(maps.Keys(b.binaries)))
	if err != nil {
		return err
	}
	if *dir != "" {
		if entries, err := os.ReadDir(*dir); err == nil && len(entries) > 0 {
			return fmt.Errorf("%s is not empty", *dir)
		}
		path, err := layout.Write(*dir, empty.Index)
		if err != nil {
			return err
		}
		if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": b.version})); err != nil {
			return err
		}
	}
	if *push != "" {
		ref, err := name.ParseReference(*push)
		if err != nil {
			return err
		}
		if err := remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithContext(ctx)); err != nil {
			return err
		}
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, digest)
	return err
}
