package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestPluginPage checks the examples of docs/plugin.md: the Application is one, with an ApplicationSet in its parameter, and the policy is
// one.
func TestPluginPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	applications, policies := 0, 0
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		docs, err := manifest.Decode("docs/plugin.md", []byte(block[1]))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			switch {
			case strings.HasPrefix(block[1], "projects:"):
				policies++
				if _, err := policy.Parse("docs/plugin.md", []byte(block[1])); err != nil {
					t.Error(err)
				}
			case argo.IsApplication(d.Object):
				applications++
				if errs := argo.Application().Check("Application", d.Object); len(errs) > 0 {
					t.Error(errs)
				}
				list := manifest.Map(d.Object, "spec", "source", "plugin")["parameters"].([]any)
				inner, err := manifest.Decode("parameter spec", []byte(manifest.String(list[0].(map[string]any), "string")))
				if err != nil {
					t.Fatal(err)
				}
				if _, ok, err := appset.Parse(inner[0]); !ok || err != nil {
					t.Errorf("%v, %v", ok, err)
				}
			}
		}
	}
	if applications != 1 || policies != 2 {
		t.Errorf("%d Applications, %d policies", applications, policies)
	}
}
