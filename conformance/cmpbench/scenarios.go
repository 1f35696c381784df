package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// scenario is a request.
type scenario struct {
	name, plugin string
	repo, app    string // directories
	env          []string
	objects      int
}

func (b *bench) write(name string, files map[string]string) (string, error) {
	dir := filepath.Join(b.dir, name)
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func spec(n int) string {
	var elements []string
	for i := range n {
		elements = append(elements, fmt.Sprintf("{name: app-%d, team: team-%d}", i, i%10))
	}
	return "goTemplate: true\ngenerators: [{list: {elements: [" + strings.Join(elements, ", ") + `]}}]
template:
  metadata: {name: '{{ .name }}', labels: {team: '{{ .team }}'}}
  spec:
    project: default
    source: {repoURL: https://git.example.com/x, path: 'apps/{{ .name }}', targetRevision: main}
    destination: {server: https://kubernetes.default.svc, namespace: '{{ .name }}'}
    syncPolicy: {automated: {prune: true}}
`
}

func (b *bench) scenarios() ([]scenario, error) {
	small, err := b.write("small", map[string]string{"app/readme": "x\n"})
	if err != nil {
		return nil, err
	}
	set := "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x}\nspec:\n  " +
		strings.ReplaceAll(strings.TrimSpace(spec(10)), "\n", "\n  ") + "\n"
	files := map[string]string{"apps/set.yaml": set}
	noise := make([]byte, 1<<20)
	for i := range 20 {
		for j := range noise {
			noise[j] = byte(rand.Uint32())
		}
		files[fmt.Sprintf("assets/%d", i)] = string(noise)
	}
	large, err := b.write("large", files)
	if err != nil {
		return nil, err
	}
	trigger, err := b.write("trigger", map[string]string{"app/s3-source.yaml": "bucket: bench\npath: app\n"})
	if err != nil {
		return nil, err
	}
	chart, err := b.write("chart", map[string]string{
		"app/Chart.yaml":  "apiVersion: v2\nname: bench\nversion: 1.0.0\n",
		"app/values.yaml": "names: [" + strings.Repeat("x, ", 10) + "]\n",
		"app/templates/cm.yaml": `{{ define "labels" }}{app: {{ .Release.Name | quote }}, chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}}{{ end }}` +
			"{{ range $i, $name := .Values.names }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ $name }}-{{ $i }}\n  " +
			"labels: {{ include \"labels\" $ }}\ndata: {text: {{ repeat 100 $name | quote }}}\n{{ end }}",
	})
	if err != nil {
		return nil, err
	}
	return []scenario{
		{"appset-10", "appset", small, filepath.Join(small, "app"), []string{"PARAM_SPEC=" + spec(10)}, 10},
		{"appset-1000", "appset", small, filepath.Join(small, "app"), []string{"PARAM_SPEC=" + spec(1000)}, 1000},
		{"appset-large-repository", "appset", large, filepath.Join(large, "apps"), nil, 10},
		{"appset-chart", "appset", chart, filepath.Join(chart, "app"), nil, 10},
		{"s3-unchanged", "s3", trigger, filepath.Join(trigger, "app"), nil, 10},
	}, nil
}
