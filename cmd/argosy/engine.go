package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/argocd"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/problem"
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
	engine    string
	server    string
	tokenFile string
	ca        string
	plaintext bool
	insecure  bool
	version   versionFlag
}

func (o *engineOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.engine, "engine", engineEmbedded, usageOf("engine"))
	flags.Var(&o.version, "argocd-version", usageOf("argocd-version"))
	flags.StringVar(&o.server, "argocd-server", "", usageOf("argocd-server"))
	flags.StringVar(&o.tokenFile, "argocd-token-file", "", usageOf("argocd-token-file"))
	flags.StringVar(&o.ca, "argocd-ca", "", usageOf("argocd-ca"))
	flags.BoolVar(&o.plaintext, "argocd-plaintext", false, usageOf("argocd-plaintext"))
	flags.BoolVar(&o.insecure, "argocd-insecure", false, usageOf("argocd-insecure"))
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
	if o.server == "" {
		return nil, usagef("--engine %s needs --argocd-server, or the variable ARGOCD_SERVER", engineArgoCD)
	}
	if o.version.value != 0 {
		return nil, usagef("--argocd-version is for the engine %s; with %s the server decides", engineEmbedded, engineArgoCD)
	}
	if _, err := o.token(std); err != nil {
		return nil, err
	}
	return o.client(func() (string, error) { return o.token(std) })
}

// client is the one of the API server.
func (o *engineOptions) client(token func() (string, error)) (*argocd.Client, error) {
	cfg := argocd.Config{Server: o.server, Plaintext: o.plaintext, Insecure: o.insecure, Token: token}
	if o.ca != "" {
		data, err := input.File(o.ca)
		if err != nil {
			return nil, err
		}
		cfg.CA = data
	}
	client, err := argocd.New(cfg)
	if err != nil {
		return nil, problem.Usage(err)
	}
	return client, nil
}

func (o *engineOptions) token(std stdio) (string, error) {
	token := std.getenv("ARGOCD_AUTH_TOKEN")
	if o.tokenFile != "" {
		data, err := input.File(o.tokenFile)
		if err != nil {
			return "", fmt.Errorf("reading the token: %w", err)
		}
		token = string(data)
	}
	token = strings.TrimSpace(token)
	if token == "" || strings.ContainsAny(token, "\n\r") {
		return "", errors.New("a token for the Argo CD API server is needed, one line: --argocd-token-file, or the variable " +
			"ARGOCD_AUTH_TOKEN")
	}
	return token, nil
}
