package demo

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/gitremote"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/sidecar"
)

// Place has the addresses that the plugins of a demo are connected to.
type Place struct {
	// Namespace is Argo CD's.
	Namespace string
	// Git reads the repositories that ApplicationSets name.
	Git *gitremote.Remote
	// S3 is the endpoint of all buckets, which needs no credentials.
	S3 string
	// Read is called after each request to S3.
	Read func()
}

// Plugins are the plugins of a demo.
type Plugins struct {
	Served []cmp.Plugin
	// Planned tells the plugins about each plan, before the first request and again after it.
	Planned func(Facts)
}

// Facts are the facts about a cluster that plugins need. Here they come from the plan.
type Facts struct {
	// Clusters are the clusters for cluster generators.
	Clusters generator.Clusters
	// APIs answers generators that ask APIs.
	APIs generator.APIs
	// Version is the version of Argo CD.
	Version versions.Version
	// Projects are the projects of all Applications. In a cluster, --admin-projects or the policy decides which of them may generate for
	// others; here all may.
	Projects []string
}

// openPlugins opens the plugins as argosy cmp does.
func openPlugins(at Place, now func() time.Time) Plugins {
	side := sidecar.New(slog.New(slog.DiscardHandler), serve.Watch("", "the policy", policy.Parse))
	plugin := sidecar.NewAppSet(sidecar.ArgoCD{Namespace: at.Namespace}, sidecar.AppSetConfig{Now: now, Note: func(string) {}})
	plugin.Remote = at.Git
	stores := &buckets.Pool{Now: now, Local: at.S3, Asked: func(string, error) { at.Read() }}
	admin := func(c argo.Call) policy.Parent { return policy.Parent{Project: c.Project, Admin: true} }
	return Plugins{
		Served: []cmp.Plugin{side.AppSet(plugin), side.S3(stores.Reader, admin)},
		Planned: func(f Facts) {
			plugin.Clusters, plugin.Version = f.Clusters, func(context.Context) versions.Version { return f.Version }
			plugin.APIs = func(appsetplugin.For) generator.APIs { return f.APIs }
			for _, project := range f.Projects {
				if !slices.Contains(plugin.Config.Admins, project) {
					plugin.Config.Admins = append(plugin.Config.Admins, project)
				}
			}
		},
	}
}
