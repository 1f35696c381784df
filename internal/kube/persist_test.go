package kube

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestPassing(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"overloaded":         {apierrors.NewTooManyRequests("wait", 1), true},
		"restarting":         {apierrors.NewServiceUnavailable("starting"), true},
		"a webhook is away":  {apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		"nobody listens":     {&url.Error{Op: "Get", URL: "https://127.0.0.1", Err: syscall.ECONNREFUSED}, true},
		"forbidden":          {apierrors.NewForbidden(pods, "web", nil), false},
		"invalid":            {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web", nil), false},
		"another manager":    {ErrConflict, false},
		"it took too long":   {&url.Error{Op: "Get", URL: "https://127.0.0.1", Err: context.DeadlineExceeded}, true},
		"not of the network": {errors.New("encoding"), false},
	} {
		for _, err := range []error{c.err, explain("applying pod/web", c.err), fmt.Errorf("--install: %w", explain("x", c.err))} {
			if got := Passing(err); got != c.want {
				t.Errorf("%s: Passing(%v) is %t", name, err, got)
			}
		}
	}
}

func TestPersist(t *testing.T) {
	calls := 0
	err := Persist(t.Context(), func() error {
		if calls++; calls == 1 {
			return apierrors.NewServiceUnavailable("starting")
		}
		return nil
	})
	if err != nil || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls = 0
	err = Persist(ctx, func() error {
		calls++
		cancel()
		return apierrors.NewServiceUnavailable("starting")
	})
	if !apierrors.IsServiceUnavailable(err) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
