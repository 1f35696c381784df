package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/hostile"
)

// TestHostileLinks: what links lead to is kept, so it is bounded.
func TestHostileLinks(t *testing.T) {
	for name, c := range map[string]struct {
		size, count int
		want        string
	}{
		"long":  {900_000, 3_000, "it is a link to a name of more than 1024 bytes"},
		"many":  {1_000, 300_000, "the names of all files have more than 134217728 bytes"},
		"short": {10, 1_000, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Refused(t, c.want, func() error {
				r, w := io.Pipe()
				go func() {
					z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
					archive := tar.NewWriter(z)
					for i := range c.count {
						if archive.WriteHeader(&tar.Header{
							Typeflag: tar.TypeSymlink, Name: fmt.Sprintf("l%d", i),
							Linkname: strings.Repeat("x", c.size), Format: tar.FormatPAX,
						}) != nil {
							return
						}
					}
					_ = archive.Close()
					_ = z.Close()
					_ = w.Close()
				}()
				_, err := View(context.Background(), func(context.Context) (io.Reader, error) { return r, nil }, RepositoryLimits)
				_ = r.Close()
				if err == nil {
					return fmt.Errorf("none")
				}
				return err
			})
		})
	}
}

// TestHostileDiscovery: all applications of a repository with many links are looked at, at once.
func TestHostileDiscovery(t *testing.T) {
	for name, c := range map[string]struct {
		kind byte
		file string
	}{"links": {tar.TypeSymlink, "l"}, "files": {tar.TypeReg, "s3-source.yaml"}} {
		t.Run(name, func(t *testing.T) {
			hostile.Refused(t, "none", func() error {
				var b bytes.Buffer
				z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
				w := tar.NewWriter(z)
				long := strings.Repeat(strings.Repeat("x", 99)+"/", 9)
				for i := range 60_000 {
					h := &tar.Header{Typeflag: c.kind, Name: fmt.Sprintf("%s%d/%s", long, i, c.file), Format: tar.FormatPAX}
					if c.kind == tar.TypeSymlink {
						h.Linkname = long
					}
					_ = w.WriteHeader(h)
				}
				_ = w.Close()
				_ = z.Close()
				var readers []*io.PipeWriter
				answers := make(chan error)
				for range 12 {
					r, w := io.Pipe()
					readers = append(readers, w)
					go func() {
						found, err := Has(r, "app/s3-source.yaml")
						if found {
							err = fmt.Errorf("it is found")
						}
						answers <- err
					}()
				}
				// None has ended when the last one has read almost all.
				half := b.Len() - 1000
				for _, w := range readers {
					_, _ = w.Write(b.Bytes()[:half])
				}
				for _, w := range readers {
					go func() {
						_, _ = w.Write(b.Bytes()[half:])
						_ = w.Close()
					}()
				}
				for range readers {
					if err := <-answers; err != nil {
						return err
					}
				}
				return fmt.Errorf("none")
			})
		})
	}
}

// TestHostileArchives: archives that say something else than they have.
func TestHostileArchives(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 40<<20)
	for name, c := range map[string]struct {
		write func(w *tar.Writer)
		want  string
	}{
		"one large file": {func(w *tar.Writer) {
			_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: int64(len(large))})
			_, _ = w.Write(large)
		}, "is over the limit of 33554432 for one file"},
		"many large files": {func(w *tar.Writer) {
			for i := range 5 {
				_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint(i), Size: 30 << 20})
				_, _ = w.Write(large[:30<<20])
			}
		}, "unpacked content is more than 200 times the size of the archive"},
		"one name many times": {func(w *tar.Writer) {
			for range 100 {
				_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 1 << 20})
				_, _ = w.Write(large[:1<<20])
			}
		}, `entry "a" is there twice`},
		"many directories": {func(w *tar.Writer) {
			for i := range 100_000 {
				_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprint(i) + "/"})
			}
		}, "more than 20000 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Refused(t, c.want, func() error {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				w := tar.NewWriter(z)
				c.write(w)
				_ = w.Close()
				_ = z.Close()
				_, err := Extract("a.tgz", b.Bytes(), DefaultLimits)
				return err
			})
		})
	}
}
