package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
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
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Chart says how to render a chart, as Argo CD would with "helm template".
type Chart struct {
	ReleaseName string
	Namespace   string
	ValueFiles  []tree.File    // later ones win
	Values      map[string]any // win over ValueFiles
	Set         []Set          // win over Values
	SkipCRDs    bool
}

// Set is one value, as "helm template --set" has it; String takes the value for text whatever it looks like.
type Set struct {
	Name, Value string
	String      bool
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
	docs, err := decode(append(crds(c, o), templates(rendered, o)...))
	return slices.DeleteFunc(docs, unknownHook), err
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
		var v any
		if err := manifest.Unmarshal(f.Data, &v); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		more, ok := v.(map[string]any)
		if v != nil && !ok {
			return nil, fmt.Errorf("%s: values must be an object, they are %s", f.Name, manifest.TypeName(v))
		}
		values = loader.MergeMaps(values, more)
	}
	values = loader.MergeMaps(values, plainNumbers(c.Values))
	for _, s := range c.Set {
		// Argo CD escapes commas, which would begin another value.
		text, parse := s.Name+"="+strings.ReplaceAll(s.Value, ",", `\,`), strvals.ParseInto
		if s.String {
			parse = strvals.ParseIntoString
		}
		if err := parse(text, values); err != nil {
			return nil, fmt.Errorf("parameter %s: %s", s.Name, oneLine(err))
		}
	}
	return values, nil
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
		case json.Number:
			f, _ := v.Float64()
			return f
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

// defaultKubeVersion is that of the API versions that Helm's library knows. Its own default is 1.20: the real one is a
// flag of Helm's build.
const defaultKubeVersion = "1.34.0"

// capabilities are those of Argo CD's environment, or the defaults of helm template.
func capabilities(o Options) (*common.Capabilities, error) {
	c := common.DefaultCapabilities.Copy()
	version := cmp.Or(o.KubeVersion, defaultKubeVersion)
	if strings.Count(version, ".") == 1 {
		version += ".0" // Argo CD knows no more of it, and the Helm of Argo CD completes it
	}
	v, err := common.ParseKubeVersion(version)
	if err != nil {
		return nil, fmt.Errorf("the Kubernetes version %q (KUBE_VERSION) is not one", o.KubeVersion)
	}
	c.KubeVersion = *v
	c.APIVersions = append(slices.Clone(c.APIVersions), o.APIVersions...)
	return c, nil
}

// validateValues checks the values of a chart and its dependencies against their schemas, without a network.
func validateValues(c *helmchart.Chart, values any) error {
	var errs []error
	if len(c.Schema) > 0 {
		errs = append(errs, validateAgainst(c, values))
	}
	// The loader goes over a map.
	subcharts := slices.SortedFunc(slices.Values(c.Dependencies()), func(a, b *helmchart.Chart) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, sub := range subcharts {
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
	compiler.DefaultDraft(jsonschema.Draft7) // as the Helm of Argo CD
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
		_, inside, _ := strings.Cut(f.Filename, "/")
		files = append(files, tree.File{Name: o.URL(inside), Data: f.File.Data})
	}
	tree.Sort(files)
	return files
}

// separator is where helm template cuts documents: also in front of "---apiVersion: v1", as templates often give.
var separator = regexp.MustCompile(`(?:^|\s*\n)---\s*`)

// templates returns what was rendered and can hold objects: no partials, no notes. The name of the chart in front of
// theirs is no directory in the source.
func templates(rendered map[string]string, o Options) []tree.File {
	var files []tree.File
	for name, text := range rendered {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(path.Base(name), "_") || strings.HasSuffix(name, "NOTES.txt") || text == "" {
			continue
		}
		_, inside, _ := strings.Cut(name, "/")
		// Documents end with one newline, as from helm template: it is in the text of a last block scalar.
		files = append(files, tree.File{Name: o.URL(inside) + " (rendered)", Data: []byte(strings.TrimPrefix(separator.ReplaceAllString(text, "\n---\n"), "\n") + "\n")})
	}
	tree.Sort(files)
	return files
}

// hookEvents are those that helm template knows.
var hookEvents = []string{
	"pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback", "test", "test-success",
}

// unknownHook reports whether helm template leaves an object out, such as those of Helm 2 with crd-install.
func unknownHook(d manifest.Document) bool {
	events, ok := manifest.Map(d.Object, "metadata", "annotations")["helm.sh/hook"].(string)
	return ok && d.Item == "" && slices.ContainsFunc(strings.Split(events, ","), func(e string) bool {
		return !slices.Contains(hookEvents, strings.ToLower(strings.TrimSpace(e)))
	})
}
