package render_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// A golden case is a directory of testdata: in/ is rendered, with the value files and the values of object.yaml beside
// it, and gives want.yaml or want.err.
type golden struct {
	dir     string
	files   []tree.File
	options render.Options
}

func goldens(t *testing.T) []golden {
	t.Helper()
	dirs, err := filepath.Glob("testdata/*/in")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no cases", err)
	}
	all := []golden{{"testdata/kustomize-names", names, render.Options{}}}
	for _, dir := range dirs {
		all = append(all, golden{filepath.Dir(dir), source(t, dir), render.Options{}})
	}
	for i, g := range all {
		all[i].options = render.Options{
			URL:         func(name string) string { return "s3://bucket/" + name },
			Chart:       render.Chart{ReleaseName: "demo", Namespace: "shop"},
			KubeVersion: "1.34.4",
		}
		values, err := filepath.Glob(g.dir + "/values*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range values {
			all[i].options.Chart.ValueFiles = append(all[i].options.Chart.ValueFiles,
				tree.File{Name: filepath.Base(file), Data: read(t, file)})
		}
		if _, err := os.Stat(g.dir + "/object.yaml"); err == nil {
			v, err := manifest.Value(read(t, g.dir+"/object.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			all[i].options.Chart.Values = v.(map[string]any)
		}
	}
	return all
}

// names is here because a Go module cannot have such files.
var names = files(
	"kustomization.yaml", `resources: [my.github.com.yaml, "with space/"]
configMapGenerator:
- name: files
  files: ["key=grüße.txt", "what=what?.txt", "logo@2x.png", "slashes=with space//a+b (1).txt"]
labels:
- pairs: {team: web}
  fields: [{path: metadata/annotations/web@example.com, create: true}]
`,
	"my.github.com.yaml", object("plain"),
	"grüße.txt", "a",
	"what?.txt", "b",
	"logo@2x.png", "c",
	"with space/a+b (1).txt", "d",
	"with space/kustomization.yaml", "namePrefix: x-\nresources: [./a b.yaml]\n",
	"with space/a b.yaml", object("spaced"),
	"not/read/a..b, 'c'.txt", "e",
)

func TestGolden(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(filepath.Base(g.dir), func(t *testing.T) {
			before := clone(g.files)
			docs, err := directory(g.files, g.options)
			if diff := cmp.Diff(before, g.files); diff != "" {
				t.Errorf("the source was changed (-before +after):\n%s", diff)
			}
			file, other, got := g.dir+"/want.yaml", g.dir+"/want.err", yaml(t, docs)
			if err != nil {
				file, other, got = other, file, err.Error()+"\n"
			}
			if os.Getenv("UPDATE") != "" {
				_ = os.Remove(other)
				if err := os.MkdirAll(g.dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; got:\n%s", err, got)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// TestSame renders each case several times, since libraries go over maps.
func TestSame(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(filepath.Base(g.dir), func(t *testing.T) {
			first, firstErr := directory(g.files, g.options)
			for range 5 {
				docs, err := directory(g.files, g.options)
				if diff := cmp.Diff(text(firstErr), text(err)); diff != "" {
					t.Fatalf("the error differs:\n%s", diff)
				}
				if diff := cmp.Diff(first, docs); diff != "" {
					t.Fatalf("objects differ:\n%s", diff)
				}
			}
		})
	}
}

func TestPositions(t *testing.T) {
	got, err := directory(files(
		"a.yaml", "# comment\n"+object("a")+"---\n\n"+object("b"),
		"b.json", `{"kind":"List","items":[`+"\n"+`{"apiVersion":"v1","kind":"C","metadata":{"name":"c"}}]}`,
		"z/a.yml", object("d"),
	), render.Options{URL: func(name string) string { return "s3://bucket/" + name }})
	if err != nil {
		t.Fatal(err)
	}
	var positions []string
	for _, d := range got {
		positions = append(positions, d.Document())
	}
	want := []string{"s3://bucket/a.yaml:2", "s3://bucket/a.yaml:5: document 2", "s3://bucket/b.json:1 items[0]", "s3://bucket/z/a.yml:1"}
	if diff := cmp.Diff(want, positions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// unlined is the text of an error without the lines in Kustomizations; TestKustomizeLines has those.
func unlined(err error) string { return kustomizationLine.ReplaceAllString(text(err), "$1$2") }

var kustomizationLine = regexp.MustCompile(`(ustomization(?:\.ya?ml)?):\d+(: [\w.]+: )`)

type errorCase struct {
	name    string
	files   []tree.File
	options render.Options
	want    string
}

func checkErrors(t *testing.T, cases []errorCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			docs, err := directory(c.files, c.options)
			if diff := cmp.Diff(c.want, unlined(err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err != nil && docs != nil {
				t.Errorf("%d objects beside an error", len(docs))
			}
		})
	}
}

// directory renders a directory by what is in it, strictly and offline: what is missing is an error, too. It turns a panic into an error,
// so that it does not hide the other cases.
func directory(files []tree.File, o render.Options) (docs []manifest.Document, err error) {
	defer func() {
		if r := recover(); r != nil {
			docs, err = nil, panicked{r}
		}
	}()
	switch kindOf(files) {
	case "helm":
		rendered, err := render.Helm(context.Background(), files, o)
		if err != nil {
			return nil, err
		}
		return rendered.Documents, nil
	case "kustomize":
		return kustomize(render.Kustomization{View: tree.Of(files), URL: o.URL, Strict: true})
	}
	var list []tree.File
	for _, f := range files {
		name := f.Name
		if !tree.IsManifest(name) {
			continue
		}
		if o.URL != nil {
			name = o.URL(name)
		}
		list = append(list, tree.File{Name: name, Data: f.Data})
	}
	docs, _, err = render.Plain(context.Background(), list, false)
	return docs, err
}

// kustomize builds a Kustomization; what is missing is an error.
func kustomize(k render.Kustomization) ([]manifest.Document, error) {
	built, err := render.Build(context.Background(), k)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(built.Missing...); err != nil {
		return nil, err
	}
	return built.Documents, nil
}

func kindOf(files []tree.File) string {
	for _, name := range tree.Names(files) {
		switch {
		case name == "Chart.yaml":
			return "helm"
		case render.IsKustomization(name):
			return "kustomize"
		}
	}
	return "manifests"
}

type panicked struct{ v any }

func (p panicked) Error() string {
	if err, ok := p.v.(error); ok {
		return "PANIC: " + err.Error()
	}
	return "PANIC"
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func yaml(t *testing.T, docs []manifest.Document) string {
	t.Helper()
	var objects []manifest.Object
	for _, d := range docs {
		objects = append(objects, d.Object)
	}
	var buf bytes.Buffer
	if err := manifest.WriteYAML(&buf, objects...); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func object(name string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}\n"
}

// files makes a directory of names and contents.
func files(pairs ...string) []tree.File {
	var out []tree.File
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, tree.File{Name: pairs[i], Data: []byte(pairs[i+1])})
	}
	tree.Sort(out)
	return out
}

func clone(files []tree.File) []tree.File {
	out := slices.Clone(files)
	for i := range out {
		out[i].Data = bytes.Clone(out[i].Data)
	}
	return out
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// source reads a directory. One with a name like chart.tgz becomes a file: the archive of what is in it.
func source(t *testing.T, dir string) []tree.File {
	t.Helper()
	var out []tree.File
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path.Ext(name) == ".tgz":
			out = append(out, tree.File{Name: name, Data: pack(t, source(t, filepath.Join(dir, name)))})
			return fs.SkipDir
		case !d.IsDir():
			out = append(out, tree.File{Name: name, Data: read(t, filepath.Join(dir, name))})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tree.Sort(out)
	return out
}

func pack(t *testing.T, files []tree.File) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.Name, Size: int64(len(f.Data)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestCancelled: decoding ends with its context, and says why.
func TestCancelled(t *testing.T) {
	why := errors.New("nobody waits any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	files := []tree.File{{Name: "a.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")}}
	if docs, _, err := render.Plain(ctx, files, false); !errors.Is(err, why) || docs != nil {
		t.Errorf("%v, %v", docs, err)
	}
}
