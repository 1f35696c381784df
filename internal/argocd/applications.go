package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/argosy-cd/argosy/internal/argo"
)

// ErrDenied says that the server does not accept a token, or no longer.
var ErrDenied = errors.New("the token is not accepted")

// maxList bounds the list of Applications.
const maxList = 64 << 20

// Applications returns the Applications that the owner of a token may see, by the rights of Argo CD.
func (c *Client) Applications(ctx context.Context, token string) ([]argo.Ref, error) {
	list, err := c.applications(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("asking the Argo CD API server for Applications: %w", err)
	}
	return list, nil
}

func (c *Client) applications(ctx context.Context, token string) ([]argo.Ref, error) {
	const path = "/api/v1/applications?fields=items.metadata.name,items.metadata.namespace"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.http.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, ErrDenied
	default:
		return nil, errors.New(res.Status)
	}
	var answer struct {
		Items []struct {
			Metadata struct{ Name, Namespace string }
		}
	}
	body := &io.LimitedReader{R: res.Body, N: maxList + 1}
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		if body.N == 0 {
			return nil, fmt.Errorf("the answer is over %d MiB", maxList>>20)
		}
		return nil, errors.New("the answer is not JSON")
	}
	out := make([]argo.Ref, 0, len(answer.Items))
	for _, i := range answer.Items {
		out = append(out, argo.Ref{Namespace: i.Metadata.Namespace, Name: i.Metadata.Name})
	}
	return out, nil
}
