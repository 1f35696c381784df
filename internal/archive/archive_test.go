package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/argosy-cd/argosy/internal/tree"
)

var small = Limits{Entries: 100, FileBytes: 1 << 20, Bytes: 2 << 20, Ratio: 50, RatioFrom: 3 << 19}

var end = strings.Repeat("\x00", 1024)

// record is an entry of a tar archive by hand, since the library does not write what an attacker would.
func record(flag byte, name, body string) string {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], "0000644\x000000000\x000000000\x00")
	copy(h[124:], fmt.Sprintf("%011o\x00%011o\x00        ", len(body), 0))
	h[156] = flag
	copy(h[257:], "ustar\x0000")
	if flag == tar.TypeGNUSparse {
		copy(h[257:], "ustar  \x00")
	}
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return string(h) + body + strings.Repeat("\x00", -len(body)&511)
}

func pax(flag byte, name string, pairs ...string) string {
	var body strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		rest := " " + pairs[i] + "=" + pairs[i+1] + "\n"
		n := len(rest) + 1
		for n != len(strconv.Itoa(n))+len(rest) { // it counts its own digits
			n++
		}
		fmt.Fprintf(&body, "%d%s", n, rest)
	}
	return record(flag, name, body.String())
}

// hole is a sparse file in the format that GNU tar has now, where it does not have a type of its own.
func hole(name string, size int) string {
	places := fmt.Sprintf("1\n%d\n0\n", size)
	return pax('x', "x", "GNU.sparse.major", "1", "GNU.sparse.minor", "0", "GNU.sparse.name", name,
		"GNU.sparse.realsize", strconv.Itoa(size)) + record('0', "x", places+strings.Repeat("\x00", 512-len(places)))
}

func gz(plain string) string {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	io.WriteString(w, plain)
	w.Close()
	return b.String()
}

func zst(plain string) string {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	return string(w.EncodeAll([]byte(plain), nil))
}

type member struct {
	zip.FileHeader
	packed string
}

func (m member) with(edit func(*zip.FileHeader)) member {
	edit(&m.FileHeader)
	return m
}

func stored(name, body string) member {
	n := uint64(len(body))
	return member{zip.FileHeader{Name: name, CRC32: crc32.ChecksumIEEE([]byte(body)), CompressedSize64: n, UncompressedSize64: n}, body}
}

func deflated(name, body string) member {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestSpeed)
	io.WriteString(w, body)
	w.Close()
	m := stored(name, body)
	m.Method, m.CompressedSize64, m.packed = zip.Deflate, uint64(b.Len()), b.String()
	return m
}

func zipped(members ...member) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		raw, _ := w.CreateRaw(&m.FileHeader)
		io.WriteString(raw, m.packed)
	}
	w.Close()
	return b.String()
}

// overlapping makes the other entries of a zip have the content of the first as theirs.
func overlapping(members ...member) string {
	b := []byte(zipped(members...))
	signature := []byte("PK\x01\x02")
	first := bytes.Index(b, signature)
	for i, at := 1, first; i < len(members); i++ {
		at += 4 + bytes.Index(b[at+4:], signature)
		copy(b[at+10:at+28], b[first+10:])
		copy(b[at+42:at+46], b[first+42:])
	}
	return string(b)
}

// bytewise is many times faster than going through large files byte by byte.
var bytewise = cmp.Comparer(bytes.Equal)

func file(name, data string) tree.File { return tree.File{Name: name, Data: []byte(data)} }

func TestPack(t *testing.T) {
	long := strings.Repeat("long/", 50) + "é"
	files := []tree.File{file("z", "\x00\xff"), file("a/b.yaml", "b"), file(long, strings.Repeat("x", 1000)), file("empty", "")}
	want := []tree.File{files[1], files[3], files[2], files[0]}
	for _, name := range []string{"x.tar", "x.tar.gz", "x.tgz", "x.tar.zst", "X.TAR.GZ"} {
		packed, err := Pack(name, files)
		if err != nil {
			t.Fatal(name, err)
		}
		again, _ := Pack(name, files)
		if !bytes.Equal(packed, again) {
			t.Errorf("%s: packing again makes other bytes", name)
		}
		got, err := Extract(name, packed, small)
		if diff := cmp.Diff(want, got, bytewise); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	plain, _ := Pack("x.tar", files)
	h, _ := tar.NewReader(bytes.NewReader(plain)).Next()
	if h.Mode != 0o644 || h.Uid+h.Gid != 0 || h.Uname+h.Gname != "" || h.ModTime.Unix() != 0 {
		t.Errorf("header says who packed it, or when: %+v", h)
	}
	const refused = `packing "x.zip": the name must end in one of .tar.gz, .tgz, .tar.zst, .tar`
	if _, err := Pack("x.zip", files); fmt.Sprint(err) != refused {
		t.Errorf("got %v, want %s", err, refused)
	}
}

func TestExtract(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	git := pax('g', "pax_global_header", "comment", "0123456789") + record('5', "top/", "") + record('0', "top/a", "x") + end
	gnu := pax('g', "/tmp/GlobalHead.1.1", "comment", "x") + record('0', "a", "x") + end
	for _, test := range []struct {
		name, file, data string
		want             []tree.File
	}{
		{"git", "x.tar.gz", gz(git), []tree.File{file("top/a", "x")}},
		{"global", "x.tar", gnu, []tree.File{file("a", "x")}},
		{
			"dot", "x.tar", record('5', "./", "") + record('0', "./b/c", "x") + record('0', "./a", "y") + end,
			[]tree.File{file("a", "y"), file("b/c", "x")},
		},
		{"old", "x.tar", record(0, "a", "x") + record(0, "d/", "") + end, []tree.File{file("a", "x")}},
		{"blocked", "x.tgz", gz(record('0', "a", "x") + strings.Repeat(end, 9)), []tree.File{file("a", "x")}},
		{
			"directories", "x.tar", record('5', "d/", "") + record('5', "d", "") + record('0', "d/a", "x") + end,
			[]tree.File{file("d/a", "x")},
		},
		{"pax", "x.tar", pax('x', "x", "path", "é") + record('0', "e", "x") + end, []tree.File{file("é", "x")}},
		{"empty", "x.tar", end, nil},
		{"empty", "x.tgz", gz(end), nil},
		{"empty", "x.tar.zst", zst(end), nil},
		{"empty", "x.zip", zipped(), nil},
		{"zip", "x.zip", zipped(stored("./d/", ""), deflated("./d/a", "x"), stored("b", "")), []tree.File{file("b", ""), file("d/a", "x")}},
		{"prefixed", "x.zip", "#!/bin/sh\n" + zipped(stored("a", "x")), []tree.File{file("a", "x")}},
		{"upper", "X.ZIP", zipped(stored("a", "x")), []tree.File{file("a", "x")}},
		{"upper", "X.Tar.Zst", zst(record('0', "a", "x") + end), []tree.File{file("a", "x")}},
		{"limits", "x.tgz", gz(strings.Repeat(record('5', "d/", ""), 100) + end), nil},
		{"limits", "x.tar", record('0', "a", long) + record('0', "b", long) + end, []tree.File{file("a", long), file("b", long)}},
	} {
		t.Run(test.name+"/"+test.file, func(t *testing.T) {
			got, err := Extract(test.file, []byte(test.data), small)
			if diff := cmp.Diff(test.want, got, bytewise); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{
		"../x", "a/../../x", "a/..", "..", "./../x", "/x", "//", ".//x", "a//b", "a/./b", `a\x`, `..\x`, "c:/x", "c:x", "C:", "a\x01b",
		"a\nb", "a\x7f", "\xff",
	} {
		want := fmt.Sprintf("entry %q: not a name below the root", name)
		for file, data := range map[string]string{
			"x.tar": record('0', name, "x") + end, "d.tar": record('5', name, "") + end, "x.zip": zipped(stored(name, "x")),
		} {
			if _, err := Extract(file, []byte(data), small); fmt.Sprint(err) != want {
				t.Errorf("%s: got %v, want %s", file, err, want)
			}
		}
	}
}

func TestHostile(t *testing.T) {
	mode := func(m fs.FileMode) func(*zip.FileHeader) { return func(h *zip.FileHeader) { h.SetMode(m) } }
	sized := func(n uint64) func(*zip.FileHeader) { return func(h *zip.FileHeader) { h.UncompressedSize64 = n } }
	zeros := strings.Repeat("\x00", 900_000)
	three := record('0', "a", zeros) + record('0', "b", zeros) + record('0', "c", zeros) + end
	two := record('0', "a", zeros) + record('0', "b", zeros) + end
	deep := strings.Repeat("d/", 1000) + "a"
	// Empty blocks unpack to nothing, so that only the packed size says how much work they are.
	idle := deflated("a", "")
	idle.packed = strings.Repeat("\x00\x00\x00\xff\xff", 1000) + idle.packed
	idle.CompressedSize64 = uint64(len(idle.packed))
	const kinds = `entry "a": only files and directories are allowed, it is `
	for _, test := range []struct{ name, file, data, want string }{
		{"name", "x.txt", "", "not an archive: the name must end in one of .tar.gz, .tgz, .tar.zst, .tar, .zip"},
		{"zip", "x.tar", zipped(stored("a", strings.Repeat("x", 512))), "damaged archive: archive/tar: invalid tar header"},
		{"tar", "x.tgz", three, "not a gzip file: gzip: invalid header"},
		{"tar", "x.tar.zst", three, "not a zstd file"},
		{"tar", "x.zip", three, "damaged archive: zip: not a valid zip file"},
		{"text", "x.tar", "<html>", "damaged archive: unexpected EOF"},

		{"symlink", "x.tar", record('2', "a", "") + end, kinds + "a symbolic link"},
		{"hard", "x.tar", record('1', "a", "") + end, kinds + "a hard link"},
		{"character", "x.tar", record('3', "a", "") + end, kinds + "a device"},
		{"block", "x.tar", record('4', "a", "") + end, kinds + "a device"},
		{"fifo", "x.tar", record('6', "a", "") + end, kinds + "a device"},
		{"sparse", "x.tar", record('S', "a", "") + end, kinds + "a sparse file"},
		{"hole", "x.tar", hole("a", 1000) + end, kinds + "a sparse file"},
		{"label", "x.tar", record('V', "a", "") + end, kinds + "of type 'V'"},
		{"symlink", "x.zip", zipped(stored("a", "/etc").with(mode(fs.ModeSymlink))), kinds + "a link or a device"},
		{"device", "x.zip", zipped(stored("a", "").with(mode(fs.ModeDevice))), kinds + "a link or a device"},
		{"nameless", "x.tar", record('0', "./", "x") + end, `entry "./": a file without a name`},
		{"nameless", "x.zip", zipped(stored("", "x")), `entry "": a file without a name`},
		{"nul", "x.zip", zipped(stored("a\x00b", "x")), `entry "a\x00b": not a name below the root`},
		{"nul", "x.tar", pax('x', "x", "path", "a\x00b") + record('0', "a", "") + end, "damaged archive: archive/tar: invalid tar header"},

		{"twice", "x.tar", record('0', "a", "x") + record('0', "a", "x") + end, `entry "a" is there twice`},
		{"twice", "x.tgz", gz(record('0', "./a", "") + record('0', "a", "") + end), `entry "a" is there twice`},
		{"twice", "x.zip", zipped(stored("./a", "x"), stored("a", "y")), `entry "a" is there twice`},
		{"both", "x.tar", record('0', "a/b", "") + record('0', "a", "") + end, `entry "a" is both a file and a directory`},
		{"both", "x.zip", zipped(stored("a", ""), stored("a/b/c", "")), `entry "a" is both a file and a directory`},
		{"entries", "x.tar", record('5', "a/", "") + record('0', "a", "") + end, `entry "a" is both a file and a directory`},
		{"entries", "x.tgz", gz(record('0', "a", "") + record('5', "a/b/", "") + end), `entry "a" is both a file and a directory`},
		{"entries", "x.zip", zipped(stored("a", ""), stored("a/", "")), `entry "a" is both a file and a directory`},

		{"directories", "x.tgz", gz(strings.Repeat(record('5', "d/", ""), 20_000)), "more than 100 entries"},
		{"roots", "x.tar", strings.Repeat(record('5', "./", ""), 101), "more than 100 entries"},
		{"globals", "x.tar", strings.Repeat(pax('g', "g", "comment", "x"), 101), "more than 100 entries"},
		{"central", "x.zip", strings.Repeat("PK\x01\x02"+strings.Repeat("\x00", 42), 1_000_000) + zipped(), "more than 100 entries"},
		{
			"records", "x.zip", three + strings.ReplaceAll(zipped(), "\x00\x00\x00\x00\x00\x00\x00\x00",
				"\xff\x7f\xff\x7f\x00\x00\x00\x00"),
			"damaged archive: zip: not a valid zip file",
		},
		{
			"headers", "x.tgz", gz(strings.Repeat(record('L', "l", strings.Repeat("l", 1000)), 2000)),
			"the archive is over its limits when it is unpacked: too many or too long headers, or too much behind its end",
		},
		{"pax", "x.tgz", gz(pax('x', "x", "comment", zeros+zeros)), "damaged archive: archive/tar: header field too long"},
		{
			"long", "x.tar", pax('x', "x", "path", deep) + record('0', "a", "") + end,
			fmt.Sprintf("entry %q: the name is longer than 1024 bytes", deep[:120]+" …"),
		},

		{"file", "x.tar", record('0', "a", zeros+zeros) + end, `entry "a": 1800000 bytes is over the limit of 1048576 for one file`},
		{
			"file", "x.zip", zipped(stored("a", "").with(sized(1 << 63))),
			`entry "a": 4611686018427387904 bytes is over the limit of 1048576 for one file`,
		},
		{"hole", "x.tar", hole("a", 1<<60) + end, `entry "a": 1152921504606846976 bytes is over the limit of 1048576 for one file`},
		{"total", "x.tar", three, "unpacked content is over the limit of 2097152 bytes"},
		{
			"total", "x.zip", zipped(stored("a", zeros), stored("b", zeros), stored("c", zeros)),
			"unpacked content is over the limit of 2097152 bytes",
		},
		{"ratio", "x.tgz", gz(two), "unpacked content is more than 50 times the size of the archive"},
		{"ratio", "x.tar.zst", zst(two), "unpacked content is more than 50 times the size of the archive"},
		{
			"ratio", "x.zip", zipped(deflated("a", zeros), deflated("b", zeros)),
			"unpacked content is more than 50 times the size of the archive",
		},
		{
			"tail", "x.tgz", gz(record('0', "a", "x") + end + three),
			"the archive is over its limits when it is unpacked: too many or too long headers, or too much behind its end",
		},
		{"window", "x.tar.zst", "\x28\xb5\x2f\xfd\x00\x80\x01\x00\x00", "damaged archive: its end is missing"},
		{
			"window", "x.tar.zst", "\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00",
			"zstd needs a window over 64 MiB to unpack it; pack it with level 19 or less and without --long",
		},
		{
			"overlap", "x.zip", strings.Repeat("x", 20_000) + overlapping(deflated("a", zeros), stored("b", ""), stored("c", "")),
			"unpacked content is more than 50 times the size of the archive",
		},
		{"idle", "x.zip", overlapping(idle, stored("b", ""), stored("c", "")), `entry "b": overlaps another entry`},
		{"less", "x.zip", zipped(deflated("a", zeros).with(sized(1))), `entry "a": zip: not a valid zip file`},
		{"more", "x.zip", zipped(stored("a", "x").with(sized(2))), `entry "a": unexpected EOF`},
		{"directory", "x.zip", zipped(stored("a/", "x")), `entry "a/": a directory with content`},
		{"encrypted", "x.zip", zipped(stored("a", "x").with(func(h *zip.FileHeader) {
			h.Flags |= 1
		})), `entry "a": encrypted entries are not supported`},
		{"method", "x.zip", zipped(stored("a", "x").with(func(h *zip.FileHeader) {
			h.Method = 99
		})), `entry "a": zip: unsupported compression algorithm`},
		{"checksum", "x.zip", zipped(stored("a", "x").with(func(h *zip.FileHeader) { h.CRC32++ })), `entry "a": zip: checksum error`},

		{"content", "x.tar", three[:1000], `entry "a": unexpected EOF`},
		{"next", "x.tar", three[:512+900_096], "damaged archive: its end is missing"},
		{"content", "x.tgz", gz(three)[:1000], `entry "a": unexpected EOF`},
		{"content", "x.tar.zst", zst(three)[:60], "damaged archive: unexpected EOF"},
		{"content", "x.zip", zipped(stored("a", zeros))[:1000], "damaged archive: zip: not a valid zip file"},
		{"nothing", "x.tar", "", "damaged archive: its end is missing"},
		{"nothing", "x.tgz", "", "not a gzip file: EOF"},
		{"nothing", "x.tar.zst", "", "damaged archive: its end is missing"},
		{"nothing", "x.zip", "", "damaged archive: zip: not a valid zip file"},
	} {
		t.Run(test.name+"/"+test.file, func(t *testing.T) {
			data := []byte(test.data)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := Extract(test.file, data, small)
			runtime.ReadMemStats(&after)
			if got != nil || fmt.Sprint(err) != test.want {
				t.Errorf("%d files and\n%v, want\n%s", len(got), err, test.want)
			}
			most := 8 * small.Bytes // half of it is enough without the race detector
			if Suffix(test.file) == ".tar.zst" {
				most += 64 << 20 // its window has a limit of its own
			}
			if n := int64(after.TotalAlloc - before.TotalAlloc); n > most {
				t.Errorf("allocated %d bytes, want at most %d", n, most)
			}
		})
	}
}

// TestDamage cuts archives short everywhere, and changes each byte of those that have checksums of everything.
func TestDamage(t *testing.T) {
	want := []tree.File{file("a", "hello"), file("b/c", strings.Repeat("x", 600)), file("d", "")}
	plain, _ := Pack("x.tar", want)
	padded := string(plain) + strings.Repeat(end, 6)
	for name, data := range map[string]string{
		"x.tar": string(plain), "x.tgz": gz(padded), "x.tar.zst": zst(padded),
		"x.zip": zipped(stored("a", "hello"), deflated("b/c", strings.Repeat("x", 600)), stored("d", "")),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Extract(name, []byte(data), small); err != nil || !cmp.Equal(want, got, bytewise) {
				t.Fatal(got, err)
			}
			for i := range data {
				if got, err := Extract(name, []byte(data[:i]), small); err == nil {
					t.Fatalf("%d files from the first %d bytes of %d", len(got), i, len(data))
				}
			}
			for i := range data {
				changed := []byte(data)
				changed[i] ^= 4
				got, err := Extract(name, changed, small)
				if err == nil && (name == "x.tgz" || name == "x.tar.zst") && !cmp.Equal(want, got, bytewise) {
					t.Fatalf("byte %d of %d is another, and nothing noticed:\n%s", i, len(data), cmp.Diff(want, got, bytewise))
				}
			}
		})
	}
}
