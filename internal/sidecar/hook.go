package sidecar

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/argosy-cd/argosy/internal/parent"
	"github.com/argosy-cd/argosy/internal/policy"
)

// Hook answers one request of the appset plugin, for a command of Argo CD's own plugin server. What it fetches is gone when it is done. The
// answer has warnings even if there is an error.
func Hook(ctx context.Context, cfg AppSetConfig, p *policy.Policy, r parent.Request) (*parent.Answer, error) {
	temp, err := os.MkdirTemp("", "argosy-git-")
	if err != nil {
		return &parent.Answer{}, err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a temporary directory
	cfg.Dir = filepath.Join(temp, "git")
	plugin := NewAppSet(cfg)
	plugin.Config.Policy = p
	if err := plugin.Remote.Open(); err != nil {
		return &parent.Answer{}, err
	}
	answer, err := plugin.Config.Generate(ctx, r)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return answer, err
}
