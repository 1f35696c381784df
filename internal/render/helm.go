package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v4/pkg/chart/common"
	valuesutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Chart says how to render a chart, as Argo CD would with "helm template".
type Chart struct {
	ReleaseName string
	Namespace   string
	ValueFiles  []tree.File    // later ones win
	Values      map[string]any // win over ValueFiles
	SkipCRDs    bool
}

// chart renders a Helm chart.
func chart(files []tree.File, o Options) ([]manifest.Document, error) {
	if err := invalid(files, o); err != nil {
		return nil, err
	}
	c, err := loadChart(files, o)
	if err != nil {
		return nil, err
	}
	values, err := chartValues(o.Chart)
	if err != nil {
		return nil, err
	}
	fail := func(what string, err error) error {
		return fmt.Errorf("%s: %s: %s", o.URL("Chart.yaml"), what, oneLine(err))
	}
	if missing := missingDependencies(c); len(missing) > 0 {
		return nil, fmt.Errorf("%s: dependencies %s are not in charts/; package the chart with \"helm dependency build\"", o.URL("Chart.yaml"), strings.Join(missing, ", "))
	}
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, fail("dependencies", err)
	}
	capabilities, err := capabilities(o)
	if err != nil {
		return nil, err
	}
	if k := c.Metadata.KubeVersion; k != "" && !chartutil.IsCompatibleRange(k, capabilities.KubeVersion.Version) {
		return nil, fmt.Errorf("%s: the chart requires Kubernetes %s, the cluster has %s", o.URL("Chart.yaml"), k, capabilities.KubeVersion.Version)
	}
	release := common.ReleaseOptions{Name: o.Chart.ReleaseName, Namespace: o.Chart.Namespace, Revision: 1, IsInstall: true}
	// Helm's own validation of values would fetch schemas that a chart refers to.
	top, err := valuesutil.ToRenderValuesWithSchemaValidation(c, values, release, capabilities, true)
	if err != nil {
		return nil, fail("values", err)
	}
	if err := validateValues(c, top["Values"]); err != nil {
		return nil, fail("values", err)
	}
	rendered, err := engine.Engine{}.Render(c, top)
	if err != nil {
		return nil, fail("rendering", err)
	}
	return decode(append(crds(c, o), templates(rendered, o)...))
}

func loadChart(files []tree.File, o Options) (*helmchart.Chart, error) {
	ignored, err := helmIgnore(files)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", o.URL("Chart.yaml"), oneLine(err))
	}
	var buffered []*archive.BufferedFile
	for _, f := range files {
		if !ignored(f.Name) {
			buffered = append(buffered, &archive.BufferedFile{Name: f.Name, Data: bytes.TrimPrefix(f.Data, []byte("\xef\xbb\xbf"))})
		}
	}
	c, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", o.URL("Chart.yaml"), oneLine(err))
	}
	if c.Metadata.Type == "library" {
		return nil, fmt.Errorf("%s: the chart is a library, which cannot be deployed", o.URL("Chart.yaml"))
	}
	return c, nil
}

// chartValues merges value files and values.
func chartValues(c Chart) (map[string]any, error) {
	values := map[string]any{}
	for _, f := range c.ValueFiles {
		more, err := loader.LoadValues(bytes.NewReader(f.Data))
		if err != nil {
			return nil, fmt.Errorf("%s: %s", f.Name, oneLine(err))
		}
		values = loader.MergeMaps(values, more)
	}
	return loader.MergeMaps(values, plainNumbers(c.Values)), nil
}

// plainNumbers makes float64 of whole numbers, as Helm's own decoder does: templates see the difference.
func plainNumbers(m map[string]any) map[string]any {
	var convert func(v any) any
	convert = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			return plainNumbers(v)
		case []any:
			out := make([]any, len(v))
			for i, e := range v {
				out[i] = convert(e)
			}
			return out
		case int64:
			return float64(v)
		default:
			return v
		}
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = convert(v)
	}
	return out
}

func missingDependencies(c *helmchart.Chart) []string {
	var missing []string
	for _, d := range c.Metadata.Dependencies {
		has := func(sub *helmchart.Chart) bool { return sub.Name() == d.Name }
		if !slices.ContainsFunc(c.Dependencies(), has) {
			missing = append(missing, d.Name)
		}
	}
	return missing
}

// capabilities are those of Argo CD's environment, or the defaults of helm template.
func capabilities(o Options) (*common.Capabilities, error) {
	c := common.DefaultCapabilities.Copy()
	if o.KubeVersion != "" {
		v, err := common.ParseKubeVersion(o.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("the Kubernetes version %q (KUBE_VERSION) is not one", o.KubeVersion)
		}
		c.KubeVersion = *v
	}
	c.APIVersions = append(slices.Clone(c.APIVersions), o.APIVersions...)
	return c, nil
}

// validateValues checks the values of a chart and its dependencies against their schemas, without a network.
func validateValues(c *helmchart.Chart, values any) error {
	var errs []error
	if len(c.Schema) > 0 {
		errs = append(errs, validateAgainst(c, values))
	}
	for _, sub := range c.Dependencies() {
		m, ok := asMap(values)
		if !ok {
			continue
		}
		if err := validateValues(sub, m[sub.Name()]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func asMap(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case common.Values:
		return v, true
	case map[string]any:
		return v, true
	default:
		return nil, false
	}
}

func validateAgainst(c *helmchart.Chart, values any) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
	if err != nil {
		return fmt.Errorf("values.schema.json of chart %s: %w", c.Name(), err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	const name = "file:///values.schema.json"
	if err := compiler.AddResource(name, doc); err != nil {
		return fmt.Errorf("values.schema.json of chart %s: %w", c.Name(), err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		return fmt.Errorf("values.schema.json of chart %s: %w", c.Name(), err)
	}
	// By way of JSON, so that there are only types that the validator knows.
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if err := schema.Validate(instance); err != nil {
		_, detail, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("do not fit values.schema.json of chart %s: %s", c.Name(), detail)
	}
	return nil
}

// noLoader refuses schemas that are elsewhere.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not in the chart, and nothing is fetched", url)
}

// crds returns the files in crds/ directories, which are not templates.
func crds(c *helmchart.Chart, o Options) []tree.File {
	if o.Chart.SkipCRDs {
		return nil
	}
	var files []tree.File
	for _, f := range c.CRDObjects() {
		files = append(files, tree.File{Name: o.URL(f.Filename), Data: f.File.Data})
	}
	return files
}

// templates returns what was rendered and can hold objects: no partials, no notes. The name of the chart in front of
// theirs is no directory in the source.
func templates(rendered map[string]string, o Options) []tree.File {
	var files []tree.File
	for name, text := range rendered {
		if base := path.Base(name); strings.HasPrefix(base, "_") || base == "NOTES.txt" || strings.TrimSpace(text) == "" {
			continue
		}
		_, inside, _ := strings.Cut(name, "/")
		files = append(files, tree.File{Name: o.URL(inside) + " (rendered)", Data: []byte(text)})
	}
	tree.Sort(files)
	return files
}
