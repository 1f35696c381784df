package scm

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/argosy-cd/argosy/internal/fetch"
	"github.com/argosy-cd/argosy/internal/gitremote"
)

// maxTransports bounds the ways in which certificates are checked.
const maxTransports = 100

// transport connects as a set says. Of caRef only its own certificates count, and one that cannot be read counts for nothing, as in Argo CD
// (applicationset/utils/utils.go, v3.2.11); usable reports whether it could be read.
func (c *Client) transport(conn connection) (t *http.Transport, usable bool) {
	usable = len(conn.ca) == 0
	roots := x509.NewCertPool()
	if len(conn.ca) > 0 {
		usable = roots.AppendCertsFromPEM(conn.ca)
	}

	key := digest(strconv.FormatBool(conn.insecure), string(conn.ca))
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.transports[key]; t != nil {
		return t, usable
	}
	t = &http.Transport{
		Proxy: gitremote.Proxy(c.Env), DialContext: (&net.Dialer{Timeout: 10 * time.Second, Control: fetch.NotLinkLocal}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: conn.insecure},
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: atOnce, MaxConnsPerHost: 2 * atOnce,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 1 << 20,
	}
	if len(conn.ca) > 0 && usable {
		t.TLSClientConfig.RootCAs = roots
	}
	if c.transports == nil || len(c.transports) >= maxTransports {
		c.transports = map[string]*http.Transport{}
	}
	c.transports[key] = t
	return t, usable
}
