package demo

import (
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/gitsource"
)

// Place is where the plugins of a demo are: what they are connected to.
type Place struct {
	// Namespace is Argo CD's.
	Namespace string
	// Git reads the repositories that ApplicationSets name.
	Git *gitsource.Remote
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

// Facts are what plugins would learn from a cluster, and here learn from the plan.
type Facts struct {
	// Clusters are those that cluster generators see.
	Clusters generator.Clusters
	// APIs answers generators that ask APIs.
	APIs generator.APIs
	// Version is that of Argo CD.
	Version versions.Version
	// Projects are those of all Applications. In a cluster, --admin-projects or the policy says which of them may generate for others; here
	// all may.
	Projects []string
}
