package gitremote

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/secret"
)

// githubApp is an installation of a GitHub App.
type githubApp struct {
	number, installation int64
	key                  secret.Text
	base                 string // of a GitHub Enterprise server's API; "" is github.com
}

// id is the same for the same installation and key. It has the key in it.
func (a githubApp) id() string {
	return fmt.Sprintf("%d %d %q %q", a.number, a.installation, a.base, a.key.Reveal())
}

// tokens caches the tokens of installations, which are valid for an hour.
type tokens struct {
	asking flight.Group[appToken]

	mu    sync.Mutex
	known map[githubApp]appToken
}

type appToken struct {
	Token   secret.Text `json:"token"`
	Expires time.Time   `json:"expires_at"`
}

// get returns a token that is valid for some minutes at least.
func (t *tokens) get(ctx context.Context, client *http.Client, app githubApp, now func() time.Time) (secret.Text, error) {
	t.mu.Lock()
	have, ok := t.known[app]
	t.mu.Unlock()
	if ok && have.Expires.Sub(now()) > 5*time.Minute {
		return have.Token, nil
	}
	token, _, err := t.asking.Do(ctx, app.id(), func(ctx context.Context) (appToken, error) { return app.request(ctx, client, now()) })
	if err != nil {
		return secret.Text{}, fmt.Errorf("GitHub App %d: %w", app.number, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[githubApp]appToken{}
	}
	t.known[app] = token
	return token.Token, nil
}

func (a githubApp) request(ctx context.Context, client *http.Client, now time.Time) (token appToken, err error) {
	signed, err := a.sign(now)
	if err != nil {
		return token, err
	}
	url := fmt.Sprintf("%s/app/installations/%d/access_tokens", strings.TrimSuffix(cmp.Or(a.base, "https://api.github.com"), "/"),
		a.installation)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return token, errors.New("githubAppEnterpriseBaseUrl is not a URL")
	}
	req.Header.Set("Authorization", "Bearer "+signed)
	req.Header.Set("Accept", "application/vnd.github+json")
	res, err := client.Do(req)
	if err != nil {
		return token, explain(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return token, explain(err)
	}
	if res.StatusCode != http.StatusCreated {
		return token, fmt.Errorf("no token for installation %d: %s", a.installation, res.Status)
	}
	if err := json.Unmarshal(body, &token); err != nil || token.Token.IsZero() {
		return appToken{}, errors.New("GitHub's answer has no token in it")
	}
	return token, nil
}

// sign makes the token by which the app itself is known to GitHub: valid for ten minutes, and from a minute ago for clocks
// that differ.
func (a githubApp) sign(now time.Time) (string, error) {
	block, _ := pem.Decode([]byte(a.key.Reveal()))
	if block == nil {
		return "", errors.New("its private key is not PEM")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		other, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		var ok bool
		if key, ok = other.(*rsa.PrivateKey); err != nil || !ok {
			return "", errors.New("its private key is not an RSA key")
		}
	}
	var text bytes.Buffer
	encode := func(v any) {
		data, _ := json.Marshal(v)
		text.WriteString(base64.RawURLEncoding.EncodeToString(data))
	}
	encode(map[string]string{"alg": "RS256", "typ": "JWT"})
	text.WriteByte('.')
	encode(map[string]int64{"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(9 * time.Minute).Unix(), "iss": a.number})
	sum := sha256.Sum256(text.Bytes())
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", errors.New("its private key cannot sign")
	}
	return text.String() + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
