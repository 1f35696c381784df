package board

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/board/scene"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/secret"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/turnstile"
)

// Viewer is a person or a program that reads a board.
type Viewer struct {
	Name string // "" is not known
	// Visible reports whether an Application may be seen. Nil is all.
	Visible func(key string) bool
}

// only returns the part of a scene that the viewer may see.
func (v Viewer) only(s *scene.Scene) *scene.Scene {
	if v.Visible == nil {
		return s
	}
	return s.Only(v.Visible)
}

// Access decides who may view the board.
type Access interface {
	// Viewer returns the viewer that sent a request. The error is a DeniedError if the viewer has no access.
	Viewer(r *http.Request) (Viewer, error)
}

// counted is an Access that tells viewers behind one proxy apart.
type counted interface {
	// Client returns the key for per-client limits; "" uses the address.
	Client(r *http.Request) string
}

// headed is an Access that believes a header of a request. Unlike a cookie or a token, any page can send one.
type headed interface{ byHeader() }

// Login is an Access with a form for a token.
type Login interface {
	Access
	Login(w http.ResponseWriter, r *http.Request)
}

// DeniedError says that a viewer has no access, and how to get it.
type DeniedError struct {
	// How is token, argocd or proxy.
	How string
	Why string
}

func (d DeniedError) Error() string { return d.Why }

// refuse answers a request without access.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	var d DeniedError
	if !errors.As(err, &d) {
		s.cfg.Log.Warn("the rights of a viewer cannot be checked", "error", err.Error())
		http.Error(w, "your rights cannot be checked now; see the server's log", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Argosy-Login", d.How)
	http.Error(w, d.Why, http.StatusUnauthorized)
}

// token is an Access for viewers that know the token in a file.
type token struct {
	file   *serve.File[secret.Text]
	secure bool
}

// WithToken lets in viewers that know the token in a file, which is read again when it changes. Secure says that the server has TLS.
func WithToken(file string, secure bool) (Access, error) {
	t := &token{secure: secure, file: serve.Watch(file, "the token", func(name string, data []byte) (secret.Text, error) {
		text := strings.TrimSpace(string(data))
		if len(text) < secret.MinLength || strings.ContainsAny(text, "\r\n") {
			return secret.Text{}, fmt.Errorf("%s must have one line with a token of at least %d characters", name, secret.MinLength)
		}
		return secret.New(text), nil
	})}
	_, err := t.file.Current()
	return t, err
}

const cookie = "argosy-board"

// session is the cookie for viewers that gave the token. It does not reveal the token, and is invalid once the token changes.
func session(token secret.Text) secret.Text {
	mac := hmac.New(sha256.New, []byte(token.Reveal()))
	mac.Write([]byte("argosy board session"))
	return secret.New(hex.EncodeToString(mac.Sum(nil)))
}

// Viewer implements Access.
func (t *token) Viewer(r *http.Request) (Viewer, error) {
	want, err := t.file.Current()
	if err != nil {
		return Viewer{}, err
	}
	if given, ok := secret.Bearer(r.Header.Get("Authorization")); ok && want.Is(given) {
		return Viewer{}, nil
	}
	if c, err := r.Cookie(cookie); err == nil && session(want).Is(c.Value) {
		return Viewer{}, nil
	}
	return Viewer{}, DeniedError{"token", "a token is needed"}
}

// Login implements Login.
func (t *token) Login(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Token string `json:"token"`
	}
	if !decode(w, r, &body) {
		return
	}
	want, err := t.file.Current()
	if err != nil {
		http.Error(w, "the token cannot be read now", http.StatusServiceUnavailable)
		return
	}
	if !want.Is(strings.TrimSpace(body.Token)) {
		http.Error(w, "wrong token", http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookie, Value: session(want).Reveal(), Path: "/", HttpOnly: true, Secure: t.secure, SameSite: http.SameSiteStrictMode,
	})
	w.WriteHeader(http.StatusNoContent)
}

// proxied lets in whom a proxy names in a header.
type proxied struct {
	header  string
	proxies []netip.Prefix
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}$`)

// WithHeader lets in viewers that a proxy names in a header. Proxies are the networks that the proxy may be in; none is loopback.
func WithHeader(header string, proxies []string) (Access, error) {
	if !headerName.MatchString(header) {
		return nil, problem.Usagef("--trusted-header: %q is not the name of a header", header)
	}
	if len(proxies) == 0 {
		proxies = []string{"127.0.0.0/8", "::1/128"}
	}
	p := &proxied{header: header}
	for _, text := range proxies {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, problem.Usagef("--trusted-proxies: %q is not a network such as 10.0.0.0/8", text)
		}
		p.proxies = append(p.proxies, network.Masked())
	}
	return p, nil
}

var (
	_ counted = (*proxied)(nil)
	_ headed  = (*proxied)(nil)
)

func (*proxied) byHeader() {}

// Client implements counted.
func (p *proxied) Client(r *http.Request) string {
	if who, err := p.Viewer(r); err == nil {
		return "viewer " + who.Name
	}
	return ""
}

// Viewer implements Access.
func (p *proxied) Viewer(r *http.Request) (Viewer, error) {
	if ip, err := netip.ParseAddr(turnstile.Client(r)); err == nil {
		for _, network := range p.proxies {
			if network.Contains(ip.Unmap().WithZone("")) {
				// Several values mean that the client has sent one, too, to impersonate another user.
				if names := r.Header.Values(p.header); len(names) == 1 && names[0] != "" && len(names[0]) < 200 {
					return Viewer{Name: names[0]}, nil
				}
				return Viewer{}, DeniedError{"proxy", "the proxy has not said who you are"}
			}
		}
	}
	return Viewer{}, DeniedError{"proxy", "requests must come through the proxy"}
}
