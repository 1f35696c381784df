package siegetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket/s3/local"
)

// World has the servers that the sidecar talks to: S3, Git servers and the API server of a cluster, some of them hostile.
type World struct {
	// Git is the URL that repositories are below.
	Git string
	// Dir is for files.
	Dir string

	s3, store, kubeconfig string
	repositories          map[string]*repository
	close                 []func()

	mu     sync.Mutex
	halved time.Time // when half of the Applications were deleted
}

// Buckets.
const (
	bucket = "artifacts"
	silent = "silent" // never answers
	bulk   = "bulk"   // has a few objects of 60 MB
)

// NewWorld makes a world. Its files are in dir.
func NewWorld(ctx context.Context, dir string) (*World, error) {
	w := &World{Dir: dir, repositories: repositories()}
	store, err := local.Start(ctx, local.Config{Buckets: []string{bucket}})
	if err != nil {
		return nil, err
	}
	w.close = append(w.close, func() { _ = store.Close() })
	w.store = store.URL + "/" + bucket + "/"
	for key, content := range objects() {
		if err := w.Put(ctx, key, content); err != nil {
			return nil, err
		}
	}
	target, err := url.Parse(store.URL)
	if err != nil {
		return nil, err
	}
	if w.s3, err = w.serve(ctx, s3Server(httputil.NewSingleHostReverseProxy(target))); err != nil {
		return nil, err
	}
	if w.Git, err = w.serve(ctx, gitServer(w.repositories)); err != nil {
		return nil, err
	}
	api, err := w.serve(ctx, apiServer(w.applications))
	if err != nil {
		return nil, err
	}
	w.kubeconfig = filepath.Join(dir, "kubeconfig")
	config := `{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}], "clusters": [{"name": "x", "cluster": {"server": "` + api + `"}}], "users": [{"name": "x", "user": {"token": "t0ken"}}]}`
	return w, os.WriteFile(w.kubeconfig, []byte(config), 0o600)
}

// s3Server serves the buckets that are computed, and leaves others to another server.
func s3Server(others http.Handler) http.Handler {
	const size, etag = 60 << 20, `"0123456789abcdef0123456789abcdef"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); {
		case name == silent:
			<-r.Context().Done()
		case name == bulk && key == "":
			fmt.Fprint(w,
				`<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bulk</Name><IsTruncated>false</IsTruncated>`)
			for i := range 4 {
				fmt.Fprintf(w,
					"<Contents><Key>x/%d.yaml</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>%s</ETag><Size>%d</Size></Contents>", i, etag, size)
			}
			fmt.Fprint(w, "</ListBucketResult>")
		case name == bulk:
			w.Header().Set("Content-Length", fmt.Sprint(size))
			w.Header().Set("ETag", etag)
			line := []byte("# " + strings.Repeat("x", 1021) + "\n")
			for range size / len(line) {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		default:
			others.ServeHTTP(w, r)
		}
	})
}

// Put writes an object to the bucket artifacts.
func (w *World) Put(ctx context.Context, key, content string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, w.store+key, strings.NewReader(content))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// serve serves on loopback, and returns where.
func (w *World) serve(ctx context.Context, h http.Handler) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	w.close = append(w.close, func() { _ = server.Close() })
	return "http://" + listener.Addr().String(), nil
}

// Close ends all servers.
func (w *World) Close() {
	for _, c := range w.close {
		c()
	}
}

// Environment returns the environment of a sidecar in this world.
func (w *World) Environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir, "TMPDIR=" + w.Dir, "ARGOSY_KUBECONFIG=" + w.kubeconfig, "AWS_ENDPOINT_URL_S3=" + w.s3,
		"AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=argosy-access", "AWS_SECRET_ACCESS_KEY=argosy-secret-key", "AWS_CONFIG_FILE=" + os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull, "AWS_EC2_METADATA_DISABLED=true",
	}
}

// Sidecar is "argosy cmp" with its sockets in a directory.
func (w *World) Sidecar(file, sockets string, timeout time.Duration) Run {
	return Run{
		File: file, Memory: Memory, Env: w.Environment(),
		Args: []string{
			"cmp", "--socket-dir", sockets, "--work-dir", w.Dir, "--cache-dir", filepath.Join(w.Dir, "cache"), "--listen", "127.0.0.1:0",
			"--refresh=false", "--timeout", timeout.String(),
			"--admin-projects", "admin", "--grace", "2s",
		},
		// Where it cannot see its limit, it has the workers that it would have. TestSized in cmd/argosy has these numbers.
		Alone: []string{"--workers", "6", "--worker-memory", "102"},
	}
}

// application is one in the cluster, and what it has deployed.
func application(name, spec string, children ...string) map[string]any {
	var s map[string]any
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		panic(err)
	}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": name, "namespace": "argocd"},
		"spec":   s,
		"status": map[string]any{"resources": resources(children)},
	}
}

// resources are Applications as the status of their parent names them.
func resources(names []string) (out []map[string]any) {
	for _, name := range names {
		out = append(out, map[string]any{"group": "argoproj.io", "kind": "Application", "namespace": "argocd", "name": name})
	}
	return out
}

// apiServer has Applications, no Secrets, and ConfigMaps that are as empty as before whatever is written to them.
func apiServer(list func() []map[string]any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		applications := list()
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		resource, name := path.Base(r.URL.Path), ""
		if parent := path.Base(path.Dir(r.URL.Path)); parent == "applications" || parent == "configmaps" {
			resource, name = parent, resource
		}
		var answer any
		switch {
		case resource == "applications" && name == "":
			list := map[string]any{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "items": applications}
			if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
				list["kind"], list["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
			}
			answer = list
		case resource == "applications":
			for _, a := range applications {
				if a["metadata"].(map[string]any)["name"] == name {
					answer = a
				}
			}
		case resource == "secrets":
			answer = map[string]any{"kind": "SecretList", "apiVersion": "v1", "items": []any{}}
		case resource == "configmaps" && strings.HasPrefix(name, "argosy-reads-"):
			answer = map[string]any{
				"kind": "ConfigMap", "apiVersion": "v1",
				"metadata": map[string]any{"name": name, "namespace": "argocd"}, "data": map[string]any{},
			}
		}
		if answer == nil {
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]any{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
				"message": fmt.Sprintf("no %s", r.URL.Path),
			}
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
}
