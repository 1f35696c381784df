package gitserver

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // the hash of Git objects
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"time"
)

// Hash names an object.
type Hash [sha1.Size]byte

// String is the name in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads 40 hexadecimal digits.
func ParseHash(s string) (Hash, bool) {
	var h Hash
	if len(s) != 2*len(h) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(s))
	return h, err == nil
}

// Kind is the type of an object, as packs number them.
type Kind byte

// Kinds of objects.
const (
	KindCommit Kind = 1
	KindTree   Kind = 2
	KindBlob   Kind = 3
)

func (k Kind) String() string { return [...]string{"", "commit", "tree", "blob"}[k] }

// Object is a Git object.
type Object struct {
	Kind Kind
	Data []byte
}

// Hash is the name of the object.
func (o Object) Hash() Hash {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", o.Kind, len(o.Data))
	h.Write(o.Data)
	return Hash(h.Sum(nil))
}

// Commit is a commit of a synthetic repository; its author is always the same.
type Commit struct {
	Tree    Hash
	Parent  *Hash
	Date    time.Time
	Message string
}

// Object returns the commit as an object.
func (c Commit) Object() Object {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	if c.Parent != nil {
		fmt.Fprintf(&b, "parent %s\n", c.Parent)
	}
	const who = "argosy <argosy@localhost>"
	fmt.Fprintf(&b, "author %s %d +0000\ncommitter %s %d +0000\n\n%s\n", who, c.Date.Unix(), who, c.Date.Unix(), c.Message)
	return Object{KindCommit, b.Bytes()}
}

// writePack writes objects as a pack.
func writePack(w io.Writer, objects []Object) error {
	p := &packWriter{w: w, sum: sha1.New()}
	header := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
	if _, err := p.Write(header); err != nil {
		return err
	}
	z := zlib.NewWriter(p)
	for _, o := range objects {
		if _, err := p.Write(packHeader(o)); err != nil {
			return err
		}
		z.Reset(p)
		if _, err := z.Write(o.Data); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
	}
	_, err := w.Write(p.sum.Sum(nil))
	return err
}

// packHeader is the kind and the size, seven bits a byte after the first four.
func packHeader(o Object) []byte {
	n := len(o.Data)
	c := byte(o.Kind)<<4 | byte(n&15)
	var out []byte
	for n >>= 4; n > 0; n >>= 7 {
		out = append(out, c|0x80)
		c = byte(n & 0x7f)
	}
	return append(out, c)
}

type packWriter struct {
	w   io.Writer
	sum hash.Hash
}

func (p *packWriter) Write(b []byte) (int, error) {
	p.sum.Write(b)
	return p.w.Write(b)
}
