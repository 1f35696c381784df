package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// TestKnown: a watch that is forbidden and begins again tells what was deleted in between, also an object that could not be followed.
// Objects of other namespaces stay. When the kind itself is removed, all of them are gone.
func TestKnown(t *testing.T) {
	items := "" // "" is no such kind
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("watch") != "":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
		case items == "":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
		default:
			fmt.Fprintf(w, `{"items": [%s], "metadata": {"resourceVersion": "1"}}`, items)
		}
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{"current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x"}}], "clusters": [{"name": "x", "cluster": {"server": "` +
		server.URL + `"}}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(Config{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	f := &following{
		client: c, kind: argo.KindApplicationSet, resource: resourceOf(argo.KindApplicationSet), optional: true, patterns: []string{"*"},
		seen:   func(o manifest.Object) { told = append(told, "seen "+refOf(o).String()) },
		gone:   func(r argo.Ref) { told = append(told, "gone "+r.String()) },
		failed: func(source live.Scope, _ error) { told = append(told, "failed "+source.String()) },
		unread: func(one live.Scope, err error) { told = append(told, "unread "+one.String()+": "+err.Error()) },
	}
	object := func(namespace, name, rest string) string {
		return fmt.Sprintf(`{"metadata": {"namespace": %q, "name": %q}%s}`, namespace, name, rest)
	}
	large := object("a", "large", `, "x": "`+strings.Repeat("x", maxObject)+`"`)
	for _, step := range []struct {
		namespace, items string
		want             []string
	}{
		{"", strings.Join([]string{object("a", "x", ""), object("a", "y", ""), object("b", "z", ""), large}, ","), []string{
			"failed ApplicationSets in all namespaces", "seen a/x", "seen a/y", "seen b/z",
			"unread ApplicationSet a/large: it has more than 4 MiB",
		}},
		{"a", object("a", "y", ""), []string{"failed ApplicationSets in namespace a", "gone a/large", "gone a/x", "seen a/y"}},
		{"", object("a", "y", ""), []string{"failed ApplicationSets in all namespaces", "gone b/z", "seen a/y"}},
		{"", "", []string{"gone a/y"}},
	} {
		told, items = nil, step.items
		ctx, cancel := context.WithCancel(t.Context())
		f.listed = func(string) {
			if items == "" {
				cancel() // it would wait until the kind is there
			}
		}
		if err := f.one(ctx, step.namespace, func() {}); !errors.Is(err, ErrForbidden) && ctx.Err() == nil {
			t.Error(err)
		}
		cancel()
		slices.Sort(told)
		if !slices.Equal(told, step.want) {
			t.Errorf("got %q, want %q", told, step.want)
		}
	}
}
