package argocd_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argocd"
)

func TestApplications(t *testing.T) {
	const token = "s3cret-token"
	var elsewhere string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere = r.Header.Get("Authorization") }))
	defer other.Close()
	for name, c := range map[string]struct {
		status int
		body   string
		want   []argo.Ref
		denied bool
		err    string
	}{
		"some": {
			200, `{"metadata":{},"items":[{"metadata":{"name":"a","namespace":"argocd"}},{"metadata":{"name":"b","namespace":"apps"}}]}`,
			[]argo.Ref{{Namespace: "argocd", Name: "a"}, {Namespace: "apps", Name: "b"}},
			false, "",
		},
		"none":         {200, `{"items":null}`, []argo.Ref{}, false, ""},
		"unauthorized": {401, `{"error":"token is revoked"}`, nil, true, ""},
		"forbidden":    {403, `{}`, nil, true, ""},
		"down":         {502, `<html>`, nil, false, "502 Bad Gateway"},
		"redirect":     {302, other.URL, nil, false, "302 Found"},
		"a page":       {200, `<html>`, nil, false, "the answer is not JSON"},
		"cut":          {200, `{"items":[{"metadata":`, nil, false, "the answer is not JSON"},
		"endless":      {200, "endless", nil, false, "the answer is over 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+token || r.URL.Path != "/api/v1/applications" || r.Method != http.MethodGet {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				if c.status == http.StatusFound {
					w.Header().Set("Location", c.body)
				}
				w.WriteHeader(c.status)
				if c.body == "endless" {
					fmt.Fprint(w, `{"items":[`)
					block := strings.Repeat(" ", 1<<20)
					for range 66 {
						_, _ = io.WriteString(w, block)
					}
					return
				}
				fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			client, err := argocd.New(argocd.Config{Server: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Applications(t.Context(), token)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if errors.Is(err, argocd.ErrDenied) != c.denied || c.err != "" && (err == nil || !strings.HasSuffix(err.Error(), c.err)) || c.want != nil && err != nil {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), token) {
				t.Errorf("the error has the token: %v", err)
			}
		})
	}
	if elsewhere != "" {
		t.Error("the token went to where the server sent it")
	}
	client, err := argocd.New(argocd.Config{Server: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{token, token + "\r\nX: y", token + "\x00"} {
		if _, err := client.Applications(t.Context(), bad); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%v", err)
		}
	}
}
