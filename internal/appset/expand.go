package appset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Engine renders sets: the one of this package, or Argo CD itself.
type Engine interface {
	// Generate returns a list of Applications for each set, or an error and no Applications.
	Generate(ctx context.Context, sets ...Set) (*Result, error)
}

// Embedded is the engine of this package.
type Embedded Config

// Generate implements Engine.
func (e Embedded) Generate(ctx context.Context, sets ...Set) (*Result, error) {
	return Generate(ctx, Config(e), sets...)
}

// Configurable is an engine that renders with this package.
type Configurable interface {
	Engine
	// Config returns the configuration that it renders with.
	Config(ctx context.Context) Config
}

// Config implements Configurable.
func (e Embedded) Config(context.Context) Config { return Config(e) }

// Expansion is how documents are expanded.
type Expansion struct {
	Engine Engine
	// Namespace is the default namespace of sets and of Applications.
	Namespace string
	// Keep keeps documents that are not sets, in their place.
	Keep bool
	// Deployed says that the Applications are to be deployed in the place of their sets: they inherit the sync wave of their
	// set, those that need others (argo.DependsAnnotation) have a wave behind theirs, steps of a RollingSync are waves, and they are
	// not deleted if the set says so.
	Deployed bool
	// Controller says that Argo CD's applicationset-controller makes the Applications. There are no warnings about fields that it acts on.
	Controller bool
	// Pinned says that Applications are pinned to commits afterwards.
	Pinned bool
}

// Expanded is the result of an Expansion.
type Expanded struct {
	Objects []manifest.Object
	// Reads has for each object the repositories that the Git generators of its set have read; nil for an object of no set.
	Reads    [][]Read
	Sets     int // how many there were
	Rendered int // Applications of sets
	Warnings []generator.Warning

	least map[string]int // waves of sets whose Applications need others
}

// Expand replaces the sets among documents by their Applications. Warnings are there even if there is an error.
func (x Expansion) Expand(ctx context.Context, docs []manifest.Document) (*Expanded, error) {
	var sets []Set
	var errs []error
	isSet := make([]bool, len(docs))
	for i, d := range docs {
		set, ok, err := Parse(d)
		if err != nil {
			errs = append(errs, err)
		}
		if isSet[i] = ok; ok {
			if set.Namespace == "" {
				set.Namespace = x.Namespace
			}
			sets = append(sets, set)
		}
	}
	if len(errs) > 0 {
		return &Expanded{}, errors.Join(errs...)
	}
	out := &Expanded{Sets: len(sets)}
	if len(sets) > 0 {
		res, err := x.Engine.Generate(ctx, sets...)
		if res != nil {
			out.Warnings = res.Warnings
		}
		if err != nil {
			return out, err
		}
		return out, x.deploy(out, docs, isSet, sets, res)
	}
	return out, x.deploy(out, docs, isSet, nil, &Result{})
}

// deploy puts Applications in their places and waves.
func (x Expansion) deploy(out *Expanded, docs []manifest.Document, isSet []bool, sets []Set, res *Result) error {
	if err := x.place(out, docs, isSet, sets, res); err != nil {
		return err
	}
	var rollouts []*rollout
	for i, set := range sets {
		if !x.Controller {
			lines := generator.Warnings("", set.controllerWarnings(res.Applications[i], x.Deployed)...)
			out.Warnings = append(out.Warnings, generator.In(set.String(), set.Position, lines)...)
		}
		if apps := res.Applications[i]; RollingSteps(set.Spec) != nil && len(apps) > 0 {
			rollouts = append(rollouts, &rollout{set: set, apps: apps})
		}
	}
	if err := x.assign(out); err != nil || !x.Deployed {
		return err
	}
	return x.roll(out, rollouts)
}

// Known drops sets that need something unavailable here, such as clusters, and returns an error for each that names the missing thing.
func (x Expansion) Known(ctx context.Context, docs []manifest.Document) (known []manifest.Document, left []error) {
	for _, d := range docs {
		if argo.IsApplicationSet(d.Object) || argo.IsBareSpec(d.Object) {
			if _, err := x.Expand(ctx, []manifest.Document{d}); generator.OnlyUnknown(err) {
				left = append(left, problem.All(err)...)
				continue
			}
		}
		known = append(known, d)
	}
	return known, left
}

// assign moves Applications into waves after the Applications that they need.
func (x Expansion) assign(out *Expanded) error {
	if !x.Deployed {
		return nil
	}
	err := argo.AssignWaves(out.Objects, out.least)
	if err != nil {
		out.Objects = nil
	}
	return err
}

// place puts Applications where their sets were.
func (x Expansion) place(out *Expanded, docs []manifest.Document, isSet []bool, sets []Set, res *Result) error {
	apps, next := res.Applications, 0
	rendered := map[argo.Ref]bool{}
	for i, list := range apps {
		for _, app := range list {
			rendered[x.ref(app)] = true
			if x.Deployed {
				sets[i].deploy(app, out)
			}
		}
		out.Rendered += len(list)
	}
	var errs []error
	for i, d := range docs {
		switch {
		case isSet[i]:
			var reads []Read
			if next < len(res.Reads) {
				reads = res.Reads[next]
			}
			for _, app := range apps[next] {
				out.Objects, out.Reads = append(out.Objects, app), append(out.Reads, reads)
			}
			next++
		case x.Keep:
			if argo.IsApplication(d.Object) && rendered[x.ref(d.Object)] {
				errs = append(errs, fmt.Errorf("%s: Application %q is rendered by an ApplicationSet, too", d.Position,
					manifest.String(d.Object, "metadata", "name")))
			}
			out.Objects, out.Reads = append(out.Objects, d.Object), append(out.Reads, nil)
		}
	}
	if len(errs) > 0 {
		out.Objects = nil
	}
	return errors.Join(errs...)
}

func (x Expansion) ref(app manifest.Object) argo.Ref {
	return argo.Ref{
		Namespace: cmp.Or(manifest.String(app, "metadata", "namespace"), x.Namespace), Name: manifest.String(app, "metadata", "name"),
	}
}

// deploy gives an Application the wave of its set, and protects it from deletion if the set does.
func (s Set) deploy(app manifest.Object, out *Expanded) {
	annotations := manifest.Map(metadata(app), "annotations")
	if annotations == nil {
		annotations = map[string]any{}
	}
	if _, own := annotations[argo.SyncWaveAnnotation]; !own && s.Wave != "" {
		wave, err := strconv.Atoi(s.Wave)
		if err == nil && len(argo.Dependencies(app)) > 0 {
			if out.least == nil {
				out.least = map[string]int{}
			}
			out.least[manifest.String(app, "metadata", "name")] = wave
		} else {
			annotations[argo.SyncWaveAnnotation] = s.Wave
		}
	}
	if argo.KeepsApplications(s.Spec) {
		options, _ := annotations[argo.SyncOptionsAnnotation].(string)
		for _, option := range []string{"Prune=", "Delete="} {
			if !strings.Contains(options, option) {
				options = strings.Trim(options+","+option+"false", ",")
			}
		}
		annotations[argo.SyncOptionsAnnotation] = options
	}
	if len(annotations) > 0 {
		metadata(app)["annotations"] = annotations
	}
}
