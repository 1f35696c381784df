package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

const chartFile = "apiVersion: v2\nname: c\nversion: 1.0.0\n"

func TestHelmErrors(t *testing.T) {
	var cases []errorCase
	add := func(name, want string, pairs ...string) {
		if pairs[0] != "Chart.yaml" {
			pairs = append(pairs, "Chart.yaml", chartFile)
		}
		cases = append(cases, errorCase{
			name, files(append(pairs, "templates/ok.yaml", object("ok"))...),
			render.Options{KubeVersion: "1.34.4"},
			want,
		})
	}
	values := func(name, want, data string) {
		cases = append(cases, errorCase{
			name, files("Chart.yaml", chartFile),
			render.Options{Chart: render.Chart{ValueFiles: files("prod.yaml", data)}},
			want,
		})
	}
	add("library", "Chart.yaml: the chart is a library, which cannot be deployed", "Chart.yaml", chartFile+"type: library\n")
	add("kind of chart", "Chart.yaml: validation: chart.metadata.type must be application or library", "Chart.yaml",
		chartFile+"type: thing\n")
	add("name", `Chart.yaml: validation: chart.metadata.name "../c" is invalid`, "Chart.yaml",
		"apiVersion: v2\nname: ../c\nversion: 1.0.0\n")
	add("version", `Chart.yaml: validation: chart.metadata.version "latest" is invalid`, "Chart.yaml",
		"apiVersion: v2\nname: c\nversion: latest\n")
	add("syntax of Chart.yaml",
		"Chart.yaml: cannot load Chart.yaml: error converting YAML to JSON: yaml: line 1: did not find expected node content", "Chart.yaml",
		"name: [\n")
	add("missing dependencies", `Chart.yaml: dependencies one, two are not in charts/; package the chart with "helm dependency build"`,
		"Chart.yaml", chartFile+"dependencies: [{name: one, version: 1.0.0}, {name: here, version: 1.0.0}, {name: two, version: 1.0.0, condition: two.enabled}]\n",
		"charts/here/Chart.yaml", "apiVersion: v2\nname: here\nversion: 1.0.0\n")
	add("no chart in charts", "Chart.yaml: error unpacking subchart sub in c: Chart.yaml file is missing", "charts/sub/values.yaml", "")
	add("no archive in charts", "Chart.yaml: error unpacking subchart sub.tgz in c: gzip: invalid header", "charts/sub.tgz",
		"not an archive")
	add("Kubernetes", "Chart.yaml: the chart requires Kubernetes >=1.99, the cluster has v1.34.4", "Chart.yaml",
		chartFile+"kubeVersion: '>=1.99'\n")
	add("helmignore", "Chart.yaml: .helmignore: double-star (**) syntax is not supported", ".helmignore", "**/x\n")
	add("ignored chart", "Chart.yaml: Chart.yaml file is missing", ".helmignore", "Chart.yaml\n")
	add("required", "templates/a.yaml:1: rendering: execution error at (c/templates/a.yaml:1:6): image.tag is required, see https://example.com",
		"templates/a.yaml",
		`a: {{ required "image.tag is required,\n  see https://example.com" .Values.tag }}`)
	add("required in a partial", "templates/a.yaml:1: rendering: execution error at (c/templates/a.yaml:1:6): set tag", "templates/a.yaml",
		`a: {{ include "tag" . }}`,
		"templates/_tag.tpl", `{{ define "tag" }}{{ required "set tag" .Values.tag }}{{ end }}`)
	add("fail", "templates/a.yaml:2: rendering: execution error at (c/templates/a.yaml:2:3): no", "templates/a.yaml", "\n{{ fail \"no\" }}")
	add("syntax", "templates/a.yaml:2: rendering: parse error at (c/templates/a.yaml:2): missing value for if", "templates/a.yaml",
		"a: b\n{{ if }}")
	add("function", `templates/a.yaml:1: rendering: parse error at (c/templates/a.yaml:1): function "env" not defined`, "templates/a.yaml",
		`a: {{ env "HOME" }}`)
	add("nil", `templates/a.yaml:1: rendering: c/templates/a.yaml:1:13 executing "c/templates/a.yaml" at <.Values.a.b.c>: nil pointer evaluating interface {}.b`,
		"templates/a.yaml", "a: {{ .Values.a.b.c }}")
	add("no partial", `templates/a.yaml:1: rendering: c/templates/a.yaml:1:6 executing "c/templates/a.yaml" at <include "x" .>: error calling include: template: no template "x" associated with template "gotpl"`,
		"templates/a.yaml", `a: {{ include "x" . }}`)
	add("values of the chart",
		"Chart.yaml: cannot load values.yaml: cannot unmarshal yaml document: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
		"values.yaml", "- a\n")
	values("values", "prod.yaml: values must be an object, they are a list", "- a\n")
	values("text as values", "prod.yaml: values must be an object, they are a string", "a\n")
	values("syntax of values", "prod.yaml:2: mapping values are not allowed in this context", "a: b\n  c: d\n")
	values("no values", "", "# nothing\n")
	cases = append(cases, errorCase{
		"version of Kubernetes", files("Chart.yaml", chartFile),
		render.Options{KubeVersion: "new"},
		`the Kubernetes version "new" (KUBE_VERSION) is not valid`,
	})

	const schema = "values.schema.json"
	add("schema", "Chart.yaml: values: do not fit values.schema.json of chart c: - at '': missing property 'b' - at '/a': got string, want integer", "values.yaml", "a: x\n",
		schema, `{"type":"object","required":["b"],"properties":{"a":{"type":"integer"}}}`)
	add("schemas of subcharts",
		"Chart.yaml: values: do not fit values.schema.json of chart one: - at '/a': got string, want integer do not fit values.schema.json of chart two: - at '/a': got null, want integer",
		"charts/one/Chart.yaml", "apiVersion: v2\nname: one\nversion: 1.0.0\n", "charts/one/values.yaml", "a: x\n", "charts/one/"+schema,
		`{"properties":{"a":{"type":"integer"}}}`,
		"charts/two/Chart.yaml", "apiVersion: v2\nname: two\nversion: 1.0.0\n", "charts/two/values.yaml", "a: null\n", "charts/two/"+schema,
		`{"properties":{"a":{"type":"integer"}}}`)
	add("no JSON", "Chart.yaml: values: values.schema.json of chart c: unexpected EOF", schema, `{"type":`)
	add("no schema", `Chart.yaml: values: values.schema.json of chart c: "file:///values.schema.json#" is not valid against metaschema: `+
		"jsonschema validation failed with 'http://json-schema.org/draft-07/schema#' - at '/type': 'anyOf' failed - at '/type': value must be one of "+
		"'array', 'boolean', 'integer', 'null', 'number', 'object', 'string' - at '/type': got string, want array", schema,
		`{"type":"thing"}`)
	add("schema without end",
		`Chart.yaml: values: do not fit values.schema.json of chart c: - at '': both /$ref and resolve to "file:///values.schema.json#" causing reference cycle`,
		schema, `{"$ref":"#"}`)
	add("file of this machine",
		`Chart.yaml: values: values.schema.json of chart c: failing loading "file:///etc/passwd": file:///etc/passwd is not in the chart, and nothing is fetched`,
		schema, `{"$ref":"file:///etc/passwd"}`)
	checkErrors(t, cases)
}

// TestCauseAtEnd checks that a long message keeps its end, where the cause is.
func TestCauseAtEnd(t *testing.T) {
	for name, template := range map[string]string{
		"umlauts": `{{ fail (printf "%s unable to execute template" (repeat 1000 "ü")) }}`,
	} {
		_, err := directory(files("Chart.yaml", chartFile, "templates/a.yaml", template), render.Options{})
		got := text(err)
		if !strings.HasPrefix(got, "templates/a.yaml:1: rendering: ") || !strings.HasSuffix(got, "unable to execute template") || len(got) > 700 ||
			got != strings.ToValidUTF8(got, "?") {
			t.Errorf("%s: got %d bytes: %s", name, len(got), got)
		}
	}
}

func TestSchemaNotFetched(t *testing.T) {
	outside := watch(t)
	for _, schema := range []string{
		`{"$ref":"URL"}`, `{"$ref":"URL#/definitions/a"}`, `{"$schema":"URL"}`, `{"$id":"URL","$ref":"other.json"}`,
		`{"properties":{"a":{"items":{"$ref":"URL"}}}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicRef":"URL"}`, `{"allOf":[{"$ref":"URL"}]}`,
		`{"definitions":{"unused":{"$ref":"URL"}}}`,
	} {
		for _, at := range []string{"", "charts/sub/"} {
			url := outside.url + "/schema.json"
			_, err := directory(files("Chart.yaml", chartFile, "charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
				at+"values.schema.json", strings.ReplaceAll(schema, "URL", url)), render.Options{})
			if got := text(err); !strings.Contains(got, "is not in the chart, and nothing is fetched") &&
				!strings.Contains(schema, "unused") {
				t.Errorf("%s: got error %v", schema, err)
			}
			outside.quiet(t, schema)
		}
	}
}

func TestCapabilities(t *testing.T) {
	template := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {
version: "{{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Major }} {{ .Capabilities.KubeVersion.Minor }}",
has: '{{ .Capabilities.APIVersions.Has "example.com/v1/Bee" }} {{ .Capabilities.APIVersions.Has "example.com/v1" }} {{ .Capabilities.APIVersions.Has "apps/v1" }}'}}`
	chart := files("Chart.yaml", chartFile+"kubeVersion: '>=1.30.0-0'\n", "templates/a.yaml", template)
	for _, tt := range []struct{ version, apis, wantVersion, wantHas string }{
		{"1.34.4", "", "v1.34.4 1 34", "false false true"},
		{"v1.34.4", "example.com/v1", "v1.34.4 1 34", "false true true"},
		{"1.34.4", "example.com/v1 example.com/v1/Bee", "v1.34.4 1 34", "true true true"},
		// What Argo CD gives to plugins; its Helm makes the same of it.
		{"1.34", "", "v1.34.0 1 34", "false false true"},
		// A build of Helm has that of its Kubernetes libraries.
		{"", "", "v1.34.0 1 34", "false false true"},
	} {
		t.Run(tt.version+" "+tt.apis, func(t *testing.T) {
			got, err := directory(chart, render.Options{KubeVersion: tt.version, APIVersions: strings.Fields(tt.apis)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any{"version": tt.wantVersion, "has": tt.wantHas}, got[0].Object["data"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSkipCRDs(t *testing.T) {
	chart := files("Chart.yaml", chartFile, "crds/crd.yaml", "broken: [\n", "templates/a.yaml", object("a"))
	got, err := directory(chart, render.Options{Chart: render.Chart{SkipCRDs: true}})
	if err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestByteOrderMark checks what an editor on Windows leaves at the start of files.
func TestByteOrderMark(t *testing.T) {
	const bom = "\xef\xbb\xbf"
	for _, source := range [][]tree.File{
		files("a.yaml", bom+object("a")),
		files("kustomization.yaml", bom+"resources: [a.yaml]\r\n", "a.yaml", bom+object("a")),
		files("Chart.yaml", bom+chartFile, "values.yaml", bom+"name: a\r\n", "values.schema.json", bom+"{}", ".helmignore",
			bom+"bad.yaml\r\n", "templates/bad.yaml", "[",
			"templates/a.yaml", bom+"{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Values.name }}}}\r\n"),
	} {
		got, err := directory(source, render.Options{Chart: render.Chart{ValueFiles: files("v.yaml", bom+"x: y\n")}})
		if diff := cmp.Diff("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n", yaml(t, got)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", source[0].Name, err, diff)
		}
	}
}
