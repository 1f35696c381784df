package gitsource

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/net/http/httpproxy"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Credential is what Argo CD knows about a repository, or about all repositories below a URL.
type Credential struct {
	URL string
	// Template says that it is for all repositories below URL.
	Template bool
	// Project is the one that it is for; "" is all.
	Project string

	username, password, bearer string
	sshKey                     string
	app                        githubApp
	clientCert, clientKey      string
	insecure                   bool
	proxy, noProxy             string
	err                        error // in the Secret
}

// ParseCredentials reads Argo CD's Secrets of repositories and templates. Those of other kinds, such as OCI registries, are
// left out. A Secret that is wrong is an error of those who use it, which does not say what is in it.
func ParseCredentials(secrets []manifest.Object) []Credential {
	var out []Credential
	for _, s := range secrets {
		f := secretFields{object: s}
		c := Credential{
			URL: f.text("url"), Template: manifest.String(s, "metadata", "labels", "argocd.argoproj.io/secret-type") == "repo-creds",
			Project:  f.text("project"),
			username: f.text("username"), password: f.text("password"), bearer: f.text("bearerToken"), sshKey: f.text("sshPrivateKey"),
			app: githubApp{
				id: f.number("githubAppID"), installation: f.number("githubAppInstallationID"),
				key: f.text("githubAppPrivateKey"), base: f.text("githubAppEnterpriseBaseUrl"),
			},
			clientCert: f.text("tlsClientCertData"), clientKey: f.text("tlsClientCertKey"),
			insecure: f.flag("insecure") || f.flag("insecureIgnoreHostKey"),
			proxy:    f.text("proxy"), noProxy: f.text("noProxy"),
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

func (f *secretFields) text(key string) string {
	data, err := base64.StdEncoding.DecodeString(manifest.String(f.object, "data", key))
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("data.%s: not base64", key)
	}
	return string(data)
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

// FindCredential returns the credential for a repository: that of the repository itself, of the project first, or that of
// the longest template. Those of other projects are nobody else's. It returns nil if there is none.
func FindCredential(all []Credential, repository, project string) *Credential {
	var own, template *Credential
	for i, c := range all {
		switch {
		case c.Project != "" && c.Project != project:
		case !c.Template && c.URL != "" && normal(c.URL) == normal(repository):
			if own == nil || own.Project == "" && c.Project != "" {
				own = &all[i]
			}
		case c.Template && covers(c.URL, repository) && (template == nil || len(normal(c.URL)) > len(normal(template.URL))):
			template = &all[i]
		}
	}
	if own != nil && (own.secret() || own.err != nil || template == nil) {
		return own
	}
	if own != nil { // settings of its own, secrets of the template
		both := *template
		both.Project, both.insecure, both.proxy, both.noProxy = own.Project, own.insecure || template.insecure,
			cmp.Or(own.proxy, template.proxy), cmp.Or(own.noProxy, template.noProxy)
		return &both
	}
	return template
}

func (c *Credential) secret() bool {
	return c.username != "" || c.password != "" || c.bearer != "" || c.sshKey != "" || c.app.key != "" || c.clientKey != ""
}

// normal is a URL as Argo CD compares them (util/git/git.go, NormalizeGitURL, v3.2.11): in lower case, without ".git" at the end, with its
// user, port and query.
func normal(repository string) string {
	s := strings.ToLower(strings.TrimSpace(repository))
	if sshPattern.MatchString(s) && !strings.HasPrefix(s, "ssh://") {
		s = "ssh://" + strings.Replace(s, ":", "/", 1)
	}
	u, err := url.Parse(strings.TrimSuffix(s, ".git"))
	if err != nil {
		return repository
	}
	return strings.TrimPrefix(u.String(), "ssh://")
}

var sshPattern = regexp.MustCompile(`^(ssh://)?([^/:]*?)@[^@]+$`)

// covers reports whether a template is for a repository: the repository begins with it, as in Argo CD. Here the host must be the same, too:
// of a URL that only begins like it, the credential would go to somebody else.
func covers(template, repository string) bool {
	t, r := parseURL(template), parseURL(repository)
	return t != nil && r != nil && strings.EqualFold(t.Hostname(), r.Hostname()) && portOf(t) == portOf(r) && t.Scheme == r.Scheme &&
		strings.HasPrefix(normal(repository), normal(template))
}

// Same reports whether two URLs are certainly of one repository that is reached in one way: the same scheme, host, port and path, capitals
// included, and nothing behind it.
func Same(a, b string) bool {
	x, y := parseURL(a), parseURL(b)
	if x == nil || y == nil {
		return a == b
	}
	trim := func(u *url.URL) string { return strings.TrimSuffix(strings.Trim(u.EscapedPath(), "/"), ".git") }
	return x.Scheme == y.Scheme && strings.EqualFold(x.Hostname(), y.Hostname()) && portOf(x) == portOf(y) && trim(x) == trim(y) &&
		!behind(x) && !behind(y)
}

// behind reports whether something follows the path of a URL.
func behind(u *url.URL) bool { return u.RawQuery != "" || u.ForceQuery || u.Fragment != "" }

func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443", "ssh": "22"}[u.Scheme])
}

// parseURL also reads URLs as scp has them.
func parseURL(s string) *url.URL {
	s = strings.TrimSpace(s)
	if scp := scpPattern.FindStringSubmatch(s); scp != nil && !strings.Contains(s, "://") {
		s = "ssh://" + scp[1] + "/" + scp[2]
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}

// id is the same for the same credential and tells nothing about it.
func (c *Credential) id() string {
	if c == nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", *c))
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
	u := parseURL(repository)
	if u == nil {
		return nil, errors.New("not a URL of a remote repository")
	}
	if c == nil {
		c = &Credential{}
	}
	if c.err != nil {
		return nil, c.err
	}
	if behind(u) {
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
	case c.app.key != "":
		token, err := r.tokens.get(ctx, client, c.app, r.Now)
		if err != nil {
			return nil, err
		}
		auth = &githttp.BasicAuth{Username: "x-access-token", Password: token}
	case c.bearer != "":
		auth = &githttp.TokenAuth{Token: c.bearer}
	case c.username != "" || c.password != "":
		// A token alone is a password; most servers want some user with it.
		auth = &githttp.BasicAuth{Username: cmp.Or(c.username, "git"), Password: c.password}
	}
	return githttp.NewClient(client).NewUploadPackSession(endpoint, auth)
}

// client is an HTTP client that trusts whom Argo CD trusts.
func (r *Remote) client(ctx context.Context, host string, c *Credential) (*http.Client, error) {
	t := &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.insecure}, //nolint:gosec // the repository's Secret says so
		DialContext:     (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second, DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment,
	}
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
	if c.clientKey != "" {
		pair, err := tls.X509KeyPair([]byte(c.clientCert), []byte(c.clientKey))
		if err != nil {
			return nil, errors.New("the client certificate in the repository's Secret, or its key, cannot be read")
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	if c.proxy != "" {
		if _, err := url.Parse(c.proxy); err != nil {
			return nil, errors.New("the proxy in the repository's Secret is not a URL")
		}
		proxy := (&httpproxy.Config{HTTPProxy: c.proxy, HTTPSProxy: c.proxy, NoProxy: c.noProxy}).ProxyFunc()
		t.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
	}
	return &http.Client{Transport: limitedTransport{t}, CheckRedirect: SameServer}, nil
}

// SameServer refuses redirects to another server: the policy was not asked about it, and the credential, the certificates and the proxy are
// not for it.
func SameServer(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	same := req.URL.Scheme == first.Scheme && portOf(req.URL) == portOf(first) || first.Scheme == "http" && req.URL.Scheme == "https" &&
		portOf(first) == "80" && portOf(req.URL) == "443"
	if !same || !strings.EqualFold(req.URL.Hostname(), first.Hostname()) {
		return fmt.Errorf("it redirects to %s://%s, and redirects to another server are refused; use that URL", req.URL.Scheme,
			req.URL.Host)
	}
	if len(via) >= 5 {
		return errors.New("it redirects more than 5 times")
	}
	return nil
}

// maxRefs bounds the list of references; one that is cut off is an error.
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
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrAuthenticationRequired):
		return errors.New("it wants credentials, and Argo CD has none for it that may be used here")
	case errors.Is(err, transport.ErrAuthorizationFailed):
		return errors.New("the credentials that Argo CD has for it are refused")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return errors.New("there is no such repository, or it may not be read")
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return errors.New("it is empty")
	case errors.As(err, &unknown) && len(unknown.Want) == 0:
		return errors.New("the server's SSH key is not known; add it to argocd-ssh-known-hosts-cm")
	case errors.As(err, &unknown):
		return errors.New("the server's SSH key is not the one in argocd-ssh-known-hosts-cm")
	}
	return errors.New(RedactText(strings.Join(strings.Fields(err.Error()), " ")))
}
