package appsettest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// benchSet is an ApplicationSet with a dozen templated fields, of the kinds that real sets have: plain fields, text around
// them, functions, and an index into a list.
const benchSet = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: bench, namespace: argocd}
spec:
  goTemplate: true
  goTemplateOptions: ["missingkey=error"]
  generators:
  - list: {elements: []}
  template:
    metadata:
      name: '{{ .team }}-{{ .name | normalize }}'
      labels:
        team: '{{ .team }}'
        env: '{{ .env }}'
      annotations:
        argocd.argoproj.io/sync-wave: '{{ .wave }}'
        notifications.argoproj.io/subscribe.slack: '{{ .team }}-alerts'
    spec:
      project: '{{ .team }}'
      source:
        repoURL: 'https://git.example.com/{{ .team }}/{{ .name }}.git'
        targetRevision: '{{ .revision }}'
        path: 'deploy/{{ .env }}'
        helm:
          releaseName: '{{ .name | lower | trunc 53 }}'
          valueFiles: ['values.yaml', 'values-{{ .env }}.yaml']
          valuesObject:
            image: {tag: '{{ .image.tag }}'}
            region: '{{ index .regions 0 }}'
      destination:
        server: '{{ .cluster.server }}'
        namespace: '{{ .team }}-{{ .env }}'
      syncPolicy:
        automated: {prune: true, selfHeal: true}
        syncOptions: [CreateNamespace=true]
`

// BenchSet returns an ApplicationSet with n elements, as JSON.
func BenchSet(n int) ([]byte, error) {
	docs, err := manifest.Decode("bench", []byte(benchSet))
	if err != nil {
		return nil, err
	}
	elements := make([]any, n)
	for i := range elements {
		elements[i] = map[string]any{
			"name": fmt.Sprintf("Service_%d", i), "team": fmt.Sprintf("team-%d", i%40), "env": []string{"dev", "staging", "prod"}[i%3],
			"wave": strconv.Itoa(i % 7), "revision": fmt.Sprintf("v1.%d.0", i), "image": map[string]any{"tag": fmt.Sprintf("1.%d", i)},
			"regions": []any{"eu-central-1", "us-east-1"},
			"cluster": map[string]any{"server": fmt.Sprintf("https://cluster-%d.example.com:6443", i%20)},
		}
	}
	generators, _ := manifest.Map(docs[0].Object, "spec")["generators"].([]any)
	entry, _ := generators[0].(map[string]any)
	manifest.Map(entry, "list")["elements"] = elements
	return json.Marshal(docs[0].Object)
}
