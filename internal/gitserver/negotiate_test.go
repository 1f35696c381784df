package gitserver

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestObjects: names of objects are Git's.
func TestObjects(t *testing.T) {
	tree, blob := Object{Kind: KindTree}, Object{Kind: KindBlob}
	parent := blob.Hash()
	commit := Commit{
		Tree: tree.Hash(), Parent: &parent, Date: time.Date(2026, 1, 1, 1, 0, 0, 0, time.FixedZone("", 3600)),
		Message: "a message",
	}
	for _, tt := range []struct {
		o    Object
		want string // of git hash-object
	}{
		{tree, "4b825dc642cb6eb9a060e54bf8d69288fbee4904"},
		{blob, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"},
		{commit.Object(), "9ffbfd0e4f40730edce800f79e124716945839f8"},
	} {
		if got := tt.o.Hash().String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.o.Kind, got, tt.want)
		}
		if h, ok := ParseHash(tt.want); !ok || h != tt.o.Hash() {
			t.Errorf("%s is read as %s", tt.want, h)
		}
	}
	for _, text := range []string{"", strings.Repeat("0", 39), strings.Repeat("0", 41), strings.Repeat("g", 40)} {
		if _, ok := ParseHash(text); ok {
			t.Errorf("%q is a name", text)
		}
	}
}

// line of commits 1 to 4, each with a tree of its own and a file of another size.
type fourCommits struct {
	objects [][]Object // of each commit, itself first
	names   map[Hash]string
	err     error // of the content
}

func newFourCommits() *fourCommits {
	f := &fourCommits{names: map[Hash]string{}}
	var parent *Hash
	for i, size := range []int{5, 100, 3000, 200_000} {
		// Bytes that do not become fewer when they are packed.
		var data []byte
		for n := uint32(0); len(data) < size; n++ {
			sum := sha1.Sum(binary.BigEndian.AppendUint32([]byte{byte(i)}, n))
			data = append(data, sum[:]...)
		}
		blob := Object{KindBlob, data[:size]}
		h := blob.Hash()
		tree := Object{KindTree, append([]byte("100644 file\x00"), h[:]...)}
		commit := Commit{Tree: tree.Hash(), Parent: parent, Date: time.Unix(int64(i), 0), Message: "x"}.Object()
		f.objects = append(f.objects, []Object{commit, tree, blob})
		for kind, o := range map[string]Object{"c": commit, "t": tree, "b": blob} {
			f.names[o.Hash()] = fmt.Sprint(kind, i+1)
		}
		hash := commit.Hash()
		parent = &hash
	}
	return f
}

func (f *fourCommits) hash(n int) string { return f.objects[n-1][0].Hash().String() }

func (f *fourCommits) Head(context.Context) (Hash, error) { return f.objects[3][0].Hash(), nil }

func (f *fourCommits) History(_ context.Context, h Hash) (History, bool, error) {
	var out History
	for i := range f.objects {
		if f.objects[i][0].Hash() != h {
			continue
		}
		for j := i; j >= 0; j-- {
			out.Commits = append(out.Commits, f.objects[j][0])
		}
		out.Content = func(k int) ([]Object, error) { return f.objects[i-k][1:], f.err }
		return out, true, nil
	}
	return out, false, nil
}

// describe is an answer in words: its lines, its marks, and the objects of its pack.
func (f *fourCommits) describe(t *testing.T, answer []byte) string {
	t.Helper()
	var out []string
	var banded []byte
	for len(answer) > 0 {
		if bytes.HasPrefix(answer, []byte("PACK")) {
			return strings.Join(append(out, f.unpack(t, answer)), ", ")
		}
		var n int
		if _, err := fmt.Sscanf(string(answer[:4]), "%04x", &n); err != nil || n > maxLine || n > len(answer) {
			t.Fatalf("%q is not the length of a line: %v", answer[:4], err)
		}
		switch {
		case n < 4:
			n = 4
			if banded != nil {
				out, banded = append(out, f.unpack(t, banded)), nil
			}
			out = append(out, string(answer[:4]))
		case answer[4] == 1:
			banded = append(banded, answer[5:n]...)
		default:
			text := strings.TrimSuffix(string(answer[4:n]), "\n")
			for h, name := range f.names {
				text = strings.ReplaceAll(text, h.String(), name)
			}
			out = append(out, text)
		}
		answer = answer[n:]
	}
	if banded != nil {
		t.Error("a pack without an end")
	}
	return strings.Join(out, ", ")
}

// unpack reads a pack as Git does.
func (f *fourCommits) unpack(t *testing.T, pack []byte) string {
	t.Helper()
	body, sum := pack[:len(pack)-sha1.Size], pack[len(pack)-sha1.Size:]
	if want := sha1.Sum(body); !bytes.Equal(sum, want[:]) {
		t.Error("the sum of the pack is wrong")
	}
	if string(body[:8]) != "PACK\x00\x00\x00\x02" {
		t.Fatalf("%q is not a pack", body[:8])
	}
	in := bytes.NewReader(body[12:])
	var names []string
	for range binary.BigEndian.Uint32(body[8:12]) {
		c, _ := in.ReadByte()
		kind, size := Kind(c>>4&7), int(c&15)
		for shift := 4; c&0x80 != 0; shift += 7 {
			c, _ = in.ReadByte()
			size |= int(c&0x7f) << shift
		}
		z, err := zlib.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(z)
		if err != nil || len(data) != size {
			t.Fatalf("%d bytes, %d announced, %v", len(data), size, err)
		}
		names = append(names, f.names[Object{kind, data}.Hash()])
	}
	if in.Len() > 0 {
		t.Errorf("%d bytes behind the last object", in.Len())
	}
	return "pack " + strings.Join(names, " ")
}

// TestNegotiate: what a client gets for what it wants and has, in all versions of the protocol.
func TestNegotiate(t *testing.T) {
	f := newFourCommits()
	// Names of commits in requests stand for their hashes; cx is somebody else's.
	hashes := strings.NewReplacer("c1", f.hash(1), "c2", f.hash(2), "c3", f.hash(3), "c4", f.hash(4), "cx", strings.Repeat("9", 40))
	request := func(texts ...string) string {
		for i := range texts {
			texts[i] = hashes.Replace(texts[i])
		}
		return lines(texts...)
	}
	v2 := func(texts ...string) string {
		return request(append(append([]string{"command=fetch", delimPkt}, texts...), flushPkt)...)
	}
	const all, two, last = "pack c4 t4 b4 c3 t3 b3 c2 t2 b2 c1 t1 b1", "pack c4 t4 b4 c3 t3 b3", "pack c4 t4 b4"
	for _, tt := range []struct{ name, protocol, body, want string }{
		{"clone", "2", v2("want c4", "done"), "packfile, " + all + ", 0000"},
		{"the same twice", "2", v2("want c4", "want c4", "done"), "packfile, " + all + ", 0000"},
		{"two commits", "2", v2("want c1", "want c2", "done"), "packfile, pack c1 t1 b1 c2 t2 b2, 0000"},
		{"fetch", "2", v2("want c4", "have c2", "have cx"), "acknowledgments, ACK c2, ready, 0001, packfile, " + two + ", 0000"},
		{"fetch at once", "2", v2("want c4", "have c2", "done"), "packfile, " + two + ", 0000"},
		{"nothing new", "2", v2("want c4", "have c4", "done"), "packfile, pack , 0000"},
		{"nothing in common", "2", v2("want c4", "have cx"), "acknowledgments, NAK, 0000"},
		{"shallow", "2", v2("want c4", "deepen 1", "done"), "shallow-info, shallow c4, 0001, packfile, " + last + ", 0000"},
		{"deeper than there is", "2", v2("want c4", "deepen 9", "done"), "shallow-info, 0001, packfile, " + all + ", 0000"},
		{"as deep as there is", "2", v2("want c4", "deepen 4", "done"), "shallow-info, 0001, packfile, " + all + ", 0000"},
		{
			"deepened", "2", v2("want c4", "have c4", "shallow c4", "deepen 2", "done"),
			"shallow-info, shallow c3, unshallow c4, 0001, packfile, " + two + ", 0000",
		},
		{"fetch into a shallow clone", "2", v2("want c4", "have c3", "shallow c3", "done"), "packfile, " + all + ", 0000"},
		{"about packing", "2", v2("thin-pack", "ofs-delta", "filter blob:none", "want c1", "done"), "packfile, pack c1 t1 b1, 0000"},

		{"clone", "", request("want c4", flushPkt, "done"), "NAK, " + all},
		{"clone", "1", request("want c4", flushPkt, "done"), "NAK, " + all},
		{"small bands", "", request("want c4 side-band", flushPkt, "done"), "NAK, " + all + ", 0000"},
		{"large bands", "", request("want c4 side-band side-band-64k", flushPkt, "done"), "NAK, " + all + ", 0000"},
		{"shallow", "", request("want c4", "deepen 1", flushPkt, "done"), "shallow c4, 0000, NAK, " + last},
		{"shallow, first answer", "", request("want c4", "deepen 1", flushPkt), "shallow c4, 0000"},
		{"fetch", "", request("want c4", flushPkt, "have c2", "done"), "ACK c2, " + two},
		{"fetch, first answer", "", request("want c4", flushPkt, "have cx", flushPkt), "NAK"},
		{"fetch, second answer", "", request("want c4", flushPkt, "have cx", "have c2", flushPkt), "ACK c2"},
		{"detailed", "", request("want c4 multi_ack_detailed", flushPkt, "have c2", flushPkt), "ACK c2 common, ACK c2 ready, NAK"},
		{"detailed, done", "", request("want c4 multi_ack_detailed", flushPkt, "have c2", "done"), "ACK c2 common, ACK c2, " + two},
		{"detailed, nothing in common", "", request("want c4 multi_ack_detailed", flushPkt, "have cx", "done"), "NAK, " + all},
	} {
		t.Run(tt.protocol+" "+tt.name, func(t *testing.T) {
			s := &Server{Open: func(context.Context, string) (Repository, error) { return f, nil }}
			w := ask(s, http.MethodPost, "/x.git/git-upload-pack", tt.protocol, tt.body)
			if w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if diff := cmp.Diff(tt.want, f.describe(t, w.Body.Bytes())); diff != "" {
				t.Error(diff)
			}
			if w.Header().Get("Content-Type") != "application/x-git-upload-pack-result" ||
				!strings.Contains(w.Header().Get("Cache-Control"), "no-cache") {
				t.Errorf("%v", w.Header())
			}
		})
	}
}

// TestLimits: requests that name too much, and content that fails in the middle.
func TestLimits(t *testing.T) {
	f := newFourCommits()
	var wants []string
	for i := range maxWants + 1 {
		wants = append(wants, fmt.Sprintf("want %040x", i))
	}
	for name, tt := range map[string]struct {
		body, text string
		err        error
		status     int
	}{
		"wants": {
			lines(append(append([]string{"command=fetch", delimPkt}, wants...), flushPkt)...),
			"more than 64 objects are wanted", nil, 400,
		},
		"arguments":    {lines("command=fetch", delimPkt) + strings.Repeat(lines("x"), maxHashes+2), "more than 20000 arguments", nil, 400},
		"capabilities": {strings.Repeat(lines("agent=x"), 100_000), "the request is larger than 1048576 bytes", nil, 400},
		"no content": {
			lines("command=fetch", delimPkt, "want "+f.hash(4), "done", flushPkt),
			"this repository cannot be read now; see the server's log", errors.New("a secret cause"), 503,
		},
	} {
		f.err = tt.err
		var failed []string
		s := &Server{Open: func(context.Context, string) (Repository, error) {
			return f, nil
		}, Failed: func(path string, err error) { failed = append(failed, path+": "+err.Error()) }}
		w := ask(s, http.MethodPost, "/x.git/git-upload-pack", "2", tt.body)
		if w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.text {
			t.Errorf("%s: %d %q", name, w.Code, w.Body)
		}
		if (len(failed) == 1 && failed[0] == "x.git: a secret cause") != (tt.err != nil) {
			t.Errorf("%s: %q", name, failed)
		}
	}
}

// TestSideband: no packet is larger than what the client takes.
func TestSideband(t *testing.T) {
	data := bytes.Repeat([]byte("x"), 2500)
	for _, most := range []int{1000, maxLine} {
		var b bytes.Buffer
		if n, err := (sideband{&b, most}).Write(data); n != len(data) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		var got []byte
		for rest := b.Bytes(); len(rest) > 0; {
			var n int
			if _, err := fmt.Sscanf(string(rest[:4]), "%04x", &n); err != nil || n > most || rest[4] != 1 {
				t.Fatalf("%d, %v", n, err)
			}
			got, rest = append(got, rest[5:n]...), rest[n:]
		}
		if !bytes.Equal(got, data) {
			t.Errorf("%d bytes of %d", len(got), len(data))
		}
	}
	// A client that goes away ends the pack.
	for after := range 4 {
		if err := writePack(sideband{&gone{after}, 1000}, []Object{{KindBlob, data}}); err == nil {
			t.Errorf("written to nobody after %d writes", after)
		}
	}
}

// gone is a client that goes away after some writes.
type gone struct{ left int }

func (g *gone) Write(p []byte) (int, error) {
	if g.left--; g.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}
