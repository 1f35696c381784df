package argocd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Connection is how a user names an API server, as in Config, with files. Only Server is needed.
type Connection struct {
	Server string
	// TokenFile has the token. It is read each time, because it is renewed.
	TokenFile string
	// CA is a file with certificates in PEM.
	CA                  string
	Plaintext, Insecure bool
}

// Open returns a client that has the token of the file, or, without a file, the given one.
func (c Connection) Open(token string) (*Client, error) {
	if _, err := c.token(token); err != nil {
		return nil, err
	}
	return c.open(func() (string, error) { return c.token(token) })
}

// OpenWithoutToken returns a client that can ask for nothing but the version.
func (c Connection) OpenWithoutToken() (*Client, error) { return c.open(nil) }

func (c Connection) open(token func() (string, error)) (*Client, error) {
	cfg := Config{Server: c.Server, Plaintext: c.Plaintext, Insecure: c.Insecure, Token: token}
	if c.CA != "" {
		data, err := input.File(c.CA)
		if err != nil {
			return nil, err
		}
		cfg.CA = data
	}
	client, err := New(cfg)
	if err != nil {
		return nil, problem.Usage(err)
	}
	return client, nil
}

func (c Connection) token(given string) (string, error) {
	if c.TokenFile != "" {
		data, err := input.File(c.TokenFile)
		if err != nil {
			return "", fmt.Errorf("reading the token: %w", err)
		}
		given = string(data)
	}
	token := strings.TrimSpace(given)
	if token == "" || strings.ContainsAny(token, "\n\r") {
		return "", errors.New("a token for the Argo CD API server is needed, one line: --argocd-token-file, or the variable " +
			"ARGOCD_AUTH_TOKEN")
	}
	return token, nil
}
