package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// Sets renders the ApplicationSets of files.
type Sets struct {
	Repositories *Repositories
	// Config says how to render. Sets fills in Git and APIs, and Clusters unless they are known.
	Config appset.Config
	// Clusters is a file with the clusters that Argo CD knows; "" leaves them unknown.
	Clusters string
	// Engine renders the sets; nil is the embedded engine.
	Engine appset.Engine
	// APIs asks the APIs of generators.
	APIs Asking
	// Recursive reads subdirectories, too.
	Recursive bool
	// Passthrough keeps documents that are not sets.
	Passthrough bool
	// SkipUnknown leaves out sets that need something that is not available here.
	SkipUnknown bool
	// Stdin is the file that is called "-".
	Stdin io.Reader
	// Note and Warn are called with notes and warnings for the user.
	Note, Warn func(line string)
}

// Render renders the sets in files and directories, and closes the repositories: a reader of the answer that goes away may end the process.
func (s Sets) Render(ctx context.Context, args []string) ([]manifest.Object, error) {
	cfg, err := s.config()
	if err != nil {
		return nil, err
	}
	about := argo.KindApplicationSet
	if s.Passthrough {
		about = ""
	}
	docs, err := input.Documents(s.Stdin, args, s.Recursive, about)
	if err != nil {
		return nil, err
	}
	apis, recorded, err := s.APIs.open(docs)
	if err != nil {
		return nil, err
	}
	cfg.APIs = apis
	x := appset.Expansion{Engine: s.Engine, Namespace: cfg.Namespace, Keep: s.Passthrough}
	if x.Engine == nil {
		x.Engine = appset.Embedded(cfg)
	}
	objects, err := s.expand(ctx, x, docs)
	err = errors.Join(err, s.Repositories.Close(), recorded())
	if errors.Is(err, appset.ErrEmpty) {
		s.Note("--allow-empty allows sets without Applications")
	}
	return objects, err
}

// One renders one set, as a file has it. The repositories stay open.
func (s Sets) One(ctx context.Context, set manifest.Object) ([]manifest.Object, error) {
	render, _, err := s.Open()
	if err != nil {
		return nil, err
	}
	return render(ctx, set)
}

// Open returns a function that renders a set as written in a file, and one that writes a recording of APIs. The repositories stay open.
func (s Sets) Open() (render func(context.Context, manifest.Object) ([]manifest.Object, error), recorded func() error, err error) {
	cfg, err := s.config()
	if err != nil {
		return nil, nil, err
	}
	if cfg.APIs, recorded, err = s.APIs.open(nil); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, set manifest.Object) ([]manifest.Object, error) { return one(ctx, cfg, set) }, recorded, nil
}

func one(ctx context.Context, cfg appset.Config, set manifest.Object) ([]manifest.Object, error) {
	parsed, _, err := appset.Parse(manifest.Document{Object: set})
	if err != nil {
		return nil, err
	}
	res, err := appset.Generate(ctx, cfg, parsed)
	if err != nil {
		return nil, problem.Wrap(err, appset.Bare)
	}
	return res.Applications[0], nil
}

// config is how sets are rendered.
func (s Sets) config() (appset.Config, error) {
	cfg := s.Config
	cfg.Git = s.Repositories
	if cfg.Clusters == nil {
		cfg.Clusters = generator.UnknownClusters{}
	}
	if s.Clusters != "" {
		list, err := readClusters(s.Clusters)
		if err != nil {
			return cfg, err
		}
		cfg.Clusters = generator.ClusterList(list)
	}
	return cfg, nil
}

func (s Sets) expand(ctx context.Context, x appset.Expansion, docs []manifest.Document) ([]manifest.Object, error) {
	all := len(docs)
	if s.SkipUnknown {
		var left []error
		docs, left = x.Known(ctx, docs)
		for _, e := range left {
			s.Note("left out: " + words.Harmless(e.Error()))
		}
	}
	res, err := x.Expand(ctx, docs)
	for _, w := range res.Warnings {
		s.Warn(w.Text)
	}
	switch {
	case err != nil || res.Sets > 0 || s.Passthrough:
		return res.Objects, err
	case len(docs) < all:
		return nil, fmt.Errorf("all ApplicationSets (%d) were left out by --skip-unknown", all-len(docs))
	}
	return nil, errors.New("no ApplicationSet found")
}

// readClusters reads a file with the clusters that Argo CD knows.
func readClusters(file string) ([]generator.Cluster, error) {
	data, err := input.File(file)
	if err != nil {
		return nil, err
	}
	return generator.ParseClusters(file, data)
}
