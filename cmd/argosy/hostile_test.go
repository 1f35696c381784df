package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/status"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/cmp/cmptest"
)

// startLimited runs the real "argosy cmp" in a process with the memory that a deployed one has, and returns the directory of its sockets,
// and its address. It fails the test if the process ends by itself.
func startLimited(t *testing.T, env []string) (dir, address string) {
	t.Helper()
	file := binary(t)
	dir, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := exec.Command("/bin/sh", "-c", `ulimit -d 1048576; exec "$@"`, "sh", file, "cmp", "--socket-dir", dir, "--work-dir", t.TempDir(),
		"--cache-dir", t.TempDir(), "--listen", "127.0.0.1:0",
		"--workers", "4", "--worker-memory", "96", "--parallel", "8")
	c.Env = append(os.Environ(), env...)
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			if m := listening.FindStringSubmatch(s.Text()); m != nil {
				found <- m[1]
			}
		}
		close(found)
		ended <- c.Wait()
	}()
	address, ok := <-found
	if !ok {
		t.Fatal("it did not start")
	}
	t.Cleanup(func() {
		select {
		case err := <-ended:
			t.Errorf("the process has ended: %v", err)
			return
		default:
		}
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return dir, "http://" + address
}

// TestHostileBucket: 8 applications of a project read more from S3 than the process has memory.
func TestHostileBucket(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	buckettest.Environment(t)
	server := buckettest.InProcess(t, "artifacts")
	large := strings.Repeat("# a comment in a manifest\n", 2<<20)
	for i := range 4 {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, fmt.Sprintf("%s/artifacts/large/%d.yaml", server, i),
			strings.NewReader(large))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	dir, _ := startLimited(t, []string{"KUBERNETES_SERVICE_HOST=", "AWS_ENDPOINT_URL_S3=" + server})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_, err := cmptest.Generate(context.Background(), filepath.Join(dir, "s3.sock"), cmptest.Request{
				Files: map[string]string{"app/s3-source.yaml": "bucket: artifacts\npath: large\n"}, Dir: "app",
				Env: map[string]string{"ARGOCD_APP_NAME": fmt.Sprint("web", i), "ARGOCD_APP_PROJECT_NAME": "default"},
			})
			if want := "4 objects with 218103808 bytes are over the limit of 33554432 bytes"; !strings.Contains(status.Convert(err).Message(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	all.Wait()
}

// folder is a set in a file, with a template and more.
func folder(template, more string) map[string]string {
	return map[string]string{"app/set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x}\nspec:\n  goTemplate: true\n  generators: [{list: {elements: [{name: a}, {name: b}]}}]\n" + more +
		"  template:\n    metadata: {name: '{{ .name }}', annotations: {" + template +
		"}}\n    spec: {project: default, source: {repoURL: https://git.example.com/x, path: x}, destination: {name: in-cluster, namespace: x}}\n"}
}

func chartOf(template string) map[string]string {
	return map[string]string{"app/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "app/templates/x.yaml": template}
}

// hostile are requests that ended or stalled the whole process when it evaluated them itself.
func hostile() map[string]map[string]string {
	diamond := map[string]string{"app/kustomization.yaml": "resources: [../b0/l, ../b0/r]\n"}
	for i := range 40 {
		for _, side := range []string{"l", "r"} {
			diamond[fmt.Sprintf("b%d/%s/kustomization.yaml", i,
				side)] = fmt.Sprintf("namePrefix: %s\nresources: [../../b%d/l, ../../b%d/r]\n", side, i+1, i+1)
		}
	}
	for _, side := range []string{"l", "r"} {
		diamond["b40/"+side+"/kustomization.yaml"] = "resources: [cm.yaml]\n"
		diamond["b40/"+side+"/cm.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + side + "}\n"
	}
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return map[string]map[string]string{
		"a template that calls itself": folder(`x: '{{ define "x" }}`+strings.Repeat("{{ if true }}", 200)+`{{ template "x" . }}`+
			strings.Repeat("{{ end }}", 200)+`{{ end }}{{ template "x" . }}'`, ""),
		"parameters in a circle":      folder(`x: '{{ $_ := set . "self" . }}', y: '{{ . }}'`, ""),
		"one large string many times": folder(`x: '{{ $s := repeat 500000 "x" }}{{ $l := list }}{{ range until 10000 }}{{ $l = append $l $s }}{{ end }}{{ $l }}'`, ""),
		"nested ifs":                  folder("x: '"+strings.Repeat("{{if 1}}", 250_000)+strings.Repeat("{{end}}", 250_000)+"'", ""),
		"a patch with many aliases": folder("x: fine",
			"  templatePatch: |\n    metadata: {annotations: {a: &a '{{ repeat 100000 \"x\" }}', b: [{{ range until 20000 }}*a, {{ end }}]}}\n"),
		"a manifest with many aliases":  {"app/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n" + bomb},
		"a chart that calls itself":     chartOf(`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`),
		"a chart with tpl of itself":    chartOf(`{{ define "a" }}{{ tpl "{{ include \"a\" . }}" . }}{{ end }}{{ include "a" . }}`),
		"a chart with a large string":   chartOf(`x: {{ repeat 500000000 "x" }}`),
		"a chart that does not end":     chartOf(`{{ range until 100000 }}{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}{{ end }}`),
		"a diamond of kustomizations":   diamond,
		"a chart with nested documents": chartOf("x: " + strings.Repeat("[", 900_000)),
	}
}

// TestHostile sends requests that try to end or to stall the process to the real program with limited memory, while others keep asking:
// their answers stay right, and the process goes on.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	buckettest.Environment(t)
	server := buckettest.InProcess(t, "artifacts")
	for key, content := range map[string]string{
		"good/cm.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n",
		"bad/Chart.yaml":       chartOf("")["app/Chart.yaml"],
		"bad/templates/x.yaml": chartOf(`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`)["app/templates/x.yaml"],
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, server+"/artifacts/"+key, strings.NewReader(content))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	dir, address := startLimited(t, []string{"KUBERNETES_SERVICE_HOST=", "AWS_ENDPOINT_URL_S3=" + server})
	ask := func(ctx context.Context, plugin string, r cmptest.Request) ([]string, error) {
		r.Env = map[string]string{
			"ARGOCD_APP_NAME": "web", "ARGOCD_APP_PROJECT_NAME": "default", "PARAM_SPEC": r.Env["PARAM_SPEC"],
			"ARGOCD_APP_REVISION": r.Env["ARGOCD_APP_REVISION"],
		}
		return cmptest.Generate(ctx, filepath.Join(dir, plugin+".sock"), r)
	}
	honest := map[string]cmptest.Request{
		"spec":   {Files: map[string]string{"x": ""}, Env: map[string]string{"PARAM_SPEC": pluginSpec}},
		"folder": {Files: folder("x: fine", ""), Dir: "app"},
		"s3":     {Files: map[string]string{"app/s3-source.yaml": "bucket: artifacts\npath: good\n"}, Dir: "app"},
	}
	plugin := func(name string) string {
		if name == "s3" {
			return "s3"
		}
		return "appset"
	}
	want := map[string][]string{}
	for name, r := range honest {
		got, err := ask(t.Context(), plugin(name), r)
		if err != nil {
			t.Fatal(name, err)
		}
		want[name] = got
	}
	stop := make(chan struct{})
	var neighbours sync.WaitGroup
	answers := map[string]int{}
	var mu sync.Mutex
	for name, r := range honest {
		neighbours.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				r.Env = map[string]string{"PARAM_SPEC": r.Env["PARAM_SPEC"], "ARGOCD_APP_REVISION": fmt.Sprint(i)}
				got, err := ask(context.Background(), plugin(name), r)
				if diff := cmp.Diff(want[name], got); diff != "" || err != nil {
					t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
					return
				}
				mu.Lock()
				answers[name]++
				mu.Unlock()
			}
		})
	}
	requests := map[string]cmptest.Request{"a chart in S3 that calls itself": {Files: map[string]string{"app/s3-source.yaml": "bucket: artifacts\npath: bad\n"}, Dir: "app"}}
	for name, files := range hostile() {
		requests[name] = cmptest.Request{Files: files, Dir: "app"}
	}
	for name, r := range requests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			which := "appset"
			if strings.Contains(name, "S3") {
				which = "s3"
			}
			_, err := ask(ctx, which, r)
			if err == nil {
				t.Error("it was answered")
			}
			t.Log(status.Convert(err).Message())
		})
	}
	close(stop)
	neighbours.Wait()
	for name := range honest {
		if answers[name] == 0 {
			t.Errorf("%s was never answered", name)
		}
	}
	if code, body := get(t, address+"/healthz"); code != http.StatusOK {
		t.Error(code, body)
	}
	_, metrics := get(t, address+"/metrics")
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "argosy_workers_") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
