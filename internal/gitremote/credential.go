package gitremote

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/outgoing"
	"github.com/argosy-cd/argosy/internal/rights"
	"github.com/argosy-cd/argosy/internal/secret"
)

// Credential is Argo CD's credential of a repository, or of all repositories below a URL.
type Credential struct {
	URL string
	// Template says that it is for all repositories below URL.
	Template bool
	// Project is the project that may use it; "" is none in particular.
	Project string

	username         string
	password, bearer secret.Text
	sshKey           secret.Text
	app              githubApp
	clientCert       string
	clientKey        secret.Text
	insecure         bool
	proxy            secret.Text // it may have a password
	noProxy          string
	err              error // in the Secret
}

// ParseCredentials reads Argo CD's Secrets of repositories and templates. Those of other kinds, such as OCI registries, are
// left out. A Secret that is wrong is an error when it is used; the error does not contain the Secret's content.
func ParseCredentials(secrets []manifest.Object) []Credential {
	var out []Credential
	for _, s := range secrets {
		f := secretFields{object: s}
		c := Credential{
			URL: f.text("url"), Template: argo.SecretTypeOf(s) == argo.SecretRepoCreds,
			Project:  f.text("project"),
			username: f.text("username"), password: f.secret("password"), bearer: f.secret("bearerToken"),
			sshKey: f.secret("sshPrivateKey"),
			app: githubApp{
				number: f.number("githubAppID"), installation: f.number("githubAppInstallationID"),
				key: f.secret("githubAppPrivateKey"), base: f.text("githubAppEnterpriseBaseUrl"),
			},
			clientCert: f.text("tlsClientCertData"), clientKey: f.secret("tlsClientCertKey"),
			insecure: f.flag("insecure") || f.flag("insecureIgnoreHostKey"),
			proxy:    f.secret("proxy"), noProxy: f.text("noProxy"),
		}
		if kind := f.text("type"); c.URL == "" || kind != "" && kind != "git" {
			continue
		}
		if f.err != nil {
			c.err = fmt.Errorf("the Secret %s: %w", manifest.String(s, "metadata", "name"), f.err)
		}
		out = append(out, c)
	}
	return out
}

type secretFields struct {
	object manifest.Object
	err    error
}

func (f *secretFields) text(key string) string { return f.secret(key).Reveal() }

func (f *secretFields) secret(key string) secret.Text {
	value, err := manifest.SecretValue(f.object, key)
	f.err = cmp.Or(f.err, err)
	return value
}

func (f *secretFields) number(key string) int64 {
	text := f.text(key)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("data.%s: not a number", key)
	}
	return n
}

func (f *secretFields) flag(key string) bool { return f.text(key) == "true" }

// FindCredential returns the credential that a project reads a repository with, by rights.Choose. It returns nil if there is none.
func FindCredential(all []Credential, repository, project string) *Credential {
	scopes := make([]rights.Credential, len(all))
	for i, c := range all {
		scopes[i] = rights.Credential{URL: c.URL, Template: c.Template, Project: c.Project, Complete: c.secret() || c.err != nil}
	}
	switch own, template := rights.Choose(scopes, repository, project); {
	case own >= 0 && template >= 0: // settings of its own, secrets of the template
		both, settings := all[template], all[own]
		both.Project, both.insecure = settings.Project, settings.insecure || both.insecure
		both.proxy, both.noProxy = cmp.Or(settings.proxy, both.proxy), cmp.Or(settings.noProxy, both.noProxy)
		return &both
	case own >= 0:
		return &all[own]
	case template >= 0:
		return &all[template]
	}
	return nil
}

func (c *Credential) secret() bool {
	for _, t := range []secret.Text{c.password, c.bearer, c.sshKey, c.app.key, c.clientKey} {
		if !t.IsZero() {
			return true
		}
	}
	return c.username != ""
}

// id identifies a credential without revealing it.
func (c *Credential) id() string {
	if c == nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %t %v", []string{
		c.URL, c.Project, c.username, c.password.Reveal(), c.bearer.Reveal(), c.sshKey.Reveal(), c.app.id(), c.clientCert,
		c.clientKey.Reveal(), c.proxy.Reveal(), c.noProxy,
	}, []bool{c.Template, c.insecure}, c.err))
	return hex.EncodeToString(sum[:])
}

// session talks to a repository.
type session interface {
	AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error)
	UploadPack(ctx context.Context, request *packp.UploadPackRequest) (*packp.UploadPackResponse, error)
	Close() error
}

// session prepares to talk to a repository.
func (r *Remote) session(ctx context.Context, repository string, c *Credential) (session, error) {
	u := giturl.Parse(repository)
	if u == nil {
		return nil, errors.New("not a URL of a remote repository")
	}
	if c == nil {
		c = &Credential{}
	}
	if c.err != nil {
		return nil, c.err
	}
	if giturl.HasMore(u) {
		return nil, errors.New("the URL of a repository must not have a query or a fragment")
	}
	endpoint, err := transport.NewEndpoint(repository)
	if err != nil {
		return nil, errors.New("not a URL of a remote repository")
	}
	switch u.Scheme {
	case "http", "https":
		return r.overHTTP(ctx, u, endpoint, c)
	case "ssh":
		return r.overSSH(ctx, u, c)
	default:
		return nil, fmt.Errorf("scheme %q is not supported; it must be https, http or ssh", u.Scheme)
	}
}

func (r *Remote) overHTTP(ctx context.Context, u *url.URL, endpoint *transport.Endpoint, c *Credential) (session, error) {
	client, err := r.client(ctx, u.Hostname(), c)
	if err != nil {
		return nil, err
	}
	var auth transport.AuthMethod
	switch {
	case !c.app.key.IsZero():
		token, err := r.tokens.get(ctx, client, c.app, r.Now)
		if err != nil {
			return nil, err
		}
		auth = &githttp.BasicAuth{Username: "x-access-token", Password: token.Reveal()}
	case !c.bearer.IsZero():
		auth = &githttp.TokenAuth{Token: c.bearer.Reveal()}
	case c.username != "" || !c.password.IsZero():
		// A token alone is a password; most servers want some user with it.
		auth = &githttp.BasicAuth{Username: cmp.Or(c.username, "git"), Password: c.password.Reveal()}
	}
	return githttp.NewClient(client).NewUploadPackSession(endpoint, auth)
}

// client is an HTTP client that trusts whom Argo CD trusts.
func (r *Remote) client(ctx context.Context, host string, c *Credential) (*http.Client, error) {
	t := outgoing.Transport(r.Env)
	t.ResponseHeaderTimeout, t.DisableKeepAlives = 30*time.Second, true
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.insecure} // the repository's Secret says so
	if r.CA != nil {
		pem, err := r.CA(ctx, host)
		if err != nil {
			return nil, err
		}
		if len(pem) > 0 {
			t.TLSClientConfig.RootCAs = x509.NewCertPool()
			if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("argocd-tls-certs-cm: the certificates of %s cannot be read", host)
			}
		}
	}
	if !c.clientKey.IsZero() {
		pair, err := tls.X509KeyPair([]byte(c.clientCert), []byte(c.clientKey.Reveal()))
		if err != nil {
			return nil, errors.New("the client certificate in the repository's Secret, or its key, cannot be read")
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	if address := c.proxy.Reveal(); address != "" {
		if _, err := url.Parse(address); err != nil {
			return nil, errors.New("the proxy in the repository's Secret is not a URL")
		}
		t.Proxy = outgoing.ProxyAt(address, c.noProxy)
	}
	return &http.Client{Transport: limitedTransport{t}, CheckRedirect: outgoing.SameServer}, nil
}

// maxRefs bounds the list of references; a longer one is an error.
const maxRefs = 32 << 20

// maxAnswerHead bounds what a server says before a pack: acknowledgments and shallow commits, which the library keeps.
const maxAnswerHead = 4 << 20

// allowance is how much of an answer may still be read.
type allowance struct{ left atomic.Int64 }

type allowanceKey struct{}

// withAllowance bounds the answers to requests with this context.
func withAllowance(ctx context.Context, n int64) (context.Context, *allowance) {
	a := &allowance{}
	a.left.Store(n)
	return context.WithValue(ctx, allowanceKey{}, a), a
}

var errTooMuch = errors.New("the repository is over the limit for a fetch")

// reader reads as much as is allowed.
func (a *allowance) reader(r io.Reader) io.Reader { return &allowedReader{a, r} }

type allowedReader struct {
	*allowance
	r io.Reader
}

func (a *allowedReader) Read(p []byte) (int, error) {
	left := a.left.Load()
	if left <= 0 {
		return 0, errTooMuch
	}
	n, err := a.r.Read(p[:min(int64(len(p)), left)])
	a.left.Add(int64(-n))
	return n, err
}

// limitedTransport bounds every answer.
type limitedTransport struct{ next http.RoundTripper }

func (t limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	a, ok := req.Context().Value(allowanceKey{}).(*allowance)
	if !ok {
		_, a = withAllowance(req.Context(), maxRefs)
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{a.reader(res.Body), res.Body}
	return res, nil
}

// explain says in one line what a server or the library means, without secrets.
func explain(err error) error {
	var unknown *knownhosts.KeyError
	var refused *outgoing.LinkLocalError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, transport.ErrAuthenticationRequired):
		return errors.New("the server requires credentials, and Argo CD has none that this project may use; add a Secret of the repository")
	case errors.Is(err, transport.ErrAuthorizationFailed):
		return errors.New("the server refuses the credentials that Argo CD has; correct the Secret of the repository")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return errors.New("there is no such repository, or it may not be read")
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return errors.New("it is empty")
	case errors.As(err, &unknown) && len(unknown.Want) == 0:
		return errors.New("the server's SSH key is not known; add it to argocd-ssh-known-hosts-cm")
	case errors.As(err, &unknown):
		return errors.New("the server's SSH key is not the one in argocd-ssh-known-hosts-cm")
	}
	return errors.New(giturl.Line(err.Error(), 600))
}
