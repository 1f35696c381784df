// Package deploy holds the manifests of what runs in a cluster, so that argosy install prints the same.
package deploy

import "embed"

// Files are the directories of kustomize: bases and components.
//
//go:embed kustomize
var Files embed.FS
