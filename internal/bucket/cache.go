package bucket

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// Cache keeps packs between snapshots. It may evict a pack at any time, and must return only packs that were saved.
type Cache interface {
	Load(id string) (Pack, bool)
	Save(id string, p Pack)
	// Use marks a loaded pack as used.
	Use(id string)
}

// Pack is the content of the objects under one path, as far as it was read: one file for a whole directory, because
// opening a thousand files costs more than reading one.
type Pack struct {
	Listing [sha256.Size]byte // digest of the listing that the last snapshot was made from
	Entries map[string]PackEntry
}

// PackEntry is the content of an object with one ETag.
type PackEntry struct {
	ETag string
	Data []byte
}

var packMagic = []byte("argosy pack 1\n")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns the pack as it is stored: magic, listing, entries in order, checksum of all.
func (p Pack) Encode() []byte {
	size := len(packMagic) + len(p.Listing) + 8 + 4
	keys := make([]string, 0, len(p.Entries))
	for k, e := range p.Entries {
		keys = append(keys, k)
		size += 12 + len(k) + len(e.ETag) + len(e.Data)
	}
	slices.Sort(keys)
	b := make([]byte, 0, size)
	b = append(b, packMagic...)
	b = append(b, p.Listing[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(keys)))
	for _, k := range keys {
		e := p.Entries[k]
		b = binary.LittleEndian.AppendUint32(b, uint32(len(k)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(e.ETag)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(e.Data)))
		b = append(b, k...)
		b = append(b, e.ETag...)
		b = append(b, e.Data...)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// DecodePack reads a stored pack. A truncated one is an error. The pack shares memory with b.
func DecodePack(b []byte) (Pack, error) {
	if len(b) < len(packMagic)+sha256.Size+8+4 || !bytes.HasPrefix(b, packMagic) {
		return Pack{}, errors.New("not a pack")
	}
	end := len(b) - 4
	if binary.LittleEndian.Uint32(b[end:]) != crc32.Checksum(b[:end], castagnoli) {
		return Pack{}, errors.New("damaged pack")
	}
	var p Pack
	b = b[len(packMagic):end]
	b = b[copy(p.Listing[:], b):]
	n := binary.LittleEndian.Uint64(b)
	b = b[8:]
	if n > uint64(len(b))/12 {
		return Pack{}, errors.New("damaged pack")
	}
	p.Entries = make(map[string]PackEntry, n)
	for range n {
		if len(b) < 12 {
			return Pack{}, errors.New("damaged pack")
		}
		k, t, d := uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[4:])),
			uint64(binary.LittleEndian.Uint32(b[8:]))
		b = b[12:]
		if k+t+d > uint64(len(b)) {
			return Pack{}, errors.New("damaged pack")
		}
		p.Entries[string(b[:k])] = PackEntry{ETag: string(b[k : k+t]), Data: b[k+t : k+t+d : k+t+d]}
		b = b[k+t+d:]
	}
	return p, nil
}

// listingDigest identifies a listing.
func listingDigest(objects []Object) (sum [sha256.Size]byte) {
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "%s\x00%s\x00%d\n", o.Key, o.ETag, o.Size)
	}
	return sha256.Sum256([]byte(b.String()))
}
