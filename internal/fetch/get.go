package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/secret"
)

// access says how requests for one repository are sent.
type access struct {
	origin string // that login and the client's certificates belong to; "" is none
	login  login
	all    bool // login goes to every host that the index names
	client *http.Client
}

// login is a user and a password. Its zero value is none.
type login struct {
	user     string
	password secret.Text
}

// anonymous is access without credentials of a repository. Those in a URL, and those of netrc, still apply.
func (f *Fetcher) anonymous() *access { return &access{client: f.client(f.base)} }

// accessTo returns the access to a repository with an index.
func (f *Fetcher) accessTo(repo *repository) (*access, error) {
	a := &access{origin: repo.origin, login: repo.login, client: f.client(f.base)}
	r := repo.helm
	if r == nil {
		return a, nil
	}
	if a.login == (login{}) {
		a.login = login{r.Username, r.Password}
	}
	a.all = r.PassAll
	if r.CAFile == "" && r.CertFile == "" && !r.Insecure {
		return a, nil
	}
	base, ok := f.base.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("the TLS settings of %q in repositories.yaml cannot be applied", r.Name)
	}
	own := base.Clone()
	config, err := r.tls()
	if err != nil {
		return nil, fmt.Errorf("repository %q in repositories.yaml: %w", r.Name, err)
	}
	own.TLSClientConfig = config
	a.client = f.client(originTransport{a.origin, own, f.base})
	return a, nil
}

// tls returns the TLS settings of a repository. No error contains what is in the files.
func (r *helmRepository) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: r.Insecure} // the user's repositories.yaml says so
	if r.CAFile != "" {
		pem, err := os.ReadFile(r.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading caFile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("caFile %s contains no certificates", r.CAFile)
		}
	}
	if r.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(r.CertFile, r.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("certFile %s and keyFile %s are not a certificate and its key", r.CertFile, r.KeyFile)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// originTransport keeps the TLS settings of a repository away from other hosts.
type originTransport struct {
	origin     string
	own, other http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t originTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if giturl.Origin(req.URL) == t.origin {
		return t.own.RoundTrip(req)
	}
	return t.other.RoundTrip(req)
}

// request has the options of a GET besides its URL.
type request struct {
	limit          int64
	etag, modified string // of the copy in the cache; "" is none
	packed         bool   // the answer may be compressed on its way
}

// response is an answer with status 200, or 304 where the copy in the cache is current.
type response struct {
	data           []byte
	current        bool
	etag, modified string
}

// get requests a URL. Its errors do not have the URL in them, except the host if another one than that of the URL
// answered.
func (f *Fetcher) get(ctx context.Context, a *access, target *url.URL, r request) (*response, error) {
	u := *target
	u.User, u.Fragment = nil, ""
	req, err := http.NewRequestWithContext(withLimit(ctx, r.limit), http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	req.Header.Set("User-Agent", userAgent)
	if r.packed {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	if r.etag != "" {
		req.Header.Set("If-None-Match", r.etag)
	}
	if r.modified != "" {
		req.Header.Set("If-Modified-Since", r.modified)
	}
	l := f.loginFor(a, target)
	if l != (login{}) {
		req.SetBasicAuth(l.user, l.password.Reveal())
	}
	res, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode == http.StatusNotModified && r.etag+r.modified != "":
		return &response{current: true}, nil
	case res.StatusCode != http.StatusOK:
		return nil, statusError(res, u.Host, l != (login{}))
	}
	data, err := decoded(res, r.limit)
	if err != nil {
		return nil, err
	}
	return &response{data: data, etag: res.Header.Get("ETag"), modified: res.Header.Get("Last-Modified")}, nil
}

// loginFor returns the credential for a URL: its own, that of the repository, or that of netrc.
func (f *Fetcher) loginFor(a *access, u *url.URL) login {
	if u.User != nil {
		password, _ := u.User.Password()
		return login{u.User.Username(), secret.New(password)}
	}
	if a.login != (login{}) && (a.all || giturl.Origin(u) == a.origin) {
		return a.login
	}
	if u.Scheme == "https" || f.plain(u.Host) {
		return f.netrc()[u.Hostname()]
	}
	return login{}
}

// decoded returns the body of an answer, unpacked if it was compressed on request.
func decoded(res *http.Response, limit int64) ([]byte, error) {
	body := io.Reader(res.Body)
	if res.Request.Header.Get("Accept-Encoding") == "gzip" && res.Header.Get("Content-Encoding") == "gzip" {
		r, err := gzip.NewReader(body)
		if err != nil {
			return nil, errors.New("the answer has Content-Encoding gzip, but is not gzip")
		}
		body = r
	}
	var data bytes.Buffer
	if _, err := io.Copy(&data, io.LimitReader(body, limit+1)); err != nil {
		return nil, fmt.Errorf("damaged answer: %w", err)
	}
	if int64(data.Len()) > limit {
		return nil, fmt.Errorf("over the limit of %d MiB", limit>>20)
	}
	return data.Bytes(), nil
}

// isHTML reports whether data is a page for people, such as that of a login or of a captive portal.
func isHTML(data []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(data[:min(len(data), 512)]))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}
