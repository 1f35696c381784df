package board

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argocd"
	"github.com/argosy-cd/argosy/internal/board/scene"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/secret"
)

// Lister lists the Applications that the owner of a token may see.
type Lister interface {
	Applications(ctx context.Context, token string) ([]argo.Ref, error)
}

// signedIn is an Access for viewers who have signed in to Argo CD. They see the Applications that they may see there.
type signedIn struct {
	argocd Lister
	now    func() time.Time

	asking flight.Group[known]
	mu     sync.Mutex
	known  map[[sha256.Size]byte]known
}

// known caches the Applications that a token may see.
type known struct {
	keys   map[string]bool // nil for a refused token
	expire time.Time
}

// Limits of the cache of tokens.
const (
	maxTokens = 1000
	remember  = 10 * time.Second
)

// maxAsking bounds a question to Argo CD: a server that accepts a request and never answers must not keep pages waiting.
const maxAsking = 10 * time.Second

// WithArgoCD lets in viewers with a token of Argo CD: in the header Authorization, or in the cookie of its page, which browsers send if
// both pages have one host.
func WithArgoCD(l Lister, now func() time.Time) Access {
	return &signedIn{argocd: l, now: now, known: map[[sha256.Size]byte]known{}}
}

// Viewer implements Access.
func (a *signedIn) Viewer(r *http.Request) (Viewer, error) {
	token := argoToken(r)
	if token == "" {
		return Viewer{}, DeniedError{"argocd", "sign in to Argo CD first"}
	}
	k, err := a.may(r.Context(), token)
	if err != nil {
		return Viewer{}, err
	}
	if k.keys == nil {
		return Viewer{}, DeniedError{"argocd", "Argo CD does not know you any more; sign in again"}
	}
	return Viewer{Visible: func(key string) bool { return k.keys[key] }}, nil
}

// Client implements counted: viewers behind one proxy are told apart by their tokens, if Argo CD accepts them.
func (a *signedIn) Client(r *http.Request) string {
	id := sha256.Sum256([]byte(argoToken(r)))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[id].keys == nil {
		return ""
	}
	return "token " + string(id[:])
}

// may asks Argo CD, and remembers the answer for a short time.
func (a *signedIn) may(ctx context.Context, token string) (known, error) {
	id := sha256.Sum256([]byte(token))
	a.mu.Lock()
	k, ok := a.known[id]
	a.mu.Unlock()
	if ok && a.now().Before(k.expire) {
		return k, nil
	}
	k, _, err := a.asking.Do(ctx, string(id[:]), func(ctx context.Context) (known, error) {
		ctx, cancel := context.WithTimeout(ctx, maxAsking)
		defer cancel()
		list, err := a.argocd.Applications(ctx, token)
		k := known{expire: a.now().Add(remember)}
		switch {
		case errors.Is(err, argocd.ErrDenied):
		case err != nil:
			return k, err
		default:
			k.keys = make(map[string]bool, len(list))
			for _, ref := range list {
				k.keys[scene.Key(false, ref.Namespace, ref.Name)] = true
			}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.known) >= maxTokens {
			clear(a.known)
		}
		a.known[id] = k
		return k, nil
	})
	return k, err
}

// argoCookie is the name of Argo CD's cookie. A long cookie is in parts: 3:aaa, and the rest in NAME-1 and NAME-2 (util/http/http.go of
// Argo CD 3.2 to 3.5).
const argoCookie = "argocd.token"

// maxParts bounds the parts of a cookie.
const maxParts = 40

// argoToken is the token of a request, "" if it has none.
func argoToken(r *http.Request) string {
	if token, ok := secret.Bearer(r.Header.Get("Authorization")); ok {
		return token
	}
	first, err := r.Cookie(argoCookie)
	if err != nil {
		return ""
	}
	number, token, parted := strings.Cut(first.Value, ":")
	if !parted {
		return first.Value
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > maxParts {
		return ""
	}
	parts := []string{token}
	for i := 1; i < n; i++ {
		part, err := r.Cookie(fmt.Sprintf("%s-%d", argoCookie, i))
		if err != nil {
			return ""
		}
		parts = append(parts, part.Value)
	}
	return strings.Join(parts, "")
}
