package job

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/cmp/client"
	"github.com/argosy-cd/argosy/internal/parent"
	"github.com/argosy-cd/argosy/internal/tree"
)

// BenchmarkExpand: 1,000 Applications, here and in a worker, and what it takes to send them.
func BenchmarkExpand(b *testing.B) {
	var elements []string
	for i := range 1000 {
		elements = append(elements, fmt.Sprintf("{name: app-%d, path: {basename: -x}}", i))
	}
	set := setOf("[{list: {elements: [" + strings.Join(elements, ", ") + "]}}]")["app/set.yaml"]
	e := evaluation(client.Pack([]tree.File{{Name: "app/set.yaml", Data: []byte(set)}}, nil), appset.Embedded{})
	expand := func(b *testing.B, evaluator parent.Evaluator) *appset.Expanded {
		b.Helper()
		var out *appset.Expanded
		var err error
		for b.Loop() {
			if out, err = evaluator.Expand(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
		return out
	}
	var out *appset.Expanded
	b.Run("here", func(b *testing.B) { out = expand(b, parent.Here{}) })
	b.Run("worker", func(b *testing.B) { expand(b, workers(b)) })
	m, err := encodeExpanded(out)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			if _, err := encodeExpanded(out); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(m.Blobs[0])))
		for b.Loop() {
			if _, err := decodeExpanded(m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
