package gitsource

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of what a pack becomes when it is unpacked. Git's own format has none: a few kilobytes can be gigabytes.
const (
	maxObject   = 64 << 20
	maxUnpacked = 4 << 30
	maxObjects  = 2_000_000
)

// checkPack reads a pack and refuses one that has objects over the limits. It keeps nothing in memory; the library would
// keep whole objects.
func checkPack(pack io.Reader) error {
	r := bufio.NewReaderSize(pack, 64<<10)
	head := make([]byte, 12)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:4]) != "PACK" {
		return errors.New("the server did not send a pack")
	}
	objects := binary.BigEndian.Uint32(head[8:])
	if objects > maxObjects {
		return fmt.Errorf("it has %d objects, over the limit of %d", objects, maxObjects)
	}
	var inflate io.ReadCloser
	total := int64(0)
	for range objects {
		kind, size, err := objectHead(r)
		if err != nil {
			return err
		}
		if inflate == nil {
			inflate, err = zlib.NewReader(r)
		} else {
			err = inflate.(zlib.Resetter).Reset(r, nil)
		}
		if err != nil {
			return damagedPack(err)
		}
		result, err := unpackedSize(kind, size, inflate)
		if err != nil {
			return err
		}
		if total += result; result > maxObject || total > maxUnpacked {
			return fmt.Errorf("an object in it has %d bytes, or all %d, over the limits of %d and %d", result, total, int64(maxObject), int64(maxUnpacked))
		}
	}
	return nil
}

func damagedPack(err error) error { return fmt.Errorf("the pack is damaged: %w", err) }

// Kinds of objects that are differences to others.
const (
	offsetDelta = 6
	refDelta    = 7
)

// objectHead reads the kind of an object, and the size of what is packed behind it.
func objectHead(r *bufio.Reader) (kind byte, size int64, err error) {
	b, err := r.ReadByte()
	if err != nil {
		return 0, 0, damagedPack(err)
	}
	kind, size = b>>4&7, int64(b&15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = r.ReadByte(); err != nil || shift > 56 {
			return 0, 0, damagedPack(errors.Join(err, errors.New("a size")))
		}
		size |= int64(b&0x7f) << shift
	}
	switch kind {
	case offsetDelta:
		for b = 0x80; b&0x80 != 0; {
			if b, err = r.ReadByte(); err != nil {
				return 0, 0, damagedPack(err)
			}
		}
	case refDelta:
		if _, err := r.Discard(20); err != nil {
			return 0, 0, damagedPack(err)
		}
	}
	return kind, size, nil
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
			return 0, damagedPack(errors.Join(err, errors.New("a difference")))
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
