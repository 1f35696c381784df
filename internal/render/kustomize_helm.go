package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// charts replaces the charts of a Kustomization by their rendered objects, as Kustomize does with --enable-helm, but without running helm.
func (l *localCheck) charts(name string, k *types.Kustomization) {
	k.FixKustomization() // the older form becomes the newer one
	var globals types.HelmGlobals
	if k.HelmGlobals != nil {
		globals = *k.HelmGlobals
	}
	for _, c := range k.HelmCharts {
		l.chart(at{file: name, field: "helmCharts", entry: c.Name}, globals, c, k)
	}
	k.HelmCharts, k.HelmGlobals = nil, nil
	l.notEmpty(name, k)
}

// notEmpty keeps Kustomize from refusing a Kustomization of which everything was left out.
func (l *localCheck) notEmpty(name string, k *types.Kustomization) {
	if k.CheckEmpty() != nil || len(k.Resources) == 0 {
		k.Resources = append(k.Resources, l.fresh(at{file: name}, []byte("# nothing\n")))
	}
}

// inflator is a generator that is a chart.
type inflator struct {
	types.HelmGlobals
	types.HelmChart
}

// chartGenerators does the same for a generator that is a chart, in place or in a file, and reports whether it was one.
func (l *localCheck) chartGenerators(a at, s string, k *types.Kustomization) bool {
	data := []byte(s)
	m, err := l.resources(data)
	if err != nil {
		if data, err = l.disk.ReadFile(path.Join(path.Dir(a.file), s)); err != nil {
			return false
		}
		if m, err = l.resources(data); err != nil {
			return false
		}
	}
	var generators []inflator
	for _, r := range m.Resources() {
		if r.GetKind() != "HelmChartInflationGenerator" {
			return false
		}
		text, err := r.AsYAML()
		if err != nil {
			return false
		}
		generators = append(generators, inflator{})
		if err := manifest.Unmarshal(text, &generators[len(generators)-1]); err != nil {
			l.errorf(a, "%v", err)
			return true
		}
	}
	for _, g := range generators {
		l.chart(a, g.HelmGlobals, g.HelmChart, k)
	}
	l.notEmpty(a.file, k)
	return len(generators) > 0
}

// chart renders one chart and adds its objects to the resources.
func (l *localCheck) chart(a at, globals types.HelmGlobals, h types.HelmChart, k *types.Kustomization) {
	switch {
	case l.k.NoHelm:
		l.errorf(a, "%s: must specify --enable-helm (kustomize.buildOptions in Argo CD's settings)", h.Name)
		return
	case h.Name == "":
		l.errorf(a, "chart name cannot be empty")
		return
	}
	files, at, ok := l.chartFiles(a, globals, h)
	if !ok {
		return
	}
	c, err := l.chartOptions(a, globals, h, files)
	if err != nil {
		l.noChart(a, h, err)
		return
	}
	o := Options{
		URL: func(name string) string { return l.k.URL(path.Join(at, name)) }, Chart: c, Lenient: true,
		KubeVersion: cmp.Or(h.KubeVersion, l.k.KubeVersion), APIVersions: h.ApiVersions,
	}
	if len(o.APIVersions) == 0 {
		o.APIVersions = l.k.APIVersions
	}
	rendered, err := Helm(l.ctx, files, o)
	if err != nil {
		l.errs = append(l.errs, l.position(a.of(h.Name)).Errorf("%s: %s: %w", a.field, h.Name, err))
		return
	}
	l.warnings = append(l.warnings, rendered.Warnings...)
	var objects []manifest.Object
	for _, d := range rendered.Documents {
		if !h.SkipHooks || !isHook(d) {
			objects = append(objects, d.Object)
		}
	}
	var b bytes.Buffer
	if err := manifest.WriteYAML(&b, objects...); err != nil {
		l.errorf(a, "%s: %v", h.Name, err)
		return
	}
	k.Resources = append(k.Resources, l.fresh(a, b.Bytes()))
}

// noChart notes why a chart is not rendered: an error of Kustomize, too, or something that is not available.
func (l *localCheck) noChart(a at, h types.HelmChart, err error) {
	if errors.Is(err, errNotHere) {
		l.missing = append(l.missing, &MissingChartError{Name: h.Name, Namespace: h.Namespace, error: l.error(a, "%s: %v", h.Name, err)})
		return
	}
	l.errorf(a, "%s: %v", h.Name, err)
}

// chartDir is where a chart is looked for.
func (l *localCheck) chartDir(a at, globals types.HelmGlobals, h types.HelmChart) (string, error) {
	home := cmp.Or(globals.ChartHome, types.HelmDefaultHome)
	if path.IsAbs(home) {
		return "", fmt.Errorf("chartHome %q is outside of the source", home)
	}
	dir := path.Join(path.Dir(a.file), home, h.Name)
	if h.Version != "" && h.Repo != "" {
		dir = path.Join(path.Dir(a.file), home, h.Name+"-"+h.Version, h.Name)
	}
	if in, _ := top(dir); in != mountOf(a) {
		return "", fmt.Errorf("chartHome %q is outside of the source", home)
	}
	return dir, nil
}

// chartFiles finds a chart beside its Kustomization, or fetches it. It returns also where it is.
func (l *localCheck) chartFiles(a at, globals types.HelmGlobals, h types.HelmChart) ([]tree.File, string, bool) {
	dir, err := l.chartDir(a, globals, h)
	if err != nil {
		l.errorf(a, "%s: %v", h.Name, err)
		return nil, "", false
	}
	if real, kind := l.disk.find(dir); kind == tree.Directory {
		mount, rest := top(real)
		wanted := tree.Selection{Dir: path.Join(".", rest), Links: true}
		files, err := l.disk.mounts[mount].view.Select(l.ctx, wanted)
		if err != nil {
			l.errorf(a, "%s: %v", h.Name, err)
			return nil, "", false
		}
		for i, f := range files {
			if mount == root && l.k.Read != nil {
				l.k.Read(f.Name)
			}
			files[i].Name = wanted.Relative(f.Name)
		}
		return files, l.disk.name(real), true
	}
	switch {
	case h.Repo == "":
		l.errorf(a, "the chart %s is not in the source", h.Name)
	case l.k.Remote == nil:
		l.lacksChart(a, globals, h, fmt.Errorf("the chart %s %s of %s is not in the source", h.Name, h.Version,
			giturl.Redact(h.Repo)))
	default:
		files, err := l.k.Remote.Chart(l.ctx, h.Repo, h.Name, h.Version)
		if err == nil {
			return files, "chart " + h.Name, true
		}
		l.lacksChart(a, globals, h, err)
	}
	return nil, "", false
}

// chartOptions returns the options of a chart in a Kustomization. Without files, the chart is not available.
func (l *localCheck) chartOptions(a at, globals types.HelmGlobals, h types.HelmChart, files []tree.File) (Chart, error) {
	c := Chart{
		ReleaseName: cmp.Or(h.ReleaseName, "release-name"), Namespace: cmp.Or(h.Namespace, "default"), SkipCRDs: !h.IncludeCRDs,
		SkipTests: h.SkipTests,
	}
	if h.NameTemplate != "" {
		if h.ReleaseName != "" {
			return c, errors.New("cannot set nameTemplate and releaseName")
		}
		name, err := ReleaseName(l.ctx, h.NameTemplate)
		if err != nil {
			return c, notHere(err, errors.Is(err, ErrName))
		}
		c.ReleaseName = name
	}
	if !slices.Contains([]string{"", "override", "merge", "replace"}, h.ValuesMerge) {
		return c, errors.New("valuesMerge must be one of [merge override replace]")
	}
	values, err := l.values(a, globals, h, files)
	if err != nil {
		return c, err
	}
	c.ValueFiles = []tree.File{{Name: cmp.Or(h.ValuesFile, "values.yaml"), Data: values}}
	for _, name := range h.AdditionalValuesFiles {
		data, err := l.load(a, name)
		if err != nil {
			return c, err
		}
		c.ValueFiles = append(c.ValueFiles, tree.File{Name: name, Data: data})
	}
	return c, nil
}

// MissingChartError says that a chart is not available.
type MissingChartError struct {
	Name string
	// Values are the values that it would be rendered with, besides its own.
	Values map[string]any
	// Namespace is the namespace of its release, "" if it is not set.
	Namespace string
	error
}

// Unwrap returns the error at its position.
func (e *MissingChartError) Unwrap() error { return e.error }

func (l *localCheck) lacksChart(a at, globals types.HelmGlobals, h types.HelmChart, err error) {
	missing := &MissingChartError{Name: h.Name, Namespace: h.Namespace, error: l.error(a, "%v", err)}
	c, err := l.chartOptions(a, globals, h, nil)
	switch {
	case errors.Is(err, errNotHere):
	case err != nil:
		l.errorf(a, "%s: %v", h.Name, err)
	default:
		missing.Values, _ = chartValues(c) // broken ones are found when the chart is there
	}
	l.missing = append(l.missing, missing)
}

// mountOf is the mount of a Kustomization.
func mountOf(a at) string {
	mount, _ := top(a.file)
	return mount
}

// isURL reports whether Kustomize fetches a file instead of reading it.
func isURL(s string) bool {
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "http:") || strings.HasPrefix(s, "https:")
}
