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
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

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
}

// ParseCredentials reads Argo CD's Secrets of repositories and templates. Those of other kinds, such as OCI registries, are
// left out. An error does not say what is in a Secret.
func ParseCredentials(secrets []manifest.Object) ([]Credential, error) {
	var out []Credential
	var errs []error
	for _, s := range secrets {
		f := secretFields{object: s}
		c := Credential{
			URL: f.text("url"), Template: manifest.String(s, "metadata", "labels", "argocd.argoproj.io/secret-type") == "repo-creds", Project: f.text("project"),
			username: f.text("username"), password: f.text("password"), bearer: f.text("bearerToken"), sshKey: f.text("sshPrivateKey"),
			app:        githubApp{id: f.number("githubAppID"), installation: f.number("githubAppInstallationID"), key: f.text("githubAppPrivateKey"), base: f.text("githubAppEnterpriseBaseUrl")},
			clientCert: f.text("tlsClientCertData"), clientKey: f.text("tlsClientCertKey"), insecure: f.flag("insecure") || f.flag("insecureIgnoreHostKey"),
			proxy: f.text("proxy"), noProxy: f.text("noProxy"),
		}
		if kind := f.text("type"); c.URL == "" || kind != "" && kind != "git" {
			continue
		}
		if f.err != nil {
			errs = append(errs, fmt.Errorf("Secret %s: %w", manifest.String(s, "metadata", "name"), f.err))
			continue
		}
		out = append(out, c)
	}
	return out, errors.Join(errs...)
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
		case !c.Template && Key(c.URL) == Key(repository):
			if own == nil || own.Project == "" && c.Project != "" {
				own = &all[i]
			}
		case c.Template && covers(c.URL, repository) && (template == nil || len(c.URL) > len(template.URL)):
			template = &all[i]
		}
	}
	if own != nil && (own.secret() || template == nil) {
		return own
	}
	if own != nil { // settings of its own, secrets of the template
		both := *template
		both.Project, both.insecure, both.proxy, both.noProxy = own.Project, own.insecure || template.insecure, cmp.Or(own.proxy, template.proxy), cmp.Or(own.noProxy, template.noProxy)
		return &both
	}
	return template
}

func (c *Credential) secret() bool {
	return c.username != "" || c.password != "" || c.bearer != "" || c.sshKey != "" || c.app.key != "" || c.clientKey != ""
}

// covers reports whether a template is for a repository. The host must be the same: of a URL that only begins like it, the
// credential would go to somebody else.
func covers(template, repository string) bool {
	t, r := parseURL(template), parseURL(repository)
	return t != nil && r != nil && strings.EqualFold(t.Host, r.Host) && t.Scheme == r.Scheme && strings.HasPrefix(strings.ToLower(r.Path), strings.ToLower(t.Path))
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

// session prepares to talk to a repository.
func (r *Remote) session(ctx context.Context, repository string, c *Credential) (transport.UploadPackSession, error) {
	u := parseURL(repository)
	if u == nil {
		return nil, errors.New("not a URL of a remote repository")
	}
	if c == nil {
		c = &Credential{}
	}
	endpoint, err := transport.NewEndpoint(repository)
	if err != nil {
		return nil, errors.New("not a URL of a remote repository")
	}
	switch u.Scheme {
	case "http", "https":
		return r.overHTTP(ctx, u, endpoint, c)
	case "ssh":
		return r.overSSH(ctx, u, endpoint, c)
	default:
		return nil, fmt.Errorf("scheme %q is not supported; it must be https, http or ssh", u.Scheme)
	}
}

func (r *Remote) overHTTP(ctx context.Context, u *url.URL, endpoint *transport.Endpoint, c *Credential) (transport.UploadPackSession, error) {
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
		ResponseHeaderTimeout: 30 * time.Second, DisableKeepAlives: true,
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
	if c.proxy != "" && !slices.Contains(strings.Split(c.noProxy, ","), host) {
		p, err := url.Parse(c.proxy)
		if err != nil {
			return nil, errors.New("the proxy in the repository's Secret is not a URL")
		}
		t.Proxy = http.ProxyURL(p)
	}
	return &http.Client{Transport: limitedTransport{t}}, nil
}

// limitedTransport bounds every answer, and lets no body hold a connection for ever.
type limitedTransport struct{ next http.RoundTripper }

func (t limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, 4<<30), res.Body}
	}
	return res, err
}

func (r *Remote) overSSH(ctx context.Context, u *url.URL, endpoint *transport.Endpoint, c *Credential) (transport.UploadPackSession, error) {
	if c.sshKey == "" {
		return nil, errors.New("there is no SSH key for it in Argo CD's repositories and templates")
	}
	signer, err := ssh.ParsePrivateKey([]byte(c.sshKey))
	if err != nil {
		return nil, errors.New("the SSH key in the repository's Secret cannot be read")
	}
	keys := &gitssh.PublicKeys{User: "git", Signer: signer}
	if u.User != nil && u.User.Username() != "" {
		keys.User = u.User.Username()
	}
	if keys.HostKeyCallback, err = r.hostKeys(ctx, c); err != nil {
		return nil, err
	}
	s, err := gitssh.NewClient(nil).NewUploadPackSession(endpoint, impatient{keys})
	return s, explain(err)
}

// impatient does not wait for a server for ever.
type impatient struct{ *gitssh.PublicKeys }

func (i impatient) ClientConfig() (*ssh.ClientConfig, error) {
	c, err := i.PublicKeys.ClientConfig()
	if err == nil {
		c.Timeout = 10 * time.Second
	}
	return c, err
}

func (r *Remote) hostKeys(ctx context.Context, c *Credential) (ssh.HostKeyCallback, error) {
	if c.insecure {
		return ssh.InsecureIgnoreHostKey(), nil //nolint:gosec // the repository's Secret says so
	}
	if r.KnownHosts == nil {
		return nil, errors.New("the keys of SSH servers are not known")
	}
	data, err := r.KnownHosts(ctx)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(r.Dir, "known-hosts-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is in our own directory
	if _, err := f.Write(data); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	callback, err := knownhosts.New(f.Name())
	if err != nil {
		return nil, fmt.Errorf("argocd-ssh-known-hosts-cm: %s", strings.ReplaceAll(err.Error(), filepath.Dir(f.Name())+"/", ""))
	}
	return callback, nil
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
	return errors.New(redactWords(strings.Join(strings.Fields(err.Error()), " ")))
}
