package main

import (
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/sidecar"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// registerAnswers adds the flag of commands that replay recorded answers.
func registerAnswers(flags *pflag.FlagSet, dir *string) {
	flags.StringVar(dir, "answers", "",
		"`DIR` with recorded answers of APIs, for the generators scmProvider, pullRequest, plugin and clusterDecisionResource (argosy "+
			"appset generate --record)")
}

// registerAsking adds the flags of a command that asks APIs.
func registerAsking(flags *pflag.FlagSet, a *workspace.Asking) {
	registerAnswers(flags, &a.Answers)
	flags.BoolVar(&a.Record, "record", false, "ask APIs, and write their answers to the directory of --answers")
	flags.StringArrayVar(&a.Secrets, "secrets", nil,
		"ask APIs with the tokens in `FILE`: manifests of the Secrets and ConfigMaps that sets name; repeatable")
	flags.StringArrayVar(&a.Objects, "objects", nil,
		"`FILE` with ConfigMaps and objects for clusterDecisionResource; by default those among the arguments; repeatable")
}

// apiOptions are the flags of the appset plugin about APIs.
type apiOptions struct {
	on      bool
	allowed []string
	strict  bool
}

func (o *apiOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.on, "generator-apis", false, usageOf("generator-apis"))
	flags.StringSliceVar(&o.allowed, "allowed-scm-providers", nil, usageOf("allowed-scm-providers"))
	flags.BoolVar(&o.strict, "token-ref-strict-mode", false, usageOf("token-ref-strict-mode"))
}

func (o *apiOptions) config(std stdio) sidecar.APIConfig {
	cfg := sidecar.APIConfig{Allowed: o.allowed, Strict: o.strict}
	if o.on {
		cfg.Client = apiClient(std)
	}
	return cfg
}
