package source

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// helm renders a chart.
func (j *job) helm() error {
	files, err := j.chartFiles(j.dir)
	if err != nil {
		return err
	}
	chart, err := j.chart()
	if err != nil {
		return err
	}
	h := manifest.Map(j.spec, "helm")
	o := render.Options{
		URL: func(name string) string { return j.URL(path.Join(j.dir, name)) }, Chart: chart, Lenient: !j.Strict,
		KubeVersion: cmp.Or(manifest.String(h, "kubeVersion"), j.KubeVersion), APIVersions: j.APIVersions,
	}
	if list := manifest.Strings(h["apiVersions"]); len(list) > 0 {
		o.APIVersions = list
	}
	rendered, err := render.Helm(j.ctx, files, o)
	var missing *render.MissingError
	if errors.As(err, &missing) && !j.Strict {
		var more []tree.File
		if more, o.Chart.Without, err = j.dependencies(files, missing.Names, chart); err != nil {
			return err
		}
		if err := j.ctx.Err(); err != nil {
			return err
		}
		rendered, err = render.Helm(j.ctx, slices.Concat(files, more), o)
	}
	switch {
	case err != nil && len(o.Chart.Without) > 0:
		j.lacks(fmt.Errorf("%w; the missing dependency may be the cause", err))
		return nil
	case err != nil:
		return err
	}
	j.warn(Lenient, rendered.Warnings)
	j.add(rendered.Documents)
	return nil
}

// chartFiles reads all files of a chart, through links.
func (j *job) chartFiles(dir string) ([]tree.File, error) {
	wanted := tree.Selection{Dir: dir, Links: true}
	files, err := j.View.Select(j.ctx, wanted)
	if err != nil {
		return nil, err
	}
	out := make([]tree.File, len(files))
	for i, f := range files {
		j.used("", f.Name)
		out[i] = tree.File{Name: wanted.Relative(f.Name), Data: f.Data}
	}
	return out, nil
}

// chart returns the input of the chart: values in the order in which they win, and names.
func (j *job) chart() (render.Chart, error) {
	h := manifest.Map(j.spec, "helm")
	flag := func(name string) bool { b, _ := h[name].(bool); return b }
	c := render.Chart{
		Namespace: cmp.Or(j.namespace(), "default"),
		SkipCRDs:  flag("skipCrds"), SkipTests: flag("skipTests"), SkipSchema: flag("skipSchemaValidation"),
	}
	if v := manifest.String(h, "version"); v != "" && v != "v3" && !j.Strict {
		return c, fmt.Errorf("helm.version: %q is not supported; it must be v3, or not set", v)
	}
	var err error
	if c.ReleaseName, err = j.releaseName(h); err != nil {
		return c, err
	}
	if c.ValueFiles, err = j.valueFiles(h); err != nil {
		return c, err
	}
	if c.Values = manifest.Map(h, "valuesObject"); c.Values == nil && manifest.String(h, "values") != "" {
		var v any
		if err := manifest.Unmarshal([]byte(manifest.String(h, "values")), &v); err != nil {
			return c, fmt.Errorf("helm.values is not YAML: %w", err)
		}
		m, ok := v.(map[string]any)
		if v != nil && !ok {
			return c, fmt.Errorf("helm.values must be an object as YAML text, it is %s", manifest.TypeName(v))
		}
		c.Values = m
	}
	c.Set, err = j.parameters(h)
	return c, err
}

// namespace is the namespace of the release.
func (j *job) namespace() string {
	return cmp.Or(manifest.String(j.spec, "helm", "namespace"), manifest.String(j.spec, "kustomize", "namespace"), j.Namespace)
}

// releaseName is the release name of the source, a template without parameters (--name-template), or the Application's name.
func (j *job) releaseName(h map[string]any) (string, error) {
	name := cmp.Or(manifest.String(h, "releaseName"), j.release(), "release-name")
	if j.Strict {
		return name, nil
	}
	evaluated, err := render.ReleaseName(j.ctx, name)
	if errors.Is(err, render.ErrName) {
		j.lacks(fmt.Errorf("helm.releaseName: %w", oneLine(err)))
		return cmp.Or(j.release(), "release-name"), nil
	}
	return evaluated, err
}

// parameters are --set, then --set-string, then --set-file; of two with one name the last one counts.
func (j *job) parameters(h map[string]any) ([]render.Set, error) {
	lists := [3]map[string]string{{}, {}, {}}
	list, _ := h["parameters"].([]any)
	for _, p := range list {
		m, _ := p.(map[string]any)
		i := 0
		if force, _ := m["forceString"].(bool); force {
			i = 1
		}
		lists[i][manifest.String(m, "name")] = j.expand(manifest.String(m, "value"))
	}
	list, _ = h["fileParameters"].([]any)
	for _, p := range list {
		m, _ := p.(map[string]any)
		f, err := j.valueFile(manifest.String(m, "path"), false)
		if err != nil {
			return nil, fmt.Errorf("helm.fileParameters: %s: %w", manifest.String(m, "name"), err)
		}
		if f != nil {
			lists[2][manifest.String(m, "name")] = string(f.Data)
		}
	}
	var out []render.Set
	for i, values := range lists {
		for _, name := range manifest.Keys(values) {
			out = append(out, render.Set{Name: name, Value: values[name], String: i == 1, File: i == 2})
		}
	}
	return out, nil
}
