package source_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

const chartFile = "apiVersion: v2\nname: c\nversion: 1.0.0\n"

func object(name string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}\n"
}

// view makes a repository of names and contents.
func view(pairs ...string) source.Repository {
	var files []tree.File
	for i := 0; i < len(pairs); i += 2 {
		files = append(files, tree.File{Name: pairs[i], Data: []byte(pairs[i+1])})
	}
	return source.Repository{View: tree.Of(files), Commit: "c0ffee"}
}

// spec decodes a source.
func spec(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := manifest.Value([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// describe is the verdict, the names of objects and the problems, each on its line.
func describe(r *source.Result) string {
	lines := []string{r.Verdict.String() + ":"}
	for _, d := range r.Documents {
		lines[0] += " " + manifest.String(d.Object, "metadata", "name")
	}
	for _, p := range r.Problems {
		lines = append(lines, []string{"missing", "failure", "ignored", "lenient"}[p.Class]+" "+p.Text)
	}
	return strings.Join(lines, "\n")
}

// remote is one that has some things.
type remote struct{ has map[string]string }

func (r remote) get(name string) (string, error) {
	if text, ok := r.has[name]; ok {
		return text, nil
	}
	return "", fmt.Errorf("%s: no route to host", name)
}

func (r remote) Git(_ context.Context, url, _ string) (*tree.View, error) {
	text, err := r.get(url)
	return view("kustomization.yaml", "resources: [a.yaml]\n", "a.yaml", text).View, err
}

func (r remote) File(_ context.Context, url string) ([]byte, error) {
	text, err := r.get(url)
	return []byte(text), err
}

func (r remote) Chart(_ context.Context, _, name, version string) ([]tree.File, error) {
	text, err := r.get(name + " " + version)
	return []tree.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n")},
		{Name: "templates/a.yaml", Data: []byte(text)},
	}, err
}

func (r remote) Artifact(_ context.Context, url, _ string) ([]tree.File, error) {
	text, err := r.get(url)
	return []tree.File{{Name: "a.yaml", Data: []byte(text)}}, err
}

// TestVerdicts: what is missing makes a source partly known or unknown, what Argo CD refuses makes it broken.
func TestVerdicts(t *testing.T) {
	dependency := chartFile +
		"dependencies: [{name: sub, version: 1.0.0, repository: 'https://bot:t0ken@charts.example.com', condition: sub.enabled}]\n"
	for _, tt := range []struct {
		name, spec string
		files      []string
		remote     source.Remote
		want       string
	}{
		{"directory", "", []string{"a.yaml", object("a"), "values.yaml", "x: y\n"}, nil, "known: a"},
		{"nothing", "", []string{"README.md", ""}, nil, "known:"},
		{"no such path", "path: nowhere", []string{"a.yaml", ""}, nil, "broken:\nfailure nowhere: there is no such directory"},
		{
			"broken manifest", "",
			[]string{"a.yaml", object("a"), "b.yaml", "apiVersion: v1\nkind: X\nmetadata: [\n"},
			nil,
			"broken:\nfailure b.yaml:3: did not find expected node content",
		},
		{
			"all broken manifests", "",
			[]string{"a.json", "", "b.json", "x"},
			nil,
			"broken:\nfailure a.json: EOF\nfailure b.json: invalid character 'x' looking for beginning of value",
		},
		{
			"key twice", "",
			[]string{"a.yaml", "apiVersion: v1\nkind: X\nmetadata: {name: a}\nkind: Z\n"},
			nil,
			"known: a\nlenient a.yaml:4: key \"kind\" already set in map; the last one counts",
		},
		{
			"document behind its end", "",
			[]string{"a.yaml", object("a") + "...\n" + object("b")},
			nil,
			"known: a\nlenient a.yaml:3: a document behind \"...\" is not read; separate documents by \"---\"",
		},
		{
			"pattern", "directory: {include: '[a'}",
			[]string{"a.yaml", object("a")},
			nil,
			"known:\nlenient source.directory.include: \"[a\" is no pattern (unexpected end of input), so it matches nothing",
		},
		{
			"plugin", "plugin: {name: x}", nil, nil,
			"unknown:\nmissing the plugin \"x\" renders it, and Argosy does not know this plugin; if it renders as Kustomize, Helm or a plain directory does, set --plugin x=kustomize|helm|directory",
		},
		{
			"made-up field", "new: 1\ndirectory: {recurse: true, made: {up: x}}",
			[]string{"a.yaml", object("a")},
			nil,
			"partly known: a\nignored source.directory.made is ignored here, so the result may differ from that of Argo CD\nignored source.new is ignored here, so the result may differ from that of Argo CD",
		},
		{
			"field of another tool", "helm: {parameters: [{name: a, value: b, made: up}]}",
			[]string{"Chart.yaml", chartFile, "templates/a.yaml", object("a")},
			nil,
			"partly known: a\nignored source.helm.parameters.made is ignored here, so the result may differ from that of Argo CD",
		},
		{
			"remote base", "",
			[]string{"kustomization.yaml", "resources: [a.yaml, https://example.com/org/repo]\n", "a.yaml", object("a")},
			nil,
			"partly known: a\nmissing kustomization.yaml:1: resources: \"https://example.com/org/repo\" is remote; only files in the source are read",
		},
		{
			"remote base that is there", "",
			[]string{"kustomization.yaml", "resources: [a.yaml, https://example.com/org/repo]\n", "a.yaml", object("a")},
			remote{map[string]string{"https://example.com/org/repo": object("b")}},
			"known: a b",
		},
		{
			"nothing but a remote base", "",
			[]string{"kustomization.yaml", "resources: [https://example.com/org/repo]\n"},
			remote{},
			"unknown:\nmissing kustomization.yaml:1: resources: https://example.com/org/repo: no route to host",
		},
		{
			"dependency", "",
			[]string{"Chart.yaml", dependency, "templates/a.yaml", object("a")},
			nil,
			"partly known: a\nmissing Chart.yaml: dependency sub 1.0.0: it is in https://charts.example.com/, and nothing is fetched",
		},
		{
			"dependency that cannot be reached", "",
			[]string{"Chart.yaml", dependency, "templates/a.yaml", object("a")},
			remote{},
			"partly known: a\nmissing Chart.yaml: dependency sub 1.0.0: sub 1.0.0: no route to host",
		},
		{
			"dependency that is there", "",
			[]string{"Chart.yaml", dependency, "templates/a.yaml", object("a")},
			remote{map[string]string{"sub 1.0.0": object("b")}},
			"known: b a",
		},
		{"dependency that is switched off", "", []string{
			"Chart.yaml", dependency, "values.yaml", "sub: {enabled: false}\n",
			"templates/a.yaml", object("a"),
		}, nil, "known: a"},
		{
			"dependency that is switched off by a parameter", "helm: {parameters: [{name: sub.enabled, value: 'false'}]}",
			[]string{"Chart.yaml", dependency, "templates/a.yaml", object("a")},
			nil, "known: a",
		},
		{
			"template that needs a dependency", "",
			[]string{"Chart.yaml", dependency, "templates/a.yaml", "{{ include \"sub.x\" . }}"},
			nil,
			"unknown:\nmissing Chart.yaml: dependency sub 1.0.0: it is in https://charts.example.com/, and nothing is fetched\n" +
				"missing templates/a.yaml:1: rendering: c/templates/a.yaml:1:3 executing \"c/templates/a.yaml\" at <include \"sub.x\" .>: error calling include: " +
				"template: no template \"sub.x\" associated with template \"gotpl\"; the missing dependency may be the cause",
		},
		{
			"remote values", "helm: {valueFiles: ['https://user:secret@example.com/v.yaml']}",
			[]string{"Chart.yaml", chartFile, "templates/a.yaml", object("a")},
			nil,
			"partly known: a\nmissing helm.valueFiles: https://example.com/v.yaml is remote",
		},
		{
			"remote values that are there", "helm: {valueFiles: ['https://example.com/v.yaml']}",
			[]string{
				"Chart.yaml", chartFile, "templates/a.yaml",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Values.name }}}}",
			},
			remote{map[string]string{"https://example.com/v.yaml": "name: far\n"}},
			"known: far",
		},
		{
			"values of a scheme", "helm: {valueFiles: ['s3://bucket/v.yaml']}",
			[]string{"Chart.yaml", chartFile},
			remote{},
			"broken:\nfailure helm.valueFiles: the URL scheme 's3' is not allowed",
		},
		{
			"no values", "helm: {valueFiles: [v.yaml]}",
			[]string{"Chart.yaml", chartFile},
			nil,
			"broken:\nfailure helm.valueFiles: v.yaml: there is no such file",
		},
		{
			"name by chance", "helm: {releaseName: 'x-{{ randAlpha 5 }}'}",
			[]string{"Chart.yaml", chartFile, "templates/a.yaml", object("a")},
			nil,
			"partly known: a\nmissing helm.releaseName: release name: <randAlpha 5>: error calling randAlpha: it answers differently each time, " +
				"so the Applications would never be in sync; its functions are not available here",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := source.Request{
				Spec: spec(t, "{repoURL: x}"), Repository: view(tt.files...),
				Application: source.Application{Name: "app", Namespace: "ns"},
			}
			if tt.spec != "" {
				r.Spec = spec(t, tt.spec)
			}
			if tt.remote != nil {
				r.Remote = tt.remote
			}
			result := source.Render(t.Context(), r)
			if diff := cmp.Diff(tt.want, describe(result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (result.Err() == nil) != (result.Verdict == source.Known) {
				t.Error(result.Err())
			}
		})
	}
}

// TestMissingValues: what a chart that is missing would be told.
func TestMissingValues(t *testing.T) {
	app := source.Application{Name: "app", Namespace: "ns", Several: true}
	loader := source.Loader{Open: func(_ context.Context, url, _ string) (source.Repository, error) {
		if url == "gone" {
			return source.Repository{}, errors.New("no route to host")
		}
		return view("v.yaml", "a: file\nb: file\n"), nil
	}}
	chart := spec(t, "{repoURL: 'https://bot:t0ken@charts.example.com', chart: c, targetRevision: 1.0.0, helm: {valueFiles: [$values/v.yaml, own.yaml], values: 'b: own'}}")
	for _, tt := range []struct{ url, want string }{
		{"values", "unknown:\nmissing the chart c 1.0.0 of https://charts.example.com/ is not available here: nothing is fetched"},
		{"gone", "unknown:\nmissing the chart c 1.0.0 of https://charts.example.com/ is not available here: nothing is fetched\n" +
			"missing helm.valueFiles: $values/v.yaml: no route to host"},
	} {
		sources := []map[string]any{chart, {"repoURL": tt.url, "ref": "values"}}
		app.Several = true
		r := loader.Load(t.Context(), app, chart, loader.Refs(t.Context(), sources))
		if diff := cmp.Diff(tt.want, describe(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		want := map[string]any{"b": "own"}
		if tt.url == "values" {
			want["a"] = "file"
		}
		if diff := cmp.Diff(want, r.Problems[0].Values); diff != "" || r.Problems[0].Chart != "c" || r.Problems[0].Namespace != "ns" {
			t.Errorf("%+v (-want +got):\n%s", r.Problems[0], diff)
		}
	}
}

// TestRefs: sources that refer to others, by the rules of Argo CD.
func TestRefs(t *testing.T) {
	git := func(url, more string) string { return "{repoURL: " + url + ", path: ., " + more + "}" }
	values := "helm: {valueFiles: [$v/v.yaml]}"
	for _, tt := range []struct {
		name    string
		sources []string
		want    string
	}{
		{"fine", []string{git("chart", values), git("values", "ref: v")}, "known: file"},
		{
			"unavailable",
			[]string{git("chart", values), git("gone", "ref: v")},
			"partly known: own\nmissing helm.valueFiles: $v/v.yaml: no route to host",
		},
		{
			"one source",
			[]string{git("chart", "ref: v, "+values)},
			"broken:\nfailure source referenced \"$v\", but no source has a 'ref' field defined",
		},
		{
			"another",
			[]string{git("chart", values), git("values", "ref: w")},
			"broken:\nfailure source referenced \"$v\", which is not one of the available sources ($w)",
		},
		{
			"twice",
			[]string{git("chart", ""), git("values", "ref: v"), git("chart", "ref: v")},
			"broken:\nfailure sources: several of them have the ref \"v\"",
		},
		{
			"name",
			[]string{git("chart", ""), git("values", "ref: v.w")},
			"broken:\nfailure sources: ref \"v.w\" cannot contain any special characters except '_' and '-'",
		},
		{
			"chart",
			[]string{git("chart", values), "{repoURL: x, chart: demo, ref: v}"},
			"broken:\nfailure source referenced \"$v\", which is a chart; Argo CD takes value files from Git only",
		},
		{
			"revisions",
			[]string{
				git("chart", "helm: {valueFiles: [$v/v.yaml, $w/v.yaml]}"), git("values", "ref: v"),
				git("values", "ref: w, targetRevision: v2"),
			},
			"broken:\nfailure cannot reference multiple revisions for the same repository: $w references \"v2\", another \"HEAD\"",
		},
		{
			"itself at another revision",
			[]string{git("chart", values), git("chart", "ref: v, targetRevision: v2")},
			"broken:\nfailure cannot reference a different revision of the same repository: $v references \"v2\"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			loader := source.Loader{Open: func(_ context.Context, url, revision string) (source.Repository, error) {
				repo := map[string]source.Repository{
					"chart": view("Chart.yaml", chartFile, "values.yaml", "name: own\n", "templates/a.yaml",
						"{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Values.name }}}}"),
					"values": view("v.yaml", "name: file\n"),
				}[url]
				if repo.View == nil {
					return repo, errors.New("no route to host")
				}
				repo.Commit = revision
				return repo, nil
			}}
			var sources []map[string]any
			for _, s := range tt.sources {
				sources = append(sources, spec(t, s))
			}
			r := loader.Load(t.Context(), source.Application{Name: "app", Several: true}, sources[0], loader.Refs(t.Context(), sources))
			if diff := cmp.Diff(tt.want, describe(r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestInputs: the files that a source was made of, and no others.
func TestInputs(t *testing.T) {
	for _, tt := range []struct {
		name, spec string
		files      []string
		want       string
	}{
		{"directory", "directory: {exclude: b*}", []string{
			"a.yaml", object("a"), "b.yaml", "x", "README.md", "x", ".argocd-source.yaml",
			"{}",
		}, "/.argocd-source.yaml /a.yaml"},
		{
			"Kustomization", "path: o",
			[]string{
				"o/kustomization.yaml", "resources: [../base]\n", "base/kustomization.yaml", "resources: [a.yaml]\n", "base/a.yaml",
				object("a"), "base/b.yaml", "x", "c.yaml", "",
			},
			"/base/a.yaml /base/kustomization.yaml /o/kustomization.yaml",
		},
		{
			"chart", "{path: c, helm: {valueFiles: [../v.yaml, $r/w.yaml]}}",
			[]string{"c/Chart.yaml", chartFile, "c/templates/a.yaml", object("a"), "v.yaml", "", "x.yaml", ""},
			"/c/Chart.yaml /c/templates/a.yaml /v.yaml $r/w.yaml",
		},
	} {
		r := source.Render(t.Context(), source.Request{
			Application: source.Application{Name: "app"}, Spec: spec(t, tt.spec), Repository: view(tt.files...),
			Refs: map[string]source.Repository{"$r": view("w.yaml", "", "z.yaml", "")},
		})
		var got []string
		for _, i := range r.Inputs {
			got = append(got, i.Ref+"/"+i.Path)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" || r.Err() != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, r.Err(), diff)
		}
	}
}

func TestDetect(t *testing.T) {
	for names, want := range map[string]source.Kind{
		"":                                   source.Directory,
		"a.yaml":                             source.Directory,
		"sub/kustomization.yaml":             source.Directory,
		"KUSTOMIZATION kustomization.json":   source.Directory,
		"chart.yaml":                         source.Directory,
		"a.yaml kustomization.yaml":          source.Kustomize,
		"kustomization.yml":                  source.Kustomize,
		"Kustomization":                      source.Kustomize,
		"Chart.yaml":                         source.Helm,
		"my-Chart.yaml":                      source.Helm,
		"Chart.yaml kustomization.yaml":      source.Kustomize,
		"Kustomization my-Chart.yaml":        source.Helm,
		"sub/Chart.yaml templates/a.yaml":    source.Directory,
		"Chart.yaml.bak kustomization.yaml~": source.Directory,
	} {
		if got := source.Detect(strings.Fields(names)); got != want {
			t.Errorf("Detect(%s) = %s, want %s", names, got, want)
		}
	}
}

// TestUnrelated: what Argo CD passes over in a directory, and what it does not, whatever it looks like.
func TestUnrelated(t *testing.T) {
	for content, want := range map[string]source.Verdict{
		"replicas: 3\n": source.Known, "": source.Known, "# nothing\n": source.Known, "- a\n": source.Known, "a: [\n": source.Known,
		"kind: X\n": source.Known,
		"apiVersion: v1\nkind: X\nmetadata: {name: a}\n": source.Known, "apiVersion: v1\nkind: X\nmetadata: [\n": source.Broken,
		`{"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}}`:                       source.Known,
		`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "X"}]}`: source.Known,
		"kind: X\n---\nfoo: bar\n": source.Broken, "foo: bar\n---\n" + `{"apiVersion": "v1", "kind": "X"}`: source.Known,
		"kind: List\nitems: [1]\n": source.Broken,
	} {
		r := source.Render(t.Context(), source.Request{Spec: map[string]any{}, Repository: view("a.yaml", content)})
		if r.Verdict != want {
			t.Errorf("%q: %s", content, describe(r))
		}
	}
	if r := source.Render(t.Context(), source.Request{
		Spec:       map[string]any{},
		Repository: view("a.json", "{}"),
	}); r.Verdict != source.Broken {
		t.Error("JSON is never passed over")
	}
}

// TestLinks: a plugin reads what Argo CD has checked already, and may be in a directory that is a link.
func TestLinks(t *testing.T) {
	content := map[string]string{"link": "app", "app/a.yaml": object("a"), "out": "/etc"}
	linked := func(names ...string) source.Repository {
		all := map[string]bool{}
		for _, name := range names {
			all[name] = !strings.Contains(name, "/")
		}
		return source.Repository{View: tree.NewView(all, func(_ context.Context, name string) ([]byte, error) {
			return []byte(content[name]), nil
		})}
	}
	for _, tt := range []struct {
		repo   source.Repository
		path   string
		plugin bool
		want   string
	}{
		{
			linked("app/a.yaml", "link"), "link", false,
			"known:\nlenient link: the path is a symbolic link to app, and Argo CD finds no manifests behind it: nothing is deployed; set path to app",
		},
		{linked("app/a.yaml", "link"), "link", true, "known: a"},
		{
			linked("app/a.yaml", "out"), "app", false,
			"broken:\nfailure out: it is a symbolic link out of the repository, and Argo CD refuses a repository with one",
		},
		{linked("app/a.yaml", "out"), "app", true, "known: a"},
	} {
		r := source.Render(t.Context(), source.Request{Spec: map[string]any{"path": tt.path}, Repository: tt.repo, Plugin: tt.plugin})
		if diff := cmp.Diff(tt.want, describe(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestCancelled: a request that ends gives nothing.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := source.Render(ctx, source.Request{
		Spec:       map[string]any{},
		Repository: view("a.yaml", object("a")),
	}); describe(r) != "unknown:\nmissing context canceled" {
		t.Error(describe(r))
	}
}

func TestBuildOptions(t *testing.T) {
	for options, want := range map[string]string{
		"":                           "broken:\nfailure kustomization.yaml:1: helmCharts: c: must specify --enable-helm (kustomize.buildOptions in Argo CD's settings)",
		"--enable-helm":              "known: a",
		"--enable-helm=true":         "known: a",
		"--enable-helm=maybe":        "broken:\nfailure kustomize.buildOptions in Argo CD's settings: --enable-helm must be true or false, it is \"maybe\"",
		"--enable-helm -enable":      "broken:\nfailure kustomize.buildOptions in Argo CD's settings: unknown flag: -enable",
		"--enable-helm --reorder":    "broken:\nfailure kustomize.buildOptions in Argo CD's settings: flag needs an argument: --reorder",
		"--reorder x":                "broken:\nfailure kustomize.buildOptions in Argo CD's settings: illegal flag value --reorder x",
		"--enable-helm -o x":         "partly known: a\nignored --o of kustomize.buildOptions is ignored here, so the result may differ from that of Argo CD",
		"--enable-helm extra":        "broken:\nfailure kustomize.buildOptions in Argo CD's settings: \"extra\" is no flag",
		"--enable-helm --env A=B":    "known: a",
		"--load_restrictor=none":     "broken:\nfailure kustomize.buildOptions in Argo CD's settings: unknown flag: --load_restrictor=none",
		"--load-restrictor=x":        "broken:\nfailure kustomize.buildOptions in Argo CD's settings: illegal flag value --load-restrictor x",
		"--enable-helm --helm-debug": "known: a",
	} {
		r := source.Render(t.Context(), source.Request{
			Environment: source.Environment{BuildOptions: &options}, Spec: map[string]any{},
			Repository: view("kustomization.yaml", "helmCharts: [{name: c}]\n", "charts/c/Chart.yaml", chartFile, "charts/c/values.yaml",
				"", "charts/c/templates/a.yaml", object("a")),
		})
		if diff := cmp.Diff(want, describe(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", options, diff)
		}
	}
	helm, other := "--enable-helm", "--load-restrictor LoadRestrictionsNone --enable-helm"
	if source.Changes(nil) || source.Changes(&helm) || !source.Changes(&other) {
		t.Error("Changes")
	}
}
