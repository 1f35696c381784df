// Package install renders the additions to an Argo CD, in the form in which its owner installs it: plain manifests, a Kustomize component,
// values of the chart argo-cd, or the resource ArgoCD of the operator. All of them are made from the manifests in deploy/.
package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Target is how Argo CD is installed.
type Target string

// Targets.
const (
	Manifests Target = "manifests"
	Kustomize Target = "kustomize"
	ArgoHelm  Target = "argo-helm"
	Operator  Target = "operator"
)

// Targets are all of them.
var Targets = []string{string(Manifests), string(Kustomize), string(ArgoHelm), string(Operator)}

// part is something that can be added to the plugins.
type part struct {
	dir   string // below kustomize
	base  bool   // it has its own objects; otherwise it changes objects of others
	needs string
}

var parts = map[string]part{
	"repo":          {dir: "appset-repo", base: true},
	"buckets":       {dir: "appset-repo-buckets", needs: "repo"},
	"events":        {dir: "events", base: true},
	"secrets":       {dir: "cmp-secrets"},
	"apis":          {dir: "cmp-apis"},
	"any-namespace": {dir: "any-namespace"},
}

// Parts are the names of what can be added to the plugins.
var Parts = slices.Sorted(maps.Keys(parts))

// Names in deploy/, and their replacements.
const (
	namespace  = argo.DefaultNamespace
	repoServer = namespace + "-repo-server"
	interval   = "APPSET_REFRESH_INTERVAL"
	policyKey  = "policy.yaml"
	// clusterRole is the name of the cluster-scoped role and of its binding.
	clusterRole = "argosy-applications"
)

// workloads of Argo CD; the operator and charts have other names for them.
var workloads = []string{repoServer, namespace + "-application-controller", namespace + "-applicationset-controller", namespace + "-server"}

// Config configures an installation.
type Config struct {
	Target Target
	// Files are the files of package deploy.
	Files fs.FS
	// With are Parts.
	With []string
	// SidecarOnly leaves out objects of our own, because the chart argosy deploys them.
	SidecarOnly bool
	// Namespace is Argo CD's. Name is the prefix of its workloads' names, as in argocd-repo-server.
	Namespace, Name string
	// Image is the image of argosy.
	Image string
	// Interval is how often trigger repositories tick. 0 is the one of deploy/.
	Interval time.Duration
	// Policy is the text of a policy file, and PolicyFile what it is called. "" is the one of deploy/.
	Policy, PolicyFile string
	Container
}

// releasedAs is a version that has an image.
var releasedAs = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// Complete returns the configuration with an image: its own, or the one that the program of a version was released with. It refuses a
// version without one.
func (cfg Config) Complete(version string) (Config, error) {
	switch {
	case cfg.Image != "":
	case !releasedAs.MatchString(version):
		return cfg, problem.Usagef("--image is needed: this binary (%s) is no release, and has no image", version)
	default:
		cfg.Image = "ghcr.io/argosy-cd/argosy:" + version
	}
	return cfg, nil
}

// Whole returns the installation with all parts, to be removed: the names of its objects are needed, and no image.
func (cfg Config) Whole() Config {
	cfg.With, cfg.Image = Parts, "argosy"
	return cfg
}

// Later is the Deployment whose added sidecar another controller, the operator, removes a moment after its own resource has changed. "" is
// none.
func (cfg Config) Later() string {
	if cfg.Target == Operator {
		return cfg.Name + "-repo-server"
	}
	return ""
}

// Marker is in the first line of every file.
const Marker = "# Written by argosy install"

// Render returns the files to add: several for Kustomize, and one otherwise.
func Render(ctx context.Context, cfg Config) ([]tree.File, error) {
	a, err := cfg.additions(ctx)
	if err != nil {
		return nil, err
	}
	switch cfg.Target {
	case Kustomize:
		return a.component(), nil
	case ArgoHelm:
		return []tree.File{file("values.yaml", "Values of the chart argo-cd: helm upgrade … -f values.yaml", a.values())}, nil
	default:
		theirs, ours := a.objects(cfg)
		return []tree.File{file("argosy.yaml", use, append(theirs, ours...)...)}, nil
	}
}

// use warns: kubectl takes over what it has applied to an object before, and removes what is not in the new manifest.
const use = "argosy install --apply adds it to a running Argo CD. kubectl apply could remove all other fields of Argo CD's own objects."

// Objects are the same, for manifests and the operator: additions to objects of Argo CD, and objects of ours.
func Objects(ctx context.Context, cfg Config) (theirs, ours []manifest.Object, err error) {
	a, err := cfg.additions(ctx)
	if err != nil {
		return nil, nil, err
	}
	theirs, ours = a.objects(cfg)
	return theirs, ours, nil
}

func (cfg Config) additions(ctx context.Context) (*additions, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	objects, err := build(ctx, cfg)
	if err != nil {
		return nil, err
	}
	a := &additions{rest: objects}
	a.deployment = a.take("Deployment", repoServer)
	a.settings = a.take("ConfigMap", settings.ConfigMap)
	if cfg.SidecarOnly {
		a.rest = nil
	}
	a.rename(cfg)
	return a, nil
}

var (
	dnsLabel  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	dnsName   = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`)
	reference = regexp.MustCompile(`^[\w][\w.:/-]*(@sha256:[0-9a-f]{64})?$`)
)

func (cfg Config) check() error {
	switch {
	case !slices.Contains(Targets, string(cfg.Target)):
		return problem.Usagef("--for: unknown %q; there are %s", cfg.Target, strings.Join(Targets, ", "))
	case !dnsLabel.MatchString(cfg.Namespace):
		return problem.Usagef("--namespace: %q is not a name of a namespace", cfg.Namespace)
	case !dnsLabel.MatchString(cfg.Name):
		return problem.Usagef("--argocd-name: %q is not a name", cfg.Name)
	case !reference.MatchString(cfg.Image):
		return problem.Usagef("--image: %q is not NAME:TAG or NAME@sha256:DIGEST", cfg.Image)
	case cfg.SidecarOnly && cfg.Policy != "":
		return problem.Usagef("--policy and --sidecar-only exclude each other: set policy in the values of the chart argosy")
	case cfg.Interval < 0 || cfg.Interval > 0 && cfg.Interval < time.Second:
		return problem.Usagef("--interval: %s is shorter than a second", cfg.Interval)
	}
	if cfg.Policy != "" {
		if _, err := policy.Parse(cfg.PolicyFile, []byte(cfg.Policy)); err != nil {
			return err
		}
	}
	return cfg.Container.check()
}

// build has Kustomize put the parts together, around a repo-server and settings that have nothing else.
func build(ctx context.Context, cfg Config) ([]manifest.Object, error) {
	k := kustomization{
		APIVersion: "kustomize.config.k8s.io/v1beta1", Kind: "Kustomization", Namespace: cfg.Namespace,
		Resources: []string{"argocd.yaml"}, Components: []string{"kustomize/cmp"}, Images: []image{imageOf(cfg.Image)},
	}
	for _, name := range cfg.With {
		p, ok := parts[name]
		if !ok {
			return nil, problem.Usagef("--with: unknown %q; there are %s", name, strings.Join(Parts, ", "))
		}
		if p.needs != "" && !slices.Contains(cfg.With, p.needs) {
			return nil, problem.Usagef("--with: %s needs %s", name, p.needs)
		}
		if dir := "kustomize/" + p.dir; p.base {
			k.Resources = append(k.Resources, dir)
		} else {
			k.Components = append(k.Components, dir)
		}
	}
	text, err := manifest.Marshal(k)
	if err != nil {
		return nil, err
	}
	files := []tree.File{{Name: "kustomization.yaml", Data: text}, {Name: "argocd.yaml", Data: []byte(argocd)}}
	err = fs.WalkDir(cfg.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(cfg.Files, name)
		files = append(files, tree.File{Name: path.Clean(name), Data: data})
		return err
	})
	if err != nil {
		return nil, err
	}
	tree.Sort(files)
	built, err := render.Build(ctx, render.Kustomization{View: tree.Of(files), Unsorted: true})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(built.Missing...); err != nil {
		return nil, err
	}
	objects := manifest.Objects(built.Documents)
	walk(objects, func(m map[string]any) {
		if m["name"] == interval && cfg.Interval > 0 {
			m["value"] = cfg.Interval.String()
		}
		if _, ok := m[policyKey].(string); ok && cfg.Policy != "" {
			m[policyKey] = cfg.Policy
		}
	})
	cfg.apply(objects)
	return objects, nil
}

// argocd has the minimal objects of Argo CD that the components patch.
const argocd = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec: {template: {spec: {containers: []}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
`

type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Resources  []string `json:"resources"`
	Components []string `json:"components"`
	Images     []image  `json:"images"`
}

type image struct {
	Name   string `json:"name"`
	New    string `json:"newName"`
	Tag    string `json:"newTag,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// imageOf reads NAME[:TAG][@DIGEST]. With a digest, the tag says nothing.
func imageOf(ref string) image {
	i := image{Name: "argosy"}
	i.New, i.Digest, _ = strings.Cut(ref, "@")
	if colon := strings.LastIndexByte(i.New, ':'); colon > strings.LastIndexByte(i.New, '/') {
		i.New, i.Tag = i.New[:colon], i.New[colon+1:]
	}
	if i.Digest != "" {
		i.Tag = ""
	}
	return i
}

// walk calls do with every object in v, however deep.
func walk(v any, do func(map[string]any)) {
	switch v := v.(type) {
	case []manifest.Object:
		for _, e := range v {
			walk(e, do)
		}
	case []any:
		for _, e := range v {
			walk(e, do)
		}
	case map[string]any:
		do(v)
		for _, e := range v {
			walk(e, do)
		}
	}
}

// file is one with objects, and with a line that says what to do with them.
func file(name, use string, objects ...manifest.Object) tree.File {
	data := fmt.Appendf(nil, "%s. %s\n", Marker, use)
	for i, o := range objects {
		if i > 0 || len(objects) > 1 {
			data = append(data, "---\n"...)
		}
		data = manifest.AppendYAML(data, o)
	}
	return tree.File{Name: name, Data: data}
}
