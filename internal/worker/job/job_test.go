package job

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cmp/client"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/worker"
)

func TestMain(m *testing.M) {
	if os.Args[0] == "test-worker" {
		if err := worker.Main(os.Args[1:], Handlers()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func workers(t testing.TB) Workers {
	t.Helper()
	p, err := worker.Open(t.Context(), worker.Config{Args: []string{"test-worker"}, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return Workers{p}
}

var errPolicy = errors.New("the policy does not allow it")

// known is what a host knows. It refuses one repository.
type known struct{ files map[string][]byte }

func (k known) Clusters(context.Context) ([]generator.Cluster, error) {
	return []generator.Cluster{{Name: "prod", Server: "https://prod", Labels: map[string]string{"env": "prod"}}}, nil
}

func (k known) Tree(_ context.Context, url, _ string) (generator.Tree, error) {
	if strings.Contains(url, "secret") {
		return nil, fmt.Errorf("repository %s: %w", url, errPolicy)
	}
	return k, nil
}

func (k known) Directories(context.Context) ([]string, error) {
	return []string{"apps", "apps/web"}, nil
}

func (k known) Files(context.Context, string) (map[string][]byte, error) { return k.files, nil }

func (k known) Commit() string { return strings.Repeat("a", 40) }

// View and ID make it a commit, too.
func (k known) View() *tree.View {
	return tree.NewView(map[string]bool{"apps/web/cm.yaml": false, "apps/web/link.yaml": true},
		func(_ context.Context, name string) ([]byte, error) {
			if name == "apps/web/link.yaml" {
				return []byte("cm.yaml"), nil
			}
			return k.files["cm"], nil
		})
}

func (k known) ID(name string) string { return fmt.Sprintf("%s-%x", name, k.files["cm"]) }

// opaque is an engine of which nothing is known.
type opaque struct{ appset.Engine }

const template = `
  template:
    metadata: {name: '{{ or .name .repository .branch_slug .path.basename }}'}
    spec: {project: default, source: {repoURL: https://git.example.com/x, path: x}, destination: {name: in-cluster, namespace: x}}
`

// Ask implements generator.APIs.
func (known) Ask(_ context.Context, q generator.Question) (*generator.Answer, error) {
	switch {
	case strings.Contains(string(q.Spec), "secret"):
		return nil, errPolicy
	case q.Ask == generator.AskRepositories:
		return &generator.Answer{Repositories: []generator.Repository{
			{Organization: "acme", Repository: "a", Number: 12345678},
			{Organization: "acme", Repository: "b", ID: "{x}", Labels: []string{}},
		}, Warnings: []string{"careful"}}, nil
	case q.Ask == generator.AskBranches:
		return &generator.Answer{Branches: [][]generator.Branch{{{Name: "main", SHA: "0123456789"}}, {}}}, nil
	case q.Ask == generator.AskPath:
		return &generator.Answer{Exists: []bool{q.Path == "x"}}, nil
	case q.Ask == generator.AskPullRequests:
		return &generator.Answer{PullRequests: []generator.PullRequest{{Number: 3, Branch: "x", HeadSHA: "abc"}}}, nil
	}
	return &generator.Answer{Parameters: []map[string]any{{"name": "p", "n": 1.5, "list": []any{true, nil}}}}, nil
}

func setOf(generators string) map[string]string {
	return map[string]string{"app/set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x}\nspec:\n  goTemplate: true\n  generators: " + generators + template, "app/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}\nn: [1, 1.5, 1.0, true, null, 123456789012345678901234567890]\n"}
}

// evaluation is of the directory app of a packed repository.
func evaluation(packed []byte, engine appset.Engine) appsetplugin.Evaluation {
	return appsetplugin.Evaluation{
		Call: argo.Call{App: "web", Project: "default"}, Dir: "app", Namespace: "argocd",
		Expansion: appset.Expansion{Engine: engine, Namespace: "argocd", Keep: true, Deployed: true}, Doing: func(string) {},
		Repository: func(ctx context.Context) (*tree.View, error) {
			v, err := archive.View(ctx, func(context.Context) (io.Reader, error) {
				return bytes.NewReader(packed), nil
			}, archive.RepositoryLimits)
			return v, received(err)
		},
		Archive: func(context.Context) (appsetplugin.Archive, error) { return archiveOf(packed), nil },
	}
}

func archiveOf(packed []byte) appsetplugin.Archive {
	return appsetplugin.Archive{ReaderAt: bytes.NewReader(packed), Size: int64(len(packed))}
}

// TestExpand: a worker answers as this process does, errors and warnings included.
func TestExpand(t *testing.T) {
	w := workers(t)
	k := known{files: map[string][]byte{"a/config.json": []byte(`{"name": "a"}`), "b/config.json": []byte(`{"name": "b"}`)}}
	embedded := appset.Embedded{Clusters: k, Git: k, APIs: k}
	const element = "values: {name: '{{ .repository_id }}{{ .number }}'}"
	for name, tt := range map[string]struct {
		files   map[string]string
		engine  appset.Engine
		target  error
		renders bool // without an error
	}{
		"list":           {files: setOf("[{list: {elements: [{name: a, path: {basename: -x}}]}}]"), engine: embedded},
		"another engine": {files: setOf("[{list: {elements: [{name: a, path: {basename: -x}}]}}]"), engine: opaque{embedded}},
		"clusters":       {files: setOf("[{clusters: {values: {a: b}}}]"), engine: embedded},
		"directories": {
			files:  setOf("[{git: {repoURL: https://git.example.com/x, revision: main, directories: [{path: 'apps/*'}]}}]"),
			engine: embedded,
		},
		"files": {
			files:  setOf("[{git: {repoURL: https://git.example.com/x, revision: main, files: [{path: '**/config.json'}]}}]"),
			engine: embedded,
		},
		"refused":        {files: setOf("[{git: {repoURL: https://git.example.com/secret, revision: main, files: [{path: '**/config.json'}]}}]"), engine: embedded, target: errPolicy},
		"refused engine": {files: setOf("[{git: {repoURL: https://git.example.com/secret, revision: main, files: [{path: '**/config.json'}]}}]"), engine: opaque{embedded}, target: errPolicy},
		"several errors": {files: map[string]string{"app/a.yaml": "kind: [", "app/b.yaml": "kind: ["}, engine: embedded},
		"no such field":  {files: setOf("[{list: {elements: [{name: a, path: {basename: -x}}]}}]\n  nothing: true"), engine: embedded},
		"repositories": {
			files:  setOf("[{scmProvider: {github: {organization: acme}, filters: [{pathsExist: [x]}], " + element + "}}]"),
			engine: embedded, renders: true,
		},
		"pull requests": {
			files: setOf("[{pullRequest: {github: {owner: acme, repo: web}, " + element + "}}]"), engine: embedded,
			renders: true,
		},
		"plugin": {
			files: setOf("[{plugin: {configMapRef: {name: p}, input: {parameters: {a: 1}}}}]"), engine: embedded,
			renders: true,
		},
		"refused API":     {files: setOf("[{scmProvider: {github: {organization: secret}}}]"), engine: embedded, target: errPolicy},
		"no applications": {files: setOf("[{list: {elements: []}}]\n  nothing: true"), engine: embedded},
		"no directory":    {files: map[string]string{"x": ""}, engine: embedded},
		"damaged archive": {engine: embedded},
	} {
		t.Run(name, func(t *testing.T) {
			var files []tree.File
			for name, content := range tt.files {
				files = append(files, tree.File{Name: name, Data: []byte(content)})
			}
			packed := client.Pack(files, nil)
			if tt.files == nil {
				packed = []byte("not an archive")
			}
			e := evaluation(packed, tt.engine)
			want, wantErr := appsetplugin.Here{}.Expand(t.Context(), e)
			got, err := w.Expand(t.Context(), e)
			if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); diff != "" || tt.target != nil && !errors.Is(err, tt.target) {
				t.Error(diff, err)
			}
			if tt.renders && (err != nil || got.Rendered == 0) {
				t.Errorf("%v", err)
			}
			if err != nil { // warnings are all that counts
				want, got = &appset.Expanded{Warnings: want.Warnings}, &appset.Expanded{Warnings: got.Warnings}
			}
			want.Warnings = generator.Warnings("", generator.Texts(want.Warnings)...) // only the texts pass
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(appset.Expanded{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCompare: a worker finds the same contents, and the errors of its host come back as they are.
func TestCompare(t *testing.T) {
	content := func(commit string) appsetplugin.Content {
		dir := "apps/web"
		if commit == "broken" {
			dir = "nothing"
		}
		return appsetplugin.Content{
			URL: "https://git.example.com/x", Key: giturl.Canonical("https://git.example.com/x"), Commit: commit,
			Application: source.Application{Name: "a", Namespace: "n", Project: "default"},
			Sources:     []map[string]any{{"repoURL": "https://git.example.com/x", "path": dir, "targetRevision": commit}},
		}
	}
	c := appsetplugin.Comparison{
		Pairs: [][2]appsetplugin.Content{
			{content("same1"), content("same2")},
			{content("same1"), content("other")},
			{content("same1"), content("secret")},
			{content("broken"), content("same1")},
		},
		Open: func(_ context.Context, _, commit string) (appsetplugin.Tree, error) {
			text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
			switch commit {
			case "secret":
				return nil, errPolicy
			case "other":
				text += "data: {a: b}\n"
			}
			return known{map[string][]byte{"cm": []byte(text)}}, nil
		},
	}
	want, err := appsetplugin.Here{}.Compare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := workers(t).Compare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if want[i].Sum != got[i].Sum || fmt.Sprint(want[i].Err) != fmt.Sprint(got[i].Err) {
			t.Errorf("%d: got %+v, want %+v", i, got[i], want[i])
		}
	}
	if got[0].Sum[0] != got[0].Sum[1] || got[0].Sum[0] == "" || got[1].Sum[0] == got[1].Sum[1] || !errors.Is(got[2].Err, errPolicy) ||
		got[3].Err == nil {
		t.Errorf("%+v", got[1:])
	}
}

// TestLies: an answer that says more than its question allows is refused, before there is memory for it.
func TestLies(t *testing.T) {
	objects, err := encodeObjects(nil)
	if err != nil {
		t.Fatal(err)
	}
	expanded := func(warnings ...string) error {
		m, err := worker.NewMessage(expanded{Warnings: warnings}, objects)
		if err == nil {
			_, err = decodeExpanded(m)
		}
		return err
	}
	compared := func(head string) error {
		_, err := decodeCompared(worker.Message{Head: []byte(head)}, 1, nil)
		return err
	}
	comparison := &compareHost{most: 2, views: map[int]*tree.View{}, open: func(_ context.Context, _, commit string) (appsetplugin.Tree, error) {
		if commit == "secret" {
			return nil, errPolicy
		}
		return known{}, nil
	}}
	open := func(commit string) error {
		m, err := worker.NewMessage(ofTree{Commit: commit})
		if err == nil {
			_, err = comparison.answer(t.Context(), askOpen, m)
		}
		return err
	}
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"as many warnings as there may be", expanded(make([]string, maxWarnings)...), nil},
		{"more warnings", expanded(make([]string, maxWarnings+1)...), errAnswer},
		{"a long warning", expanded(strings.Repeat("w", maxWarningTexts+1)), errAnswer},
		{"a sum", compared(`[{"sum": ["a", "b"]}]`), nil},
		{"a long sum", compared(`[{"sum": ["", "` + strings.Repeat("a", maxSum+1) + `"]}]`), errAnswer},
		{"another pair", compared(`[{}, {}]`), errAnswer},
		{"a commit", open("a"), nil},
		{"a commit that is refused", open("secret"), nil},
		{"one commit more", open("b"), errAnswer},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
		}
	}
	many := worker.Message{Head: []byte(`[` + strings.Repeat("{},", 1_000_000) + `{}]`)}
	before := allocated()
	if _, err := decodeCompared(many, 1, nil); err == nil || allocated()-before > 1<<20 {
		t.Errorf("%d bytes, %v", allocated()-before, err)
	}
}

// TestBoundWarnings: warnings that are too many are left out, and that is said.
func TestBoundWarnings(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  int
		last  string
	}{
		{"none", nil, 0, ""},
		{"few", []string{"a", "b"}, 2, "b"},
		{"bytes", []string{"a\xffb"}, 1, "a\ufffdb"},
		{"all", slices.Repeat([]string{"w"}, maxWarnings), maxWarnings, "w"},
		{"many", slices.Repeat([]string{"w"}, maxWarnings+5), maxWarnings, "6 more warnings are left out"},
		{"long", []string{"a", strings.Repeat("x", 1800), strings.Repeat("x", 1800), "b"}, 3, "2 more warnings are left out"},
		{"longest", []string{strings.Repeat("x", 3000)}, 1, "1 more warnings are left out"},
	} {
		got := boundWarnings(tt.lines, 2048)
		if len(got) != tt.want || tt.want > 0 && got[len(got)-1] != tt.last || !fewWarnings(got, 2048) {
			t.Errorf("%s: %d warnings", tt.name, len(got))
		}
	}
}

// TestMaps: small maps take much more memory than bytes, and are counted as what they take.
func TestMaps(t *testing.T) {
	maps := func(n int) []byte {
		return append(binary.AppendUvarint([]byte{tagList}, uint64(n)), bytes.Repeat([]byte{tagMap, 1, 0, tagNil}, n)...)
	}
	const n = 100_000
	data := maps(n)
	cost, err := costOfObjects(worker.Message{Blobs: [][]byte{data}})
	if err != nil || cost < 300*n {
		t.Errorf("%d bytes, %v", cost, err)
	}
	before := allocated()
	if _, err := objects(data); err != nil || allocated()-before > cost+cost/10 {
		t.Errorf("%d bytes were allocated, and %d counted: %v", allocated()-before, cost, err)
	}
	if _, err := costOfObjects(worker.Message{Blobs: [][]byte{maps(2_000_000)}}); err == nil {
		t.Error("700 MB are accepted")
	}
}

// TestNeverInHost: the host does not evaluate sets for a worker that has the engine.
func TestNeverInHost(t *testing.T) {
	spec, err := appendValue(nil, map[string]any{"generators": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := worker.NewMessage([]set{{Name: "x"}}, spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&expandHost{}).answer(t.Context(), askSets, m); !errors.Is(err, errAnswer) {
		t.Error(err)
	}
}

// checked reads a value as a host does.
func checked(data []byte) (any, error) {
	if _, err := memory(data); err != nil {
		return nil, err
	}
	return value(data)
}

func TestValue(t *testing.T) {
	v := map[string]any{
		"nil": nil, "true": true, "false": false, "int": int64(math.MinInt64), "float": 1.0, "inf": math.Inf(1), "text": "ä\x00",
		"list": []any{}, "map": map[string]any{"": []any{map[string]any{}}},
		"number": json.Number("123456789012345678901234567890"),
	}
	data, err := appendValue(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := checked(data)
	if diff := cmp.Diff(any(v), got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, bad := range [][]byte{
		nil,
		{99},
		{tagInt},
		{tagFloat, 1},
		{tagString, 5, 'x'},
		{tagList, 200},
		{tagMap, 1},
		{tagMap, 2, 1, 'a', tagNil, 1, 'a', tagNil},
		{tagNil, tagNil},
		{tagNumber, 1, 'x'},
		{tagList, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		bytes.Repeat([]byte{tagList, 1}, 2000),
	} {
		if v, err := checked(bad); err == nil {
			t.Errorf("%v is %v", bad, v)
		}
	}
	// What Go makes of other types is what the encoder of answers makes of them.
	if data, err = appendValue(nil, map[string]string{"a": "b"}); err != nil {
		t.Fatal(err)
	}
	if got, err := checked(data); err != nil || !cmp.Equal(got, any(map[string]any{"a": "b"})) {
		t.Error(got, err)
	}
}
