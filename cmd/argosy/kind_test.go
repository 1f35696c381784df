package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

const kindDir = "../../examples/s3/kind"

// kindArgo stands in for Argo CD's manifests, which are on the internet.
const kindArgo = `apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec: {template: {spec: {containers: [{name: argocd-repo-server, image: argocd}], volumes: [{name: plugins, emptyDir: {}}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
`

// TestExampleKind: the manifests of the walk-through are built as kubectl builds them, and fit together.
func TestExampleKind(t *testing.T) {
	var all []tree.File
	for _, dir := range []string{"examples/s3/kind", "deploy/kustomize/cmp"} {
		err := fs.WalkDir(os.DirFS("../.."), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(filepath.Join("../..", name))
			if name == "examples/s3/kind/argocd/kustomization.yaml" {
				replaced := strings.Replace(string(data), "https://raw.githubusercontent.com/argoproj/argo-cd/v3.2.11/manifests/install.yaml", "argocd.yaml", 1)
				if replaced == string(data) {
					t.Error("the kustomization has another Argo CD")
				}
				data = []byte(replaced)
			}
			all = append(all, tree.File{Name: name, Data: data})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all = append(all, tree.File{Name: "examples/s3/kind/argocd/argocd.yaml", Data: []byte(kindArgo)})
	tree.Sort(all)
	built, err := render.Build(t.Context(), render.Kustomization{View: tree.Of(all), Dir: "examples/s3/kind"})
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Missing) > 0 {
		t.Fatal(built.Missing)
	}
	objects := map[string]manifest.Object{}
	for _, o := range manifest.Objects(built.Documents) {
		objects[manifest.Name(o)] = o
	}
	env := map[string]any{}
	containers := manifest.Map(objects["deployment.apps/argocd-repo-server"], "spec", "template", "spec")["containers"].([]any)
	for _, c := range containers {
		container := c.(map[string]any)
		if container["name"] != "argosy-cmp" {
			continue
		}
		if container["image"] != "argosy:kind" {
			t.Errorf("the image is %v", container["image"])
		}
		for _, e := range container["env"].([]any) {
			env[e.(map[string]any)["name"].(string)] = e.(map[string]any)["value"]
		}
	}
	if len(containers) != 2 || env["AWS_ENDPOINT_URL_S3"] != "http://localstack.localstack:4566" || env["APPSET_REFRESH_INTERVAL"] != "30s" {
		t.Errorf("%d containers, %v", len(containers), env)
	}
	rules, err := os.ReadFile(filepath.Join(kindDir, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if got := manifest.Map(objects["configmap/argosy-policy"], "data")["policy.yaml"]; got != string(rules) {
		t.Errorf("the policy is %v", got)
	}
	if _, err := policy.Parse("policy.yaml", rules); err != nil {
		t.Error(err)
	}
	kindLocalstack(t)
}

// kindLocalstack: the Service has the address that the sidecar uses, and selects the Deployment.
func kindLocalstack(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(kindDir, "localstack.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	docs, err := manifest.Decode("localstack.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]manifest.Object{}
	for _, o := range manifest.Objects(docs) {
		all[manifest.Name(o)] = o
	}
	if script := manifest.String(all["configmap/buckets"], "data", "buckets.sh"); !strings.HasPrefix(script, "#!/bin/sh\n") {
		t.Errorf("LocalStack executes the script, which begins with %q", script)
	}
	service := all["service/localstack"]
	port := manifest.Map(service, "spec")["ports"].([]any)[0].(map[string]any)
	pod := manifest.Map(all["deployment.apps/localstack"], "spec", "template")
	if manifest.String(service, "metadata", "namespace") != "localstack" || port["port"] != int64(4566) && port["port"] != 4566.0 ||
		manifest.String(pod, "metadata", "labels", "app") != manifest.String(service, "spec", "selector", "app") {
		t.Errorf("%v\n%v", service, pod)
	}
}

// TestExampleKindCommands runs the commands of step 3, and plans the Application with what they have pushed.
func TestExampleKindCommands(t *testing.T) {
	buckettest.Environment(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", buckettest.InProcess(t, "test-bucket"))
	t.Setenv("ARGOSY_CACHE_DIR", "none")
	readme, err := os.ReadFile(filepath.Join(kindDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```sh\n")
	commands, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("no commands in the README")
	}
	t.Chdir(kindDir)
	var out, talk bytes.Buffer
	run := func(args ...string) {
		t.Helper()
		out.Reset()
		std := process()
		std.Out, std.Err = &out, &talk
		if code := execute(t.Context(), std, args); code != exitDone {
			t.Fatalf("%s: %d\n%s%s", args, code, out.String(), talk.String())
		}
	}
	for line := range strings.Lines(commands) {
		run(strings.Fields(line)[1:]...)
	}
	if want := "deployment.apps/demo\nservice/demo\n"; out.String() != want {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
	bucket := t.TempDir()
	if err := os.CopyFS(filepath.Join(bucket, "apps", "demo-app"), os.DirFS("../manifests")); err != nil {
		t.Fatal(err)
	}
	run("plan", "--repo", "https://github.com/argosy-cd/argosy.git=../../..", "--repo", "s3://test-bucket="+bucket, "application.yaml")
	if !strings.Contains(out.String(), "1 Application, 0 ApplicationSets, 2 objects\n") {
		t.Error(out.String())
	}
}
