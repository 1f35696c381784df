// Package argocd asks an Argo CD API server to render ApplicationSets, as "argocd appset generate" does, so that the
// installed version decides what becomes of them.
//
// An answer is used whole or not at all. The token is sent to the configured server only, over TLS unless plaintext was
// asked for, and is in no error.
package argocd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/words"
)

// Config says how to reach the API server.
type Config struct {
	// Server is host, host:port or a URL.
	Server string
	// Plaintext is for a server without TLS, where Server is no URL.
	Plaintext bool
	// Insecure takes any certificate.
	Insecure bool
	// CA has certificates in PEM that the server is trusted by; none is the system's.
	CA []byte
	// Token returns the token, each time anew: one in a file is renewed. Version needs none.
	Token func() (string, error)
	// After is the timer between attempts. Nil is time.After.
	After func(time.Duration) <-chan time.Time
}

// Client asks one server.
type Client struct {
	cfg  Config
	base string
	http *http.Client
}

// New returns a Client.
func New(cfg Config) (*Client, error) {
	base, err := address(cfg)
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: cfg.Insecure} // asked for
	if len(cfg.CA) > 0 {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(cfg.CA) {
			return nil, errors.New("there are no certificates in the CA file")
		}
	}
	if cfg.After == nil {
		cfg.After = time.After
	}
	// A token does not go to where a server sends it.
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{cfg: cfg, base: base, http: &http.Client{Transport: t, CheckRedirect: refuse}}, nil
}

func address(cfg Config) (string, error) {
	server := cfg.Server
	if server == "" {
		return "", errors.New("the address of the Argo CD API server must be set")
	}
	if !strings.Contains(server, "://") {
		if cfg.Plaintext {
			server = "http://" + server
		} else {
			server = "https://" + server
		}
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return "", errors.New("the address of the Argo CD API server must be a host, or a URL with https:// or http://")
	}
	return strings.TrimRight(server, "/"), nil
}

// Engine renders sets by the server.
type Engine struct {
	Client *Client
	// Name is the name for sets without one, which are bare specs.
	Name string
	// AllowEmpty allows a set to have no Applications.
	AllowEmpty bool
}

// Generate implements appset.Engine.
func (e Engine) Generate(ctx context.Context, sets ...appset.Set) (*appset.Result, error) {
	res := &appset.Result{}
	var errs []error
	for _, set := range sets {
		apps, err := e.one(ctx, set)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", set, err))
		}
		res.Applications = append(res.Applications, apps)
	}
	if err := errors.Join(append(errs, appset.Check(sets, res.Applications))...); err != nil {
		return &appset.Result{}, err
	}
	return res, nil
}

func (e Engine) one(ctx context.Context, set appset.Set) ([]manifest.Object, error) {
	name := set.Name
	if name == "" {
		name = e.Name
	}
	meta := map[string]any{"name": name}
	if set.Namespace != "" {
		meta["namespace"] = set.Namespace
	}
	body, err := json.Marshal(map[string]any{"applicationSet": manifest.Object{
		"apiVersion": argo.APIVersion, "kind": argo.KindApplicationSet, "metadata": meta, "spec": set.Spec,
	}})
	if err != nil {
		return nil, err
	}
	answer, err := e.Client.post(ctx, body)
	if err != nil {
		return nil, err
	}
	apps, err := decode(answer)
	if err != nil {
		return nil, err
	}
	if len(apps) == 0 && !e.AllowEmpty {
		return nil, appset.ErrEmpty
	}
	for _, app := range apps {
		complete(app, set)
	}
	return apps, nil
}

// decode reads the answer, which has every Application or is none.
func decode(answer []byte) ([]manifest.Object, error) {
	v, err := manifest.Value(answer)
	if err != nil {
		return nil, errors.New("the answer of the Argo CD API server is not JSON")
	}
	o, ok := v.(map[string]any)
	list, isList := o["applications"].([]any)
	if !ok || !isList && o["applications"] != nil {
		return nil, errors.New("the answer of the Argo CD API server has no list of applications")
	}
	var out []manifest.Object
	for i, item := range list {
		app, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the answer of the Argo CD API server: applications[%d] is not an object", i)
		}
		out = append(out, app)
	}
	return out, nil
}

// complete turns an Application of the answer into a manifest: it adds the kind, and drops the values that the server adds for unset
// fields.
func complete(app manifest.Object, set appset.Set) {
	app["apiVersion"], app["kind"] = argo.APIVersion, argo.KindApplication
	delete(app, "status")
	delete(app, "operation")
	meta := manifest.Map(app, "metadata")
	if meta == nil {
		meta = map[string]any{}
		app["metadata"] = meta
	}
	for key, value := range meta {
		if value == nil || key == "managedFields" || key == "ownerReferences" {
			delete(meta, key)
		}
	}
	for _, source := range argo.Sources(app) {
		if directory := manifest.Map(source, "directory"); len(manifest.Map(directory, "jsonnet")) == 0 {
			delete(directory, "jsonnet")
		}
	}
	delete(meta, "namespace")
	if set.Namespace != "" {
		meta["namespace"] = set.Namespace
	}
}

// Limits of a request.
const (
	attempts  = 4
	maxAnswer = 256 << 20
)

var backoff = retry.Backoff{First: 500 * time.Millisecond, Last: 2 * time.Second}

// post sends a request, and retries passing failures up to attempts times. A refusal is not retried.
func (c *Client) post(ctx context.Context, body []byte) ([]byte, error) {
	var answer []byte
	err := retry.Do(ctx, retry.Policy{Attempts: attempts, Backoff: backoff, After: c.cfg.After}, func() (again bool, err error) {
		answer, again, err = c.try(ctx, body)
		return again, err
	})
	if err != nil {
		return nil, fmt.Errorf("asking the Argo CD API server: %w", err)
	}
	return answer, nil
}

func (c *Client) try(ctx context.Context, body []byte) (answer []byte, again bool, err error) {
	token, err := c.cfg.Token()
	if err != nil {
		return nil, false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/api/v1/applicationsets/generate", bytes.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.http.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, ctx.Err() == nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, ctx.Err() == nil, fmt.Errorf("the answer ends too early: %w", err)
	case len(answer) > maxAnswer:
		return nil, false, fmt.Errorf("the answer is over %d MiB", maxAnswer>>20)
	case res.StatusCode == http.StatusOK:
		return answer, false, nil
	}
	again = res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusBadGateway ||
		res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusGatewayTimeout
	return nil, again, fmt.Errorf("%s%s", res.Status, message(answer))
}

// maxVersion bounds the answer about the version.
const maxVersion = 64 << 10

// Version returns the version of the server, such as v3.4.2+1234567. It asks once, and sends no token.
func (c *Client) Version(ctx context.Context) (string, error) {
	text, err := c.version(ctx)
	if err != nil {
		return "", fmt.Errorf("asking the Argo CD API server for its version: %w", err)
	}
	return text, nil
}

func (c *Client) version(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/version", nil)
	if err != nil {
		return "", err
	}
	res, err := c.http.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return "", errors.New(res.Status)
	}
	var v struct{ Version string }
	if err := json.NewDecoder(io.LimitReader(res.Body, maxVersion)).Decode(&v); err != nil {
		return "", errors.New("the answer is not JSON")
	}
	if v.Version == "" || len(v.Version) > 100 {
		return "", errors.New("the answer has no version")
	}
	return v.Version, nil
}

// message is the server's own, if the answer has one.
func message(answer []byte) string {
	var m struct{ Message string }
	if json.Unmarshal(answer, &m) != nil || m.Message == "" {
		return ""
	}
	return ": " + words.OneLine(m.Message, 1000)
}
