package kube

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argosy-cd/argosy/internal/retry"
)

// persistence is how often and when Persist tries; its waits are a quarter of a minute.
var persistence = retry.Policy{
	Attempts: 6, Backoff: retry.Backoff{First: 500 * time.Millisecond, Last: 8 * time.Second}, After: time.After,
}

// Persist calls a function again while the API server is restarting, overloaded or unreachable. An error that another attempt does not
// change is returned at once; otherwise the last one is. The function must be safe to repeat, as an apply is.
func Persist(ctx context.Context, try func() error) error {
	return retry.Do(ctx, persistence, func() (again bool, err error) {
		err = try()
		return Passing(err), err
	})
}

// Passing reports whether an error may be gone at the next attempt: the API server did not answer, or blamed itself.
func Passing(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code := int(status.Status().Code)
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	unanswered := (*url.Error)(nil) // also one that took too long
	return errors.As(err, &unanswered)
}
