package scm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/argosy-cd/argosy/internal/fetch"
	"github.com/argosy-cd/argosy/internal/gitremote"
)

// maxTransports bounds the ways in which certificates are checked.
const maxTransports = 100

func (c *Client) transport(conn connection) (*http.Transport, error) {
	key := digest(strconv.FormatBool(conn.insecure), string(conn.ca))
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.transports[key]; t != nil {
		return t, nil
	}
	t := &http.Transport{
		Proxy: gitremote.Proxy(c.Env), DialContext: (&net.Dialer{Timeout: 10 * time.Second, Control: fetch.NotLinkLocal}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: conn.insecure},
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: atOnce, MaxConnsPerHost: 2 * atOnce,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 1 << 20,
	}
	if len(conn.ca) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM(conn.ca) {
			return nil, errors.New("the certificates of caRef cannot be read")
		}
		t.TLSClientConfig.RootCAs = roots
	}
	if c.transports == nil || len(c.transports) >= maxTransports {
		c.transports = map[string]*http.Transport{}
	}
	c.transports[key] = t
	return t, nil
}
