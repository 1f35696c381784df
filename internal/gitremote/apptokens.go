package gitremote

import (
	"context"
	"net/http"
	"time"

	"github.com/argosy-cd/argosy/internal/secret"
)

// AppKey is the key of a GitHub App, for requests to GitHub's API.
type AppKey struct {
	ID, Installation int64
	PrivateKey       secret.Text
	// Base is the API of a GitHub Enterprise server; "" is github.com's.
	Base string
}

// Sign returns the token by which the App itself is known to GitHub, for some minutes.
func (k AppKey) Sign(now time.Time) (string, error) { return k.app().sign(now) }

func (k AppKey) app() githubApp {
	return githubApp{number: k.ID, installation: k.Installation, key: k.PrivateKey, base: k.Base}
}

// AppTokens are the tokens of installations of GitHub Apps. Each is kept until it is about to expire. The zero value is empty.
type AppTokens struct{ tokens tokens }

// Get returns a token of an installation.
func (t *AppTokens) Get(ctx context.Context, client *http.Client, k AppKey, now func() time.Time) (secret.Text, error) {
	return t.tokens.get(ctx, client, k.app(), now)
}
