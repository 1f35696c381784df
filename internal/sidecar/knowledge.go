package sidecar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/gitremote"
	"github.com/argosy-cd/argosy/internal/gittree"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/rights"
)

// knowledge has the clusters and repositories that the generators of one request may read.
type knowledge struct {
	plugin *AppSet
	appsetplugin.For

	mu          sync.Mutex
	trees       map[[2]string]*gittree.Tree
	asked       bool
	credentials []gitremote.Credential
}

// Clusters implements generator.Clusters: it returns Argo CD's clusters, without those of other projects.
func (k *knowledge) Clusters(ctx context.Context) ([]generator.Cluster, error) {
	if k.plugin.Clusters != nil {
		return k.plugin.Clusters.Clusters(ctx)
	}
	if k.plugin.argocd.API == nil {
		return nil, errors.New("there is no access to a cluster, so Argo CD's clusters are not known")
	}
	all, err := k.plugin.argocd.API.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(c generator.Cluster) bool { return !askerOf(k.For).Cluster(c.Project) }), nil
}

// askerOf is the application that a request is for.
func askerOf(f appsetplugin.For) rights.Asker {
	return rights.Asker{Parent: f.Parent, Repository: f.Call.RepoURL, Policy: f.Policy}
}

var _ generator.Committed = (*gittree.Tree)(nil)

// Tree implements generator.Repositories. A revision is the same commit for the whole request, however it is spelt.
func (k *knowledge) Tree(ctx context.Context, url, revision string) (generator.Tree, error) {
	t, err := k.tree(ctx, url, k.At(url, revision))
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (k *knowledge) tree(ctx context.Context, url, revision string) (*gittree.Tree, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, err := k.credential(ctx, url)
	if err != nil {
		return nil, err
	}
	id := [2]string{giturl.Canonical(url), argo.Revision(revision)}
	if t := k.trees[id]; t != nil {
		return t, nil
	}
	t, err := k.plugin.Remote.Tree(ctx, url, revision, c)
	if err != nil {
		return nil, err
	}
	k.trees[id] = t
	return t, nil
}

// credential returns the credential for a repository, if the application may read it.
func (k *knowledge) credential(ctx context.Context, url string) (*gitremote.Credential, error) {
	if !k.asked && k.plugin.argocd.API != nil {
		var err error
		k.credentials, err = k.plugin.argocd.API.Credentials(ctx)
		if errors.Is(err, kube.ErrForbidden) {
			k.plugin.cfg.Note(fmt.Sprintf("repositories are read without credentials: %v", err))
		} else if err != nil {
			return nil, err
		}
		k.asked = true
	}
	c := gitremote.FindCredential(k.credentials, url, k.Project)
	project := ""
	if c != nil {
		project = c.Project
	}
	if err := askerOf(k.For).ReadRepository(url, project); err != nil {
		return nil, fmt.Errorf("repository %s: %w", giturl.Redact(url), err)
	}
	return c, nil
}
