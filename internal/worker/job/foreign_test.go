package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/source/sourcetest"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/worker"
)

func foreign(t testing.TB) *Foreign {
	t.Helper()
	f := &Foreign{Workers: worker.Config{Args: []string{"test-worker"}, Workers: 2}, Note: func(line string) { t.Error(line) }}
	t.Cleanup(f.Close)
	return f
}

// fetchedView is one of files that are not the user's own.
func fetchedView(files map[string]string) *tree.View {
	v := ownView(files)
	v.Foreign = true
	return v
}

func ownView(files map[string]string) *tree.View {
	var list []tree.File
	for name, text := range files {
		list = append(list, tree.File{Name: name, Data: []byte(text)})
	}
	return tree.Of(list)
}

// TestForeignConformance: a worker renders all cases as this process does.
func TestForeignConformance(t *testing.T) {
	hostile.Unraced(t)
	f := foreign(t)
	for _, c := range sourcetest.Cases(t, "../../source/testdata/conformance") {
		t.Run(c.Name, func(t *testing.T) {
			app := c.App.Object
			about := source.Application{
				Name:      manifest.String(app, "metadata", "name"),
				Namespace: manifest.String(app, "spec", "destination", "namespace"), Project: manifest.String(app, "spec", "project"),
				Several: argo.HasList(manifest.Map(app, "spec")),
			}
			loader := source.Loader{
				Open: func(_ context.Context, url, revision string) (source.Repository, error) {
					dir, ok := c.Repos[url]
					if !ok || revision != "HEAD" && revision != "main" {
						return source.Repository{}, errors.New("it does not exist")
					}
					view := tree.NewView(sourcetest.Names(t, dir), sourcetest.Read(dir))
					view.Foreign = true
					return source.Repository{View: view, Commit: sourcetest.Commit(t, dir)}, nil
				},
				Environment: source.Environment{
					BuildOptions: &c.Settings.BuildOptions, KustomizeVersions: []string{},
					KubeVersion: c.Settings.KubeVersion, APIVersions: c.Settings.APIVersions, Unbounded: true,
				},
			}
			list := argo.Deployed(app)
			refs := loader.Refs(t.Context(), list)
			for _, spec := range list {
				want := loader.Load(t.Context(), about, spec, refs)
				loader.Foreign = f.Sum().Render
				if diff := cmp.Diff(want, loader.Load(t.Context(), about, spec, refs), readable); diff != "" {
					t.Errorf("(-here +in a worker):\n%s", diff)
				}
				loader.Foreign = nil
			}
		})
	}
}

// servers is what is fetched in these tests.
type servers struct {
	charts map[string]map[string]string
	bases  map[string]map[string]string
}

func (s servers) Git(_ context.Context, url, _ string) (*tree.View, error) {
	for name, files := range s.bases {
		if url == "https://git.example.com/"+name {
			return fetchedView(files), nil
		}
	}
	return nil, fmt.Errorf("repository %s: no route to host", url)
}

func (s servers) File(_ context.Context, url string) ([]byte, error) {
	if !strings.HasPrefix(url, "https://files.example.com/") {
		return nil, fmt.Errorf("file %s: no route to host", url)
	}
	return []byte(configMap("file")), nil
}

func (s servers) Chart(_ context.Context, repository, name, version string) ([]tree.File, error) {
	files, ok := s.charts[name]
	if !ok {
		return nil, fmt.Errorf("chart %s %s of %s: no route to host", name, version, repository)
	}
	return fetchedView(files).Select(context.Background(), tree.Selection{})
}

func (s servers) Artifact(context.Context, string, string) ([]tree.File, error) {
	return nil, errors.New("no route to host")
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

func chart(files ...string) map[string]string {
	out := map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "values.yaml": "a: 1\n",
		"templates/x.yaml": configMap("'{{ .Release.Name }}'"),
	}
	for i := 0; i < len(files); i += 2 {
		out[files[i]] = files[i+1]
	}
	return out
}

// TestForeignSource: what is fetched while a source is rendered comes from the host, and so do names and problems.
func TestForeignSource(t *testing.T) {
	f := foreign(t)
	s := servers{
		charts: map[string]map[string]string{
			"dep": chart("Chart.yaml", "apiVersion: v2\nname: dep\nversion: 1.0.0\n"),
			"odd": chart("templates/\xff.yaml", configMap("odd")),
		},
		bases: map[string]map[string]string{"base": {"kustomization.yaml": "resources: [cm.yaml]\n", "cm.yaml": configMap("base")}},
	}
	own := "apiVersion: v2\nname: own\nversion: 1.0.0\ndependencies:\n"
	for name, tt := range map[string]struct {
		spec  map[string]any
		files map[string]string
	}{
		"a base and a file": {files: map[string]string{"kustomization.yaml": "resources: ['https://git.example.com/base//.', 'https://files.example.com/cm.yaml']\n"}},
		"a missing base":    {files: map[string]string{"kustomization.yaml": "resources: ['https://git.example.com/base//.', 'https://git.example.com/none//.']\n"}},
		"a dependency": {files: map[string]string{"Chart.yaml": own +
			"- {name: dep, version: 1.0.0, repository: 'https://charts.example.com'}\n"}},
		"a missing chart": {files: map[string]string{"Chart.yaml": own +
			"- {name: dep, version: 1.0.0, repository: 'https://charts.example.com'}\n- {name: none, version: 1.0.0, repository: 'https://charts.example.com'}\n", "values.yaml": "none: {a: 1, b: 1.0, c: [x]}\n"}},
		"a broken chart": {files: chart("templates/y.yaml", "{{ fail \"no\" }}")},
		"a value file": {
			files: chart(),
			spec: map[string]any{"helm": map[string]any{
				"valueFiles":   []any{"https://files.example.com/v.yaml"},
				"valuesObject": map[string]any{"n": int64(1), "f": 1.5},
			}},
		},
		"a missing directory": {spec: map[string]any{"path": "nowhere"}, files: chart()},
		"a chart": {
			spec:  map[string]any{"chart": "odd", "repoURL": "https://charts.example.com", "targetRevision": "1.0.0"},
			files: s.charts["odd"],
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := source.Request{
				Application: source.Application{Name: "app", Namespace: "ns", Project: "p"}, Environment: source.Environment{Remote: s},
				Spec:       tt.spec,
				Repository: source.Repository{View: fetchedView(tt.files), Commit: "c0ffee"}, URL: func(name string) string {
					return "called " + name
				},
			}
			want := source.Render(t.Context(), r)
			for range 3 { // the same repository again, which two workers know by then, or one
				if diff := cmp.Diff(want, f.Sum().Render(t.Context(), r), readable); diff != "" {
					t.Errorf("(-here +in a worker):\n%s", diff)
				}
			}
		})
	}
}

var address = regexp.MustCompile(`0x[0-9a-f]+`)

// readable compares texts for people: bytes that are no characters are the same, and so are addresses in memory, which Kustomize prints.
var readable = cmp.Comparer(func(a, b string) bool {
	plain := func(s string) string { return address.ReplaceAllString(strings.ToValidUTF8(s, "\ufffd"), "") }
	return plain(a) == plain(b)
})

// TestListed: a worker keeps the names of repositories up to a limit.
func TestListed(t *testing.T) {
	many := func(n int) *tree.View {
		names := map[string]bool{}
		for i := range n {
			names[fmt.Sprint(i)] = false
		}
		return tree.NewView(names, nil)
	}
	var l listed
	half, rest, small := many(maxListed/2), many(maxListed/2+1), many(1)
	l.add(1, half)
	l.add(2, small)
	if l.views[1] != half || l.views[2] != small {
		t.Error("they are not kept")
	}
	l.add(3, rest)
	if l.views[1] != nil || l.views[3] != rest {
		t.Error("there are too many names")
	}
	l.add(4, many(maxListed+1))
	l.add(5, small)
	if l.views[4] != nil || l.views[5] != small || l.names != 1 {
		t.Error("it is too large")
	}
}

// bombs are sources that take all time or all memory, and what is said about each. Nothing but a limit of the process ends them.
func bombs() (s servers, want map[string]string) {
	schema := `{"definitions": {`
	for i := range 60 {
		schema += fmt.Sprintf(`"a%d": {"anyOf": [{"$ref": "#/definitions/a%d"}, {"$ref": "#/definitions/a%[2]d"}]}, `, i, i+1)
	}
	schema += `"a60": {"type": "string"}}, "$ref": "#/definitions/a0"}`
	patches, resources := "", ""
	for i := range 3000 {
		patches += fmt.Sprintf(`- {target: {kind: ConfigMap}, patch: '[{"op": "add", "path": "/metadata/labels", "value": {"x": "%d"}}]'}`+"\n", i)
		resources += "---\n" + configMap(fmt.Sprintf("x%d", i))
	}
	targets := ""
	for i := range 500 {
		targets += fmt.Sprintf("data.a%d, ", i)
	}
	replacements := "resources: [cm.yaml]\nreplacements:\n- source: {kind: ConfigMap, fieldPath: data.x}\n  targets: [{select: {kind: ConfigMap}, options: {create: true}, fieldPaths: [" + targets + "data.b]}]\n"
	s = servers{
		charts: map[string]map[string]string{"schema": chart("values.schema.json", schema), "good": chart()},
		bases: map[string]map[string]string{
			"patches": {"kustomization.yaml": "resources: [cm.yaml]\npatches:\n" + patches, "cm.yaml": resources},
			"memory":  {"kustomization.yaml": replacements, "cm.yaml": configMap("x") + "data: {x: " + strings.Repeat("x", 4<<20) + "}\n"},
			"jsonnet": {"app/x.jsonnet": "local f(n) = if n == 0 then 1 else f(n - 1) + f(n - 1); {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'x'}, n: f(60)}\n"},
			"good":    {"kustomization.yaml": "resources: [cm.yaml]\n", "cm.yaml": configMap("base"), "app/cm.yaml": configMap("app")},
		},
	}
	return s, map[string]string{
		"chart-schema": "chart schema 1.0.0 of https://charts.example.com/: rendering it was stopped: it takes too much", "chart-good": "",
		"base-patches": "patches of https://git.example.com/own: rendering it was stopped: it takes too much", "base-good": "",
		"base-memory":  "memory of https://git.example.com/own: rendering it was stopped: it takes too much",
		"repo-jsonnet": "app of https://git.example.com/jsonnet: rendering it was stopped: it takes too much", "repo-good": "",
		"own": "",
	}
}

// TestExplain: a source that reached a limit says which.
func TestExplain(t *testing.T) {
	for want, err := range map[string]error{
		"rendering it was stopped: it takes more than 64 MiB of memory":               &worker.KilledError{Reason: worker.ReasonMemory},
		"rendering it was stopped: it takes longer than 5s":                           &worker.KilledError{Reason: worker.ReasonCPU},
		"rendering it was stopped: it recurses without end":                           &worker.KilledError{Reason: worker.ReasonStack},
		"rendering it was stopped: it crashed":                                        &worker.KilledError{Reason: worker.ReasonProtocol},
		"it renders to manifests that take 65 MiB of memory, and the limit is 64 MiB": &worker.LargeError{Bytes: 65 << 20, Limit: 64 << 20},
		errPolicy.Error(): errPolicy,
	} {
		f := &Foreign{Workers: worker.Config{Memory: 64 << 20}}
		if got := f.explain(err, 5*time.Second); got.Error() != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

// TestForeignHostile plans a tree with charts, bases and repositories that take all time or all memory. Each of them makes its Application
// unknown, and everything else is planned.
func TestForeignHostile(t *testing.T) {
	hostile.Unraced(t)
	if testing.Short() {
		t.Skip("it waits for limits of time")
	}
	f := foreign(t)
	f.Time = 5 * time.Second
	s, want := bombs()
	if !f.open(t.Context()).Confinement().Memory {
		delete(want, "base-memory") // nothing would end it
	}
	files := map[string]string{"own/cm.yaml": configMap("own")}
	for name := range want {
		kind, thing, _ := strings.Cut(name, "-")
		spec := map[string]string{
			"chart": "repoURL: https://charts.example.com, targetRevision: 1.0.0, chart: " + thing,
			"base":  "repoURL: https://git.example.com/own, path: " + thing,
			"repo":  "repoURL: https://git.example.com/" + thing + ", path: app", "own": "repoURL: https://git.example.com/own, path: own",
		}[kind]
		files["root/"+name+".yaml"] = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name +
			"}\nspec: {project: default, source: {" + spec + "}, destination: {name: in-cluster, namespace: x}}\n"
		if kind == "base" {
			files[thing+"/kustomization.yaml"] = "resources: ['https://git.example.com/" + thing + "//.']\n"
		}
	}
	own := ownView(files)
	cfg := plan.Config{Loader: source.Loader{
		Open: func(ctx context.Context, url, revision string) (source.Repository, error) {
			if url == "https://git.example.com/own" {
				return source.Repository{View: own}, nil
			}
			view, err := s.Git(ctx, url, revision)
			return source.Repository{View: view}, err
		},
		Remote: s, Environment: source.Environment{Unbounded: true, Foreign: f.Sum().Render},
	}}
	root, err := manifest.Decode("root.yaml",
		[]byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root, namespace: argocd}\nspec: {project: default, source: {repoURL: https://git.example.com/own, path: root}, destination: {name: in-cluster, namespace: argocd}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(t.Context(), cfg, root...)
	if err != nil {
		t.Fatal(err)
	}
	// Which limit a bomb reaches first depends on the machine.
	limit := strings.NewReplacer("longer than 5s", "too much", "more than 128 MiB of memory", "too much")
	got := map[string]string{}
	for _, app := range p.Applications[1:] {
		got[app.Name] = limit.Replace(app.Sources[0].Unknown)
		if known := want[app.Name] == ""; known != (app.Verdict() == source.Known) || known != (len(app.Items) == 1) || known == app.Hides {
			t.Errorf("%s is %s, hides %v, has %d objects", app.Name, app.Verdict(), app.Hides, len(app.Items))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("why they are unknown (-want +got):\n%s", diff)
	}
}

// TestForeignSum bounds what workers render all together for one plan. The next plan begins anew.
func TestForeignSum(t *testing.T) {
	f := foreign(t)
	full := f.Sum()
	full.size.Store(maxRendered)
	r := source.Request{Repository: source.Repository{View: fetchedView(chart())}, Spec: map[string]any{"path": "."}}
	got := full.Render(t.Context(), r)
	if want := "all fetched sources together render to more than 512 MiB of manifests"; got.Verdict != source.Unknown || got.Err() == nil ||
		!strings.HasSuffix(got.Err().Error(), want) {
		t.Errorf("got %s: %v", got.Verdict, got.Err())
	}
	if got := f.Sum().Render(t.Context(), r); got.Verdict != source.Known {
		t.Errorf("got %s: %v", got.Verdict, got.Err())
	}
}

// TestForeignNone: without workers, this process renders, and says so once.
func TestForeignNone(t *testing.T) {
	var notes []string
	f := &Foreign{Workers: worker.Config{Path: os.DevNull}, Note: func(line string) { notes = append(notes, line) }}
	defer f.Close()
	for range 2 {
		got := f.Sum().Render(t.Context(), source.Request{
			Application: source.Application{Name: "x"},
			Repository:  source.Repository{View: fetchedView(chart())},
		})
		if got.Verdict != source.Known || len(got.Documents) != 1 {
			t.Error(got)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "is rendered in this process, without limits") {
		t.Error(notes)
	}
}

// TestForeignAgain: after the end, the next source starts workers again.
func TestForeignAgain(t *testing.T) {
	f := foreign(t)
	r := source.Request{Application: source.Application{Name: "x"}, Repository: source.Repository{View: fetchedView(chart())}}
	for range 2 {
		if got := f.Sum().Render(t.Context(), r); got.Verdict != source.Known {
			t.Error(got)
		}
		f.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := f.Sum().Render(ctx, r); got.Verdict != source.Unknown {
		t.Error(got)
	}
}

// FuzzRendered: a worker's answer is a result, or it is refused.
func FuzzRendered(f *testing.F) {
	documents, err := encodeObjects([]map[string]any{{"kind": "ConfigMap"}})
	if err != nil {
		f.Fatal(err)
	}
	values, err := appendValue(nil, map[string]any{"a": int64(1)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"kind": "helm", "verdict": 1, "problems": [{"class": 0, "text": "x", "values": true}], "positions": [{"File": "x"}]}`),
		documents, values)
	f.Add([]byte(`{"verdict": 9, "positions": null}`), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, head, documents, values []byte) {
		m := worker.Message{Head: head, Blobs: [][]byte{documents, values}}
		if _, err := costOfRendered(m); err != nil {
			return
		}
		r, err := decodeRendered(m)
		if err == nil && (r.Verdict < source.Known || r.Verdict > source.Broken || r.Verdict.String() == "") {
			t.Errorf("it is %d", r.Verdict)
		}
	})
}
