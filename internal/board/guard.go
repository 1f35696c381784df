package board

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/turnstile"
)

// policy lets the page load and run only files of this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard refuses requests from other sites and for other host names, and sets security headers.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case serve.IsPublic(r): // Kubernetes and Prometheus use the Pod's address, and the answers reveal nothing
		case !s.named(r.Host):
			s.seen.refused.Add(1, refusedSite)
			http.Error(w, "this host name is not allowed; open the board by its own address, or allow the name with --host",
				http.StatusMisdirectedRequest)
			return
		case foreign(r):
			s.seen.refused.Add(1, refusedSite)
			http.Error(w, "requests of other sites are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// named reports whether a request is for a name of this server. Otherwise a foreign page could point its own name here and read the answers
// (DNS rebinding).
func (s *Server) named(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if slices.Contains(s.cfg.Hosts, name) {
		return true
	}
	// Under a name of its own, a page has no cookie and knows no token. But it may set a header, and a browser may run beside the proxy.
	if _, header := s.cfg.Access.(headed); len(s.cfg.Hosts) == 0 && s.cfg.Access != nil && !header {
		return true
	}
	return serve.IsLoopbackHost(name)
}

// foreign reports whether a request was made by a page of another site. Opening the board by a link is none.
func foreign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" || strings.HasPrefix(r.URL.Path, "/api/")
}

// client is the key for per-client limits.
func (s *Server) client(r *http.Request) string {
	if c, ok := s.cfg.Access.(counted); ok {
		if name := c.Client(r); name != "" {
			return name
		}
	}
	return turnstile.Client(r)
}

// turn lets requests in as there are places.
func (s *Server) turn(places *turnstile.Turnstile, do http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, err := places.Enter(r.Context(), s.client(r))
		if err != nil {
			s.seen.refused.Add(1, refusedBusy)
			turnstile.Refuse(w, err)
			return
		}
		defer leave()
		do(w, r)
	})
}

// allowed lets viewers in.
func (s *Server) allowed(places *turnstile.Turnstile, do func(http.ResponseWriter, *http.Request, Viewer)) http.Handler {
	return s.turn(places, func(w http.ResponseWriter, r *http.Request) {
		var who Viewer
		if s.cfg.Access != nil {
			var err error
			if who, err = s.cfg.Access.Viewer(r); err != nil {
				s.seen.refused.Add(1, refusedAccess)
				s.refuse(w, err)
				return
			}
		}
		do(w, r, who)
	})
}
