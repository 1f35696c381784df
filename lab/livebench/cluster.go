package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/argosy-cd/argosy/lab"
)

const application = "Application.argoproj.io"

// counter is a proxy in front of the API server.
type counter struct {
	server          *httptest.Server
	requests, bytes atomic.Int64
}

func newCounter(l *lab.Lab) (*counter, error) {
	target, err := url.Parse(l.API().Config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(l.API().Config)
	if err != nil {
		return nil, err
	}
	c := &counter{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1,
	}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		println(time.Now().Format("05.000"), r.Method, r.URL.String())
		defer func() { println(time.Now().Format("05.000"), "END", r.URL.RawQuery) }()
		proxy.ServeHTTP(&counted{ResponseWriter: w, n: &c.bytes}, r)
	}))
	return c, nil
}

// counted counts what is sent to a client, compressed as it is.
type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counter) reset() { c.requests.Store(0); c.bytes.Store(0) }

func (c *counter) read() (requests, bytes int64) { return c.requests.Load(), c.bytes.Load() }

func (c *counter) close() { c.server.CloseClientConnections(); c.server.Close() }

func (c *counter) kubeconfig() string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: lab
clusters: [{name: lab, cluster: {server: %q}}]
users: [{name: lab, user: {}}]
contexts: [{name: lab, context: {cluster: lab, user: lab, namespace: argocd}}]
`, c.server.URL)
}

// Applications are in trees of a hundred: root-07 deploys app-0700 to app-0799.
const tree = 100

func child(i int) string { return fmt.Sprintf("app-%04d", i) }

// create creates the Applications with their statuses, and returns the size of one.
func (b *bench) create(ctx context.Context) (size int, err error) {
	resource := b.lab.API().Dynamic.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).
		Namespace(lab.Namespace)
	var group errgroup.Group
	group.SetLimit(8)
	add := func(o map[string]any) {
		group.Go(func() error {
			_, err := resource.Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{FieldManager: "argocd-controller"})
			return err
		})
	}
	for i := 0; i < b.apps; i += tree {
		root := fmt.Sprintf("root-%02d", i/tree)
		var children []any
		for j := i; j < min(i+tree, b.apps); j++ {
			children = append(children, map[string]any{
				"group": "argoproj.io", "version": "v1alpha1", "kind": "Application", "namespace": lab.Namespace, "name": child(j), "status": "Synced",
			})
			// One tree has a child that is broken.
			add(object(child(j), root, resources(child(j)), j == b.apps/2))
		}
		add(object(root, "", children, false))
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	one, err := b.lab.Get(ctx, application, lab.Namespace, child(0))
	if err != nil {
		return 0, err
	}
	data, err := json.Marshal(one.Object)
	return len(data), err
}

func resources(name string) (out []any) {
	for i := range 20 {
		kind := []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}[i%4]
		out = append(out, map[string]any{
			"group": "apps", "version": "v1", "kind": kind, "namespace": name, "name": fmt.Sprintf("component-%02d", i), "status": "Synced",
			"syncWave": int64(i / 5),
		})
	}
	return out
}

// object is an Application as Argo CD writes it, with a history of ten syncs.
func object(name, parent string, resources []any, broken bool) map[string]any {
	const at, revision = "2026-03-01T11:50:00Z", "0b248a0152fcb7d724a6debe392e067ecba03705"
	source := map[string]any{
		"repoURL": "https://git.example.com/platform/cluster.git", "targetRevision": "main", "path": "apps/" + name,
		"helm": map[string]any{"valueFiles": []any{"values.yaml", "values-prod.yaml"}},
	}
	destination := map[string]any{"server": "https://kubernetes.default.svc", "namespace": name}
	var history, results []any
	for i := range 10 {
		history = append(history, map[string]any{
			"id": int64(i), "revision": revision, "deployedAt": at, "deployStartedAt": at, "source": source,
			"initiatedBy": map[string]any{"automated": true},
		})
	}
	for _, r := range resources {
		r := r.(map[string]any)
		results = append(results, map[string]any{
			"group": r["group"], "version": r["version"], "kind": r["kind"], "namespace": r["namespace"], "name": r["name"], "status": "Synced",
			"hookPhase": "Running", "syncPhase": "Sync", "message": fmt.Sprintf("%s/%s configured", r["kind"], r["name"]),
		})
	}
	state := "Healthy"
	if broken {
		state = "Degraded"
	}
	meta := map[string]any{"name": name, "namespace": lab.Namespace, "finalizers": []any{"resources-finalizer.argocd.argoproj.io"}}
	if parent != "" {
		meta["annotations"] = map[string]any{
			"argocd.argoproj.io/tracking-id": fmt.Sprintf("%s:argoproj.io/Application:argocd/%s", parent, name), "argocd.argoproj.io/sync-wave": "1",
		}
	}
	synced := map[string]any{"status": "Synced", "revision": revision, "comparedTo": map[string]any{"source": source, "destination": destination}}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": meta,
		"spec": map[string]any{
			"project": "default", "source": source, "destination": destination,
			"syncPolicy": map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
		},
		"status": map[string]any{
			"health": map[string]any{"status": state, "lastTransitionTime": at}, "sync": synced, "reconciledAt": at, "history": history,
			"resources": resources, "sourceType": "Helm", "controllerNamespace": lab.Namespace,
			"summary": map[string]any{"images": []any{"registry.example.com/" + name + ":1.2.3"}},
			"operationState": map[string]any{
				"phase": "Succeeded", "message": "successfully synced (all tasks run)", "startedAt": at, "finishedAt": at,
				"operation":  map[string]any{"sync": map[string]any{"revision": revision}, "initiatedBy": map[string]any{"automated": true}},
				"syncResult": map[string]any{"revision": revision, "source": source, "resources": results},
			},
		},
	}
}
