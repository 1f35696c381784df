// Package kube reads what Argo CD keeps in its cluster: Applications, and the Secrets and ConfigMaps about clusters and repositories. It
// writes no more than package refresh asks for (an annotation, an Event, a Lease, and ConfigMaps of our own) and, for a user, the
// ApplicationSets and Applications that package handover changes and the objects that package boot applies. A missing right is an
// error that names it. No error contains the content of a Secret.
package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// Config says where the cluster is.
type Config struct {
	// Kubeconfig is a file; "" is the cluster that this process runs in, or that of Merged.
	Kubeconfig string
	// Merged are the files of $KUBECONFIG, merged as kubectl does: the first that has a value wins, and files that do not exist are
	// skipped. Nil is none.
	Merged []string
	// Context is a context of the kubeconfig; "" is its current one.
	Context string
	// Namespace is Argo CD's; "" uses this process's, or else argocd.
	Namespace string
	// Secrets are the names of Argo CD's Secrets to get one by one, where the right to list them is not given. Nil lists those with Argo
	// CD's labels.
	Secrets []string
}

// ErrNoCluster says that there is no kubeconfig, and that this process does not run in a cluster.
var ErrNoCluster = errors.New("no cluster: set --kubeconfig or KUBECONFIG, or run this in a cluster")

// Client reads from one cluster.
type Client struct {
	Namespace string
	// Server is the URL of the API server, without a password.
	Server  string
	api     dynamic.Interface
	read    rest.Interface // for Applications, which are read in pieces
	endless rest.Interface // the same, for requests that do not end
	meta    metadata.Interface
	named   []string // Secrets
}

var (
	applications = schema.GroupVersionResource{Group: argo.Group, Version: "v1alpha1", Resource: "applications"}
	secrets      = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	leases       = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	events       = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// namespaceFile is where a pod finds its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// PodNamespace is the namespace of the pod, or argo.DefaultNamespace where the process cannot know it.
func PodNamespace() string {
	if data, err := os.ReadFile(namespaceFile); err == nil {
		return strings.TrimSpace(string(data))
	}
	return argo.DefaultNamespace
}

// OpenAny is Open, except that no cluster is a nil client and no error.
func OpenAny(cfg Config) (*Client, error) {
	c, err := Open(cfg)
	if errors.Is(err, ErrNoCluster) {
		return nil, nil
	}
	return c, err
}

// ArgoCD returns the namespace of Argo CD. A nil client returns the given one, if any.
func (c *Client) ArgoCD(given string) string {
	if c != nil {
		return c.Namespace
	}
	return cmp.Or(given, argo.DefaultNamespace)
}

// Open prepares to talk to a cluster.
func Open(cfg Config) (*Client, error) {
	config, err := load(cfg)
	if err != nil {
		return nil, err
	}
	config.Timeout = 15 * time.Second
	config.QPS, config.Burst = 200, 400 // package refresh has a limit of its own, and a Lease cannot wait
	config.UserAgent = "argosy"
	config.WarningHandler = rest.NoWarnings{} // libraries must not print to standard error
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &sameServer{next: next} })
	endless := rest.CopyConfig(config)
	endless.Timeout = 0
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	c := &Client{Namespace: cfg.Namespace, Server: giturl.Redact(config.Host), named: cfg.Secrets}
	if c.Namespace == "" {
		c.Namespace = argo.DefaultNamespace
		if cfg.Kubeconfig == "" && len(cfg.Merged) == 0 {
			c.Namespace = PodNamespace()
		}
	}
	if c.api, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.meta, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.read, err = raw(config); err != nil {
		return nil, err
	}
	c.endless, err = raw(endless)
	return c, err
}

// raw returns a client for answers that are not decoded.
func raw(config *rest.Config) (rest.Interface, error) {
	config = dynamic.ConfigFor(config)
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return rest.UnversionedRESTClientForConfigAndClient(config, web)
}

func load(cfg Config) (*rest.Config, error) {
	overrides := &clientcmd.ConfigOverrides{CurrentContext: cfg.Context}
	if cfg.Kubeconfig != "" {
		rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: cfg.Kubeconfig}
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("kubeconfig: %w", err)
		}
		return config, nil
	}
	if len(cfg.Merged) > 0 {
		merged, err := (&clientcmd.ClientConfigLoadingRules{Precedence: cfg.Merged}).Load()
		if err != nil {
			return nil, fmt.Errorf("KUBECONFIG: %w", err)
		}
		config, err := clientcmd.NewDefaultClientConfig(*merged, overrides).ClientConfig()
		if clientcmd.IsEmptyConfig(err) {
			err = errors.New("there is no cluster in its files")
		}
		if err != nil {
			return nil, fmt.Errorf("KUBECONFIG: %w", err)
		}
		return config, nil
	}
	if cfg.Context != "" {
		return nil, fmt.Errorf("--context %s: there is no kubeconfig", cfg.Context)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) || errors.Is(err, os.ErrNotExist) {
		// Also a pod without a token.
		return nil, ErrNoCluster
	}
	return config, err
}

// bounded ends answers that are too large for a page: client-go reads them into memory.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err == nil && res.Body != nil {
		res.Body = &boundedBody{res.Body, maxPage + 1<<20} // lists say more exactly what is too large
	}
	return res, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errPage
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// sameServer refuses redirects to another server, which would get our token.
type sameServer struct {
	next http.RoundTripper
	host atomic.Pointer[string]
}

// RoundTrip implements http.RoundTripper.
func (s *sameServer) RoundTrip(r *http.Request) (*http.Response, error) {
	// The first request is our own, not a redirect.
	host := r.URL.Scheme + "://" + r.URL.Host
	s.host.CompareAndSwap(nil, &host)
	if first := *s.host.Load(); host != first {
		return nil, fmt.Errorf("the API server redirects to %s, which is refused", r.URL.Host)
	}
	return s.next.RoundTrip(r)
}

// WrappedRoundTripper lets requests be cancelled.
func (s *sameServer) WrappedRoundTripper() http.RoundTripper { return s.next }

// childrenFields are the fields that Children needs.
func childrenFields() manifest.Fields {
	resources := manifest.Fields{"group": nil, "kind": nil, "namespace": nil, "name": nil, "hook": nil, "status": nil}
	return manifest.Fields{
		"spec": {"sources": {}, "destination": {"server": nil, "name": nil}},
		"status": {"resources": resources, "operationState": {
			"operation": {"sync": {"dryRun": nil}}, "syncResult": {"resources": resources}, "finishedAt": nil, "startedAt": nil,
		}},
	}
}

// maxChildren bounds what is kept of an Application with children, which is about a hundred bytes for each field of a resource.
const maxChildren = 8 << 20

// Children implements appsetplugin.Live. Argo CD keeps a list of what an Application deploys in its status.
func (c *Client) Children(ctx context.Context, p argo.Ref) (*appsetplugin.Children, error) {
	o, err := c.application(ctx, p, childrenFields(), maxChildren)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(fmt.Sprintf("reading Application %s", p), err)
	}
	sources, _ := manifest.Map(o, "spec")["sources"].([]any)
	destination := manifest.Map(o, "spec", "destination")
	server, name := manifest.String(destination, "server"), manifest.String(destination, "name")
	out := &appsetplugin.Children{Sources: max(1, len(sources)), Remote: !generator.ClusterList(nil).Local(name, server)}
	list, _ := manifest.Map(o, "status")["resources"].([]any)
	for _, item := range list {
		r, _ := item.(map[string]any)
		// Argo CD does not prune hooks.
		if hook, _ := r["hook"].(bool); hook || manifest.String(r, "group") != argo.Group {
			continue
		}
		ref := argo.Ref{Namespace: manifest.String(r, "namespace"), Name: manifest.String(r, "name")}
		switch manifest.String(r, "kind") {
		case argo.KindApplication:
			out.Applications = append(out.Applications, ref)
		case argo.KindApplicationSet:
			out.Sets = append(out.Sets, ref)
		}
	}
	out.Pruned, out.PrunedAt = pruned(manifest.Map(o, "status", "operationState"))
	return out, nil
}

func isApplication(r map[string]any) bool {
	return manifest.String(r, "group") == argo.Group && manifest.String(r, "kind") == argo.KindApplication
}

// pruned returns the Applications that an operation has deleted, and when.
func pruned(operation map[string]any) (out []argo.Ref, at time.Time) {
	if dry, _ := manifest.Map(operation, "operation", "sync")["dryRun"].(bool); dry {
		return nil, at
	}
	list, _ := manifest.Map(operation, "syncResult")["resources"].([]any)
	for _, item := range list {
		if r, _ := item.(map[string]any); isApplication(r) && manifest.String(r, "status") == "Pruned" {
			out = append(out, argo.Ref{Namespace: manifest.String(r, "namespace"), Name: manifest.String(r, "name")})
		}
	}
	// One that runs has not finished.
	for _, field := range []string{"finishedAt", "startedAt"} {
		var err error
		if at, err = time.Parse(time.RFC3339, manifest.String(operation, field)); err == nil {
			break
		}
	}
	return out, at
}

// Existing implements appsetplugin.Live, by a list of each namespace.
func (c *Client) Existing(ctx context.Context, apps []argo.Ref) (map[argo.Ref]bool, error) {
	out := map[argo.Ref]bool{}
	err := c.wanted(ctx, apps, listing{accept: metadataOnly}, func(r argo.Ref, _ manifest.Object, _ error) { out[r] = true })
	return out, err
}

// OwnedBy implements appsetplugin.Live, by the owner references of the Applications in the namespaces of the sets. Nothing about the sets
// themselves is read.
func (c *Client) OwnedBy(ctx context.Context, sets []argo.Ref) (map[argo.Ref]int, error) {
	wanted, namespaces := map[argo.Ref]bool{}, map[string]bool{}
	for _, set := range sets {
		wanted[set], namespaces[set.Namespace] = true, true
	}
	out, seen := map[argo.Ref]int{}, map[argo.Ref]bool{}
	var unknown []error
	owner := manifest.Fields{"apiVersion": nil, "kind": nil, "name": nil}
	for namespace := range namespaces {
		fields := manifest.Fields{"metadata": {"ownerReferences": owner}}
		l := listing{namespace: namespace, accept: metadataOnly, kept: kept{fields: fields}}
		_, err := c.list(ctx, l, func(o manifest.Object, large error) {
			app := refOf(o)
			if seen[app] { // a page may be read again
				return
			}
			seen[app] = true
			if large != nil {
				unknown = append(unknown, fmt.Errorf("%s %s: %w", argo.KindApplication, app, large))
			}
			owners, _ := manifest.Map(o, "metadata")["ownerReferences"].([]any)
			for _, v := range owners {
				m, _ := v.(map[string]any)
				set := argo.Ref{Namespace: namespace, Name: manifest.String(m, "name")}
				if manifest.String(m, "kind") == argo.KindApplicationSet && wanted[set] {
					out[set]++
				}
			}
		})
		if err != nil {
			return nil, explain("listing Applications in namespace "+namespace, err)
		}
	}
	return out, errors.Join(unknown...)
}

// Specs implements appsetplugin.Live, by a list of each namespace.
func (c *Client) Specs(ctx context.Context, apps []argo.Ref) (specs map[argo.Ref]map[string]any, large []argo.Ref, err error) {
	source := manifest.Fields{"repoURL": nil, "chart": nil, "targetRevision": nil}
	l := listing{kept: kept{fields: manifest.Fields{"spec": {"project": nil, "source": source, "sources": source}}}}
	specs = map[argo.Ref]map[string]any{}
	err = c.wanted(ctx, apps, l, func(r argo.Ref, o manifest.Object, err error) {
		if err != nil {
			large = append(large, r)
			return
		}
		specs[r] = manifest.Map(o, "spec")
	})
	return specs, large, err
}

// wanted calls found for those Applications that are there.
func (c *Client) wanted(ctx context.Context, apps []argo.Ref, l listing, found func(r argo.Ref, o manifest.Object, large error)) error {
	wanted, namespaces := map[argo.Ref]bool{}, map[string]bool{}
	for _, a := range apps {
		wanted[a], namespaces[a.Namespace] = true, true
	}
	for namespace := range namespaces {
		l.namespace = namespace
		_, err := c.list(ctx, l, func(o manifest.Object, large error) {
			if r := refOf(o); wanted[r] {
				delete(wanted, r) // a page may be read again
				found(r, o, large)
			}
		})
		if err != nil {
			return explain("listing Applications in namespace "+namespace, err)
		}
	}
	return nil
}

// ErrForbidden says that the service account lacks a right. The error is a live.NoRightError, too, if the API server names the right.
var ErrForbidden = errors.New("forbidden")

func explain(doing string, err error) error {
	said := &answer{err}
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%s: %w: %w", doing, ErrForbidden, live.Refusal(said.Error(), live.Lacking(said.Error())))
	}
	return fmt.Errorf("%s: %w", doing, said)
}

// answer is an error with words of the server: one line that no terminal obeys, and not a page of HTML.
type answer struct{ error }

func (a *answer) Error() string {
	return words.Harmless(words.OneLine(a.error.Error(), 600))
}

func (a *answer) Unwrap() error { return a.error }
