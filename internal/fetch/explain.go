package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/argosy-cd/argosy/internal/giturl"
)

// statusError is an answer that is neither 200 nor 304.
func statusError(res *http.Response, asked string, withLogin bool) error {
	text := status(res.StatusCode)
	if host := res.Request.URL.Host; host != asked {
		text = host + ": " + text
	}
	switch {
	case res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden:
	case withLogin:
		text += "; the server refused the credentials"
	default:
		text += `; no credentials are configured, add them with "helm repo add"`
	}
	return errors.New(text)
}

func status(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// explain says in one line what went wrong, without credentials.
func explain(ctx context.Context, err error) error {
	var status *errcode.ErrorResponse
	var address *url.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &status):
		return registryError(status)
	case errors.Is(err, errdef.ErrNotFound):
		return errors.New("404 Not Found")
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return errors.New(`401 Unauthorized; no credentials are configured, add them with "helm registry login"`)
	case errors.As(err, &address):
		err = address.Err
	}
	return errors.New(oneLine(err.Error()))
}

// registryError is an answer of a registry, or of its token server.
func registryError(r *errcode.ErrorResponse) error {
	text := status(r.StatusCode)
	if len(r.Errors) > 0 && r.Errors[0].Message != "" {
		text += ": " + oneLine(r.Errors[0].Message)
	}
	if r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden {
		text += `; check the credentials with "helm registry login"`
	}
	if r.URL != nil {
		text = r.URL.Host + ": " + text
	}
	return errors.New(text)
}

// oneLine keeps text that a server wrote from filling a message.
func oneLine(text string) string { return giturl.Line(text, 500) }
