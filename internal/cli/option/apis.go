package option

import (
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/sidecar"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// RegisterAnswers adds the flag of commands that replay recorded answers.
func RegisterAnswers(flags *pflag.FlagSet, dir *string) {
	flags.StringVar(dir, "answers", "",
		"`DIR` with recorded answers of APIs, for the generators scmProvider, pullRequest, plugin and clusterDecisionResource (argosy "+
			"appset generate --record)")
}

// RegisterAsking adds the flags of a command that asks APIs.
func RegisterAsking(flags *pflag.FlagSet, a *workspace.Asking) {
	RegisterAnswers(flags, &a.Answers)
	flags.BoolVar(&a.Record, "record", false, "ask APIs, and write their answers to the directory of --answers")
	flags.StringArrayVar(&a.Secrets, "secrets", nil,
		"ask APIs with the tokens in `FILE`: manifests of the Secrets and ConfigMaps that sets name; repeatable")
	flags.StringArrayVar(&a.Objects, "objects", nil,
		"`FILE` with ConfigMaps and objects for clusterDecisionResource; repeatable")
}

// APIs are the flags of the appset plugin about APIs.
type APIs struct {
	on bool
	// Allowed and Strict are as Argo CD's controller has them.
	Allowed []string
	Strict  bool
}

// Register adds the flags.
func (o *APIs) Register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.on, "generator-apis", false, Usage("generator-apis"))
	flags.StringSliceVar(&o.Allowed, "allowed-scm-providers", nil, Usage("allowed-scm-providers"))
	flags.BoolVar(&o.Strict, "token-ref-strict-mode", false, Usage("token-ref-strict-mode"))
}

func (o *APIs) config(std cli.Std) sidecar.APIConfig {
	cfg := sidecar.APIConfig{Allowed: o.Allowed, Strict: o.Strict}
	if o.on {
		cfg.Client = APIClient(std)
	}
	return cfg
}
