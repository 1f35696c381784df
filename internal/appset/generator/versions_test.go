package generator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
)

// TestValuesOfSecond is about values of the second generator of a matrix that use parameters of the first (a), of their own (name), of both
// and of none.
func TestValuesOfSecond(t *testing.T) {
	const matrix = "matrix: {generators: [{list: {elements: [{a: x}]}}, %s]}"
	const clusters = "{clusters: {values: {v: '%s'}}}"
	for _, c := range []struct{ second, older, newer string }{
		{fmt.Sprintf(clusters, "{{.a}}"), "x", "x"},
		{fmt.Sprintf(clusters, "{{.name}}"), "<no value>", "in-cluster"},
		{fmt.Sprintf(clusters, "{{.a}}-{{.name}}"), "x-<no value>", "<no value>-in-cluster"},
		{
			fmt.Sprintf(clusters, "{{.a.b}}{{.name}}"), "error: there is no b, because what is in front of it is not an object",
			"<no value>in-cluster",
		},
		{fmt.Sprintf(clusters, "{{ fail .a }}"), "error: x", "error: x"},
		{fmt.Sprintf(clusters, "{{"), "error: unclosed action", "error: unclosed action"},
		{"{clusters: {values: {'{{.a}}': one, v: two}}}", "map[v:two x:one]", "map[v:two {{.a}}:one]"},
		{"{matrix: {generators: [{list: {elements: [{b: one}]}}, {clusters: {values: {v: '{{.b}}'}}}]}}", "<no value>", "one"},
	} {
		for version, want := range map[versions.Version]string{versions.Oldest: c.older, 0: c.newer} {
			t.Run(version.String()+" "+c.second, func(t *testing.T) {
				engine, err := template.New(template.Config{Go: true})
				if err != nil {
					t.Fatal(err)
				}
				results, _, err := Run(context.Background(), Config{Engine: engine, Version: version}, "g",
					value(t, fmt.Sprintf(matrix, c.second)))
				if text, isError := strings.CutPrefix(want, "error: "); isError {
					if err == nil || !strings.Contains(err.Error(), text) {
						t.Errorf("%v", err)
					}
					return
				}
				if err != nil || len(results) != 1 || len(results[0].Sets) != 1 {
					t.Fatalf("%v, %v", results, err)
				}
				values := results[0].Sets[0].Params["values"].(map[string]string)
				if values["v"] != want && fmt.Sprint(values) != want {
					t.Errorf("%v, not %s", values, want)
				}
			})
		}
	}
}

// decided answers with one decision.
type decided map[string]any

// Ask implements APIs.
func (d decided) Ask(context.Context, Question) (*Answer, error) {
	// Through JSON, as from a worker's host or a file.
	data, err := json.Marshal(Answer{Decision: &Decision{
		ConfigMap: map[string]string{"apiVersion": "g/v1", "kind": "xs", "matchKey": "name"},
		Objects:   []DecisionObject{{Name: "x", Status: map[string]any{"clusters": []any{map[string]any(d)}}}},
	}})
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	return a, json.Unmarshal(data, a)
}

// TestDecisionsPrinted: values of a decision that are not strings are printed since 3.3.
func TestDecisionsPrinted(t *testing.T) {
	engine, err := template.New(template.Config{Go: true})
	if err != nil {
		t.Fatal(err)
	}
	spec := map[string]any{"clusterDecisionResource": map[string]any{"configMapRef": "x", "name": "x"}}
	for _, v := range versions.All() {
		apis := decided{"name": argo.InClusterName, "score": int64(1234567), "ok": true}
		results, _, err := Run(context.Background(), Config{Engine: engine, APIs: apis, Version: v}, "spec.generators[0]", spec)
		if v == 2 {
			if err == nil {
				t.Errorf("%s: no error", v)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		// As the API server's JSON has it in Argo CD: a whole number is an int64.
		if p := results[0].Sets[0].Params; p["score"] != "1234567" || p["ok"] != "true" || p["server"] != argo.InClusterServer {
			t.Errorf("%s: %v", v, p)
		}
	}
}
