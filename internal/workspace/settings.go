package workspace

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/source"
)

// Settings are the user's settings of Argo CD and its cluster. With the zero value, the plan uses those in the tree.
type Settings struct {
	Namespace string
	Version   versions.Version
	// Plugins are NAME=kustomize, NAME=helm and NAME=directory.
	Plugins []string
	// ProgressiveSyncs is "on", "off" or "".
	ProgressiveSyncs string
	// Exists are things that every cluster has before the boot, or "all".
	Exists []string
	// Clusters and Customizations are files.
	Clusters, Customizations string
	// Answers is a directory with recorded answers of APIs; "" leaves sets whose generators ask an API unknown.
	Answers string
}

// Config is how to plan with these settings, except for where repositories are.
func (s Settings) Config() (plan.Config, error) {
	cfg := plan.Config{
		Namespace: s.Namespace, Version: s.Version, APIs: Replay(s.Answers), Plugins: map[string]source.Kind{},
	}
	if err := Directory("answers", s.Answers); err != nil {
		return cfg, err
	}
	for _, text := range s.Plugins {
		name, kind, ok := strings.Cut(text, "=")
		if !ok || name == "" || !slices.Contains([]source.Kind{source.Kustomize, source.Helm, source.Directory}, source.Kind(kind)) {
			return cfg, problem.Usagef("--plugin must be NAME=kustomize, NAME=helm or NAME=directory, it is %q", text)
		}
		cfg.Plugins[name] = source.Kind(kind)
	}
	if s.ProgressiveSyncs != "" {
		on := s.ProgressiveSyncs == "on"
		cfg.ProgressiveSyncs = &on
	}
	for _, text := range s.Exists {
		if text == "all" {
			cfg.ExistsAll = true
			continue
		}
		thing, err := plan.ParseThing(text)
		if err != nil {
			return cfg, problem.Usagef("--exists: %v", err)
		}
		cfg.Exists = append(cfg.Exists, thing)
	}
	if s.Clusters != "" {
		list, err := readClusters(s.Clusters)
		if err != nil {
			return cfg, err
		}
		cfg.Clusters = append(generator.ClusterList{}, list...)
	}
	if s.Customizations != "" {
		data, err := input.File(s.Customizations)
		if err != nil {
			return cfg, err
		}
		if cfg.Settings, err = settings.Parse(s.Customizations, data); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}
