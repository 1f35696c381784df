package sidecar

import (
	"context"
	"fmt"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/rights"
	"github.com/argosy-cd/argosy/internal/scm"
)

// APIConfig says which APIs generators may ask, and how.
type APIConfig struct {
	// Client calls the APIs. Nil refuses sets that need one.
	Client *scm.Client
	// Allowed and Strict are Argo CD's own settings, as in scm.Asker.
	Allowed []string
	Strict  bool
}

// apis answers generators with the rights of a request's parent.
func (a *AppSet) apis() func(appsetplugin.For) generator.APIs {
	c := a.cfg.APIs
	return func(f appsetplugin.For) generator.APIs {
		switch {
		case c.Client == nil:
			return refusedAPIs("the generators scmProvider, pullRequest, plugin and clusterDecisionResource are off in this sidecar " +
				"(--generator-apis)")
		case a.argocd.API == nil:
			return refusedAPIs("there is no access to a cluster, so the Secrets that generators name are not known")
		}
		asker := askerOf(f)
		return &scm.Asker{
			Client: c.Client, Objects: a.argocd.API, Namespace: a.argocd.Namespace, Strict: c.Strict || asker.MarkedTokens(),
			Allowed: c.Allowed, Allow: func(t rights.Target) error { return asker.AskAPI(t, a.argocd.Namespace) },
			Hint: "; it does not exist, or is in another namespace",
		}
	}
}

// refusedAPIs answers nothing, and says why.
type refusedAPIs string

// Ask implements generator.APIs.
func (r refusedAPIs) Ask(context.Context, generator.Question) (*generator.Answer, error) {
	return nil, fmt.Errorf("%w", generator.Unknown{Reason: string(r)})
}
