package eventserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/refresher"
	"github.com/argosy-cd/argosy/internal/serve"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "no event source is configured"},
		{Config{Topics: []string{"manifests"}}, `--sns-topic must be an ARN, arn:aws:sns:REGION:ACCOUNT:NAME, it is "manifests"`},
		{Config{Topics: []string{"arn:aws:sqs:eu-central-1:1:manifests"}}, "must be an ARN"},
		{Config{Topics: []string{"arn:aws:sns:eu-central-1:1:manifests"}}, ""},
		{Config{Secrets: "file"}, ""},
		{Config{Queues: []string{"url"}}, ""},
	} {
		if err := c.cfg.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"0123456789abcdef\n fedcba9876543210 \n": "0123456789abcdef,fedcba9876543210",
		"0123456789abcdef\r\n":                   "0123456789abcdef",
		"short\n":                                "secrets:1: a secret must have 16 characters or more",
		"0123456789abcdef\n\nfedcba9876543210\n": "secrets:2: a secret must have 16 characters or more",
		"":                                       "secrets:1: a secret must have 16 characters or more",
	} {
		list, err := parseSecrets("secrets", []byte(text))
		var names []string
		for _, s := range list {
			names = append(names, s.Reveal())
		}
		got := strings.Join(names, ",")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s", text, got)
		}
		if printed := fmt.Sprintf("%v %+v %q %x", list, list, list, list); strings.Contains(printed, "0123") ||
			strings.Contains(printed, "30313233") {
			t.Errorf("printed: %s", printed)
		}
	}
}

// cluster is an API server that has no Applications, once it may tell.
func cluster(t *testing.T, tell <-chan struct{}) *kube.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-tell:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, `{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "metadata": {"resourceVersion": "1"}, "items": []}`)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x"}}], "clusters": [{"name": "x", "cluster": {"server": "` + server.URL + `"}}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	api, err := kube.Open(kube.Config{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// TestRun: a notification that comes before Applications are known has to come again, and is taken then.
func TestRun(t *testing.T) {
	secrets := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(secrets, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tell := make(chan struct{})
	out, log := io.Pipe()
	cfg := Config{
		Secrets: secrets, Policy: serve.Watch("", "the policy", policy.Parse),
		API: cluster(t, tell), Refresh: refresher.Settings{Interval: time.Minute},
		Log: serve.Log(log, "text"), Now: time.Now, Release: "v1",
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, cfg, serve.Config{Address: "127.0.0.1:0", Grace: time.Minute})
		log.Close()
	}()
	found := make(chan string, 1)
	go func() {
		data := make([]byte, 4096)
		for text := ""; ; {
			n, err := out.Read(data)
			if err != nil {
				return
			}
			text += string(data[:n])
			if m := regexp.MustCompile(`msg=listening address=(\S+) tls=false version=v1`).FindStringSubmatch(text); m != nil &&
				len(found) == 0 {
				found <- "http://" + m[1]
			}
		}
	}()
	url := <-found
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer 0123456789abcdef")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(data)
	}
	const notice = `{"Records": [{"eventName": "s3:ObjectCreated:Put", "s3": {"bucket": {"name": "b"}, "object": {"key": "k"}}}]}`
	if code, body := ask("GET", "/readyz", ""); code != 503 || body != "Applications are not known yet\n" {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := ask("GET", "/healthz", ""); code != 200 {
		t.Errorf("healthz: %d", code)
	}
	if code, _ := ask("POST", "/webhook", notice); code != 503 {
		t.Errorf("before Applications are known: %d", code)
	}
	close(tell)
	for code := 0; code != 200; {
		code, _ = ask("GET", "/readyz", "")
	}
	if code, _ := ask("POST", "/webhook", notice); code != 204 {
		t.Errorf("when Applications are known: %d", code)
	}
	_, metrics := ask("GET", "/metrics", "")
	for _, want := range []string{
		`argosy_events_total{result="accepted",sender="webhook"} 1`,
		`argosy_events_total{result="failed",sender="webhook"} 1`, "argosy_refresh_applications 0", "argosy_refresh_leading 0",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
