// Command image makes Argosy's image without a Docker daemon: static binaries and certificates, for several platforms, as an OCI layout
// and, with -push, in a registry. Equal binaries give equal bytes.
//
//	go run . -layout DIR [-push NAME:TAG] -version v1.2.3 -revision COMMIT linux/amd64=FILE linux/arm64=FILE
//
// The Dockerfile makes an image with the same configuration; a test compares them.
package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Files of the image.
const (
	program      = "usr/local/bin/argosy"
	certificates = "etc/ssl/certs/ca-certificates.crt"
)

// build is an image: what it is made from, and what its labels say.
type build struct {
	version, revision string
	created           time.Time
	binaries          map[string]string // platform → file
}

// configuration is that of a container.
func (b build) configuration() v1.Config {
	return v1.Config{
		Entrypoint: []string{"/" + program},
		// argocd-cmp-server finds the command of a plugin.yaml by it.
		Env:  []string{"PATH=/usr/local/bin"},
		User: "999:999",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "Argosy",
			"org.opencontainers.image.description": "Boot an Argo CD cluster in order, from whatever its manifests are stored in",
			"org.opencontainers.image.source":      "https://github.com/argosy-cd/argosy",
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.version":     b.version,
			"org.opencontainers.image.revision":    b.revision,
		},
	}
}

// index is an image for each platform, in the order of their names.
func (b build) index(platforms []string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, name := range platforms {
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return nil, err
		}
		image, err := b.image(*platform, b.binaries[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index, nil
}

func (b build) image(platform v1.Platform, file string) (v1.Image, error) {
	binary, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := suits(binary, platform); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, files := range [][]entry{{{certificates, 0o644, roots()}}, {{program, 0o755, binary}}} {
		data, err := archive(files, b.created)
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
			tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Created, config.Config = v1.Time{Time: b.created}, b.configuration()
	for i := range config.History {
		config.History[i].Created = v1.Time{Time: b.created}
	}
	return mutate.ConfigFile(image, config)
}

// suits refuses a binary of another platform, and one that needs a loader or libraries, which the image does not have.
func suits(binary []byte, platform v1.Platform) error {
	f, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return err
	}
	want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[platform.Architecture]
	if f.Machine != want || platform.OS != "linux" {
		return fmt.Errorf("it is a program for %s, not for %s", f.Machine, platform)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("it is not static: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// roots are the authorities that Mozilla trusts without conditions, at the version of go.mod. A file cannot express conditions.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
	}
	return b.Bytes()
}

type entry struct {
	name string
	mode int64
	data []byte
}

// archive is a tar of files and the directories above them, all of root.
func archive(files []entry, created time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	made := map[string]bool{}
	for _, f := range files {
		for i := range f.name {
			if dir := f.name[:i+1]; strings.HasSuffix(dir, "/") && !made[dir] {
				made[dir] = true
				if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: created}); err != nil {
					return nil, err
				}
			}
		}
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: created}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
