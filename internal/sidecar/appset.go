package sidecar

import (
	"context"
	"fmt"
	"time"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/argocd"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gitremote"
	"github.com/argosy-cd/argosy/internal/gittree"
	"github.com/argosy-cd/argosy/internal/kube"
)

// ArgoCD is the Argo CD installation of the plugins.
type ArgoCD struct {
	// API is the client of its cluster. Nil means no cluster.
	API *kube.Client
	// Namespace is Argo CD's.
	Namespace string
	// Admins are projects whose applications may generate any Application while the policy has no rules for generated Applications.
	Admins []string
}

// AppSetConfig configures the appset plugin, beside Argo CD.
type AppSetConfig struct {
	// Server renders ApplicationSets. Nil is the embedded engine.
	Server *argocd.Client
	// Installed reports the version of Argo CD, for the embedded engine. Nil uses Version.
	Installed *argocd.Client
	// Version is used until Installed has answered. Zero is the newest.
	Version versions.Version
	// APIs configures which APIs generators may call. The zero value allows none.
	APIs APIConfig
	// Env has the proxies for Git over HTTP and HTTPS.
	Env environ.Environ
	// Dir holds repositories fetched from Git.
	Dir string
	Now func() time.Time
	// Note is called with warnings.
	Note func(string)
	// VersionChanged is called with the version of Argo CD, when it is first known and when it changes. Nil is not called.
	VersionChanged func(v versions.Version, from string)
}

// AppSet is the appset plugin, connected.
type AppSet struct {
	argocd ArgoCD
	cfg    AppSetConfig
	// Config is its configuration, without a policy.
	Config appsetplugin.Config
	// Version returns the version of Argo CD, for the embedded engine.
	Version func(context.Context) versions.Version
	// Remote reads repositories. It must be opened.
	Remote *gitremote.Remote
	// Clusters has the clusters for generators. Nil uses Argo CD's, from the connected cluster.
	Clusters generator.Clusters
	// APIs returns the APIs for the generators of a request.
	APIs func(appsetplugin.For) generator.APIs
}

// NewAppSet connects the plugin.
func NewAppSet(at ArgoCD, cfg AppSetConfig) *AppSet {
	a := &AppSet{argocd: at, cfg: cfg, Remote: &gitremote.Remote{Dir: cfg.Dir, Now: cfg.Now, Env: cfg.Env}}
	a.APIs = a.apis()
	a.Version = (&installedVersion{server: cfg.Installed, given: cfg.Version, now: cfg.Now, tell: a.tellVersion}).current
	a.Config = appsetplugin.Config{
		Engine: a.engine, Admins: at.Admins, Namespace: at.Namespace, Commits: a.commits, Compared: &appsetplugin.Compared{},
		Removals: &appsetplugin.Removals{}, Now: cfg.Now,
	}
	if at.API == nil {
		cfg.Note("there is no access to a cluster: Argo CD's clusters and repositories are not known, and Argosy cannot check what an " +
			"answer would delete")
		return a
	}
	a.Config.Live = at.API
	a.Remote.KnownHosts, a.Remote.CA = at.API.KnownHosts, at.API.CA
	return a
}

func (a *AppSet) engine(f appsetplugin.For) appset.Engine {
	if a.cfg.Server != nil {
		if err := askerOf(f).ServerEngine(); err != nil {
			return refusal{err}
		}
		return argocd.Engine{Client: a.cfg.Server, Name: f.Call.App, AllowEmpty: f.AllowEmpty}
	}
	known := a.knowledge(f)
	return versioned{appset.Embedded{Clusters: known, Git: known, APIs: a.APIs(f), AllowEmpty: f.AllowEmpty}, a.Version}
}

// tellVersion reports the version of Argo CD, and notes why it is not the one of the server.
func (a *AppSet) tellVersion(v versions.Version, from string, err error) {
	if a.cfg.VersionChanged != nil {
		a.cfg.VersionChanged(v, from)
	}
	if err != nil {
		a.cfg.Note(fmt.Sprintf("ApplicationSets are rendered as Argo CD %s does (%s): %v", v, from, err))
	}
}

func (a *AppSet) knowledge(f appsetplugin.For) *knowledge {
	return &knowledge{plugin: a, For: f, trees: map[[2]string]*gittree.Tree{}}
}

// commits opens the commits that Applications are compared at, with the rights of a generator.
func (a *AppSet) commits(f appsetplugin.For) appsetplugin.Commits {
	known := a.knowledge(f)
	return func(ctx context.Context, url, commit string) (appsetplugin.Tree, error) {
		t, err := known.tree(ctx, url, commit)
		if err != nil {
			return nil, err
		}
		return t, nil
	}
}

// refusal is an engine that renders nothing.
type refusal struct{ err error }

// Generate implements appset.Engine.
func (r refusal) Generate(context.Context, ...appset.Set) (*appset.Result, error) { return nil, r.err }
