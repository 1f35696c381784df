package sidecar

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// Hook is the appset plugin as a command of Argo CD's own plugin server, which runs in the application's directory.
type Hook struct {
	ArgoCD ArgoCD
	AppSet AppSetConfig
	Policy *policy.Policy
	// Getenv returns a variable that Argo CD has set.
	Getenv func(string) string
}

// Answer answers one request. It removes fetched content at the end. The answer has warnings even if there is an error.
func (h Hook) Answer(ctx context.Context) (*appsetplugin.Answer, error) {
	none := &appsetplugin.Answer{}
	call, err := argo.NewCall(h.Getenv, appsetplugin.Parameters())
	if err != nil {
		return none, err
	}
	checkout, err := workspace.OpenCheckout(h.Getenv("ARGOCD_APP_SOURCE_PATH"))
	if err != nil {
		return none, err
	}
	defer checkout.Root.Close()
	temp, err := os.MkdirTemp("", "argosy-git-")
	if err != nil {
		return none, err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a temporary directory
	cfg := h.AppSet
	cfg.Dir = filepath.Join(temp, "git")
	plugin := NewAppSet(h.ArgoCD, cfg)
	plugin.Config.Policy = h.Policy
	if err := plugin.Remote.Open(); err != nil {
		return none, err
	}
	answer, err := plugin.Config.Generate(ctx, appsetplugin.Request{Call: call, Dir: checkout.Dir, Repository: checkout.View})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return answer, err
}
