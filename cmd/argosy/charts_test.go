package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// download fetches a file: get URL FILE.
func download(ts *testscript.TestScript, _ bool, args []string) {
	resp, err := http.Get(args[0])
	ts.Check(err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o644))
}

// charts starts a repository of charts: web and, for those with a password, secret. A file and a page that is no repository are there, too.
func charts(t *testing.T) string {
	t.Helper()
	archive := func(name, version string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for file, text := range map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n", "values.yaml": "replicas: 1\n",
			"templates/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Release.Name }}}\nspec: {replicas: {{ .Values.replicas }}}\n",
		} {
			if err := w.WriteHeader(&tar.Header{Name: name + "/" + file, Size: int64(len(text)), Mode: 0o644}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(text)); err != nil {
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
	mux := http.NewServeMux()
	for _, prefix := range []string{"", "/secret"} {
		mux.HandleFunc(prefix+"/index.yaml", func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); prefix != "" && (user != "me" || password != "hunter2") {
				http.Error(w, "no", http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, "apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}\n  - {name: web, version: 1.1.0, urls: [web-1.1.0.tgz]}\n")
		})
		mux.HandleFunc(prefix+"/{chart}", func(w http.ResponseWriter, r *http.Request) {
			version, ok := strings.CutPrefix(strings.TrimSuffix(r.PathValue("chart"), ".tgz"), "web-")
			if !ok {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write(archive("web", version))
		})
	}
	mux.HandleFunc("/files/remote.yaml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: remote}\n")
	})
	mux.HandleFunc("/page/index.yaml", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!DOCTYPE html><html></html>") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}
