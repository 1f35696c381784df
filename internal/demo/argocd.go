package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cmp/client"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// plan plans the boot from the repositories on the stage.
func (s *stage) plan(ctx context.Context) (*plan.Plan, error) {
	cfg, err := s.Plan()
	if err != nil {
		return nil, err
	}
	// Assume that the cluster already has everything the roots do not deploy.
	cfg.Git, cfg.Sets, cfg.ExistsAll = s, s.exhibit.sets, true
	cfg.Loader = source.Loader{Open: s.repository, Environment: source.Environment{Unbounded: true}}
	if s.exhibit.elsewhere != nil {
		cfg.Loader = s.exhibit.elsewhere.Loader
		cfg.Loader.Open = s.repository
	}
	p, err := plan.New(ctx, cfg, s.exhibit.roots...)
	if err != nil {
		return nil, err
	}
	facts := Facts{Clusters: generator.Clusters(generator.UnknownClusters{}), APIs: cfg.APIs, Version: p.Version}
	if cfg.Clusters != nil {
		facts.Clusters = cfg.Clusters
	}
	for _, app := range p.Applications {
		if !slices.Contains(facts.Projects, app.Project) {
			facts.Projects = append(facts.Projects, app.Project)
		}
	}
	s.tell(facts)
	return p, nil
}

func isAppSet(s plan.Source) bool { return s.Kind == source.AppSet }

// pluginOf names our plugin that renders a source, "" if Argo CD renders it itself or it is not known completely.
func pluginOf(s plan.Source) string {
	if s.Verdict == source.Known && (s.Kind == source.AppSet || s.Kind == source.S3) {
		return string(s.Kind)
	}
	return ""
}

// namedPlugin is the plugin that the Application itself names.
func namedPlugin(s plan.Source) string { return manifest.String(s.Spec, "plugin", "name") }

// generate asks a plugin for the manifests of a source, as Argo CD's repo-server does.
func (s *stage) generate(ctx context.Context, app *plan.Application, source plan.Source) ([]manifest.Object, error) {
	commit, data, err := s.checkout(ctx, source)
	if err != nil {
		return nil, err
	}
	r := client.Request{Dir: cmp.Or(source.Path, "."), Env: s.environment(app, source, commit), Packed: data}
	name := pluginOf(source)
	socket := s.sockets[name]
	if namedPlugin(source) == "" && name == argo.PluginS3 {
		// Argo CD discovers the plugin by the trigger file in the directory.
		found, err := client.Match(ctx, socket, r)
		if err == nil && !found {
			err = fmt.Errorf("it finds no trigger file in %s", source.Path)
		}
		if err != nil {
			return nil, fmt.Errorf("the plugin %s: %w", name, err)
		}
	}
	answer, err := client.Generate(ctx, socket, r)
	if err != nil {
		return nil, fmt.Errorf("the plugin %s: %w", name, err)
	}
	var out []manifest.Object
	for _, text := range answer {
		docs, err := manifest.Decode("answer of the plugin "+name, []byte(text))
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			out = append(out, d.Object)
		}
	}
	return out, nil
}

// checkout packs a repository as Argo CD sends it to a plugin. An unavailable one is empty if the plugin does not read it.
func (s *stage) checkout(ctx context.Context, source plan.Source) (commit string, data []byte, err error) {
	if _, _, err := s.instead(source.Repository, source.Revision); err != nil && isAppSet(source) {
		return strings.Repeat("0", 40), client.Pack(nil, nil), nil
	}
	commit, err = s.remote.Commit(ctx, source.Repository, source.Revision, nil)
	if err != nil {
		return "", nil, err
	}
	data, err = s.pack(ctx, source, commit)
	return commit, data, err
}

// pack fetches a repository and packs it, once for each commit.
func (s *stage) pack(ctx context.Context, source plan.Source, commit string) ([]byte, error) {
	if s.packed.commit == commit {
		return s.packed.data, nil
	}
	t, err := s.remote.Tree(ctx, source.Repository, source.Revision, nil)
	if err != nil {
		return nil, err
	}
	files, err := t.Select(ctx, tree.Selection{})
	if err != nil {
		return nil, err
	}
	s.packed.commit, s.packed.data = commit, client.Pack(files, nil)
	return s.packed.data, nil
}

// environment returns Argo CD's variables for a plugin, without the capabilities of the cluster: the plan does not know them either.
func (s *stage) environment(app *plan.Application, source plan.Source, commit string) map[string]string {
	env := map[string]string{
		"ARGOCD_APP_NAME": app.Instance(s.Namespace), "ARGOCD_APP_NAMESPACE": app.Destination.Namespace,
		"ARGOCD_APP_PROJECT_NAME": app.Project, "ARGOCD_APP_REVISION": commit,
		"ARGOCD_APP_SOURCE_REPO_URL": source.Repository, "ARGOCD_APP_SOURCE_PATH": source.Path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": source.Revision,
	}
	list, _ := manifest.Map(source.Spec, "plugin")["parameters"].([]any)
	for _, p := range list {
		if m, _ := p.(map[string]any); m != nil {
			env[argo.Variable(manifest.String(m, "name"))] = manifest.String(m, "string")
		}
	}
	if recurse, _ := manifest.Map(source.Spec, "directory")["recurse"].(bool); recurse && namedPlugin(source) == "" {
		env[argo.Variable(appsetplugin.ParameterRecurse)] = "true" // which is how the plugin would be told
	}
	if data, err := json.Marshal(list); err == nil && list != nil {
		env["ARGOCD_APP_PARAMETERS"] = string(data)
	}
	return env
}

// compareAnswer says how an answer differs from what the plan has for an Application. Of one with several sources, an answer is a part.
func compareAnswer(app *plan.Application, objects []manifest.Object) error {
	planned := map[string]bool{}
	for _, i := range app.Items {
		planned[strings.TrimSpace(i.Kind+" "+i.Name+" "+i.Namespace)] = true
	}
	answered := map[string]bool{}
	for _, o := range objects {
		if plan.Deploys(o) {
			name := cmp.Or(manifest.String(o, "metadata", "name"), manifest.String(o, "metadata", "generateName")+"*")
			answered[strings.TrimSpace(manifest.String(o, "kind")+" "+name+" "+manifest.String(o, "metadata", "namespace"))] = true
		}
	}
	var more, less []string
	for _, name := range slices.Sorted(maps.Keys(answered)) {
		if !planned[name] {
			more = append(more, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(planned)) {
		if !answered[name] && len(app.Sources) == 1 {
			less = append(less, name)
		}
	}
	switch {
	case len(more) > 0:
		return fmt.Errorf("the answer of the plugin has %s, which the plan has not", more[0])
	case len(less) > 0:
		return fmt.Errorf("the plan has %s, which the answer of the plugin has not", less[0])
	}
	return nil
}
