package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/outgoing"
)

const userAgent = "argosy"

// Limits of retries.
const (
	backoff       = 500 * time.Millisecond
	maxRetryAfter = 10 * time.Second
)

var (
	errTimeout = fmt.Errorf("not complete after %s", wholeTimeout)
	errIdle    = fmt.Errorf("the server sent nothing for %s", idleTimeout)
)

// defaultTransport has timeouts for everything before the answer; package fetch bounds the answer itself.
func defaultTransport(env environ.Environ) *http.Transport {
	t := outgoing.Transport(env)
	t.MaxIdleConnsPerHost, t.ForceAttemptHTTP2 = atOnce, true
	t.DisableCompression = true // an archive that a server also labels as gzip-encoded must stay packed
	return t
}

// client returns a client over a transport, with the limits of all requests.
func (f *Fetcher) client(t http.RoundTripper) *http.Client {
	c := &http.Client{Transport: boundedTransport{t, f.wire}, CheckRedirect: outgoing.AnyServer}
	if f.cfg.Client != nil {
		c.Timeout = f.cfg.Client.Timeout
	}
	return c
}

// wire is shared by all requests.
type wire struct {
	slots chan struct{} // bounds requests at once
	wait  func(ctx context.Context, d time.Duration) bool
	idle  time.Duration
}

// boundedTransport reads each answer into memory, within limits of size and of silence, and retries likely transient failures once.
type boundedTransport struct {
	next http.RoundTripper
	*wire
}

type limitKey struct{}

// withLimit bounds the answers of requests with this context. The limit is maxArchive without it.
func withLimit(ctx context.Context, n int64) context.Context {
	return context.WithValue(ctx, limitKey{}, n)
}

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.once(req)
	delay, ok := again(req, res, err)
	if !ok || !t.wait(req.Context(), delay) {
		return res, err
	}
	return t.once(req)
}

func (t boundedTransport) once(req *http.Request) (*http.Response, error) {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	timer := time.AfterFunc(t.idle, func() { cancel(errIdle) })
	defer timer.Stop()
	res, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	limit, ok := ctx.Value(limitKey{}).(int64)
	if !ok {
		limit = maxArchive
	}
	if res.ContentLength > limit && req.Method != http.MethodHead {
		return nil, fmt.Errorf("%d bytes is over the limit of %d MiB", res.ContentLength, limit>>20)
	}
	var data bytes.Buffer
	_, err = io.Copy(&data, &awakeReader{io.LimitReader(res.Body, limit+1), timer, t.idle})
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	if int64(data.Len()) > limit {
		return nil, fmt.Errorf("over the limit of %d MiB", limit>>20)
	}
	res.Body = io.NopCloser(&data)
	if req.Method != http.MethodHead {
		res.ContentLength = int64(data.Len())
	}
	return res, nil
}

// awakeReader postpones a timer with each read that brings something.
type awakeReader struct {
	r     io.Reader
	timer *time.Timer
	idle  time.Duration
}

func (a *awakeReader) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if n > 0 {
		a.timer.Reset(a.idle)
	}
	return n, err
}

// causeOf prefers the reason of a cancellation to its effect.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// again reports whether a request is worth a second one, and after which delay.
func again(req *http.Request, res *http.Response, err error) (time.Duration, bool) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead || req.Context().Err() != nil {
		return 0, false
	}
	if err != nil {
		return backoff, errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) ||
			errors.Is(err, io.ErrUnexpectedEOF)
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return 0, false
	}
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return backoff, true
	}
	delay := time.Duration(min(seconds, 3600)) * time.Second
	return delay, delay <= maxRetryAfter
}

// registryTransport refuses http to servers that are not known to speak it only: a registry names its token server, and
// the password goes there.
type registryTransport struct {
	next  http.RoundTripper
	plain func(host string) bool
}

// RoundTrip implements http.RoundTripper.
func (t registryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !t.plain(req.URL.Host) {
		return nil, fmt.Errorf("the registry refers to http://%s; https is required", req.URL.Host)
	}
	return t.next.RoundTrip(req)
}

// plain reports whether a host speaks http.
func (f *Fetcher) plain(host string) bool {
	if f.cfg.PlainHTTP != nil {
		return f.cfg.PlainHTTP(host)
	}
	return loopback(host)
}

func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}
