package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/argosy-cd/argosy/internal/tree"
)

// Pack makes an archive of files. Equal files make equal bytes: there are no owners, no times and one mode.
func Pack(name string, files []tree.File) ([]byte, error) {
	var plain bytes.Buffer
	t := tar.NewWriter(&plain)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(f.Data)), Mode: 0o644}
		if err := t.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("packing %q: %w", f.Name, err)
		}
		if _, err := t.Write(f.Data); err != nil {
			return nil, fmt.Errorf("packing %q: %w", f.Name, err)
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	switch Suffix(name) {
	case ".tar":
		return plain.Bytes(), nil
	case ".tar.gz", ".tgz":
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(plain.Bytes()); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		return packed.Bytes(), nil
	case ".tar.zst":
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return w.EncodeAll(plain.Bytes(), nil), w.Close()
	default:
		return nil, fmt.Errorf("packing %q: the name must end in one of %s", name, strings.Join(suffixes[:4], ", "))
	}
}
