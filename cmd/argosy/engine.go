package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/argocd"
)

// Engines of ApplicationSets.
const (
	engineEmbedded = "embedded"
	engineArgoCD   = "argocd"
)

// versionFlag is a version of Argo CD that is known. Zero is none.
type versionFlag struct{ value versions.Version }

func (f *versionFlag) String() string {
	if f.value == 0 {
		return ""
	}
	return f.value.String()
}

func (f *versionFlag) Type() string { return "VERSION" }

func (f *versionFlag) Set(s string) error {
	v, err := versions.Parse(s)
	if err != nil {
		return errors.New("must be " + versions.Oldest.String() + " to " + versions.Newest.String())
	}
	f.value = v
	return nil
}

// engineOptions are the flags that say who renders ApplicationSets.
type engineOptions struct {
	argocd.Connection
	engine  string
	version versionFlag
}

func (o *engineOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.engine, "engine", engineEmbedded, usageOf("engine"))
	flags.Var(&o.version, "argocd-version", usageOf("argocd-version"))
	flags.StringVar(&o.Server, "argocd-server", "", usageOf("argocd-server"))
	flags.StringVar(&o.TokenFile, "argocd-token-file", "", usageOf("argocd-token-file"))
	flags.StringVar(&o.CA, "argocd-ca", "", usageOf("argocd-ca"))
	flags.BoolVar(&o.Plaintext, "argocd-plaintext", false, usageOf("argocd-plaintext"))
	flags.BoolVar(&o.Insecure, "argocd-insecure", false, usageOf("argocd-insecure"))
}

// open returns the client of the engine argocd, nil for the embedded one.
func (o *engineOptions) open(std stdio) (*argocd.Client, error) {
	switch o.engine {
	case engineEmbedded:
		return nil, nil
	case engineArgoCD:
	default:
		return nil, usagef("--engine must be %s or %s, it is %q", engineEmbedded, engineArgoCD, o.engine)
	}
	if o.Server == "" {
		return nil, usagef("--engine %s needs --argocd-server, or the variable ARGOCD_SERVER", engineArgoCD)
	}
	if o.version.value != 0 {
		return nil, usagef("--argocd-version is for the engine %s; with %s the server decides", engineEmbedded, engineArgoCD)
	}
	return o.Open(std.getenv("ARGOCD_AUTH_TOKEN"))
}
