package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// TestReferenceFiles checks files that are written from tables in the code: schemas for editors, the plugin's manifest.
func TestReferenceFiles(t *testing.T) {
	for name, want := range map[string][]byte{
		"schemas/s3-source.json": schemaFile(t, triggerfile.Schema()),
		"schemas/policy.json":    schemaFile(t, policy.Schema()),
		"schemas/lint.json":      schemaFile(t, lint.ConfigSchema()),
		"schemas/catalog.json":   schemaFile(t, catalog()),
		"deploy/s3-cmp/plugin.yaml": pluginFile(t, "s3",
			"and those of the AWS SDK: AWS_REGION, AWS_ENDPOINT_URL_S3, AWS_CA_BUNDLE, …", option.S3Settings(), s3source.Parameters(), "discover",
			"init", "generate"),
		"deploy/appset-cmp/plugin.yaml": pluginFile(t, "appset",
			"and ARGOCD_AUTH_TOKEN for the engine argocd.", option.AppSetSettings(), appsetplugin.Parameters(), "generate"),
		"deploy/kustomize/cmp/argocd-cm.yaml":                         healthFile(t),
		"examples/demo/infrastructure/controllers/argocd/values.yaml": demoValues(t),
	} {
		file := filepath.Join("../..", name)
		if os.Getenv("UPDATE") != "" {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: run 'make generate' (%v)", name, err)
		}
	}
}

// healthFile is a patch for argocd-cm with our health check of Applications.
func healthFile(t *testing.T) []byte {
	t.Helper()
	b := bytes.NewBufferString("# Without this, an Application has no health for its parent, and no wave waits for one. Written by 'make generate'.\n")
	err := manifest.WriteYAML(b, manifest.Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "argocd-cm"},
		"data": map[string]any{health.ApplicationKey: health.ApplicationScript},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// demoValues are the settings of Argo CD in the demo: those of the example, with our health check.
func demoValues(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("../../examples/cluster/infrastructure/controllers/argocd/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values, err := manifest.Value(data)
	if err != nil {
		t.Fatal(err)
	}
	manifest.Map(values.(map[string]any), "configs", "cm")[health.ApplicationKey] = health.ApplicationScript
	b := bytes.NewBufferString("# The example's settings of Argo CD, with the health check of 'argosy health script applications'. Written by 'make generate'.\n")
	if err := manifest.WriteYAML(b, values.(map[string]any)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func schemaFile(t *testing.T, schema map[string]any) []byte {
	t.Helper()
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// pluginFile is plugin.yaml for Argo CD's own plugin server, which runs a command for each hook.
func pluginFile(t *testing.T, name, more string, settings cli.Settings, parameters []argo.Parameter, hooks ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# For Argo CD's own plugin server (argocd-cmp-server), beside a repo-server. Written by 'make generate'.\n#\n# Settings are variables of the container:\n#\n")
	for _, s := range settings {
		usage, _, _ := strings.Cut(option.Usage(s.Flag), " ($")
		fmt.Fprintf(&b, "#   %-24s %s\n", s.Variable, strings.ReplaceAll(usage, "`", ""))
	}
	fmt.Fprintf(&b, "#\n# %s\n", more)
	spec := map[string]any{}
	for _, hook := range hooks {
		command := map[string]any{"command": []any{"argosy", name, hook}}
		if hook == "discover" {
			command = map[string]any{"find": command}
		}
		spec[hook] = command
	}
	var static []any
	for _, p := range parameters {
		static = append(static, map[string]any{"name": p.Name, "title": p.Title, "tooltip": p.Help, "string": p.Default})
	}
	spec["parameters"] = map[string]any{"static": static}
	plugin := manifest.Object{
		"apiVersion": "argoproj.io/v1alpha1",
		"kind":       "ConfigManagementPlugin",
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	}
	if err := manifest.WriteYAML(&b, plugin); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
