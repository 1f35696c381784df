package render_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

func TestKustomizeErrors(t *testing.T) {
	remote := func(field, ref string) string {
		return fmt.Sprintf("kustomization.yaml: %s: %q is remote; only files in the source are read", field, strings.Replace(ref, "ssh://git@", "ssh://", 1))
	}
	var cases []errorCase
	add := func(name, kustomization, want string, more ...string) {
		all := append([]string{"kustomization.yaml", kustomization, "a.yaml", object("a")}, more...)
		cases = append(cases, errorCase{name, files(all...), render.Options{}, want})
	}
	for _, ref := range []string{
		"https://example.com/a.yaml", "HTTPS://example.com/a.yaml", "http://example.com/org/repo//dir?ref=v1", "github.com/org/repo",
		"GitHub.com/org/repo",
		"github.com:org/repo", "git@github.com:org/repo.git", "git@example.com:org/repo.git//dir?ref=v1", "ssh://git@example.com/org/repo",
		"user@example.com:repo",
		"git::https://example.com/org/repo", "git::git@example.com:org/repo", "file:///repo.git",
		"https://dev.azure.com/org/project/_git/repo",
		"example.com/org/repo.git", "example.com/org/repo.git?ref=v1", "example.com/org/repo//dir", "example.com/org/repo?ref=v1",
	} {
		add("resources "+ref, fmt.Sprintf("resources: [%q]\n", ref), remote("resources", ref))
	}
	const url = "https://example.com/x"
	inline := func(kind, fields string) string {
		return fmt.Sprintf("\n- |-\n  apiVersion: builtin\n  kind: %s\n  metadata: {name: x}\n  %s\n", kind, fields)
	}
	for field, k := range map[string]string{
		"bases": "bases: [%s]", "components": "components: [%s]", "crds": "crds: [%s]", "configurations": "configurations: [%s]",
		"patches.path": "patches: [{path: %s}]", "patchesStrategicMerge": "patchesStrategicMerge: [%s]",
		"patchesJson6902.path": "patchesJson6902: [{target: {kind: ConfigMap, name: a, version: v1}, path: %s}]",
		"openapi.path":         "openapi: {path: %s}", "replacements.path": "replacements: [{path: %s}]",
		"generators": "generators: [%s]", "transformers": "transformers: [%s]", "validators": "validators: [%s]",
		"configMapGenerator.files":       "configMapGenerator: [{name: x, files: [key=%s]}]",
		"configMapGenerator.envs":        "configMapGenerator: [{name: x, envs: [%s]}]",
		"configMapGenerator.env":         "configMapGenerator: [{name: x, env: %s}]",
		"secretGenerator.files":          "secretGenerator: [{name: x, files: [%s]}]",
		"secretGenerator.envs":           "secretGenerator: [{name: x, envs: [%s]}]",
		"transformers.path":              "transformers:" + inline("PatchTransformer", "path: %s"),
		"transformers.paths":             "transformers:" + inline("PatchStrategicMergeTransformer", "paths: [%s]"),
		"transformers.replacements.path": "transformers:" + inline("ReplacementTransformer", "replacements: [{path: %s}]"),
		"transformers.targetFilePath":    "transformers:" + inline("ValueAddTransformer", "targetFilePath: %s"),
		"validators.path":                "validators:" + inline("PatchJson6902Transformer", "path: %s"),
		"generators.files":               "generators:" + inline("ConfigMapGenerator", "files: [key=%s]"),
		"generators.envs":                "generators:" + inline("SecretGenerator", "envs: [%s]"),
	} {
		add("remote "+field, "resources: [a.yaml]\n"+fmt.Sprintf(k, url)+"\n", remote(field, url))
	}
	add("remote chart", "helmCharts: [{name: x, repo: "+url+"}]\n",
		"kustomization.yaml: helmCharts: the chart x  of https://example.com/x is not in the source")
	add("chart in another file", "resources: [sub]\n", "sub/kustomization.yaml: helmCharts: the chart x is not in the source",
		"sub/kustomization.yaml", "helmCharts: [{name: x}]\n")
	add("chart as generator", "generators:"+inline("HelmChartInflationGenerator", "name: x"),
		"kustomization.yaml: generators: the chart x is not in the source")
	add("chart as transformer", "transformers:"+inline("HelmChartInflationGenerator", "name: x"),
		"kustomization.yaml: transformers: HelmChartInflationGenerator is supported in generators only")
	for _, key := range []string{"config.kubernetes.io/function", "config.k8s.io/function"} {
		for _, run := range []string{"container: {image: example.com/fn}", "exec: {path: ./fn}", "starlark: {path: fn.star}"} {
			add(key+" "+run, "transformers: [fn.yaml]\n",
				"kustomization.yaml: transformers: functions in containers or programs are not run",
				"fn.yaml", "apiVersion: example.com/v1\nkind: Fn\nmetadata:\n  name: fn\n  annotations:\n    "+key+": |\n      "+run+"\n")
		}
	}
	add("program", "resources: [a.yaml]\ntransformers: [p.yaml]\n",
		"kustomization.yaml: external plugins disabled; unable to load external plugin 'SedTransformer'",
		"p.yaml", "apiVersion: someteam.example.com/v1\nkind: SedTransformer\nmetadata: {name: p}\nargsOneLiner: s/a/b/\n")
	add("outside", "resources: [../a.yaml, /etc/passwd, sub/../../x, ..]\n",
		`kustomization.yaml: resources: "../a.yaml" is outside of the source
kustomization.yaml: resources: "/etc/passwd" is outside of the source
kustomization.yaml: resources: "sub/../../x" is outside of the source
kustomization.yaml: resources: ".." is outside of the source`)
	add("files outside", "configMapGenerator: [{name: x, files: [/etc/passwd, k=../x], envs: [../../.env]}]\n",
		`kustomization.yaml: configMapGenerator.files: "/etc/passwd" is outside of the source
kustomization.yaml: configMapGenerator.files: "../x" is outside of the source
kustomization.yaml: configMapGenerator.envs: "../../.env" is outside of the source`)
	add("missing", "resources: [b.yaml]\npatches: [{path: p.yaml}]\nconfigMapGenerator: [{name: x, files: [key=f.txt]}]\n",
		`kustomization.yaml: resources: "b.yaml" is not in the source
kustomization.yaml: patches.path: "p.yaml" is not in the source
kustomization.yaml: configMapGenerator.files: "f.txt" is not in the source`)
	add("of several files", "resources: [one, two]\n", `one/kustomization.yaml: resources: "x.yaml" is not in the source
two/kustomization.yml: resources: "y.yaml" is not in the source`,
		"one/kustomization.yaml", "resources: [x.yaml]\n", "two/kustomization.yml", "resources: [y.yaml]\ncomponents: [github.com/a/b]\n")
	add("not referred to", "resources: [a.yaml]\n", "", "other/kustomization.yaml", "resources: [https://example.com/x, gone.yaml]\n")
	add("file above its Kustomization", "resources: [sub]\n",
		"kustomization.yaml: accumulating resources: accumulation err='accumulating resources from 'sub': 'sub' must resolve to a file': "+
			"recursed accumulation of path 'sub': accumulating resources: accumulation err='accumulating resources from '../a.yaml': security; file 'a.yaml' is not in or below 'sub'': must build at directory: 'a.yaml': file is not directory",
		"sub/kustomization.yaml", "resources: [../a.yaml]\n")
	add("no Kustomization", "resources: [sub]\n", `kustomization.yaml: resources: there is no kustomization.yaml in "sub"`, "sub/a.yaml",
		object("b"))
	add("two Kustomizations", "resources: [a.yaml]\n",
		"kustomization.yaml: only one of kustomization.yaml, kustomization.yml, Kustomization may exist",
		"kustomization.yml", "resources: [a.yaml]\n", "Kustomization", "resources: [a.yaml]\n")
	add("cycle", "resources: [sub]\n",
		"kustomization.yaml: accumulating resources: accumulation err='accumulating resources from 'sub': 'sub' must resolve to a file': "+
			"recursed accumulation of path 'sub': accumulating resources: accumulation err='accumulating resources from '../': '.' must resolve to a file': cycle detected: candidate root '.' contains visited root 'sub'",
		"sub/kustomization.yaml", "resources: [../]\n")
	add("syntax", "resources: [a.yaml\n", "kustomization.yaml: invalid Kustomization: yaml: line 1: did not find expected ',' or ']'")
	add("unknown field", "resource: [a.yaml]\n", `kustomization.yaml: invalid Kustomization: json: unknown field "resource"`)
	add("not an object", "- a.yaml\n",
		"kustomization.yaml: invalid Kustomization: json: cannot unmarshal array into Go value of type types.Kustomization")
	add("key twice", "resources: [b.yaml]\nresources: [a.yaml]\n", `kustomization.yaml:2: key "resources" already set in map`)
	add("empty", "", "kustomization.yaml: kustomization.yaml is empty")
	add("broken resource", "resources: [b.yaml]\n",
		"kustomization.yaml: accumulating resources: accumulating resources from 'b.yaml': MalformedYAMLError: yaml: line 2: mapping values are not allowed in this context in File: b.yaml",
		"b.yaml", "a: b\n  c: d\n")
	add("empty CRD", "resources: [a.yaml]\ncrds: [crd.yaml]\n",
		"kustomization.yaml: a panic in Kustomize: runtime error: index out of range [0] with length 0", "crd.yaml", "")
	add("patch without target", "resources: [a.yaml]\npatchesJson6902: [{patch: '[]'}]\n",
		"kustomization.yaml: a panic in Kustomize: runtime error: invalid memory address or nil pointer dereference")
	add("invalid schema", "resources: [a.yaml]\npatches: [{path: a.yaml}]\nopenapi: {path: schema.json}\n",
		"kustomization.yaml: a panic in Kustomize: invalid schema file: yaml: line 1: did not find expected node content", "schema.json",
		"[")
	checkErrors(t, cases)
}

func TestKustomizationNames(t *testing.T) {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		t.Run(name, func(t *testing.T) {
			got, err := directory(files(name, "resources: [a.yaml]\nnamePrefix: x-\n", "a.yaml", object("a")), render.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || got[0].String() != name+" (built)" {
				t.Errorf("got %v", got)
			}
			_, err = directory(files(name, "resources: [b.yaml]\n"), render.Options{})
			if want := name + `: resources: "b.yaml" is not in the source`; unlined(err) != want {
				t.Errorf("got error %v, want %s", err, want)
			}
			_, err = directory(files(name, "resources: [a.yaml]\nnamespace: [\n", "a.yaml", object("a")), render.Options{})
			if want := name + ": invalid Kustomization: yaml: line 2: did not find expected node content"; text(err) != want {
				t.Errorf("got error %v, want %s", err, want)
			}
		})
	}
}

// TestSchemaStays checks that the types of one Kustomization do not get into the next one.
func TestSchemaStays(t *testing.T) {
	all := source(t, "testdata/kustomize-schema/in")
	var without []tree.File
	for _, f := range all {
		if f.Name == "kustomization.yaml" {
			f.Data = []byte("resources: [bees.yaml]\npatches: [{path: patch.yaml}]\n")
		}
		without = append(without, f)
	}
	build := func(files []tree.File) string {
		docs, err := directory(files, render.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return yaml(t, docs)
	}
	before := build(without)
	build(all)
	if diff := cmp.Diff(before, build(without)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// TestHostileReferences lets a Kustomization refer to a server in every way, and looks whether that was asked or a program
// was started.
func TestHostileReferences(t *testing.T) {
	hostile.Unraced(t)
	outside := watch(t)
	secure, ssh := strings.Replace(outside.url, "http:", "https:", 1), strings.Replace(outside.url, "http:", "ssh:", 1)
	refs := []string{
		outside.url + "/a.yaml", "github.com/org/repo", "git@127.0.0.1:org/repo", outside.url + "/org/repo",
		"HTTP" + outside.url[4:] + "/a.yaml", secure + "/a.yaml", secure + "/org/repo.git//dir?ref=v1", "git::" + outside.url + "/org/repo",
		ssh + "/org/repo",
		"GITHUB.com:org/repo", "git::GitHub.com/org/repo", "git::git@127.0.0.1:org/repo.git", "user@127.0.0.1:org/repo?ref=v1",
		"file:///org/repo.git",
	}
	// Kustomize finds out by trying what is in place and what is a path.
	for _, ref := range refs[:4] {
		refs = append(refs, ref+"\n", "\n"+ref, ref+"?a: b", ref+"?a: b\n",
			ref+"?a: 1\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n{apiVersion: v1, kind: A, metadata: {name: a}}\n")
	}
	fields := []string{
		"patches: [{path: REF}]", "Patches: [{PATH: REF}]", "patches: [{path: a.yaml, pAth: REF}]",
		"patchesJson6902: [{target: {kind: ConfigMap, name: a, version: v1}, path: REF}]",
		"patchesJSON6902: [{target: {kind: ConfigMap, name: a, version: v1}, Path: REF}]", "openapi: {path: REF}", "OpenAPI: {path: REF}",
		"replacements: [{path: REF}]",
		"replacements: [{Path: REF}]", "configMapGenerator: [{name: a, files: [REF]}]", "configMapGenerator: [{name: a, files: [KEY]}]",
		"configMapGenerator: [{name: a, envs: [REF]}]",
		"configMapGenerator: [{name: a, env: REF}]", "configMapGenerator: [{name: a, Env: REF}]",
		"secretGenerator: [{name: a, files: [REF]}]", "secretGenerator: [{name: a, FILES: [KEY]}]",
		"secretGenerator: [{name: a, envs: [REF]}]", "secretGenerator: [{name: a, env: REF}]",
		"helmCharts: [{name: a, repo: REF, valuesFile: REF, additionalValuesFiles: [REF]}]",
		"HelmCharts: [{name: a, repo: REF}]", "helmChartInflationGenerator: [{chartName: a, chartRepoUrl: REF, values: REF}]",
		"helmGlobals: {chartHome: REF}\nhelmCharts: [{name: a, valuesFile: REF}]",
	}
	for _, list := range []string{
		"resources", "bases", "components", "crds", "configurations", "patchesStrategicMerge", "generators",
		"transformers", "validators",
	} {
		fields = append(fields, list+": [REF]", strings.ToUpper(list)+": [REF]", list+": []\n"+list+": [REF]",
			"namePrefix: x-\nnamePrefix: y-\n"+list+": [REF]", "<<: {"+list+": [REF]}")
	}
	plugins := []string{
		"kind: PatchTransformer, path: REF", "kind: PatchTransformer, PATH: REF",
		"kind: PatchTransformer, target: {kind: ConfigMap}, path: REF",
		"kind: PatchJson6902Transformer, target: {kind: ConfigMap, name: a}, path: REF",
		"kind: PatchStrategicMergeTransformer, paths: [REF]",
		"kind: ReplacementTransformer, replacements: [{path: REF}]", "kind: ReplacementTransformer, Replacements: [{Path: REF}]",
		"kind: ValueAddTransformer, targetFilePath: REF", "kind: ValueAddTransformer, TargetFilePath: REF",
		"kind: ConfigMapGenerator, files: [REF]",
		"kind: ConfigMapGenerator, FILES: [KEY]", "kind: ConfigMapGenerator, envs: [REF]", "kind: SecretGenerator, files: [KEY]",
		"kind: SecretGenerator, envs: [REF]",
		"kind: HelmChartInflationGenerator, name: a, repo: REF, valuesFile: REF, additionalValuesFiles: [REF]",
	}
	// What a directory of plugins can do to them. The last one puts a URL together.
	changes := []string{
		"patches: [{target: {kind: PatchTransformer}, path: patch.yaml}]",
		"patchesJson6902: [{target: {version: builtin, kind: PatchTransformer, name: p}, path: patch.yaml}]",
		"components: [../c]", "transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, target: {kind: PatchTransformer}, path: patch.yaml}']",
		"replacements: [{source: {kind: PatchTransformer, fieldPath: metadata.annotations.ref}, targets: [{select: {kind: PatchTransformer}, fieldPaths: [path]}]}]",
		"namePrefix: " + outside.url[:6] + "\nconfigurations: [config.yaml]",
	}
	for i, ref := range refs {
		outside.offline = i >= 4 // one of each kind is enough for what was fetched
		quoted := fmt.Sprintf("%q", ref)
		fill := strings.NewReplacer("REF", quoted, "KEY", fmt.Sprintf("%q", "key="+ref)).Replace
		for _, field := range fields {
			k := fill(field) + "\n"
			if !strings.Contains(strings.ToLower(k), "resources") {
				k = "resources: [a.yaml]\n" + k
			}
			outside.check(t, k)
			if i < 2 {
				outside.check(t, "resources: [sub]\n", "sub/kustomization.yaml", k, "sub/a.yaml", object("b"))
				outside.check(t, "resources: [a.yaml]\ncomponents: [sub]\n", "sub/kustomization.yaml", "kind: Component\n"+k, "sub/a.yaml",
					object("b"))
			}
		}
		for _, plugin := range plugins {
			config := "{apiVersion: builtin, metadata: {name: p}, " + fill(plugin) + "}"
			for _, field := range []string{"generators", "transformers", "validators"} {
				k := "resources: [a.yaml]\n" + field + ": [%s]\n"
				outside.check(t, fmt.Sprintf(k, fmt.Sprintf("%q", config)))
				outside.check(t, fmt.Sprintf(k, "p.yaml"), "p.yaml", config+"\n")
				if i < 2 {
					outside.check(t, fmt.Sprintf(k, "p.yaml"), "p.yaml", "kind: List\nitems: ["+config+"]\n")
					outside.check(t, fmt.Sprintf(k, "p"), "p/kustomization.yaml", "resources: [p.yaml]\n", "p/p.yaml", config+"\n")
					outside.check(t, fmt.Sprintf(k, "p"), "p/kustomization.yaml", "resources: [../q]\n", "q/kustomization.yaml",
						"resources: [p.yaml]\n", "q/p.yaml", config+"\n")
				}
			}
		}
		patch := "- op: replace\n  path: /path\n  value: " + quoted + "\n"
		for j, change := range changes {
			inside := "a.yaml"
			if j == len(changes)-1 {
				inside = outside.url[6:] + "/a.yaml"
			}
			outside.check(t, "resources: [a.yaml]\ntransformers: [p]\n",
				"p/kustomization.yaml", "resources: [p.yaml]\n"+change+"\n",
				"p/p.yaml", "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p, annotations: {ref: "+quoted+"}}, path: "+
					inside+"}\n",
				"p/patch.yaml", patch, "p/config.yaml", "namePrefix: [{path: path}]\n",
				"c/kustomization.yaml", "kind: Component\npatches: [{target: {kind: PatchTransformer}, path: patch.yaml}]\n",
				"c/patch.yaml", patch)
		}
	}
	outside.check(t, strings.Repeat("#", 17<<20)+"\nresources: ["+refs[0]+"]\n")
}

// TestFilesOnly checks that names of URLs are files where Kustomize does not take them for anything else.
func TestFilesOnly(t *testing.T) {
	outside := watch(t)
	got, err := directory(files("kustomization.yaml",
		"configMapGenerator: [{name: a, files: [git@127.0.0.1:org/repo, x=github.com/org/repo]}]\n",
		"git@127.0.0.1:org/repo", "one", "github.com/org/repo", "two"), render.Options{})
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(map[string]any{"repo": "one", "x": "two"}, got[0].Object["data"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	outside.quiet(t, "files")
}

type outside struct {
	url         string
	connections atomic.Int32
	started     string
	offline     bool // check does not also build what it has as a base that was fetched
}

// watch starts a server, and puts programs that leave a mark in front of all others.
func watch(t testing.TB) *outside {
	t.Helper()
	var o outside
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, object("remote"))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			o.connections.Add(1)
		}
	}
	server.Config.SetKeepAlivesEnabled(false)
	server.Start()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	o.url, o.started = server.URL, filepath.Join(dir, "started")
	for _, name := range []string{"git", "helm", "docker", "go", "ssh", "sh", "bash"} {
		script := "#!/bin/sh\necho " + name + " \"$@\" >> " + o.started + "\nexit 1\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Kustomize warns there.
	stderr := os.Stderr
	t.Cleanup(func() { os.Stderr = stderr })
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = null
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return &o
}

// check builds a Kustomization, with files that have names of what is remote: offline, and as a base that was fetched.
func (o *outside) check(t *testing.T, kustomization string, more ...string) {
	t.Helper()
	hostile := files(append(more, "kustomization.yaml", kustomization, "a.yaml", object("a"), "http:/127.0.0.1/a.yaml", object("a"),
		"github.com/org/repo/kustomization.yaml", "resources: [a.yaml]\n", "github.com/org/repo/a.yaml", object("a"))...)
	what := kustomization[:min(len(kustomization), 1000)] + strings.Join(more, "\n")
	_, _ = directory(hostile, render.Options{})
	o.quiet(t, what)
	if o.offline {
		return
	}
	remote := &fake{git: map[string]*tree.View{"https://example.com/org/base": tree.Of(hostile)}}
	_, _ = kustomize(render.Kustomization{
		View:   tree.Of(files("kustomization.yaml", "resources: [https://example.com/org/base]\n")),
		Remote: remote,
	})
	o.quiet(t, "as a remote base: "+what)
	if len(remote.calls) == 0 {
		t.Error("the base was not fetched by the Remote")
	}
}

func (o *outside) quiet(t testing.TB, what string) {
	t.Helper()
	if n := o.connections.Swap(0); n != 0 {
		t.Errorf("%d connections to the server:\n%s", n, what)
	}
	if data, err := os.ReadFile(o.started); err == nil {
		t.Errorf("started %q:\n%s", strings.TrimSpace(string(data)), what)
		_ = os.Remove(o.started)
	}
}

// FuzzKustomization looks for what panics, asks a server or starts a program.
func FuzzKustomization(f *testing.F) {
	outside := watch(f)
	for _, k := range []string{
		"resources: [a.yaml]\nnamePrefix: x-\n", "resources: [a.yaml]\ntransformers: [b.yaml]\n",
		"resources: [a.yaml]\npatches: [{path: b.yaml}]\n",
		"generators: [b.yaml]\n", "configMapGenerator: [{name: a, files: [b.yaml], envs: [a.yaml]}]\n",
		"resources: [a.yaml]\nreplacements: [{path: b.yaml}]\n",
		"resources: [a.yaml]\ncrds: [b.yaml]\nconfigurations: [b.yaml]\n",
	} {
		f.Add(k, object("a"), "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, path: a.yaml}\n")
		f.Add(k, "{apiVersion: v1, kind: List, items: []}\n", "[{op: add, path: /a, value: b}]\n")
	}
	f.Fuzz(func(t *testing.T, kustomization, a, b string) {
		_, _ = directory(files("kustomization.yaml", kustomization, "a.yaml", a, "b.yaml", b), render.Options{})
		outside.quiet(t, kustomization)
	})
}
