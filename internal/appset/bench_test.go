package appset_test

import (
	"context"
	"io"
	"strconv"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/appsettest"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// BenchmarkGenerate is for profiles; conformance/bench compares with Argo CD.
func BenchmarkGenerate(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			set := benchSet(b, n)
			b.ReportAllocs()
			for b.Loop() {
				res, err := appset.Generate(context.Background(), appset.Config{}, set)
				if err != nil {
					b.Fatal(err)
				}
				if len(res.Applications[0]) != n {
					b.Fatalf("%d Applications", len(res.Applications[0]))
				}
			}
		})
	}
}

func BenchmarkWriteYAML(b *testing.B) {
	res, err := appset.Generate(context.Background(), appset.Config{}, benchSet(b, 1_000))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := manifest.WriteYAML(io.Discard, res.Applications[0]...); err != nil {
			b.Fatal(err)
		}
	}
}

func benchSet(b *testing.B, n int) appset.Set {
	b.Helper()
	data, err := appsettest.BenchSet(n)
	if err != nil {
		b.Fatal(err)
	}
	docs, err := manifest.Decode("bench", data)
	if err != nil {
		b.Fatal(err)
	}
	set, _, err := appset.Parse(docs[0])
	if err != nil {
		b.Fatal(err)
	}
	return set
}
