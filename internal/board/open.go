package board

import (
	"context"
	"net/url"
	"strings"

	"github.com/argosy-cd/argosy/internal/board/scene"
	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/simulate"
)

// Request says which boot is shown. Plan, Live or both must be set.
type Request struct {
	// Plan makes a plan. Nil is none.
	Plan func(context.Context) (Checked, error)
	// Live is a cluster or a recording. Nil is none; with a plan, the boot is compared with it.
	Live *follow.Config
	// Simulate plays a simulation of the plan, with faults.
	Simulate bool
	Faults   simulate.Faults
	// UI is the URL of Argo CD's own page, "" for no links.
	UI string
}

// Check refuses flags that require or exclude others.
func (r Request) Check() error {
	faults := len(r.Faults.Fail)+len(r.Faults.Never) > 0
	switch {
	case faults && !r.Simulate:
		return problem.Usagef("--fail and --never require --simulate")
	case r.Simulate && r.Plan == nil:
		return problem.Usagef("--simulate requires ROOT")
	case r.Simulate && r.Live != nil:
		return problem.Usagef("--simulate excludes a cluster and a recording")
	}
	if u, err := url.Parse(r.UI); r.UI != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
		return problem.Usagef("--argocd and --argocd-ui must be URLs such as https://argocd.example.com, without a password")
	}
	return nil
}

// Open returns the boot. The caller closes it.
func (r Request) Open(ctx context.Context) (source Source, done func(), err error) {
	done = func() {}
	if err := r.Check(); err != nil {
		return nil, nil, err
	}
	var planned *scene.Scene
	if r.Plan != nil {
		sim, err := r.plan(ctx)
		if err != nil {
			return nil, nil, err
		}
		if r.Live == nil {
			return sim.Links(r.UI), done, nil
		}
		planned = sim.Planned()
	}
	if r.Live.Client == nil {
		source, err = FromRecording(r.Live.Name, r.Live.Recording, r.Live.Namespace, planned, r.UI)
		return source, done, err
	}
	b, err := follow.Open(ctx, *r.Live)
	if err != nil {
		return nil, nil, err
	}
	return FromCluster(b, planned, r.UI), func() { _ = b.Close() }, nil // no recording that could fail
}

func (r Request) plan(ctx context.Context) (*Simulation, error) {
	p, err := r.Plan(ctx)
	if err != nil {
		return nil, err
	}
	if !r.Simulate {
		return FromPlan(p, simulate.DefaultModel())
	}
	faults, err := r.Faults.Parse()
	if err != nil {
		return nil, err
	}
	if faults, err = simulate.Match(p.Plan, faults); err != nil {
		return nil, err
	}
	return FromSimulation(p, simulate.DefaultModel(), faults...)
}

// Who configures who may view the board. At most one of TokenFile, Header and ArgoCD may be set.
type Who struct {
	// TokenFile holds a token that viewers must send.
	TokenFile string
	// Header is set by a proxy that is in one of the networks Proxies.
	Header  string
	Proxies []string
	// ArgoCD is the URL of an Argo CD whose login and rights apply.
	ArgoCD string
}

// Access is nil if nothing is set. Secure says that the server has TLS; argocd opens an Argo CD.
func (w Who) Access(secure bool, argocd func(url string) (Access, error)) (Access, error) {
	var set []string
	for _, flag := range [][2]string{{"--token-file", w.TokenFile}, {"--trusted-header", w.Header}, {"--argocd", w.ArgoCD}} {
		if flag[1] != "" {
			set = append(set, flag[0])
		}
	}
	switch {
	case len(set) > 1:
		return nil, problem.Usagef("%s exclude each other", strings.Join(set, " and "))
	case len(w.Proxies) > 0 && w.Header == "":
		return nil, problem.Usagef("--trusted-proxies requires --trusted-header")
	case w.TokenFile != "":
		return WithToken(w.TokenFile, secure)
	case w.Header != "":
		return WithHeader(w.Header, w.Proxies)
	case w.ArgoCD != "":
		return argocd(w.ArgoCD)
	}
	return nil, nil
}
