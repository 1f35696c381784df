package siegetest

import (
	_ "embed" // the answers
	"encoding/json"
	"fmt"
	"strings"
)

// A set, and a chart, as projects have them.
const setFile = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: x}
spec:
  goTemplate: true
  generators: [%s]
%s  template:
    metadata: {name: '{{ .name }}', annotations: {%s}}
    spec: {project: %s, source: {repoURL: https://git.example.com/x, path: 'apps/{{ .name }}'}, destination: {name: in-cluster, namespace: x}}
`

// set is an ApplicationSet of a project with some annotations in its template, and more fields.
func set(project, annotations, more string) string {
	return fmt.Sprintf(setFile, "{list: {elements: [{name: a}, {name: b}]}}", more, annotations, project)
}

// chart is a chart with a template.
func chart(dir, template string) map[string]string {
	return map[string]string{
		dir + "Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", dir + "templates/x.yaml": template,
		dir + "values.yaml": "list: [a, b, c]\n",
	}
}

const goodTemplate = `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-{{ include "x" . }}}
data:
{{- range $i, $v := .Values.list }}
  {{ $v | quote }}: {{ printf "%s-%d" $v $i | upper | sha256sum | trunc 12 | quote }}
{{- end }}
{{- define "x" }}{{ .Chart.Name | replace "c" "chart" }}{{ end }}
`

const goodApplication = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: fixed, namespace: argocd}\nspec: " +
	"{project: good, source: {repoURL: https://git.example.com/x, path: x}, destination: {name: in-cluster, namespace: x}}\n"

// goodRepository has two commits. What is in apps/a is the same in both.
func goodRepository() *repository {
	files := func(text string) map[string]string {
		return map[string]string{
			"apps/a/cm.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
			"apps/b/cm.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {text: " + text + "}\n",
			"teams/a/config.json": `{"team": "one"}`, "teams/b/config.json": `{"team": "two"}`,
		}
	}
	return ofFiles(files("old"), files("new"))
}

//go:embed testdata/answers.json
var answers []byte

// Honest are requests of a project that means well, with their answers.
func (w *World) Honest() ([]Request, error) {
	repo := w.Git + "/good.git"
	out := []Request{
		{Name: "spec", Plugin: "appset", Files: map[string]string{"x": ""}, Env: map[string]string{"PARAM_SPEC": set(Good, "x: fine", "")}},
		{Name: "folder", Plugin: "appset", Dir: "app", Files: map[string]string{"app/set.yaml": set(Good,
			`x: '{{ .name | upper | repeat 3 }}'`, ""), "app/fixed.yaml": goodApplication, "other/x": "x"}},
		{Name: "chart", Plugin: "appset", Dir: "app", Files: merged(chart("app/", goodTemplate),
			map[string]string{"app/templates/set.yaml": strings.ReplaceAll(set(Good, "x: fine", ""), "{{ .name }}", "{{`{{ .name }}`}}")})},
		{Name: "kustomization", Plugin: "appset", Dir: "app", Files: map[string]string{
			"app/kustomization.yaml":  "namePrefix: good-\nresources: [../base]\nconfigMapGenerator: [{name: cm, literals: [a=b]}]\n",
			"base/kustomization.yaml": "resources: [set.yaml]\n", "base/set.yaml": set(Good, "x: fine", ""),
		}},
		{Name: "git", Plugin: "appset", Files: map[string]string{"x": ""}, Env: teams(repo)},
		{Name: "new commit", Plugin: "appset", Files: map[string]string{"x": ""}, Env: teams(w.Git + "/good-NUMBER.git")},
		{
			Name: "pinned", Plugin: "appset", Files: map[string]string{"x": ""},
			Env: w.pinned(repo, w.repositories["good"].commit(1), "good-pinned", Good, "apps/"),
		},
		{Name: "s3", Plugin: "s3", Dir: "app", Files: map[string]string{"app/s3-source.yaml": "bucket: artifacts\npath: good\n"}},
		{
			Name: "s3 chart", Plugin: "s3", Dir: "app",
			Files: map[string]string{"app/s3-source.yaml": "bucket: artifacts\npath: goodchart\n"},
		},
	}
	var known map[string][]string
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(answers), "GIT", w.Git)), &known); err != nil {
		return nil, err
	}
	for i, r := range out {
		out[i] = r.Packs()
		out[i].Want = known[r.Name]
	}
	return out, nil
}

// teams is the environment of an application with an Application for each file of a repository.
func teams(repo string) map[string]string {
	spec := fmt.Sprintf(setFile, "{git: {repoURL: '"+repo+"', revision: main, files: [{path: teams/*/config.json}]}}", "",
		"team: '{{ .team }}'", Good)
	return map[string]string{"ARGOCD_APP_SOURCE_REPO_URL": repo, "PARAM_SPEC": strings.ReplaceAll(spec, ".name", ".path.basename")}
}

// pinned is the environment of an application whose Applications a and b are pinned, if they have changed.
func (w *World) pinned(repo, commit, app, project, dir string) map[string]string {
	spec := strings.Replace(set(project, "x: fine", ""), "repoURL: https://git.example.com/x, path: 'apps/{{ .name }}'",
		"repoURL: '"+repo+"', path: '"+dir+"{{ .name }}', targetRevision: main", 1)
	spec = strings.Replace(spec, "{name: '{{ .name }}'", "{name: '"+app+"-{{ .name }}'", 1)
	return map[string]string{
		"ARGOCD_APP_NAME": app, "ARGOCD_APP_SOURCE_REPO_URL": repo, "ARGOCD_APP_REVISION": commit,
		"PARAM_PIN": "changed", "PARAM_SPEC": spec,
	}
}

func merged(files ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, list := range files {
		for name, content := range list {
			out[name] = content
		}
	}
	return out
}

// goodObjects are those of the honest project in S3.
func goodObjects() map[string]string {
	out := map[string]string{
		"good/cm.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n",
		"good/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {a: b}\n",
	}
	for name, content := range chart("goodchart/", goodTemplate) {
		out[name] = content
	}
	return out
}
