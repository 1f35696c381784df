// Package outgoing is how requests leave this process for servers that others may name: through which proxy, to which addresses, and after
// which redirects.
//
// It refuses connections to link-local addresses, where clouds serve the credentials of a machine. A proxy that the environment or a Secret
// names is reached the same way; which servers the proxy connects to is its own decision.
package outgoing

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/argosy-cd/argosy/internal/environ"
)

// Transport returns a transport with the proxies of an environment. Making a connection is limited in time; its callers limit the answers.
func Transport(env environ.Environ) *http.Transport {
	return &http.Transport{
		Proxy: Proxy(env), DialContext: Dialer(10 * time.Second).DialContext, TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout: 30 * time.Second,
	}
}

// Dialer returns a dialer that refuses link-local addresses with a LinkLocalError. Zero is no limit of time.
func Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Control: notLinkLocal}
}

// LinkLocalError refuses to connect to an address of the link.
type LinkLocalError struct{ Address netip.Addr }

func (e *LinkLocalError) Error() string {
	return fmt.Sprintf("%s is a link-local address, from which nothing is fetched", e.Address)
}

// notLinkLocal is asked about each address that a name resolves to, so a name of a link-local address is refused, too.
func notLinkLocal(_, address string, _ syscall.RawConn) error {
	if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().Unmap().IsLinkLocalUnicast() {
		return &LinkLocalError{a.Addr()}
	}
	return nil
}
