package s3source

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

func object(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

// world is a set of buckets in memory.
type world map[string]*buckettest.Memory

func (w world) config(git map[string]string) Config {
	dir := fstest.MapFS{}
	for name, text := range git {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Config{
		Git: dir, App: argo.Call{App: "app", Namespace: "ns"},
		Open: func(_ context.Context, a triggerfile.Access) (*bucket.Reader, error) {
			m, ok := w[a.Bucket]
			if !ok {
				return nil, errors.New("there is no such bucket")
			}
			return &bucket.Reader{Store: m, Bucket: a.Bucket, ID: a.Bucket, Limits: bucket.DefaultLimits}, nil
		},
	}
}

func names(docs []manifest.Document) string {
	var out []string
	for _, d := range docs {
		out = append(out, manifest.String(d.Object, "metadata", "name"))
	}
	return strings.Join(out, " ")
}

func TestGenerate(t *testing.T) {
	m := &buckettest.Memory{}
	for key, text := range map[string]string{
		"plain/b.yml": object("b"), "plain/a.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`,
		"plain/sub/c.YAML": object("c"), "plain/readme.md": "x",
		"plain//odd.yaml": object("odd"), "one.yaml": object("one"),
		"odd/kustomization.yaml": "resources: []\n", "odd//x.yaml": object("x"),
		"chart/Chart.yaml":       "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart/templates/a.yaml": object("{{ .Release.Name }}-{{ .Values.v }}-{{ .Release.Namespace }}"), "chart/v.yaml": "v: chart\n",
		"chart/both.yaml": "v: both\n",
	} {
		m.Set(key, text)
	}
	cfg := world{"abc": m}.config(map[string]string{"git.yaml": "v: git\n", "both.yaml": "v: git\n", "bad.yaml": "["})
	for trigger, want := range map[string]string{
		"path: plain":    "odd a b c",
		"path: one.yaml": "one",
		"path: chart\nhelm: {valueFiles: [v.yaml]}":                                                 "app-chart-ns",
		"path: chart\nhelm: {valueFiles: [v.yaml, git.yaml], releaseName: r, namespace: n}":         "r-git-n",
		"path: chart\nhelm: {valueFiles: [$git/both.yaml]}":                                         "app-git-ns",
		"path: chart\nhelm: {values: 'v: text', valueFiles: [v.yaml]}":                              "app-text-ns",
		"path: chart\nhelm: {values: 'v: text', valuesObject: {v: object}}":                         "app-object-ns",
		"path: chart\nhelm: {valueFiles: [both.yaml]}":                                              "s3-source.yaml: helm.valueFiles: both.yaml is in the chart and beside the trigger file; write $git/both.yaml for the latter, or rename it",
		"path: chart\nhelm: {valueFiles: [none.yaml]}":                                              "s3-source.yaml: helm.valueFiles: none.yaml is neither in the chart nor beside the trigger file",
		"path: chart\nhelm: {valueFiles: [$git/none.yaml]}":                                         "s3-source.yaml: helm.valueFiles: none.yaml beside the trigger file: file does not exist",
		"path: chart\nhelm: {values: '[1]'}":                                                        "s3-source.yaml: helm.values must be an object as YAML text, it is a list",
		"path: chart\nhelm: {values: '{'}":                                                          "s3-source.yaml: helm.values is not YAML: line 1: did not find expected node content",
		"path: plain\nhelm: {}":                                                                     "s3-source.yaml: s3://abc/plain: helm is set, but there is no Chart.yaml",
		"path: one.yaml\ntype: helm":                                                                "s3-source.yaml: s3://abc/one.yaml: type is helm, but this is one manifest",
		"path: plain\ntype: kustomize":                                                              `s3-source.yaml: s3://abc/plain//odd.yaml: this key is not a valid file name, which type kustomize needs`,
		"path: odd":                                                                                 `s3-source.yaml: s3://abc/odd//x.yaml: this key is not a valid file name, which type kustomize needs`,
		"bucket: none\npath: a":                                                                     "s3-source.yaml: there is no such bucket",
		"sources: [{path: plain, include: [b.*]}, {path: one.yaml}, {path: plain, include: [a.*]}]": "b one a",
		"sources: [{path: one.yaml}, {path: x}, {bucket: none, path: y}]": "s3-source.yaml: sources[1]: s3://abc/x: there are no objects in this path, so the answer would be empty\n" +
			"s3-source.yaml: sources[2]: there is no such bucket",
	} {
		if !strings.Contains(trigger, "bucket: none\n") {
			trigger = "bucket: abc\n" + trigger
		}
		sources, err := triggerfile.Parse(triggerfile.Name, []byte(trigger))
		if err != nil {
			t.Fatal(err)
		}
		docs, err := cfg.Generate(t.Context(), sources)
		got := names(docs)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", trigger, got, want)
		}
	}
}
