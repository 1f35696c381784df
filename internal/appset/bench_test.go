package appset_test

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset"
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
	const text = `
goTemplate: true
goTemplateOptions: ["missingkey=error"]
generators: [{list: {elements: []}}]
template:
  metadata:
    name: '{{ .team }}-{{ .name | normalize }}'
    labels: {team: '{{ .team }}', env: '{{ .env }}'}
    annotations: {argocd.argoproj.io/sync-wave: '{{ .wave }}'}
  spec:
    project: '{{ .team }}'
    source:
      repoURL: 'https://git.example.com/{{ .team }}/{{ .name }}.git'
      targetRevision: '{{ .revision }}'
      path: 'deploy/{{ .env }}'
      helm:
        releaseName: '{{ .name | lower | trunc 53 }}'
        valueFiles: ['values-{{ .env }}.yaml']
        valuesObject: {image: {tag: '{{ .image.tag }}'}, region: '{{ index .regions 0 }}'}
    destination: {server: '{{ .cluster.server }}', namespace: '{{ .team }}-{{ .env }}'}
`
	docs, err := manifest.Decode("bench", []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	elements := make([]any, n)
	for i := range elements {
		elements[i] = map[string]any{
			"name": fmt.Sprintf("Service_%d", i), "team": "team", "env": "prod", "wave": "1", "revision": "v1",
			"image": map[string]any{"tag": "1"}, "regions": []any{"eu"}, "cluster": map[string]any{"server": "https://x"},
		}
	}
	generators := docs[0].Object["generators"].([]any)
	generators[0].(map[string]any)["list"].(map[string]any)["elements"] = elements
	set, _, err := appset.Parse(docs[0])
	if err != nil {
		b.Fatal(err)
	}
	return set
}
