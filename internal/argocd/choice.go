package argocd

import (
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Engines of ApplicationSets.
const (
	EngineEmbedded = "embedded"
	EngineArgoCD   = "argocd"
)

// Choice is the engine that renders ApplicationSets, as a user chooses it.
type Choice struct {
	Connection
	// Engine is one of the engines.
	Engine string
	// Version is the version of Argo CD for the embedded engine.
	Version versions.Flag
}

// Open returns the client of the engine argocd, nil for the embedded one. The token is for a server that has no file with one.
func (c Choice) Open(token string) (*Client, error) {
	switch c.Engine {
	case EngineEmbedded:
		return nil, nil
	case EngineArgoCD:
	default:
		return nil, problem.Usagef("--engine must be %s or %s, it is %q", EngineEmbedded, EngineArgoCD, c.Engine)
	}
	if c.Server == "" {
		return nil, problem.Usagef("--engine %s needs --argocd-server, or the variable ARGOCD_SERVER", EngineArgoCD)
	}
	if c.Version.Version != 0 {
		return nil, problem.Usagef("--argocd-version is for the engine %s; with %s the server decides", EngineEmbedded, EngineArgoCD)
	}
	return c.Connection.Open(token)
}

// OpenPlugin returns the client of the engine argocd, or a client that can only read the server's version, or neither.
func (c Choice) OpenPlugin(token string) (engine, installed *Client, err error) {
	engine, err = c.Open(token)
	if err == nil && engine == nil && c.Server != "" {
		installed, err = c.OpenWithoutToken()
	}
	return engine, installed, err
}
