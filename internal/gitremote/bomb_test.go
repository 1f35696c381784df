package gitremote

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/argosy-cd/argosy/internal/gittree/gittest"
	"github.com/argosy-cd/argosy/internal/hostile"
)

// TestMain gives fetches the time that they need on a busy machine with the race detector.
func TestMain(m *testing.M) {
	fetchTimeout = 20 * time.Minute
	os.Exit(m.Run())
}

// TestTreeBomb: a few kilobytes with millions of paths are refused.
func TestTreeBomb(t *testing.T) {
	for name, c := range map[string]struct {
		width, levels int
		leaf, want    string
	}{
		"files":       {10, 7, "100644 blob BLOB\tf\n", "more than 300000 files and directories"},
		"directories": {2, 40, "", "more than 300000 files and directories"},
		"deep":        {1, 200, "100644 blob BLOB\tf\n", "more than 100 levels deep"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := gittest.Nested(t, c.width, c.levels, c.leaf)
			handler, _ := gitHTTP(t, filepath.Dir(dir), everybody)
			server := httptest.NewServer(handler)
			defer server.Close()
			if _, err := remote(t).Tree(t.Context(), server.URL+"/"+filepath.Base(dir)+"/.git", "bomb", nil); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
}

// TestWalkEnds: the walk of a tree ends with the request, and so does the index of a pack.
func TestWalkEnds(t *testing.T) {
	dir := gittest.Nested(t, 2, 40, "")
	store := filesystem.NewStorage(osfs.New(filepath.Join(dir, ".git")), cache.NewObjectLRU(storeCache))
	s := &snapshot{store: store}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hash := strings.TrimSpace(gittest.Run(t, dir, "rev-parse", "bomb"))
	if _, _, err := s.list(ctx, plumbing.NewHash(hash)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	f, err := os.CreateTemp(t.TempDir(), "pack-")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unpack(ctx, f, plumbing.ZeroHash); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestHostileNames: names that no client of Git checks out are refused.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{"..", ".git", ".GIT", "."} {
		dir := gittest.New(t, "f")
		blob := strings.TrimSpace(gittest.Run(t, dir, "rev-parse", "HEAD:f"))
		id, err := hex.DecodeString(blob)
		if err != nil {
			t.Fatal(err)
		}
		raw := append([]byte("100644 "+name+"\x00"), id...)
		cmd := exec.Command("git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(raw)
		tree, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		commit := strings.TrimSpace(gittest.Run(t, dir, "commit-tree", "-m", "x", strings.TrimSpace(string(tree))))
		s := &snapshot{store: filesystem.NewStorage(osfs.New(filepath.Join(dir, ".git")), cache.NewObjectLRU(storeCache))}
		if _, _, err := s.list(t.Context(), plumbing.NewHash(commit)); err == nil || !strings.Contains(err.Error(), "named") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// bombPack is a pack of a blob and of differences, each to one of the objects before it, that are all as large as the blob.
func bombPack(size int, bases []int) []byte {
	var out bytes.Buffer
	out.WriteString("PACK\x00\x00\x00\x02")
	_ = binary.Write(&out, binary.BigEndian, uint32(len(bases)+1))
	head := func(kind byte, n int) {
		c := kind<<4 | byte(n&15)
		for n >>= 4; n > 0; n >>= 7 {
			out.WriteByte(c | 0x80)
			c = byte(n & 0x7f)
		}
		out.WriteByte(c)
	}
	body := func(data []byte) {
		z := zlib.NewWriter(&out)
		_, _ = z.Write(data)
		_ = z.Close()
	}
	at := []int{out.Len()}
	head(3, size)
	body(make([]byte, size))
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(size)), uint64(size))
	for left := size; left > 0; {
		n := min(left, 0xffff)
		delta = append(delta, 0x80|0x10|0x20, byte(n), byte(n>>8)) // copy from the beginning
		left -= n
	}
	for _, base := range bases {
		here := out.Len()
		at = append(at, here)
		head(offsetDelta, len(delta))
		back := here - at[base]
		offset := []byte{byte(back & 0x7f)}
		for back >>= 7; back > 0; back >>= 7 {
			back--
			offset = append([]byte{0x80 | byte(back&0x7f)}, offset...)
		}
		out.Write(offset)
		body(delta)
	}
	out.Write(make([]byte, 20))
	return out.Bytes()
}

// TestHostileDeltas: differences to differences cost memory and time that the size of a pack does not show.
func TestHostileDeltas(t *testing.T) {
	hostile.Unraced(t)
	chain := func(n int) []int {
		var out []int
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	wide := chain(100)
	for range 1000 {
		wide = append(wide, 100)
	}
	if n, err := checkPack(bytes.NewReader(bombPack(1<<20, chain(50)))); err != nil || n != 51 {
		t.Errorf("an honest chain: %d, %v", n, err)
	}
	for name, pack := range map[string][]byte{
		"memory": bombPack(1<<20, chain(300)), "depth": bombPack(10, chain(maxDepth+1)),
		"time": bombPack(1<<20, wide), "all": bombPack(32<<20, make([]int, 70)),
	} {
		if _, err := checkPack(bytes.NewReader(pack)); err == nil || !strings.Contains(err.Error(), "limits") {
			t.Errorf("%s, a pack of %d bytes: %v", name, len(pack), err)
		}
	}
}

// TestHostileAnswers: servers that never stop talking are left, whatever they talk about.
func TestHostileAnswers(t *testing.T) {
	hostile.Unraced(t)
	packet := func(w io.Writer, text string) error {
		_, err := fmt.Fprintf(w, "%04x%s", len(text)+4, text)
		return err
	}
	const hash = "0123456789012345678901234567890123456789"
	for name, line := range map[string]string{
		"shallow": "shallow " + hash, "acknowledgments": "ACK " + hash + " common\n",
		"progress": "NAK\n",
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/info/refs") {
					_ = packet(w, "# service=git-upload-pack\n")
					_, _ = io.WriteString(w, "0000")
					_ = packet(w, hash+" HEAD\x00shallow side-band-64k ofs-delta multi_ack\n")
					_, _ = io.WriteString(w, "0000")
					return
				}
				if name == "progress" {
					_, _ = io.WriteString(w, "0000")
					_ = packet(w, line)
					line = "\x02" + strings.Repeat("x", 60_000)
				}
				for packet(w, line) == nil {
					continue
				}
			}))
			defer server.Close()
			r := remote(t)
			r.MaxBytes = 1 << 20
			if _, err := r.Tree(t.Context(), server.URL+"/x.git", "", nil); err == nil || t.Context().Err() != nil {
				t.Errorf("%v", err)
			}
			if left, _ := os.ReadDir(r.Dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	t.Run("references", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = packet(w, "# service=git-upload-pack\n")
			_, _ = io.WriteString(w, "0000")
			_ = packet(w, hash+" HEAD\x00shallow\n")
			for i := 0; packet(w, fmt.Sprintf("%s refs/heads/%d\n", hash, i)) == nil; i++ {
				continue
			}
		}))
		defer server.Close()
		if _, err := remote(t).Commit(t.Context(), server.URL+"/x.git", "", nil); err == nil ||
			!strings.Contains(err.Error(), "over the limit") {
			t.Error(err)
		}
	})
	t.Run("silence", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			cancel() // the request that waits for it ends
			<-r.Context().Done()
		}))
		defer server.Close()
		if _, err := remote(t).Tree(ctx, server.URL+"/x.git", "", nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
