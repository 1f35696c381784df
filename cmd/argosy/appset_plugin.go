package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/argocd"
	"github.com/argosy-cd/argosy/internal/bucket/s3/awsjson"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/parent"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/scm"
)

// appsetPluginOptions are the flags of the appset plugin, however it is run.
type appsetPluginOptions struct {
	engineOptions
	clusterOptions
	admins []string
	apis   apiOptions
}

func (o *appsetPluginOptions) register(flags *pflag.FlagSet) {
	o.engineOptions.register(flags)
	flags.StringSliceVar(&o.admins, "admin-projects", []string{"default"}, usageOf("admin-projects"))
	o.clusterOptions.register(flags)
	o.apis.register(flags)
}

// appsetPlugin is the appset plugin and what it is connected to.
type appsetPlugin struct {
	config parent.Config
	server *argocd.Client // nil is the embedded engine
	// version is that of Argo CD, for the embedded engine.
	version func(context.Context) versions.Version
	api     *kube.Client // nil is none
	remote  *gitsource.Remote
	note    func(string)
	// apis answers the generators of a request that ask APIs.
	apis func(parent.For) generator.APIs
	// clusters are those that generators know. Nil are those of the cluster that it is connected to.
	clusters generator.Clusters
	// versionChanged is called with the version of Argo CD, when it is first known and when it changes. Nil is nobody.
	versionChanged func(v versions.Version, from string)
}

// open connects the plugin with a cluster; nil is none. What is fetched from Git is kept in dir.
func (o *appsetPluginOptions) open(std stdio, p *policy.Policy, api *kube.Client, dir string, note func(string)) (*appsetPlugin, error) {
	a := &appsetPlugin{note: note, api: api}
	asked := &scm.Client{Now: std.now, Env: std.env, AWS: &awsjson.Caller{Now: std.now}}
	a.apis = func(f parent.For) generator.APIs { return o.apis.apisFor(asked, api, o.argocd(api), f) }
	var err error
	if a.server, err = o.engineOptions.open(std); err != nil {
		return nil, err
	}
	installed := &installedVersion{given: o.version.value, now: std.now, tell: a.tellVersion}
	if a.server == nil && o.server != "" {
		if installed.server, err = o.client(nil); err != nil {
			return nil, err
		}
	}
	a.version = installed.current
	namespace := o.argocd(api)
	if api == nil {
		note("there is no access to a cluster: Argo CD's clusters and repositories are not known, and answers are not compared with what " +
			"they would delete")
	}
	a.remote = &gitsource.Remote{Dir: dir, Now: std.now}
	a.config = parent.Config{
		Engine: a.engine, Policy: p, Admins: o.admins, Namespace: namespace, Commits: a.commits,
		Compared: &parent.Compared{}, Removals: &parent.Removals{}, Now: std.now,
	}
	if a.api != nil {
		a.config.Live = a.api
		a.remote.KnownHosts, a.remote.CA = a.api.KnownHosts, a.api.CA
	}
	return a, nil
}

func (a *appsetPlugin) engine(f parent.For) appset.Engine {
	if a.server != nil {
		if !f.Admin {
			return refusal{fmt.Errorf("the engine argocd reads with rights of its own, past the policy, so it is for applications of "+
				"administrators' projects (--admin-projects), and this one is in project %q", f.Project)}
		}
		return argocd.Engine{Client: a.server, Name: f.Call.App, AllowEmpty: f.AllowEmpty}
	}
	known := a.knowledge(f)
	return versioned{appset.Embedded{Clusters: known, Git: known, APIs: a.apis(f), AllowEmpty: f.AllowEmpty}, a.version}
}

// tellVersion notes a version that the server did not tell.
func (a *appsetPlugin) tellVersion(v versions.Version, from string, err error) {
	if a.versionChanged != nil {
		a.versionChanged(v, from)
	}
	if err != nil {
		a.note(fmt.Sprintf("ApplicationSets are rendered as Argo CD %s does (%s): %v", v, from, err))
	}
}

func (a *appsetPlugin) knowledge(f parent.For) *knowledge {
	return &knowledge{plugin: a, For: f, trees: map[[2]string]*gitsource.Tree{}}
}

// commits opens the commits that Applications are compared at, with the rights of a generator.
func (a *appsetPlugin) commits(f parent.For) parent.Commits {
	known := a.knowledge(f)
	return func(ctx context.Context, url, commit string) (parent.Tree, error) {
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

// knowledge is what the generators of one request may know.
type knowledge struct {
	plugin *appsetPlugin
	parent.For

	mu          sync.Mutex
	trees       map[[2]string]*gitsource.Tree
	asked       bool
	credentials []gitsource.Credential
}

// Clusters implements generator.Clusters: those of Argo CD that are not another project's own.
func (k *knowledge) Clusters(ctx context.Context) ([]generator.Cluster, error) {
	if k.plugin.clusters != nil {
		return k.plugin.clusters.Clusters(ctx)
	}
	if k.plugin.api == nil {
		return nil, errors.New("there is no access to a cluster, so Argo CD's clusters are not known")
	}
	all, err := k.plugin.api.Clusters(ctx)
	if err != nil || k.Admin {
		return all, err
	}
	var out []generator.Cluster
	for _, c := range all {
		if c.Project == "" || c.Project == k.Project {
			out = append(out, c)
		}
	}
	return out, nil
}

// Tree implements generator.Repositories. A revision is the same commit for the whole request, however it is spelt.
func (k *knowledge) Tree(ctx context.Context, url, revision string) (generator.Tree, error) {
	t, err := k.tree(ctx, url, k.At(url, revision))
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (k *knowledge) tree(ctx context.Context, url, revision string) (*gitsource.Tree, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, err := k.credential(ctx, url)
	if err != nil {
		return nil, err
	}
	id := [2]string{argo.RepositoryKey(url), argo.Revision(revision)}
	if t := k.trees[id]; t != nil {
		return t, nil
	}
	t, err := k.plugin.remote.Tree(ctx, url, revision, c)
	if err != nil {
		return nil, err
	}
	k.trees[id] = t
	return t, nil
}

// credential returns what a repository is read with. A repository that is neither the application's own nor its project's
// is read only if the policy allows it.
func (k *knowledge) credential(ctx context.Context, url string) (*gitsource.Credential, error) {
	if !k.asked && k.plugin.api != nil {
		var err error
		k.credentials, err = k.plugin.api.Credentials(ctx)
		if errors.Is(err, kube.ErrForbidden) {
			k.plugin.note(fmt.Sprintf("repositories are read without credentials: %v", err))
		} else if err != nil {
			return nil, err
		}
		k.asked = true
	}
	c := gitsource.FindCredential(k.credentials, url, k.Project)
	if gitsource.Same(url, k.Call.RepoURL) || c != nil && c.Project != "" {
		return c, nil
	}
	if err := k.Policy.Generator(k.Parent, url); err != nil {
		return nil, fmt.Errorf("repository %s: %w", gitsource.Redact(url), err)
	}
	return c, nil
}

// runAppsetHook is the appset plugin as a command of Argo CD's own plugin server, in the application's directory.
func runAppsetHook(ctx context.Context, std stdio, opts appsetGenerateOptions) error {
	ctx, cancel, err := deadline(ctx, opts.timeout)
	if err != nil {
		return err
	}
	defer cancel()
	call, err := argo.NewCall(std.getenv, parent.Parameters())
	if err != nil {
		return err
	}
	p, err := readPolicy(opts.policy)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "argosy-git-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a temporary directory
	note := func(line string) { fmt.Fprintln(std.err, "note:", line) }
	api, err := opts.plugin.clusterOptions.open()
	if err != nil {
		return err
	}
	plugin, err := opts.plugin.open(std, p, api, filepath.Join(temp, "git"), note)
	if err != nil {
		return err
	}
	if err := plugin.remote.Open(); err != nil {
		return err
	}
	checkout, err := openCheckout(std.getenv("ARGOCD_APP_SOURCE_PATH"))
	if err != nil {
		return err
	}
	defer checkout.root.Close()
	answer, err := plugin.config.Generate(ctx, parent.Request{Call: call, Dir: checkout.dir, Repository: checkout.view})
	for _, w := range answer.Warnings {
		fmt.Fprintln(std.err, "warning:", w)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return err
	}
	return writeObjects(std.out, opts.output.value, answer.Objects)
}

// defaultHookTimeout is below what Argo CD waits for.
const defaultHookTimeout = 45 * time.Second
