package gitsource_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gitsource"
)

// TestRefusedFetch: a server that refuses the user's credentials, one that fails and one that is no Git server are errors without a
// password, and are asked once.
func TestRefusedFetch(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"credentials": func(w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
		},
		"outage": func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"a page": func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) },
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				answer(w)
			}))
			defer server.Close()
			url := strings.Replace(server.URL, "://", "://me:hunter2@", 1) + "/x.git"
			s := gitsource.New(gitsource.Config{Env: environ.New(append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)...), Cache: t.TempDir()})
			defer s.Close()
			_, err := s.Tree(t.Context(), url, "main")
			if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			before := requests
			if _, again := s.Tree(t.Context(), url, "main"); again == nil || requests != before || requests == 0 {
				t.Errorf("%v, %d requests, then %d", again, before, requests)
			}
		})
	}
}
