// Package convert turns ApplicationSets into Applications that use the appset plugin, and back, in the text of their files.
//
// It promises that the plugin renders the same Applications for the new manifest as the set has, and that the way back gives an equal set:
// every result is decoded and compared before it is returned. Comments and other documents stay as they are. Fields that have no
// equivalent are warnings. It refuses what cannot be converted, with a reason, and then changes nothing.
package convert

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/trigger/triggerurl"
)

// Defaults of Options.
const (
	DefaultTrigger = "http://" + triggerurl.Service + ".argocd"
	DefaultEvery   = 3 * time.Minute // the requeue time of the applicationset-controller
)

// Options say what the Applications look like. The zero value of each field is its default.
type Options struct {
	// Trigger is the URL of the server of trigger repositories.
	Trigger string
	// Every is the schedule of sets without requeueAfterSeconds.
	Every time.Duration
	// Git uses the repository of the set's Git generators as source instead of a trigger repository: its commits are the trigger then.
	Git bool
	// Project is the project of the Applications.
	Project string
	// Namespace is the destination namespace of the Application for a set that names none.
	Namespace string
}

func (o Options) withDefaults() Options {
	if o.Trigger == "" {
		o.Trigger = DefaultTrigger
	}
	if o.Every == 0 {
		o.Every = DefaultEvery
	}
	if o.Project == "" {
		o.Project = argo.DefaultProject
	}
	if o.Namespace == "" {
		o.Namespace = argo.DefaultNamespace
	}
	return o
}

// Application returns the Application of a set.
func (o Options) Application(set manifest.Object) (app manifest.Object, warnings []string, err error) {
	if err := check(set); err != nil {
		return nil, nil, err
	}
	return o.application(set, parameter(set, string(manifest.AppendYAML(nil, set["spec"]))))
}

// check refuses sets that have no Application.
func check(set manifest.Object) error {
	var errs []error
	_, _, err := appset.Parse(manifest.Document{Object: set})
	for _, err := range problem.All(err) {
		errs = append(errs, appset.Bare(err))
	}
	meta := manifest.Map(set, "metadata")
	switch {
	case manifest.String(meta, "name") == "":
		errs = append(errs, errors.New("metadata.name must be set: it becomes the name of the Application"))
	case appset.CheckName(manifest.String(meta, "name")) != nil:
		errs = append(errs, appset.CheckName(manifest.String(meta, "name")))
	case meta["uid"] != nil || set["status"] != nil:
		errs = append(errs, errors.New("it was read from a cluster (metadata.uid, status); convert the manifest that was applied, "+
			"or use argosy appset handover"))
	}
	if name := manifest.String(meta, "name"); name != "" && manifest.String(set, "spec", "template", "metadata", "name") == name {
		errs = append(errs, fmt.Errorf("spec.template.metadata.name: its Application is called %q, too, and would replace the new one; "+
			"use --style folder, or rename the set if no cluster has it yet", name))
	}
	for _, key := range manifest.Keys(set) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "spec", "status"}, key) {
			errs = append(errs, fmt.Errorf("%s: not a field of an ApplicationSet", key))
		}
	}
	return errors.Join(errs...)
}

// parameter returns the value of the plugin's parameter spec: the bare spec, or a set if the Application cannot carry all of it.
func parameter(set manifest.Object, spec string) string {
	finalizers := finalizersOf(set)
	if len(finalizers) == 0 && argo.IsBareSpec(manifest.Map(set, "spec")) {
		return spec
	}
	meta := map[string]any{"name": manifest.String(set, "metadata", "name")}
	if len(finalizers) > 0 {
		meta["finalizers"] = finalizers
	}
	head := manifest.AppendYAML(nil, map[string]any{"apiVersion": argo.APIVersion, "kind": argo.KindApplicationSet, "metadata": meta})
	return string(head) + "spec:\n" + indent(spec, "  ")
}

func finalizersOf(o manifest.Object) []any {
	list, _ := manifest.Map(o, "metadata")["finalizers"].([]any)
	return list
}

// application returns the Application of a set with a value for the parameter.
func (o Options) application(set manifest.Object, parameter string) (manifest.Object, []string, error) {
	o = o.withDefaults()
	source, warnings, err := o.source(set)
	if err != nil {
		return nil, nil, err
	}
	source["plugin"] = map[string]any{
		"name":       argo.PluginAppSet,
		"parameters": []any{map[string]any{"name": appsetplugin.ParameterSpec, "string": parameter}},
	}
	namespace := manifest.String(set, "metadata", "namespace")
	if namespace == "" {
		namespace = o.Namespace
	}
	p := policyOf(set)
	spec := map[string]any{
		"project":     o.Project,
		"source":      source,
		"destination": map[string]any{"server": argo.InClusterServer, "namespace": namespace},
		"syncPolicy":  p.syncPolicy(),
	}
	if len(p.ignored) > 0 {
		spec["ignoreDifferences"] = p.ignored
	}
	meta := manifest.Copy(manifest.Map(set, "metadata")).(map[string]any)
	delete(meta, "finalizers")
	if finalizers := p.finalizers(finalizersOf(set)); len(finalizers) > 0 {
		meta["finalizers"] = finalizers
	}
	app := manifest.Object{"apiVersion": set["apiVersion"], "kind": argo.KindApplication, "metadata": meta, "spec": spec}
	return app, append(warnings, p.warnings...), nil
}

// source returns the source of a set's Application, without the plugin.
func (o Options) source(set manifest.Object) (map[string]any, []string, error) {
	generators, _ := manifest.Map(set, "spec")["generators"].([]any)
	seconds := requeue(generators)
	if o.Git {
		s, err := own(generators)
		var warnings []string
		if seconds > 0 {
			warnings = append(warnings, fmt.Sprintf("spec.generators: requeueAfterSeconds: %d has no effect: commits of %s are the trigger",
				seconds, manifest.String(s, "repoURL")))
		}
		return s, warnings, err
	}
	every := o.Every
	if seconds > 0 {
		every = time.Duration(seconds) * time.Second
	}
	u, err := url.Parse(o.Trigger)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, fmt.Errorf("%q is not the URL of a server of trigger repositories, such as %s", o.Trigger, DefaultTrigger)
	}
	name := manifest.String(set, "metadata", "name")
	if len(name) > triggerurl.MaxName {
		name = strings.TrimRight(name[:triggerurl.MaxName], ".-")
	}
	return map[string]any{
		"repoURL":        strings.TrimRight(o.Trigger, "/") + "/" + triggerurl.Path{Every: every, Name: name}.String(),
		"targetRevision": "main",
		"path":           ".",
	}, nil, nil
}

// requeue returns the shortest requeueAfterSeconds of generators, at any depth; 0 is none.
func requeue(generators []any) int64 {
	shortest := int64(0)
	for _, g := range generator.Nodes(generators) {
		if n, ok := g.Spec["requeueAfterSeconds"].(int64); ok && n > 0 && (shortest == 0 || n < shortest) {
			shortest = n
		}
	}
	return shortest
}

// own returns the repository that all Git generators read, as a source.
func own(generators []any) (map[string]any, error) {
	var found map[string]any
	var err error
	for _, g := range generator.Nodes(generators) {
		if g.Kind != generator.KindGit {
			continue
		}
		repo, revision := manifest.String(g.Spec, "repoURL"), manifest.String(g.Spec, "revision")
		s := map[string]any{"repoURL": repo, "targetRevision": argo.Revision(revision), "path": "."}
		switch {
		case strings.Contains(repo+revision, "{{"):
			err = fmt.Errorf("repository %q at %q of a Git generator is a template; use a trigger repository", repo, revision)
		case found != nil && (giturl.Canonical(manifest.String(found, "repoURL")) != giturl.Canonical(repo) ||
			found["targetRevision"] != s["targetRevision"]):
			err = fmt.Errorf("its Git generators read more than one repository or revision (%s, %s); use a trigger repository",
				found["repoURL"], repo)
		case found == nil:
			found = s
		}
	}
	if err == nil && found == nil {
		err = errors.New("it has no Git generator, so no repository is its source; use a trigger repository")
	}
	return found, err
}
