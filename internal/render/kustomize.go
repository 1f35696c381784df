package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Remote fetches remote content. Its errors say why the content is not available.
type Remote interface {
	// Git returns a Git repository at a revision; "" is HEAD.
	Git(ctx context.Context, url, revision string) (*tree.View, error)
	// File returns a file by its URL.
	File(ctx context.Context, url string) ([]byte, error)
	// Chart returns the files of a chart in a repository of charts. The version may be a constraint.
	Chart(ctx context.Context, repository, name, version string) ([]tree.File, error)
}

// Kustomization is the input of Build. Only the files that it refers to are read.
type Kustomization struct {
	View *tree.View
	Dir  string // in View; "" is the root
	// Edits are made to it before it is built, as "kustomize edit" would. Nil is none.
	Edits *Edits
	// Remote fetches bases, files and charts. Nil fetches nothing: they are missing.
	Remote Remote
	// NoHelm refuses charts, as Kustomize does without --enable-helm.
	NoHelm bool
	// Unsorted leaves resources in the order in which they come: --reorder none.
	Unsorted bool
	// MayRun says that plugins may be enabled: a Kustomization with one is unknown then, instead of an error. They are never run.
	MayRun bool
	// Anywhere lets it read files above its directory: --load-restrictor LoadRestrictionsNone.
	Anywhere bool
	// Strict refuses keys that are there twice, instead of taking the last.
	Strict bool
	// URL returns the name of a file in messages; nil uses its path.
	URL func(name string) string
	// KubeVersion and APIVersions are the capabilities of the cluster for charts.
	KubeVersion string
	APIVersions []string
	// Read is called with the name of each file that was read from View, more than once for some. Nil is not called.
	Read func(name string)
}

// Built is the result of a Kustomization.
type Built struct {
	Documents []manifest.Document
	// Missing lists unavailable parts that were left out. If the build fails without them, there are no documents.
	Missing  []error
	Warnings []error
	// Deprecated are the fields that Kustomize has deprecated, each with its file. Kustomize prints them on standard error, too,
	// without the file; those that are replaced before it sees them are left out.
	Deprecated []error
}

// Build builds a Kustomization. It returns only errors that Kustomize has, too, also with all remote content.
func Build(ctx context.Context, k Kustomization) (built *Built, err error) {
	if k.URL == nil {
		k.URL = func(name string) string { return name }
	}
	name := konfig.DefaultKustomizationFileName()
	// Kustomize panics over an empty file in crds, a patch without a target and more.
	defer func() {
		if r := recover(); r != nil {
			built, err = nil, manifest.Errorf(k.URL(name), "a panic in Kustomize: %v", r)
		}
	}()
	d := newDisk(ctx, k.View, k.Read)
	l := localCheck{
		ctx: ctx, k: k, disk: d, seen: map[string]bool{}, below: map[string][]string{}, resourcesIn: map[string]int{},
		factory: resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()),
	}
	top := d.path(k.Dir)
	if found := l.directory(at{}, top, nil); found != "" {
		name = d.name(found)
	}
	built = &Built{Missing: l.missing, Warnings: l.warnings, Deprecated: l.deprecated}
	if len(d.unreadable) > 0 {
		built.Missing = append(built.Missing, d.unreadable...)
		return built, nil
	}
	if err := errors.Join(l.errs...); err != nil {
		return nil, err
	}
	small, err := l.boundBuilds(top)
	if err != nil {
		built.Missing = append(built.Missing, manifest.Errorf(k.URL(name), "%w", err))
		return built, nil
	}
	if l.stuck {
		return built, nil
	}
	leave, err := kinds.enter(ctx, l.schema, small)
	if err != nil {
		return nil, manifest.Errorf(k.URL(name), "waiting for another build of a Kustomization: %w", err)
	}
	defer leave()
	objects, err := build(d, top, k)
	if err != nil && k.MayRun && strings.Contains(err.Error(), "external plugins disabled") {
		built.Missing = append(built.Missing, manifest.Errorf(k.URL(name),
			"it needs a plugin of Kustomize, and plugins are not run here: %s", oneLine(err)))
		return built, nil
	}
	if err != nil {
		message := strings.ReplaceAll(strings.ReplaceAll(oneLine(err), root+"/", ""), "'"+root+"'", "'.'")
		err = manifest.Errorf(k.URL(name), "%s", message)
		if len(l.missing)+len(d.unreadable) > 0 { // the error may come from a missing part
			built.Missing = append(append(built.Missing, d.unreadable...), err)
			return built, nil
		}
		return nil, err
	}
	for i, o := range objects {
		built.Documents = append(built.Documents, manifest.Document{
			Object:   o,
			Position: manifest.Position{File: k.URL(name), Made: manifest.Built, Number: i + 1},
		})
	}
	if err := check(built.Documents, !k.Strict); err != nil {
		return nil, err
	}
	return built, nil
}

func build(disk filesys.FileSystem, dir string, k Kustomization) ([]manifest.Object, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified // by kind, unless the Kustomization says otherwise
	if k.Unsorted {
		options.Reorder = krusty.ReorderOptionNone
	}
	options.LoadRestrictions = types.LoadRestrictionsRootOnly
	if k.Anywhere {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	options.PluginConfig = types.DisabledPluginConfig()
	built, err := krusty.MakeKustomizer(options).Run(disk, dir)
	if err != nil {
		return nil, err
	}
	var out []manifest.Object
	for _, r := range built.Resources() {
		v, err := object(r)
		if err != nil {
			return nil, err
		}
		o, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s must be an object, it is %s", r.CurId(), manifest.TypeName(v))
		}
		out = append(out, o)
	}
	return out, nil
}

// object is a resource, decoded. It decodes the nodes, and goes by way of JSON only where that may differ: Kustomize's own way encodes and
// decodes several times, and costs as much as the build.
func object(r *resource.Resource) (any, error) {
	m, err := r.Map()
	if err == nil {
		if v, ok := manifest.Plain(m); ok {
			return v, nil
		}
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(m)
	}
	if err != nil { // as it would be written
		text, err = r.MarshalJSON()
	}
	if err != nil {
		return nil, err
	}
	return manifest.JSON(text)
}
