package outgoing

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/environ"
)

// TestNotLinkLocal: nothing is fetched from where clouds serve credentials.
func TestNotLinkLocal(t *testing.T) {
	for address, refused := range map[string]bool{
		"169.254.169.254:80": true, "[fe80::1]:443": true, "[::ffff:169.254.169.254]:80": true, "127.0.0.1:80": false,
		"10.0.0.1:443": false, "[2001:db8::1]:443": false,
	} {
		if err := notLinkLocal("tcp", address, nil); (err != nil) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestTransport: link-local addresses are refused, also as a proxy. With a proxy, the proxy decides.
func TestTransport(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer proxy.Close()
	for _, c := range []struct{ env, url, denied string }{
		{"", "http://169.254.1.1/", "169.254.1.1 is a link-local address"},
		{"", "https://169.254.1.1/", "169.254.1.1 is a link-local address"},
		{"http_proxy=http://169.254.1.2", "http://git.example.invalid/", "169.254.1.2 is a link-local address"},
		{"HTTP_PROXY=" + proxy.URL, "http://git.example.invalid/", ""},
		{"HTTP_PROXY=" + proxy.URL, "http://169.254.1.1/", ""},
	} {
		transport := Transport(environ.New(c.env))
		res, err := (&http.Client{Transport: transport}).Get(c.url)
		switch {
		case c.denied != "" && (err == nil || !strings.Contains(err.Error(), c.denied)):
			t.Errorf("%+v: %v", c, err)
		case c.denied == "" && (err != nil || res.StatusCode != http.StatusTeapot):
			t.Errorf("%+v: %v, %v", c, res, err)
		}
		if err == nil {
			res.Body.Close()
		}
		transport.CloseIdleConnections()
	}
}
