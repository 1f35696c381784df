package outgoing

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/argosy-cd/argosy/internal/giturl"
)

// SameServer refuses redirects to another server: the policy was not asked about it, and the credential, the certificates and the
// proxy are not for it. It is for http.Client.
func SameServer(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	same := req.URL.Scheme == first.Scheme && giturl.Port(req.URL) == giturl.Port(first) || first.Scheme == "http" &&
		req.URL.Scheme == "https" && giturl.Port(first) == "80" && giturl.Port(req.URL) == "443"
	if !same || !strings.EqualFold(req.URL.Hostname(), first.Hostname()) {
		return fmt.Errorf("it redirects to %s://%s, and redirects to another server are refused; use that URL", req.URL.Scheme,
			req.URL.Host)
	}
	if len(via) >= 5 {
		return errors.New("it redirects more than 5 times")
	}
	return nil
}

// AnyServer follows redirects, without credentials once another server is involved. Go's own rule would send them to other ports and to
// subdomains. It is for http.Client.
func AnyServer(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("more than 10 redirects")
	}
	first := via[0].URL
	if first.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("a redirect from https to %s://%s is refused", req.URL.Scheme, req.URL.Host)
	}
	for _, hop := range append(via[1:len(via):len(via)], req) {
		if giturl.Origin(hop.URL) != giturl.Origin(first) {
			req.Header.Del("Authorization")
			req.Header.Del("Cookie")
		}
	}
	return nil
}
