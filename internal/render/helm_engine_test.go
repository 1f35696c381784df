package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	valuesutil "helm.sh/helm/v4/pkg/chart/common/util"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/tree"
)

// loaded is a chart with all that templates can see, and its values.
func loaded(t *testing.T, templates map[string]string) (*helmchart.Chart, common.Values) {
	t.Helper()
	files := []tree.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\nappVersion: \"2\"\ndependencies: [{name: sub, version: 1.0.0}, {name: lib, version: 1.0.0}]\n")},
		{Name: "values.yaml", Data: []byte("a: {b: [1, 2.5, x, true, null], c: \"\"}\nlist: [{n: 1}, {n: 2}]\ntext: \"{{ .Values.a.b }} {{ include \\\"own\\\" . }}\"\nnothing: null\nsub: {x: over}\nglobal: {g: 1}\n")},
		{Name: "conf/a.txt", Data: []byte("one\ntwo\n")},
		{Name: "conf/b.bin", Data: []byte{0, 1, 255}},
		{
			Name: "templates/_own.tpl",
			Data: []byte(`{{ define "own" }}own of {{ .Chart.Name }}{{ end }}{{ define "both" }}parent{{ end }}{{ define "empty" }}x{{ end }}`),
		},
		{Name: "templates/_z.tpl", Data: []byte(`{{ define "empty" }}{{/* nothing */}}{{ end }}`)},
		{Name: "charts/sub/Chart.yaml", Data: []byte("apiVersion: v2\nname: sub\nversion: 1.0.0\n")},
		{Name: "charts/sub/values.yaml", Data: []byte("x: default\ny: 3\n")},
		{
			Name: "charts/sub/templates/a.yaml",
			Data: []byte(`{{ define "both" }}child{{ end }}{{ .Values.x }} {{ .Values.y }} {{ .Values.global.g }} {{ include "both" . }} {{ .Template.Name }} {{ .Template.BasePath }}`),
		},
		{Name: "charts/lib/Chart.yaml", Data: []byte("apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n")},
		{Name: "charts/lib/templates/_l.tpl", Data: []byte(`{{ define "lib" }}lib{{ . }}{{ end }}`)},
		{Name: "charts/lib/templates/not.yaml", Data: []byte(`{{ fail "a library has no templates" }}`)},
	}
	for name, text := range templates {
		files = append(files, tree.File{Name: "templates/" + name, Data: []byte(text)})
	}
	c, err := readChart(files, Options{URL: func(s string) string { return s }})
	if err != nil {
		t.Fatal(err)
	}
	values, err := valuesutil.ToRenderValuesWithSchemaValidation(c, map[string]any{},
		common.ReleaseOptions{Name: "r", Namespace: "n", IsInstall: true}, common.DefaultCapabilities, true)
	if err != nil {
		t.Fatal(err)
	}
	return c, values
}

// TestSameAsHelm: within the limits a chart becomes what it becomes with Helm's own engine, and has the same errors.
func TestSameAsHelm(t *testing.T) {
	texts := []string{
		`{{ .Values.a }} {{ .Values.a.b }} {{ .Values.nothing }} {{ .Values.missing }} {{ .nope }} {{ .Values.list }}`,
		`{{ .Release }} {{ .Release.Name }} {{ .Chart }} {{ .Chart.AppVersion }} {{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.APIVersions.Has "v1" }}`,
		`{{ .Subcharts.sub.Values }} {{ .Template }} {{ .Template.Name }}`,
		`{{ include "own" . }} {{ include "both" . }} {{ include "empty" . }} {{ include "lib" 1 }} {{ template "own" . }}`,
		`{{ tpl .Values.text . }} {{ tpl "{{ define \"in\" }}i{{ . }}{{ end }}{{ include \"in\" 1 }}{{ tpl \"{{ include \\\"in\\\" 2 }}\" . }}" . }}`,
		`{{ tpl "{{ .Values.missing }}x" . }} {{ tpl "" . }} {{ tpl "{{/* c */}}" . }}`,
		`{{ toYaml .Values.a }} {{ toYaml .Values.missing }} {{ mustToYaml .Values.list | nindent 2 }} {{ toYamlPretty .Values.a }} {{ toJson .Values }} {{ mustToJson 1 }} {{ toPrettyJson .Values.list }}`,
		`{{ fromYaml "a: [1, b]" }} {{ fromYaml "[" }} {{ fromYamlArray "[1, {a: b}]" }} {{ fromYamlArray "a: b" }} {{ (fromYaml "a: 1").a | typeOf }}`,
		`{{ fromJson "{\"a\": 1}" }} {{ fromJson "[" }} {{ fromJsonArray "[1, 2]" }} {{ fromJsonArray "{}" }} {{ toToml .Values.sub }} {{ fromToml "a = 1" }} {{ fromToml "=" }} {{ (fromToml "a = [1, 2]").a }}`,
		`{{ .Files.Get "conf/a.txt" }} {{ .Files.Lines "conf/a.txt" }} {{ (.Files.Glob "conf/*").AsConfig }} {{ (.Files.Glob "conf/*.bin").AsSecrets }} {{ range $k, $v := .Files.Glob "**" }}{{ $k }}{{ end }} {{ .Files.Get "no" }} {{ .Files }}`,
		`{{ required "no" .Values.a.b }} {{ required "no" false }} {{ default 1 .Values.nothing }} {{ lookup "v1" "Secret" "n" "x" }} {{ getHostByName "localhost" }}`,
		`{{ range $i, $e := .Values.list }}{{ $i }}{{ $e.n }}{{ if eq $i 0 }}{{ continue }}{{ end }}-{{ end }} {{ with .Values.a }}{{ .c }}{{ $.Values.list }}{{ else }}x{{ end }} {{ range .Values.nothing }}{{ else }}none{{ end }}`,
		`{{ $x := dict "a" 1 }}{{ $_ := set $x "b" $.Values.list }}{{ $x }} {{ $x | toJson }} {{ merge (dict "a" 2) $x }} {{ deepCopy $x }} {{ keys $x | sortAlpha }} {{ values (dict "a" 1) }}`,
		`{{ eq .Values.missing nil }} {{ eq 1 2 1 }} {{ ne .Values.a.c "" }} {{ eq .Values.nothing .Values.missing }} {{ and 1 0 }} {{ or .Values.missing "x" }} {{ not .Values.a }} {{ lt 1 2 }} {{ .Values.a.c | eq "" }}`,
		`{{ semver "1.2.3" }} {{ (semver "1.2.3-a").Prerelease }} {{ $v := semver "2.0.0" }}{{ $v }} {{ $v.Compare (semver "1.0.0") }} {{ toDate "2006-01-02" "2020-05-06" }} {{ (toDate "2006-01-02" "2020-05-06").Year }} {{ (toDate "2006-01-02" "2020-05-06").Format "Jan" }}`,
		`{{ printf "%s %v %d %q %T" "a" .Values.a 3 "x" .Values.list }} {{ print 1 2 "a" }} {{ println "x" }} {{ html "<a>" }} {{ js "'" }} {{ urlquery "a b" }} {{ len .Values.list }} {{ index .Values.a.b 2 }} {{ slice "abcd" 1 2 }}`,
		`{{- "trim" -}}   x {{- /* c */ -}} y {{ block "blk" . }}b{{ .Release.Name }}{{ end }} {{ 1.0 }} {{ 'a' }} {{ nil | default 3 }}`,
		`{{ list 1 "a" .Values.list | toJson }} {{ first (list 1 2) }} {{ rest (list 1 2) }} {{ concat (list 1) (list 2) }} {{ append (list 1) 2 }} {{ has 1 (list 1) }} {{ dig "a" "c" "d" (dict "a" (dict)) }} {{ pick (dict "a" 1 "b" 2) "a" }} {{ coalesce nil "" 3 }} {{ ternary 1 2 true }}`,
		`{{ .Values.a.b.c }}`, `{{ .Values.nothing.x.y }}`, `{{ fail "stop" }}`,
		"\n{{ include \"own\" . }}{{ required \"need\" .Values.missing }}", `{{ include "nope" . }}`, `{{ if }}`, `{{ nofunc }}`,
		`{{ env "HOME" }}`,
		`{{ eq .Values.list .Values.list }}`, `{{ index .Values.a.b 99 }}`, `{{ tpl "{{ fail \"in tpl\" }}" . }}`, `{{ tpl "{{ if }}" . }}`,
		`{{ template "nope" . }}`, `{{ mustToDate "2006" "x" }}`, `{{ .Values.text.x }}`, `{{ range 1 2 }}{{ end }}`, `{{ lt 1 "a" }}`,
		`{{ define "r" }}{{ if lt . 20 }}{{ . }}{{ include "r" (add1 .) }}{{ end }}{{ end }}{{ include "r" 1 }}`,
		`{{ include "own" . | upper | quote | trunc 4 }}`,
		`{{ regexReplaceAll "a(b)" "xabx" "${1}" }} {{ repeat 3 "x" }} {{ until 3 }} {{ seq 3 }}`,
	}
	for i, text := range texts {
		t.Run(fmt.Sprintf("%d %.30q", i, text), func(t *testing.T) {
			templates := map[string]string{"a.yaml": text, "nested/b.yaml": "{{ .Template.Name }} " + `{{ include "own" . }}`}
			c, values := loaded(t, templates)
			want, wantErr := engine.Engine{}.Render(c, values)
			c, values = loaded(t, templates)
			got, err := executeChart(t.Context(), c, values)
			if (err == nil) != (wantErr == nil) || err != nil && oneLine(err) != oneLine(wantErr) {
				t.Fatalf("got  %v\nwant %v", err, wantErr)
			}
			if diff := cmp.Diff(want, got); diff != "" && err == nil {
				t.Errorf("(-Helm +ours):\n%s", diff)
			}
			for name, text := range got {
				if strings.Contains(text, "argosy") {
					t.Errorf("%s: %s", name, text)
				}
			}
		})
	}
}

// TestLargeChart: a chart with 2 MB of templates, as the largest public ones have, is within the limits.
func TestLargeChart(t *testing.T) {
	hostile.Unraced(t)
	c, values := loaded(t, largeTemplates())
	want, err := engine.Engine{}.Render(c, values)
	if err != nil {
		t.Fatal(err)
	}
	c, values = loaded(t, largeTemplates())
	got, err := executeChart(t.Context(), c, values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-Helm +ours):\n%.2000s", diff)
	}
}

func largeTemplates() map[string]string {
	rule := "{{- if .Values.a }}\n- alert: x\n  labels:\n{{ toYaml .Values.a | indent 4 }}\n    name: {{ include \"own\" . | quote }}\n{{- range .Values.list }}\n    n: {{ .n | default 1 | int }}{{ printf \"%s-%d\" $.Release.Name (int .n) | trunc 63 | trimSuffix \"-\" }}\n{{- end }}\n" +
		"  expr: '{{ `{{ $labels.x }}` }} " + strings.Repeat("sum(rate(x[5m])) ", 10) + "'\n  ctx: {{ tpl .Values.text . }}\n{{- end }}\n"
	templates := map[string]string{}
	for i := range 200 {
		templates[fmt.Sprintf("%d.yaml", i)] = strings.Repeat(rule, 10_000/len(rule))
	}
	return templates
}
