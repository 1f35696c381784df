package outgoing

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/argosy-cd/argosy/internal/environ"
)

// Proxy returns the proxies of an environment: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in capitals or not. It is for http.Transport.
func Proxy(env environ.Environ) func(*http.Request) (*url.URL, error) {
	value := func(name string) string { return cmp.Or(env.Get(name), env.Get(strings.ToLower(name))) }
	return proxies(httpproxy.Config{HTTPProxy: value("HTTP_PROXY"), HTTPSProxy: value("HTTPS_PROXY"), NoProxy: value("NO_PROXY")})
}

// ProxyAt returns the proxy at an address for all hosts but those in noProxy, which is written like NO_PROXY.
func ProxyAt(address, noProxy string) func(*http.Request) (*url.URL, error) {
	return proxies(httpproxy.Config{HTTPProxy: address, HTTPSProxy: address, NoProxy: noProxy})
}

func proxies(c httpproxy.Config) func(*http.Request) (*url.URL, error) {
	proxy := c.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
}
