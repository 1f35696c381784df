package scm

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strconv"

	"github.com/argosy-cd/argosy/internal/outgoing"
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
	t = outgoing.Transport(c.Env)
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: conn.insecure}
	t.MaxIdleConnsPerHost, t.MaxConnsPerHost, t.ForceAttemptHTTP2, t.MaxResponseHeaderBytes = atOnce, 2*atOnce, true, 1<<20
	if len(conn.ca) > 0 && usable {
		t.TLSClientConfig.RootCAs = roots
	}
	if c.transports == nil || len(c.transports) >= maxTransports {
		c.transports = map[string]*http.Transport{}
	}
	c.transports[key] = t
	return t, usable
}
