package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/status"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/cmp/cmptest"
	"github.com/argosy-cd/argosy/internal/environ"
)

// lines keeps what is written, and tells about lines that match.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	pipe *io.PipeWriter
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	l.text.Write(p)
	l.mu.Unlock()
	return l.pipe.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

// startCmp runs "argosy cmp" in this process and returns the directory of its sockets, its address and its log.
func startCmp(t *testing.T, env []string, args ...string) (dir, address string, log *lines) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r, w := io.Pipe()
	log = &lines{pipe: w}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	work := t.TempDir()
	go func() {
		args := append([]string{"cmp", "--socket-dir", dir, "--work-dir", work, "--listen", "127.0.0.1:0"}, args...)
		done <- execute(ctx, stdio{Out: io.Discard, Err: log, Env: environ.New(env...), Now: time.Now}, args)
		w.Close()
	}()
	found := make(chan string, 1)
	go func() {
		for s := bufio.NewScanner(r); s.Scan(); {
			if m := listening.FindStringSubmatch(s.Text()); m != nil {
				found <- m[1]
			}
		}
		close(found)
	}()
	address, ok := <-found
	if !ok {
		t.Fatalf("it did not start:\n%s", log)
	}
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("exit code %d:\n%s", code, log)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return dir, "http://" + address, log
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

const pluginSpec = `generators: [{list: {elements: [{name: a}, {name: b}]}}]
template:
  metadata: {name: '{{name}}'}
  spec: {project: default, source: {repoURL: https://git.example.com/x, path: '{{name}}'}, destination: {name: in-cluster, namespace: x}}
`

// TestCmp serves both plugins and looks at what it tells about itself.
func TestCmp(t *testing.T) {
	buckettest.Environment(t)
	server := buckettest.InProcess(t, "artifacts")
	t.Setenv("AWS_ENDPOINT_URL_S3", server)
	put := func(key, content string) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, server+"/artifacts/"+key, strings.NewReader(content))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	put("apps/demo/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: demo}\n")
	put("apps/child/app.yaml",
		"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: child, namespace: argocd}\nspec: {project: default}\nstatus: {operationState: {phase: Running}}\n")
	put("apps/hook/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {argocd.argoproj.io/hook: presync}}\n")
	chart := map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {value: '{{ .Values.value }}'}\n",
	}
	for name, content := range chart {
		put("charts/c/"+name, content)
	}
	dir, address, log := startCmp(t, []string{"KUBERNETES_SERVICE_HOST="}, "--cache-dir", filepath.Join(t.TempDir(), "cache"))
	appset, s3 := filepath.Join(dir, "appset.sock"), filepath.Join(dir, "s3.sock")
	ask := func(socket string, r cmptest.Request) ([]string, string) {
		t.Helper()
		if r.Env == nil {
			r.Env = map[string]string{}
		}
		r.Env["ARGOCD_APP_NAME"] = "web"
		if r.Env["ARGOCD_APP_PROJECT_NAME"] == "" {
			r.Env["ARGOCD_APP_PROJECT_NAME"] = "default"
		}
		got, err := cmptest.Generate(t.Context(), socket, r)
		return got, status.Convert(err).Message()
	}
	repository := map[string]string{
		"app/s3-source.yaml": "bucket: artifacts\npath: apps/demo\n", "bad/s3-source.yaml": "bucket: artifacts\npth: x\n", "none/x": "",
		"chart/s3-source.yaml": "bucket: artifacts\npath: charts/c\nhelm: {valueFiles: [values.yaml]}\n",
		"chart/values.yaml":    "-> ../shared.yaml", "shared.yaml": "value: from-git\n",
		"sets/set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x}\nspec:\n  " +
			strings.ReplaceAll(strings.TrimSpace(pluginSpec), "\n", "\n  ") + "\n",
	}
	for _, c := range []struct {
		socket  string
		request cmptest.Request
		objects int
		want    string // in the first object, or the error
	}{
		{appset, cmptest.Request{Files: repository, Env: map[string]string{"PARAM_SPEC": pluginSpec}}, 2, `"namespace":"argocd"`},
		{appset, cmptest.Request{Files: repository, Dir: "sets"}, 2, `"name":"a"`},
		{appset, cmptest.Request{Files: repository, Dir: "none"}, 0, "none: there are no manifests"},
		{
			appset,
			cmptest.Request{Files: repository, Env: map[string]string{"PARAM_SPEC": strings.Replace(pluginSpec,
				"list: {elements: [{name: a}, {name: b}]}", "clusters: {}", 1)}},
			0,
			"there is no access to a cluster, so Argo CD's clusters are not known",
		},
		{s3, cmptest.Request{Files: repository, Dir: "app"}, 1, `"name":"demo"`},
		{s3, cmptest.Request{Files: repository, Dir: "chart"}, 1, `"value":"from-git"`},
		{s3, cmptest.Request{Files: repository, Dir: "bad"}, 0, `bad/s3-source.yaml:2:1: `},
		{s3, cmptest.Request{Files: repository, Dir: "none"}, 0, "none/s3-source.yaml: there is no such file"},
		{s3, cmptest.Request{
			Files: repository, Dir: "none",
			Env: map[string]string{"PARAM_SOURCE": "bucket: artifacts\npath: apps/demo\n"},
		}, 1, `"name":"demo"`},
		{s3, cmptest.Request{
			Files: repository, Dir: "none",
			Env: map[string]string{"PARAM_SOURCE": "bucket: artifacts\npath: apps/child\n"},
		}, 1, `"name":"child"`},
		{s3, cmptest.Request{Files: repository, Dir: "none", Env: map[string]string{
			"PARAM_SOURCE":            "bucket: artifacts\npath: apps/child\n",
			"ARGOCD_APP_PROJECT_NAME": "team-a",
		}}, 0, `Application "child": project "default" is refused`},
		{s3, cmptest.Request{Files: repository, Dir: "none", Env: map[string]string{
			"PARAM_SOURCE":            "bucket: artifacts\npath: apps/child\n",
			"ARGOCD_APP_PROJECT_NAME": "team-a",
		}}, 0, `Application "child": status is refused`},
		{s3, cmptest.Request{
			Files: repository, Dir: "none",
			Env: map[string]string{"PARAM_SOURCE": "bucket: artifacts\npath: apps/hook\n"},
		}, 1, `"name":"hook"`},
		{
			s3,
			cmptest.Request{
				Files: repository, Dir: "none",
				Env: map[string]string{"PARAM_SOURCE": "bucket: artifacts\npath: apps/none\n"},
			},
			0,
			"parameter source: s3://artifacts/apps/none: there are no objects",
		},
		{
			s3,
			cmptest.Request{Files: repository, Dir: "app", Env: map[string]string{"PARAM_SOURCE": "bucket: artifacts\npath: apps/demo\n"}},
			0, "app/s3-source.yaml exists, and the parameter source is set; only one of them is allowed",
		},
	} {
		got, message := ask(c.socket, c.request)
		if len(got) != c.objects || !strings.Contains(strings.Join(got, "")+message, c.want) {
			t.Errorf("%s %s: %v %q\nwant %s", filepath.Base(c.socket), c.request.Dir, got, message, c.want)
		}
	}
	if ok, err := cmptest.Match(t.Context(), s3, cmptest.Request{Files: repository, Dir: "app"}); err != nil || !ok.GetIsSupported() {
		t.Errorf("%v, %v", ok, err)
	}
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ok"} {
		if code, body := get(t, address+path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	_, metrics := get(t, address+"/metrics")
	for _, want := range []string{
		`argosy_cmp_requests_total{code="OK",method="generate",plugin="appset"} 2`,
		`argosy_cmp_requests_total{code="Unknown",method="generate",plugin="s3"} 6`,
		`argosy_cmp_requests_total{code="OK",method="match",plugin="s3"} 1`, `argosy_cmp_applications_generated_total 4`,
		`argosy_s3_requests_total{operation="get",result="ok"}`,
		`argosy_s3_cache_total{result="hit"} 3`, `argosy_s3_cache_total{result="miss"} 5`, `argosy_cmp_calls_running 0`,
		`argosy_cmp_calls_left 0`, `argosy_cmp_uploads_held 0`, `argosy_cmp_discoveries_running 0`, `argosy_cmp_discoveries_waiting 0`,
		`argosy_cmp_request_seconds_bucket`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics: no %s in\n%s", want, metrics)
		}
	}
	for _, want := range []string{
		`level=WARN msg="there is no access to a cluster`, `msg=answered plugin=appset method=generate application=web`, `objects=2`,
		`level=WARN msg=refused plugin=s3 method=generate application=web`, `error="bad/s3-source.yaml:2:1: `,
		`msg=warning plugin=s3 application=web warning="ConfigMap \"hook\": Argo CD does not know the hook type \"presync\"`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log: no %s in\n%s", want, log)
		}
	}
	if strings.Contains(log.String(), buckettest.SecretKey) {
		t.Error("the log has a secret")
	}
	// A socket that goes: only a restart helps.
	if err := os.Rename(s3, s3+".away"); err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, address+"/healthz"); code != 503 || !strings.Contains(body, "s3.sock was removed or replaced") {
		t.Errorf("%d %s", code, body)
	}
	if err := os.Rename(s3+".away", s3); err != nil {
		t.Fatal(err)
	}
}

// TestCmpVersion: applications name the version, too.
func TestCmpVersion(t *testing.T) {
	dir, _, log := startCmp(t, []string{"ARGOSY_TIMEOUT=7s"}, "--plugin", "appset", "--plugin-version", "v2", "--log-format", "text")
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(found) != 1 || filepath.Base(found[0]) != "appset-v2.sock" {
		t.Errorf("%v, %v", found, err)
	}
	if !strings.Contains(log.String(), fmt.Sprintf("sockets=[%s]", found[0])) {
		t.Error(log)
	}
}

// TestCmpOnlyS3: settings of a plugin that is not served, which all containers may have as variables, mean nothing.
func TestCmpOnlyS3(t *testing.T) {
	dir, address, _ := startCmp(t, []string{"KUBERNETES_SERVICE_HOST=", "ARGOSY_ENGINE=argocd", "ARGOSY_CACHE_DIR=none"}, "--plugin", "s3")
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(found) != 1 || filepath.Base(found[0]) != "s3.sock" {
		t.Errorf("%v, %v", found, err)
	}
	if code, body := get(t, address+"/readyz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("%d %s", code, body)
	}
}
