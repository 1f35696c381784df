package option

import (
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argocd"
)

// Engine are the flags that choose the engine that renders ApplicationSets.
type Engine struct{ argocd.Choice }

// Register adds the flags.
func (o *Engine) Register(flags *pflag.FlagSet) {
	flags.StringVar(&o.Engine, "engine", argocd.EngineEmbedded, Usage("engine"))
	flags.Var(&o.Version, "argocd-version", Usage("argocd-version"))
	flags.StringVar(&o.Server, "argocd-server", "", Usage("argocd-server"))
	flags.StringVar(&o.TokenFile, "argocd-token-file", "", Usage("argocd-token-file"))
	flags.StringVar(&o.CA, "argocd-ca", "", Usage("argocd-ca"))
	flags.BoolVar(&o.Plaintext, "argocd-plaintext", false, Usage("argocd-plaintext"))
	flags.BoolVar(&o.Insecure, "argocd-insecure", false, Usage("argocd-insecure"))
}

// TokenVariable has the token of the Argo CD API server.
const TokenVariable = "ARGOCD_AUTH_TOKEN"
