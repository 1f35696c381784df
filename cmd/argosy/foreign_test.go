package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/trigger"
)

// chartServer is a repository of charts, each in version 1.0.0.
func chartServer(t testing.TB, charts map[string]map[string]string) string {
	t.Helper()
	mux := http.NewServeMux()
	index := "apiVersion: v1\nentries:\n"
	for name, files := range charts {
		index += fmt.Sprintf("  %[1]s:\n  - {name: %[1]s, version: 1.0.0, urls: [%[1]s-1.0.0.tgz]}\n", name)
		data := packChart(t, name, files)
		mux.HandleFunc("/"+name+"-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
	}
	mux.HandleFunc("/index.yaml", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, index) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func packChart(t testing.TB, name string, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: name + "/" + file, Size: int64(len(files[file])), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[file])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// writeFiles writes a directory.
func writeFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func applicationOf(name, source string) string {
	return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd}\nspec: {project: default, source: {%s}, destination: {name: in-cluster, namespace: argocd}, syncPolicy: {automated: {}}}\n", name, source)
}

// ordinaryChart is as large as many are: some twenty templates.
func ordinaryChart(name string) map[string]string {
	files := map[string]string{
		"Chart.yaml":             "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n",
		"values.yaml":            "replicas: 2\nimage: {repository: nginx, tag: latest}\nlabels: {team: web}\nresources: {limits: {cpu: 1, memory: 1Gi}}\n",
		"templates/_helpers.tpl": "{{- define \"x.name\" -}}{{ .Release.Name | trunc 63 | trimSuffix \"-\" }}{{- end }}\n{{- define \"x.labels\" -}}\napp: {{ include \"x.name\" . }}\n{{ toYaml .Values.labels }}\n{{- end }}\n",
	}
	for i := range 20 {
		files[fmt.Sprintf("templates/deployment-%d.yaml",
			i)] = fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ include \"x.name\" . }}-%d\n  labels:\n    {{- include \"x.labels\" . | nindent 4 }}\nspec:\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: {{ include \"x.name\" . }}}}\n  template:\n    metadata:\n      labels:\n        {{- include \"x.labels\" . | nindent 8 }}\n    spec:\n      containers:\n      - name: main\n        image: {{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}\n        resources:\n          {{- toYaml .Values.resources | nindent 10 }}\n        env:\n        {{- range $i := until 10 }}\n        - {name: V{{ $i }}, value: {{ $i | quote }}}\n        {{- end }}\n", i)
	}
	return files
}

// gitRepository serves files as a Git repository, and returns its URL.
func gitRepository(t *testing.T, files map[string]string) string {
	t.Helper()
	repo := &trigger.Files{Date: time.Unix(1_700_000_000, 0), Message: "all"}
	var list []tree.File
	for name, text := range files {
		list = append(list, tree.File{Name: name, Data: []byte(text)})
	}
	if err := repo.Set(list); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&gitserver.Server{Open: func(context.Context, string) (gitserver.Repository, error) { return repo, nil }})
	t.Cleanup(server.Close)
	return server.URL + "/repo.git"
}

// TestForeign plans, with the real program, a tree with a repository whose Kustomization takes all memory: it copies a large text to many
// fields. What is made of it is unknown, and everything else is planned.
func TestForeign(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("it builds the program, and needs a limit of memory")
	}
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	fields := ""
	for i := range 1000 {
		fields += fmt.Sprintf("data.a%d, ", i)
	}
	bases := gitRepository(t, map[string]string{
		"hostile/kustomization.yaml": "resources: [cm.yaml]\nreplacements:\n- source: {kind: ConfigMap, fieldPath: data.x}\n  targets: [{select: {kind: ConfigMap}, options: {create: true}, fieldPaths: [" + fields + "data.b]}]\n",
		"hostile/cm.yaml":            configMap + "data: {x: " + strings.Repeat("x", 4<<20) + "}\n",
		"honest/kustomization.yaml":  "namePrefix: honest-\nresources: [cm.yaml]\n", "honest/cm.yaml": configMap,
	})
	charts := chartServer(t, map[string]map[string]string{"honest": ordinaryChart("honest")})
	files := map[string]string{
		"root.yaml":   applicationOf("root", "repoURL: https://x/y, path: apps"),
		"own/cm.yaml": strings.Replace(configMap, "x", "own", 1),
	}
	for name, source := range map[string]string{
		"own": "repoURL: https://x/y, path: own", "chart": "repoURL: " + charts + ", chart: honest, targetRevision: 1.0.0",
		"repo-hostile": "repoURL: " + bases + ", path: hostile", "repo-honest": "repoURL: " + bases + ", path: honest",
		"base-hostile": "repoURL: https://x/y, path: hostile", "base-honest": "repoURL: https://x/y, path: honest",
	} {
		files["apps/"+name+".yaml"] = applicationOf(name, source)
		if base, ok := strings.CutPrefix(name, "base-"); ok {
			files[base+"/kustomization.yaml"] = "namePrefix: based-\nresources: ['" + bases + "/" + base + "']\n"
		}
	}
	dir := writeFiles(t, files)
	cmd := exec.CommandContext(t.Context(), binary(t), "plan", "--resources", "--repo", "https://x/y="+dir, filepath.Join(dir, "root.yaml"))
	cmd.Env = append(os.Environ(), "ARGOSY_CACHE_DIR=none")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exitFound {
		t.Fatalf("exit code %d: %v\n%s", code, err, out)
	}
	const stopped = "rendering it was stopped: it takes more than "
	for _, want := range []string{
		"hostile of " + bases + ": " + stopped, "hostile of https://x/y: " + stopped, " own   ConfigMap", " chart-19   Deployment",
		" honest-x   ConfigMap", " based-honest-x   ConfigMap",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the plan does not have %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// BenchmarkForeign plans Applications of charts: in the work tree, and fetched, so that workers render them.
func BenchmarkForeign(b *testing.B) {
	argosy := binary(b)
	charts := map[string]map[string]string{}
	files := map[string]string{
		"root.yaml": applicationOf("root", "repoURL: https://x/y, path: fetched"),
		"own.yaml":  applicationOf("root", "repoURL: https://x/y, path: own"),
	}
	for i := range 100 {
		name := fmt.Sprintf("chart-%d", i)
		charts[name] = ordinaryChart(name)
		for file, text := range charts[name] {
			files[name+"/"+file] = text
		}
		files["own/"+name+".yaml"] = applicationOf(name, "repoURL: https://x/y, path: "+name)
	}
	server := chartServer(b, charts)
	for name := range charts {
		files["fetched/"+name+".yaml"] = applicationOf(name, "repoURL: "+server+", chart: "+name+", targetRevision: 1.0.0")
	}
	dir := writeFiles(b, files)
	cache := b.TempDir()
	run := func(b *testing.B, root string) {
		b.Helper()
		var computed time.Duration
		for b.Loop() {
			cmd := exec.Command(argosy, "plan", "--repo", "https://x/y="+dir, filepath.Join(dir, root))
			cmd.Env = append(os.Environ(), "ARGOSY_CACHE_DIR="+cache)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "101 Applications") {
				b.Fatalf("%v\n%s", err, out)
			}
			computed += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() // with that of its workers
		}
		b.ReportMetric(float64(computed.Milliseconds())/float64(b.N), "cpu-ms/op")
	}
	b.Run("own", func(b *testing.B) { run(b, "own.yaml") })
	b.Run("fetched", func(b *testing.B) { run(b, "root.yaml") })
}
