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

// Hook answers one request of the appset plugin, for a command of Argo CD's own plugin server, which runs in the application's directory.
// What it fetches is gone when it is done. The answer has warnings even if there is an error.
func Hook(ctx context.Context, cfg AppSetConfig, p *policy.Policy, getenv func(string) string) (*appsetplugin.Answer, error) {
	none := &appsetplugin.Answer{}
	call, err := argo.NewCall(getenv, appsetplugin.Parameters())
	if err != nil {
		return none, err
	}
	checkout, err := workspace.OpenCheckout(getenv("ARGOCD_APP_SOURCE_PATH"))
	if err != nil {
		return none, err
	}
	defer checkout.Root.Close()
	temp, err := os.MkdirTemp("", "argosy-git-")
	if err != nil {
		return none, err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a temporary directory
	cfg.Dir = filepath.Join(temp, "git")
	plugin := NewAppSet(cfg)
	plugin.Config.Policy = p
	if err := plugin.Remote.Open(); err != nil {
		return none, err
	}
	answer, err := plugin.Config.Generate(ctx, appsetplugin.Request{Call: call, Dir: checkout.Dir, Repository: checkout.View})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return answer, err
}
