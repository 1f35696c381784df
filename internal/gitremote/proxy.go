package gitremote

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// Proxy returns the proxies of an environment, as os.Environ returns it: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in capitals
// or not. It is for http.Transport.
func Proxy(env []string) func(*http.Request) (*url.URL, error) {
	value := func(name string) string {
		var upper, lower string
		for _, kv := range env {
			switch key, v, _ := strings.Cut(kv, "="); key {
			case name:
				upper = v
			case strings.ToLower(name):
				lower = v
			}
		}
		return cmp.Or(upper, lower)
	}
	proxy := (&httpproxy.Config{HTTPProxy: value("HTTP_PROXY"), HTTPSProxy: value("HTTPS_PROXY"), NoProxy: value("NO_PROXY")}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
}
