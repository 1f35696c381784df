package main

import (
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argocd"
)

// engineOptions are the flags that say who renders ApplicationSets.
type engineOptions struct{ argocd.Choice }

func (o *engineOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.Engine, "engine", argocd.EngineEmbedded, usageOf("engine"))
	flags.Var(&o.Version, "argocd-version", usageOf("argocd-version"))
	flags.StringVar(&o.Server, "argocd-server", "", usageOf("argocd-server"))
	flags.StringVar(&o.TokenFile, "argocd-token-file", "", usageOf("argocd-token-file"))
	flags.StringVar(&o.CA, "argocd-ca", "", usageOf("argocd-ca"))
	flags.BoolVar(&o.Plaintext, "argocd-plaintext", false, usageOf("argocd-plaintext"))
	flags.BoolVar(&o.Insecure, "argocd-insecure", false, usageOf("argocd-insecure"))
}

// tokenVariable has the token of the Argo CD API server.
const tokenVariable = "ARGOCD_AUTH_TOKEN"
