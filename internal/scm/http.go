package scm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/outgoing"
	"github.com/argosy-cd/argosy/internal/secret"
	"github.com/argosy-cd/argosy/internal/words"
)

// statusError is an answer that is not a success.
type statusError struct {
	host, what, status, message string
	code                        int
	body                        []byte
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("%s answered %s to %s", e.host, e.status, e.what)
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// isMissing reports whether an error is the answer that something is not there.
func isMissing(err error) bool {
	var s *statusError
	return errors.As(err, &s) && s.code == http.StatusNotFound
}

// notes are lines for the user about an answer.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) note(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

// warnings are the notes, each once.
func (n *notes) warnings() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(n.lines)))
}

// host is an API at an address, with a credential.
type host struct {
	client *Client
	http   *http.Client
	base   *url.URL // its path ends with a slash
	// header is sent with each request, and so is authorization. Errors that contain one of secrets are not shown.
	header        http.Header
	authorization []credentialHeader
	secrets       []secret.Text
	// identity stands for secrets that change, such as the tokens of a GitHub App.
	identity string
	// left are the bytes that answers may still have.
	left atomic.Int64
	// allowed is the shortest time that an answer may be used for, if one was counted.
	allowed time.Duration
	counted bool
	notes
}

// connection is how a host is reached.
type connection struct {
	base     string
	insecure bool
	ca       []byte
	timeout  time.Duration // of a request; zero is requestTimeout
}

func (c *Client) host(conn connection) (*host, error) {
	u, err := url.Parse(conn.base)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("%q is not the URL of an API", words.Printable(giturl.Redact(conn.base)))
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the URL of the API at %s must not have a user, a query or a fragment", u.Host)
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	t, usable := c.transport(conn)
	h := &host{client: c, base: u, header: http.Header{"User-Agent": {"argosy"}, "Accept": {"application/json"}}}
	h.http = &http.Client{Transport: t, CheckRedirect: outgoing.SameServer, Timeout: cmp.Or(conn.timeout, requestTimeout)}
	h.left.Store(maxBytes)
	if !usable {
		h.note("caRef has no certificate that can be read, so it is ignored, as in Argo CD")
	}
	return h, nil
}

// credentialHeader is a header with a secret in it.
type credentialHeader struct {
	name, prefix string
	token        secret.Text
}

// authorize sends a header with a secret in it, with each request.
func (h *host) authorize(name, prefix string, token secret.Text) {
	if token.IsZero() {
		return
	}
	h.authorization = append(h.authorization, credentialHeader{name, prefix, token})
	h.secrets = append(h.secrets, token)
}

func (h *host) basic(user string, password secret.Text) {
	h.authorize("Authorization", "Basic ", secret.New(base64.StdEncoding.EncodeToString([]byte(user+":"+password.Reveal()))))
	if !password.IsZero() {
		h.secrets = append(h.secrets, password)
	}
}

// credential identifies the credential of requests without revealing it.
func (h *host) credential() string {
	if h.identity != "" {
		return digest(h.base.String(), "as", h.identity)
	}
	parts := []string{h.base.String()}
	for _, s := range h.secrets {
		parts = append(parts, s.Reveal())
	}
	return digest(parts...)
}

func (h *host) key(q generator.Question) string { return questionKey(h.credential(), q) }

// clean takes the secrets out of an error, in case a host repeats them.
func (h *host) clean(err error) error {
	text := err.Error()
	for _, s := range h.secrets {
		if strings.Contains(text, s.Reveal()) {
			return errors.New(h.base.Host + ": it answered with an error that contains a secret, so the error is not shown")
		}
	}
	return err
}

// at is the address of a path below the API's own. The path is escaped already.
func (h *host) at(path string, query url.Values) (*url.URL, error) {
	// A path element of dots would lead to another path than the allowed one.
	if slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return name == "." || name == ".." }) {
		return nil, fmt.Errorf("%s: %q leads out of the API", h.base.Host, path)
	}
	u, err := h.base.Parse(strings.TrimPrefix(path, "/"))
	if err != nil {
		return nil, fmt.Errorf("%s: %q is not a path", h.base.Host, path)
	}
	u.RawQuery = query.Encode()
	if u.Host != h.base.Host || !strings.HasPrefix(u.Path, h.base.Path) {
		return nil, fmt.Errorf("%s: %q leads out of the API", h.base.Host, path)
	}
	return u, nil
}

// get reads a JSON document. With a nil out the answer's body is not kept.
func (h *host) get(ctx context.Context, path string, query url.Values, out any) (http.Header, error) {
	u, err := h.at(path, query)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%s: %q is not a path", h.base.Host, path)
	}
	key := digest(h.credential(), u.String())
	h.client.mu.Lock()
	have := h.client.store.get(key)
	h.client.mu.Unlock()
	if have != nil {
		req.Header.Set("If-None-Match", have.etag)
	}
	header, body, err := h.send(req, have != nil)
	if err != nil {
		return nil, err
	}
	if body == nil && have != nil { // not modified
		header, body = have.header, have.body
	} else if etag := header.Get("ETag"); etag != "" && lifetime(header) >= 0 {
		kept := body
		if out == nil {
			kept = []byte{}
		}
		h.client.mu.Lock()
		h.client.store.put(&entry{key: key, body: kept, etag: etag, header: paging(header), at: h.client.Now()})
		h.client.mu.Unlock()
	}
	return header, h.decode(u.Path, body, out)
}

// lifetime is how long a host allows an answer to be used without asking again, by Cache-Control and Age. Below zero it must not be kept.
func lifetime(header http.Header) time.Duration {
	seconds := int64(0)
	for _, directive := range strings.Split(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store":
			return -1
		case "no-cache":
			return 0
		case "max-age":
			seconds, _ = strconv.ParseInt(strings.Trim(value, `"`), 10, 32)
		}
	}
	age, _ := strconv.ParseInt(header.Get("Age"), 10, 32)
	return min(max(0, time.Duration(seconds-max(age, 0))*time.Second), maxFresh)
}

// count records how long one of the host's answers may be cached. The shortest time counts for the combined answer: pages of different
// times could miss entries.
func (h *host) count(res *http.Response) {
	allowed := time.Duration(0)
	if res.Request != nil && res.Request.Method == http.MethodGet {
		allowed = lifetime(res.Header)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.counted || allowed < h.allowed {
		h.counted, h.allowed = true, allowed
	}
}

// lasts is how long the whole answer may be used.
func (h *host) lasts() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.allowed
}

// decode reads JSON. An empty body is an error unless out is nil.
func (h *host) decode(what string, body []byte, out any) error {
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		if len(bytes.TrimSpace(body)) == 0 {
			return fmt.Errorf("%s: the answer about %s is empty: %w", h.base.Host, what, io.EOF)
		}
		return fmt.Errorf("%s: the answer about %s is not what the API documents: %s", h.base.Host, what,
			strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// send sends a request and returns the body of a success. A nil body says that it was not modified.
func (h *host) send(req *http.Request, conditional bool) (http.Header, []byte, error) {
	if err := h.waiting(); err != nil {
		return nil, nil, err
	}
	for name, values := range h.header {
		req.Header[name] = values
	}
	for _, a := range h.authorization {
		req.Header.Set(a.name, a.prefix+a.token.Reveal())
	}
	what := req.Method + " " + req.URL.Path
	res, err := h.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, nil, fmt.Errorf("%s: %s: %w", h.base.Host, what, err)
	}
	defer func() { _ = res.Body.Close() }()
	h.count(res)
	if res.StatusCode == http.StatusNotModified && conditional {
		return res.Header, nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, min(maxBody, h.left.Load())+1))
	if err == nil && (len(body) > maxBody || h.left.Add(-int64(len(body))) < 0) {
		err = fmt.Errorf("the answer is over the limit of %d MiB, or all answers over %d MiB", maxBody>>20, maxBytes>>20)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: reading the answer to %s: %w", h.base.Host, what, err)
	}
	if signIn(res) {
		return nil, nil, &statusError{h.base.Host, what, res.Status, "it asks to sign in, so the token is not valid", res.StatusCode, nil}
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		if body == nil {
			body = []byte{}
		}
		return res.Header, body, nil
	}
	if until, ok := h.limited(res); ok {
		h.wait(until)
		return nil, nil, &LimitError{h.base.Host, until, res.Status}
	}
	return nil, nil, &statusError{h.base.Host, what, res.Status, said(body), res.StatusCode, body}
}

// said is the message in the body of an error, in one short line.
func said(body []byte) string {
	var v struct {
		Message any `json:"message"`
		Error   any `json:"error"`
		Errors  []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	_ = json.Unmarshal(body, &v)
	text, ok := v.Message.(string)
	if e, isText := v.Error.(string); !ok && isText {
		text = e
	}
	if e, isObject := v.Error.(map[string]any); isObject {
		text, _ = e["message"].(string)
	}
	if text == "" && len(v.Errors) > 0 {
		text = v.Errors[0].Message
	}
	return words.Harmless(words.OneLine(text, 200))
}
