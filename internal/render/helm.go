package render

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	valuesutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

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
	SkipTests   bool // leaves out hooks that are tests
	SkipSchema  bool // does not hold values to values.schema.json
	// Without are dependencies that are left out, because they are not available.
	Without []string
}

// Set is one value, as "helm template --set" has it; String sets it as text, even if it looks like a number.
type Set struct {
	Name, Value string
	String      bool
	File        bool // Value is the content of a file
}

// Rendered is the result of a chart.
type Rendered struct {
	Documents []manifest.Document
	Warnings  []error
}

// Helm renders a Helm chart.
func Helm(ctx context.Context, files []tree.File, o Options) (rendered *Rendered, err error) {
	if o.URL == nil {
		o.URL = func(name string) string { return name }
	}
	// Helm's own engine makes errors of panics; the rest of Helm does not.
	defer func() {
		if r := recover(); r != nil {
			rendered, err = nil, manifest.Errorf(o.URL("Chart.yaml"), "a panic in Helm: %.200v", r)
		}
	}()
	c, err := loadChart(files, o)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ValidateReleaseName(o.Chart.ReleaseName); err != nil && o.Lenient {
		return nil, fmt.Errorf("release name %q: %w", o.Chart.ReleaseName, err)
	}
	values, err := chartValues(o.Chart)
	if err != nil {
		return nil, err
	}
	fail := func(what string, err error) error { return o.position(err).Errorf("%s: %s", what, oneLine(err)) }
	if n := len(c.Metadata.Dependencies); n > maxDependencies {
		return nil, manifest.Errorf(o.URL("Chart.yaml"), "%d dependencies are over the limit of %d", n, maxDependencies)
	}
	if missing := missingDependencies(c); len(missing) > 0 {
		return nil, &MissingError{File: o.URL("Chart.yaml"), Names: missing}
	}
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, fail("dependencies", err)
	}
	capabilities, err := capabilities(o)
	if err != nil {
		return nil, err
	}
	if k := c.Metadata.KubeVersion; k != "" && !chartutil.IsCompatibleRange(k, capabilities.KubeVersion.Version) {
		return nil, manifest.Errorf(o.URL("Chart.yaml"), "the chart requires Kubernetes %s, the cluster has %s", k,
			capabilities.KubeVersion.Version)
	}
	release := common.ReleaseOptions{Name: o.Chart.ReleaseName, Namespace: o.Chart.Namespace, Revision: 1, IsInstall: true}
	// Helm's own validation of values would fetch schemas that a chart refers to.
	top, err := valuesutil.ToRenderValuesWithSchemaValidation(c, values, release, capabilities, true)
	if err != nil {
		return nil, fail("values", err)
	}
	var warnings []error
	if !o.Chart.SkipSchema {
		err := validateValues(c, top["Values"])
		if o.Lenient {
			warnings, err = withoutRemote(err)
		}
		if err != nil {
			return nil, fail("values", err)
		}
	}
	texts, err := executeChart(ctx, c, top)
	if err != nil {
		return nil, fail("rendering", err)
	}
	out, err := objects(ctx, crds(c, o), templates(texts, o), o)
	if err != nil {
		return nil, err
	}
	out.Warnings = append(warnings, out.Warnings...)
	return out, nil
}

// inTemplate matches a template of a chart, by the name of the chart, and a line in an error of Helm.
var inTemplate = regexp.MustCompile(`[( ][\w.-]+/(templates/[^\s:)]+):(\d+)`)

// position returns the position of an error of Helm: the template that it names, or the chart.
func (o Options) position(err error) manifest.Position {
	m := inTemplate.FindStringSubmatch(" " + err.Error())
	if m == nil {
		return manifest.Position{File: o.URL("Chart.yaml")}
	}
	line, _ := strconv.Atoi(m[2]) // no number is 0
	return manifest.Position{File: o.URL(m[1]), Line: line}
}

// objects decodes the rendered templates of a chart.
func objects(ctx context.Context, crds, templates []tree.File, o Options) (*Rendered, error) {
	definitions, definitionsErr := decode(ctx, crds, "", o.Lenient)
	rest, err := decode(ctx, templates, manifest.Rendered, o.Lenient)
	if err := errors.Join(definitionsErr, err); err != nil {
		return nil, err
	}
	if o.Lenient {
		if err := checkHeads(rest.docs); err != nil {
			return nil, err
		}
		order(rest.docs)
	}
	docs := slices.DeleteFunc(rest.docs, func(d manifest.Document) bool { return unknownHook(d) || o.Chart.SkipTests && isTest(d) })
	return &Rendered{append(definitions.docs, docs...), append(definitions.warnings, rest.warnings...)}, nil
}

// loadChart reads a chart that can be deployed.
func loadChart(files []tree.File, o Options) (*helmchart.Chart, error) {
	c, err := readChart(files, o)
	if err != nil {
		return nil, err
	}
	c.Metadata.Dependencies = slices.DeleteFunc(c.Metadata.Dependencies, func(d *helmchart.Dependency) bool {
		return d != nil && slices.Contains(o.Chart.Without, d.Name)
	})
	if c.Metadata.Type == "library" {
		return nil, manifest.Errorf(o.URL("Chart.yaml"), "the chart is a library, which cannot be deployed")
	}
	return c, nil
}

func readChart(files []tree.File, o Options) (*helmchart.Chart, error) {
	if err := boundChart(files); err != nil {
		return nil, manifest.Errorf(o.URL("Chart.yaml"), "%w", err)
	}
	ignored, err := helmIgnore(files)
	if err != nil {
		return nil, manifest.Errorf(o.URL("Chart.yaml"), "%s", oneLine(err))
	}
	var buffered []*archive.BufferedFile
	for _, f := range files {
		if !ignored(f.Name) {
			buffered = append(buffered, &archive.BufferedFile{Name: f.Name, Data: bytes.TrimPrefix(f.Data, []byte("\xef\xbb\xbf"))})
		}
	}
	c, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, manifest.Errorf(o.URL("Chart.yaml"), "%s", oneLine(err))
	}
	return c, nil
}

// MissingError says that dependencies of a chart are not in it.
type MissingError struct {
	File  string
	Names []string
}

func (e *MissingError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error at its position.
func (e *MissingError) Unwrap() error {
	return manifest.Errorf(e.File, "dependencies %s are not in charts/; package the chart with \"helm dependency build\"",
		strings.Join(e.Names, ", "))
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

// capabilities returns the capabilities of the cluster, or the defaults of helm template.
func capabilities(o Options) (*common.Capabilities, error) {
	c := common.DefaultCapabilities.Copy()
	version := cmp.Or(o.KubeVersion, defaultKubeVersion)
	if strings.Count(version, ".") == 1 {
		version += ".0" // Argo CD knows no more of it, and the Helm of Argo CD completes it
	}
	v, err := common.ParseKubeVersion(version)
	if err != nil {
		return nil, fmt.Errorf("the Kubernetes version %q (KUBE_VERSION) is not valid", o.KubeVersion)
	}
	c.KubeVersion = *v
	c.APIVersions = append(slices.Clone(c.APIVersions), o.APIVersions...)
	return c, nil
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
		files = append(files, tree.File{
			Name: o.URL(inside),
			Data: []byte(strings.TrimPrefix(separator.ReplaceAllString(text, "\n---\n"), "\n") + "\n"),
		})
	}
	tree.Sort(files)
	return files
}
