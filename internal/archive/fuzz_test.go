package archive

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/tree"
)

func FuzzExtract(f *testing.F) {
	files := []tree.File{file("a", "x"), file("b/c.yaml", "kind: List\n"), file("é", "")}
	for i, suffix := range suffixes {
		if packed, err := Pack(suffix, files); err == nil {
			f.Add(uint8(i), packed)
		}
	}
	f.Add(uint8(3), []byte(pax('g', "g", "comment", "x")+record('5', "./d/", "")+record('0', "./d/a", "x")+end))
	f.Add(uint8(3), []byte(pax('x', "x", "path", "é", "size", "1")+record('0', "a", "x")+hole("h", 9)+record('2', "l", "")+end))
	f.Add(uint8(4), []byte(zipped(stored("d/", ""), stored("a", "x"), deflated("b/c", "hello hello hello"))))
	limits := Limits{Entries: 20, FileBytes: 1 << 14, Bytes: 1 << 15, Ratio: 10, RatioFrom: 1 << 12}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		got, err := Extract(suffixes[int(kind)%len(suffixes)], data, limits)
		if err != nil {
			if got != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%d files and %v", len(got), err)
			}
			return
		}
		total := 0
		for i, f := range got {
			total += len(f.Data)
			if !tree.Safe(f.Name) || i > 0 && got[i-1].Name >= f.Name || int64(len(f.Data)) > limits.FileBytes {
				t.Errorf("file %q has %d bytes", f.Name, len(f.Data))
			}
		}
		if int64(total) > limits.Bytes || len(got) > limits.Entries || total > int(limits.RatioFrom) &&
			total > len(data)*int(limits.Ratio) {
			t.Errorf("%d files have %d bytes", len(got), total)
		}
		packed, err := Pack("x.tar", got)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Extract("x.tar", packed, DefaultLimits)
		if diff := cmp.Diff(got, again, bytewise); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
