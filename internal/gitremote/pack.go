package gitremote

import (
	"bufio"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Limits of an unpacked pack. Git's format has none: a few kilobytes can become gigabytes.
const (
	maxObject   = 64 << 20
	maxUnpacked = 2 << 30
	// The library needs some 300 bytes of memory for each.
	maxObjects = 400_000
	// maxChain bounds an object with all objects of its delta chain: the library may hold them at once.
	maxChain = 128 << 20
	maxDepth = 1000
	// maxWork bounds the sum of all chains: the library may go through each of them from its beginning.
	maxWork = 16 << 30
)

// checkPack reads a pack and refuses one that has objects over the limits. It returns how many there are. It keeps little in memory; the
// library would keep whole objects.
func checkPack(pack io.Reader) (objects int, err error) {
	r := &packReader{Reader: bufio.NewReaderSize(pack, 64<<10)}
	head := make([]byte, 12)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:4]) != "PACK" {
		return 0, errors.New("the server did not send a pack")
	}
	count := binary.BigEndian.Uint32(head[8:])
	if count > maxObjects {
		return 0, fmt.Errorf("it has %d objects, over the limit of %d", count, maxObjects)
	}
	var c chains
	var inflate io.ReadCloser
	total := int64(0)
	for range count {
		o, err := objectHead(r)
		if err != nil {
			return 0, err
		}
		if inflate == nil {
			inflate, err = zlib.NewReader(r)
		} else {
			err = inflate.(zlib.Resetter).Reset(r, nil)
		}
		if err != nil {
			return 0, damagedPack(err)
		}
		result, err := unpackedSize(o.kind, o.size, inflate)
		if err != nil {
			return 0, err
		}
		if total += result; result > maxObject || total > maxUnpacked {
			return 0, fmt.Errorf("its first objects have %d bytes, the last of them %d: over the limits of %d for all or %d for one", total,
				result, int64(maxUnpacked), int64(maxObject))
		}
		if err := c.add(o, result); err != nil {
			return 0, err
		}
	}
	return int(count), nil
}

// packReader knows where it is in a pack.
type packReader struct {
	*bufio.Reader
	at int64
}

func (r *packReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.at += int64(n)
	return n, err
}

// ReadByte lets zlib read no further than an object goes.
func (r *packReader) ReadByte() (byte, error) {
	b, err := r.Reader.ReadByte()
	if err == nil {
		r.at++
	}
	return b, err
}

// chains adds up the sizes of delta chains.
type chains struct {
	at    []int64 // of objects, in order
	bytes []int64 // of the object and all below it
	depth []int32
	named int64 // bytes of all differences to objects that are named by hash, which may be anywhere
	work  int64
}

func (c *chains) add(o packed, result int64) error {
	bytes, depth := result, int32(0)
	switch o.kind {
	case offsetDelta:
		i, found := slices.BinarySearch(c.at, o.base)
		if !found {
			return damagedPack(errors.New("a delta has no base"))
		}
		bytes, depth = c.bytes[i]+result, c.depth[i]+1
	case refDelta:
		c.named += result
		bytes, depth = c.named, 1
	}
	c.at, c.bytes, c.depth = append(c.at, o.at), append(c.bytes, bytes), append(c.depth, depth)
	if depth > 0 {
		c.work += bytes
	}
	if depth > maxDepth || depth > 0 && bytes > maxChain+maxObject || c.work > maxWork && o.kind == offsetDelta {
		return fmt.Errorf("delta chains exceed the limits: depth %d, %d bytes for one chain, %d bytes for all", maxDepth, int64(maxChain),
			int64(maxWork))
	}
	return nil
}

func damagedPack(err error) error { return fmt.Errorf("the pack is damaged: %w", err) }

// Kinds of delta objects.
const (
	offsetDelta = 6
	refDelta    = 7
)

// packed is an object in a pack.
type packed struct {
	at   int64
	kind byte
	size int64 // of what is packed
	base int64 // of an offsetDelta
}

// objectHead reads the kind of an object, and the size of what is packed behind it.
func objectHead(r *packReader) (o packed, err error) {
	o.at = r.at
	b, err := r.ReadByte()
	if err != nil {
		return o, damagedPack(err)
	}
	o.kind, o.size = b>>4&7, int64(b&15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = r.ReadByte(); err != nil || shift > 56 {
			return o, damagedPack(cmp.Or(err, errors.New("the size of an object is not valid")))
		}
		o.size |= int64(b&0x7f) << shift
	}
	switch o.kind {
	case offsetDelta:
		back := int64(-1)
		for b = 0x80; b&0x80 != 0; {
			if b, err = r.ReadByte(); err != nil || back > 1<<40 {
				return o, damagedPack(cmp.Or(err, errors.New("the offset of a delta is not valid")))
			}
			back = (back+1)<<7 | int64(b&0x7f)
		}
		o.base = o.at - back
	case refDelta:
		if _, err := io.CopyN(io.Discard, r, 20); err != nil {
			return o, damagedPack(err)
		}
	}
	return o, nil
}

// unpackedSize reads an object to its end and returns how large it is in the end.
func unpackedSize(kind byte, size int64, inflate io.Reader) (int64, error) {
	limited := &io.LimitedReader{R: inflate, N: min(size, maxObject) + 1}
	result := size
	if kind == offsetDelta || kind == refDelta {
		b := bufio.NewReaderSize(limited, 64)
		if _, err := binary.ReadUvarint(b); err != nil { // of the other object
			return 0, damagedPack(err)
		}
		n, err := binary.ReadUvarint(b)
		if err != nil || n > 1<<62 {
			return 0, damagedPack(cmp.Or(err, errors.New("the size of a delta is not valid")))
		}
		result = int64(n)
		if _, err := io.Copy(io.Discard, b); err != nil {
			return 0, damagedPack(err)
		}
	}
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return 0, damagedPack(err)
	}
	if limited.N <= 0 {
		return 0, fmt.Errorf("an object in it is over the limit of %d bytes, or larger than it says", int64(maxObject))
	}
	return max(size, result), nil
}
