package boot_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-cd/argosy/internal/kube"
)

// server is an API server with some kinds: it reads, lists, watches and patches objects, and says who may do what.
type server struct {
	mu       sync.Mutex
	objects  map[string]map[string]any // by path
	version  int
	watchers map[chan string]string // by the path that they watch
	writes   []string
	// forbid are "verb resource" that nobody may.
	forbid []string
	// stumble is the path of an object that is not answered once, after it was written, and falter one that is not written once; "" is none.
	stumble, falter string
	// conflict is the manager that owns what is applied; "" is nobody.
	conflict string
	// react is called after each write.
	react func(path string, o map[string]any)
}

// kinds of the server: group/version, then resources with their kinds; those with a star have no namespace.
var kinds = map[string]map[string]string{
	"/api/v1": {
		"configmaps": "ConfigMap", "pods": "Pod", "services": "Service", "namespaces": "*Namespace", "events": "Event", "secrets": "Secret",
	},
	"/apis/apps/v1":              {"deployments": "Deployment", "statefulsets": "StatefulSet"},
	"/apis/argoproj.io/v1alpha1": {"applications": "Application", "applicationsets": "ApplicationSet", "appprojects": "AppProject"},
	"/apis/apiextensions.k8s.io/v1": {
		"customresourcedefinitions": "*CustomResourceDefinition",
	},
}

const (
	apps     = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/"
	rootPath = apps + "root"
	cmPath   = "/api/v1/namespaces/argocd/configmaps/argocd-cm"
)

func newServer(t *testing.T) (*server, *kube.Client) {
	t.Helper()
	s := &server{objects: map[string]map[string]any{}, watchers: map[chan string]string{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.CloseClientConnections)
	t.Cleanup(web.Close)
	return s, client(t, web.URL)
}

func client(t *testing.T, url string) *kube.Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x"}}], "clusters": [{"name": "x", "cluster": {"server": "` + url + `"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := kube.Open(kube.Config{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// set changes an object as a controller does.
func (s *server) set(path string, change map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(path, change)
}

func (s *server) put(path string, change map[string]any) map[string]any {
	old := s.objects[path]
	now := merged(old, change)
	was, _ := json.Marshal(old)
	is, _ := json.Marshal(now)
	if old != nil && string(was) == string(is) {
		return old
	}
	s.version++
	meta, _ := now["metadata"].(map[string]any)
	meta = merged(meta, map[string]any{"resourceVersion": strconv.Itoa(s.version), "uid": path})
	now["metadata"] = meta
	s.objects[path] = now
	kind := "MODIFIED"
	if old == nil {
		kind = "ADDED"
	}
	data, _ := json.Marshal(map[string]any{"type": kind, "object": now})
	for w, prefix := range s.watchers {
		if strings.HasSuffix(filepath.Dir(path), prefix) {
			w <- string(data)
		}
	}
	return now
}

// merged is a merge patch.
func merged(old, patch map[string]any) map[string]any {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range patch {
		m, ok := v.(map[string]any)
		before, _ := out[k].(map[string]any)
		switch {
		case ok:
			out[k] = merged(before, m)
		case v == nil:
			delete(out, k)
		default:
			out[k] = v
		}
	}
	return out
}

func (s *server) object(path string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[path]
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d, "message": %q}`, reason, code, message)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	path := r.URL.Path
	switch {
	case path == "/version":
		fmt.Fprint(w, `{"gitVersion": "v1.34.0"}`)
		return
	case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
		s.review(w, r)
		return
	case s.discovery(w, path):
		return
	}
	if r.URL.Query().Get("watch") != "" {
		s.watch(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := filepath.Base(path)
	if slices.Contains(s.forbid, strings.ToLower(r.Method)+" "+last) {
		refuse(w, http.StatusForbidden, "Forbidden", "may not")
		return
	}
	if r.Method == http.MethodGet && path == s.stumble && slices.Contains(s.writes, path) {
		s.stumble = ""
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", "try again")
		return
	}
	if r.Method == http.MethodPatch && path == s.falter {
		s.falter = ""
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", "try again")
		return
	}
	o := s.objects[path]
	switch {
	case r.Method == http.MethodPatch:
		s.patch(w, r, o)
	case slices.Contains([]string{"applications", "applicationsets", "pods", "deployments", "statefulsets", "events"}, last):
		var items []any
		for name, o := range s.objects {
			if strings.HasSuffix(filepath.Dir(name), last) {
				items = append(items, o)
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}})
	case o == nil:
		refuse(w, http.StatusNotFound, "NotFound", "not found")
	default:
		_ = json.NewEncoder(w).Encode(o)
	}
}

func (s *server) patch(w http.ResponseWriter, r *http.Request, o map[string]any) {
	var change map[string]any
	data, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(data, &change); err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	meta, _ := change["metadata"].(map[string]any)
	had, _ := o["metadata"].(map[string]any)
	if s.conflict != "" && r.URL.Query().Get("force") != "true" {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409, "details": {"causes": [{"reason": "FieldManagerConflict", "message": "conflict with \"%s\"", "field": ".spec.project"}]}}`, s.conflict)
		return
	}
	if v, ok := meta["resourceVersion"]; ok && v != had["resourceVersion"] {
		refuse(w, http.StatusConflict, "Conflict", "changed")
		return
	}
	delete(meta, "resourceVersion")
	if r.URL.Query().Get("dryRun") != "" {
		_ = json.NewEncoder(w).Encode(merged(o, change))
		return
	}
	s.writes = append(s.writes, r.URL.Path)
	before := s.version
	now := s.put(r.URL.Path, change)
	_ = json.NewEncoder(w).Encode(now)
	if s.react != nil && s.version > before {
		go s.react(r.URL.Path, change)
	}
}

func (s *server) review(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Spec struct {
			ResourceAttributes struct{ Verb, Resource string }
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&review)
	a := review.Spec.ResourceAttributes
	s.mu.Lock()
	defer s.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"status": map[string]any{"allowed": !slices.Contains(s.forbid, a.Verb+" "+a.Resource)},
	})
}

// discovery answers for groups and their versions.
func (s *server) discovery(w http.ResponseWriter, path string) bool {
	if list, ok := kinds[path]; ok {
		var out []any
		for resource, kind := range list {
			name, plain := strings.CutPrefix(kind, "*")
			out = append(out, map[string]any{"name": resource, "kind": name, "namespaced": !plain})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"resources": out})
		return true
	}
	for group := range kinds {
		if filepath.Dir(group) == path {
			_ = json.NewEncoder(w).Encode(map[string]any{"preferredVersion": map[string]any{"version": filepath.Base(group)}})
			return true
		}
	}
	return false
}

func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	events := make(chan string, 100)
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	s.mu.Lock()
	for path, o := range s.objects { // since it was listed
		version, _ := strconv.Atoi(o["metadata"].(map[string]any)["resourceVersion"].(string))
		if strings.HasSuffix(filepath.Dir(path), filepath.Base(r.URL.Path)) && version > from {
			data, _ := json.Marshal(map[string]any{"type": "MODIFIED", "object": o})
			events <- string(data)
		}
	}
	s.watchers[events] = filepath.Base(r.URL.Path)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, events)
		s.mu.Unlock()
	}()
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case line := <-events:
			fmt.Fprintln(w, line)
			w.(http.Flusher).Flush()
		}
	}
}
