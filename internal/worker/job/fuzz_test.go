package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/cmp/client"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/worker"
)

// allocated is how many bytes this process has allocated, to a few pages.
func allocated() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// FuzzValue: reading takes no more memory than was said before, and a value that is written and read again is the same.
func FuzzValue(f *testing.F) {
	data, err := appendValue(nil, map[string]any{"a": []any{
		int64(1), 1.5, "x", nil, true, json.Number("99999999999999999999"), math.NaN(),
		map[string]any{},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	// Each of these says that it is long, in the middle of the others.
	var nested []byte
	for range 1000 {
		nested = append(nested, tagList, 0xff, 0x7f)
	}
	f.Add(append(nested, make([]byte, 1<<14)...))
	f.Add(append([]byte{tagList, 0xe8, 0x07}, bytes.Repeat([]byte{tagMap, 1, 0, tagNil}, 1000)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := allocated()
		v, err := checked(data)
		used := allocated() - before
		size, _ := memory(data)
		if limit := size + size/2 + 1<<20; used > limit {
			t.Errorf("%d bytes were allocated, and %d announced", used, size)
		}
		if size > mostTimes*int64(len(data)) {
			t.Errorf("%d bytes become %d", len(data), size)
		}
		if err != nil {
			return
		}
		again, err := appendValue(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := checked(again)
		if diff := cmp.Diff(v, got, cmpopts.EquateNaNs()); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
}

// FuzzExpanded: an answer is read within the memory that it says, and is the same when it is written and read again.
func FuzzExpanded(f *testing.F) {
	reads := []appset.Read{{URL: "u", Revision: "r", Commit: "c"}}
	m, err := encodeExpanded(&appset.Expanded{
		Objects: []manifest.Object{{"a": "b"}, {}}, Reads: [][]appset.Read{reads, nil}, Sets: 1,
		Rendered: 2, Warnings: generator.Warnings("", "w"),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(m.Head), m.Blobs[0])
	f.Add([]byte(`{"read": [1, 0], "reads": [[]]}`), m.Blobs[0])
	f.Add([]byte(`{"read": [2, -1]}`), m.Blobs[0])
	f.Add([]byte(`{"reads": [`+strings.Repeat(`[{}],`, 1000)+`[]]}`), []byte{tagNil})
	f.Fuzz(func(t *testing.T, head, blob []byte) {
		m := worker.Message{Head: head, Blobs: [][]byte{blob}}
		before := allocated()
		cost, err := costOfExpanded(m)
		if err != nil {
			return
		}
		got, err := decodeExpanded(m)
		if used := allocated() - before; used > cost+cost/2+1<<20 {
			t.Errorf("%d bytes were allocated, and %d announced", used, cost)
		}
		if err != nil {
			return
		}
		if len(got.Reads) != len(got.Objects) {
			t.Errorf("%d objects, and reads of %d", len(got.Objects), len(got.Reads))
		}
		again, err := encodeExpanded(got)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeExpanded(again)
		if diff := cmp.Diff(got, back, cmpopts.IgnoreUnexported(appset.Expanded{}), cmpopts.EquateEmpty(),
			cmpopts.EquateNaNs()); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
}

// Git, File and Chart make known what a source is rendered with.
func (k known) Git(ctx context.Context, url, _ string) (*tree.View, error) {
	_, err := k.Tree(ctx, url, "")
	return k.View(), err
}

func (k known) File(ctx context.Context, url string) ([]byte, error) {
	_, err := k.Tree(ctx, url, "")
	return []byte("x"), err
}

func (k known) Chart(ctx context.Context, repository, _, _ string) ([]tree.File, error) {
	_, err := k.Tree(ctx, repository, "")
	return []tree.File{{Name: "Chart.yaml"}}, err
}

// recorder is an engine of a host. It notes what it is asked for.
type recorder struct{ sets []appset.Set }

func (r *recorder) Generate(_ context.Context, sets ...appset.Set) (*appset.Result, error) {
	r.sets = sets
	return &appset.Result{Applications: make([][]manifest.Object, len(sets))}, nil
}

// FuzzAnswer: whatever a worker asks for, it gets what its host has and the request may have, or an error.
func FuzzAnswer(f *testing.F) {
	spec, err := appendValue(nil, map[string]any{"goTemplate": true})
	if err != nil {
		f.Fatal(err)
	}
	for _, host := range []byte{0, 1, 2, 3, 4} {
		f.Add(host, "archive", []byte(`{"offset": 3}`), []byte(nil))
		f.Add(host, "archive", []byte(`{"offset": -1}`), []byte(nil))
		f.Add(host, "archive", []byte(`{"offset": 9223372036854775807}`), []byte(nil))
		f.Add(host, "warnings", []byte("null"), []byte("a\x00b"))
		f.Add(host, "warnings", []byte("null"), bytes.Repeat([]byte("w"), maxFailureTexts+1))
		f.Add(host, "warnings", []byte("null"), bytes.Repeat([]byte("w\x00"), maxWarnings))
		f.Add(host, "clusters", []byte("null"), []byte(nil))
		f.Add(host, "tree", []byte(`{"url": "https://git.example.com/secret"}`), []byte(nil))
		f.Add(host, "files", []byte(`{"tree": 0, "pattern": "*"}`), []byte(nil))
		f.Add(host, "directories", []byte(`{"tree": 1}`), []byte(nil))
		f.Add(host, "directories", []byte(`{"tree": -1}`), []byte(nil))
		f.Add(host, "api", []byte(`{"ask": "repositories", "provider": "github", "spec": {"organization": "acme"}}`), []byte(nil))
		f.Add(host, "api", []byte(`{"ask": "repositories", "provider": "github", "spec": {"organization": "secret"}}`), []byte(nil))
		f.Add(host, "api", []byte(`{"ask": 1, "spec": "x"}`), []byte(nil))
		f.Add(host, "sets", []byte(`[{"Name": "a"}]`), spec)
		f.Add(host, "open", []byte(`{"url": "u", "commit": "secret"}`), []byte(nil))
		f.Add(host, "open", []byte(`{"url": "u", "commit": "c"}`), []byte(nil))
		f.Add(host, "read", []byte(`{"tree": 0}`), []byte("apps/web/cm.yaml"))
		f.Add(host, "read", []byte(`{"tree": 0}`), []byte("../../etc/passwd"))
		f.Add(host, "read", []byte(`{"tree": 1}`), []byte("apps/web/cm.yaml"))
		f.Add(host, "list", []byte(`{"tree": 0}`), []byte(nil))
		f.Add(host, "url", []byte("null"), []byte("x"))
		for _, kind := range []string{"git", "file"} {
			f.Add(host, kind, []byte(`{"url": "https://git.example.com/x"}`), []byte(nil))
			f.Add(host, kind, []byte(`{"url": "https://git.example.com/secret"}`), []byte(nil))
		}
		f.Add(host, "chart", []byte(`{"Repository": "https://charts.example.com", "Name": "x"}`), []byte(nil))
		f.Add(host, "chart", []byte(`{"Repository": "https://charts.example.com/secret", "Name": "x"}`), []byte(nil))
	}
	const packed = "the archive"
	k := known{files: map[string][]byte{"cm": []byte("x")}}
	f.Fuzz(func(t *testing.T, which byte, kind string, head, blob []byte) {
		m := worker.Message{Head: head, Blobs: [][]byte{blob}}
		var warned []string
		engine := &recorder{}
		expansion := &expandHost{warn: func(lines []string) { warned = lines }}
		comparison := &compareHost{
			views: map[int]*tree.View{0: k.View()}, most: 2,
			open: func(_ context.Context, _, commit string) (appsetplugin.Tree, error) {
				if strings.Contains(commit, "secret") {
					return nil, errPolicy
				}
				return k, nil
			},
		}
		s3 := &S3{Archive: archiveOf([]byte(packed))}
		answer := s3.answer
		allowed := []string{"archive"}
		sources := &sourceHost{request: source.Request{URL: strings.ToUpper}, numbers: &numbers{}, views: map[int]*tree.View{0: k.View()}}
		sources.request.Remote = k
		switch which % 5 {
		case 1: // an engine that is elsewhere, and no repository
			expansion.engine = engine
			answer, allowed = expansion.answer, []string{"sets", "warnings"}
		case 2: // the engine is in the worker
			expansion.archive, expansion.clusters, expansion.git, expansion.trees = archiveOf([]byte(packed)), k, k, []generator.Tree{k}
			expansion.apis = k
			answer, allowed = expansion.answer, []string{"archive", "warnings", "clusters", "tree", "files", "directories", "api"}
		case 3:
			answer, allowed = comparison.answer, []string{"open", "read"}
		case 4:
			answer, allowed = sources.answer, []string{"read", "list", "url", "git", "file", "chart"}
		}
		got, err := answer(t.Context(), worker.Question(kind), m)
		if err != nil && !errors.Is(err, errAnswer) && !errors.Is(err, errPolicy) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s %s: %v", kind, head, err)
		}
		if err != nil {
			return
		}
		if !slices.Contains(allowed, kind) {
			t.Errorf("%s is answered", kind)
		}
		var p part
		var q question
		var c ofTree
		switch kind {
		case "archive":
			if err := m.Decode(&p); err != nil || string(got.Blobs[0]) != packed[p.Offset:] {
				t.Errorf("%s: %q, %v", head, got.Blobs, err)
			}
		case "sets":
			if len(engine.sets) != 1 {
				t.Fatalf("%d sets", len(engine.sets))
			}
			if want, err := checked(blob); err != nil || !cmp.Equal(any(engine.sets[0].Spec), want, cmpopts.EquateNaNs()) {
				t.Errorf("%v, want %v, %v", engine.sets[0].Spec, want, err)
			}
		case "warnings":
			if len(warned) > maxWarnings || len(strings.Join(warned, "")) > maxFailureTexts {
				t.Errorf("%d warnings", len(warned))
			}
		case "tree":
			if err := m.Decode(&q); err != nil || strings.Contains(q.URL, "secret") || len(expansion.trees) != 2 {
				t.Errorf("%s is opened: %d, %v", head, len(expansion.trees), err)
			}
		case "api":
			var asked generator.Question
			if err := m.Decode(&asked); err != nil || strings.Contains(string(asked.Spec), "secret") || expansion.asked != 1 {
				t.Errorf("%s is answered: %v", head, err)
			}
		case "files", "directories":
			if err := m.Decode(&q); err != nil || q.Tree != 0 {
				t.Errorf("%s is answered: %v", head, err)
			}
		case "read":
			if err := m.Decode(&c); err != nil || c.Tree != 0 || !k.View().Has(string(blob)) && !k.View().IsLink(string(blob)) {
				t.Errorf("%s of %q is answered: %v", head, blob, err)
			}
		case "git", "file", "chart":
			var chart ofChart
			if err := m.Decode(&c); err == nil && kind != "chart" && strings.Contains(c.URL, "secret") {
				t.Errorf("%s is answered", head)
			}
			if err := m.Decode(&chart); err == nil && kind == "chart" && strings.Contains(chart.Repository, "secret") {
				t.Errorf("%s is answered", head)
			}
		case "open":
			var l commit
			if err := errors.Join(m.Decode(&c), got.Decode(&l)); err != nil || strings.Contains(c.Commit, "secret") != (l.Failed == 1) ||
				l.Failed == 0 && l.Tree != 1 {
				t.Errorf("%s: %s, %v", head, got.Head, err)
			}
		}
	})
}

// FuzzSame: a worker answers as this process does, whatever is in the repository.
func FuzzSame(f *testing.F) {
	w := workers(f)
	elsewhere := foreign(f)
	for which := range byte(5) {
		for _, text := range []string{
			setOf("[{list: {elements: [{name: a, path: {basename: -x}}]}}]")["app/set.yaml"], setOf("")["app/cm.yaml"],
			"bucket: b\npath: p\n", "sources: [{bucket: b, path: p}, {bucket: b, path: q, type: directory}]",
			"kind: [", "a: &a [1]\nb: *a\n", "n: [1e400, 0x1f, 1_000, .inf, -0, 1.0, 99999999999999999999999, ~]\n",
		} {
			f.Add(which, text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nn: [1, 1.5, 1.0, 123456789012345678901234567890, 1e300]\n")
		}
	}
	f.Fuzz(func(t *testing.T, which byte, text, other string) {
		files := []tree.File{{Name: "app/" + triggerfile.Name, Data: []byte(text)}, {Name: "app/a.yaml", Data: []byte(other)}}
		packed := client.Pack(files, nil)
		var want, got any
		var wantErr, err error
		switch which % 5 {
		case 0, 1:
			k := known{files: map[string][]byte{"a/config.json": []byte(other)}}
			var engine appset.Engine = appset.Embedded{Clusters: k, Git: k}
			if which%5 == 1 {
				engine = opaque{engine}
			}
			e := evaluation(packed, engine)
			want, wantErr = appsetplugin.Here{}.Expand(t.Context(), e)
			got, err = w.Expand(t.Context(), e)
		case 2:
			want, wantErr = s3Here(t, text, other)
			got, err = s3There(t, w, packed, other)
		case 3:
			c := comparisonOf(text, other)
			want, wantErr = summary(appsetplugin.Here{}.Compare(t.Context(), c))
			got, err = summary(w.Compare(t.Context(), c))
		case 4:
			r := source.Request{Repository: source.Repository{View: tree.Of(files)}, Spec: map[string]any{"path": "app"}}
			want, got = became(source.Render(t.Context(), r)), became(elsewhere.Sum().Render(t.Context(), r))
		}
		if killed, ok := errors.AsType[*worker.KilledError](err); ok && killed.Reason == worker.ReasonMemory {
			t.Skip("this process has more memory")
		}
		if !cmp.Equal(fmt.Sprint(wantErr), fmt.Sprint(err), readable) {
			t.Errorf("got error %v, want %v", err, wantErr)
		}
		if wantErr != nil {
			return
		}
		options := cmp.Options{cmpopts.IgnoreUnexported(appset.Expanded{}), cmpopts.EquateEmpty(), cmpopts.EquateNaNs()}
		if which%5 > 2 { // with texts for people
			options = append(options, readable)
		}
		if diff := cmp.Diff(want, got, options); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// s3Here renders a trigger file with one object in each of its sources.
func s3Here(t *testing.T, text, object string) (any, error) {
	t.Helper()
	list, err := triggerfile.Parse("app/"+triggerfile.Name, []byte(text))
	if err != nil {
		return nil, err
	}
	docs, err := s3source.Config{Git: tree.FS(func(name string) ([]byte, error) {
		switch name {
		case triggerfile.Name:
			return []byte(text), nil
		case "a.yaml":
			return []byte(object), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}), App: argo.Call{App: "web"}, File: "app/" + triggerfile.Name}.Render(t.Context(), fetchedOf(list, object))
	out := make([]manifest.Object, len(docs))
	for i, d := range docs {
		out[i] = d.Object
	}
	return out, err
}

func s3There(t *testing.T, w Workers, packed []byte, object string) (any, error) {
	t.Helper()
	s := &S3{Call: argo.Call{App: "web"}, Dir: "app", Archive: archiveOf(packed)}
	_, list, err := w.Sources(t.Context(), s)
	if err != nil {
		return nil, err
	}
	return w.Render(t.Context(), s, fetchedOf(list, object))
}

func fetchedOf(list []triggerfile.Source, object string) []s3source.Fetched {
	var out []s3source.Fetched
	for _, s := range list {
		out = append(out, s3source.Fetched{Source: s, Snapshot: &bucket.Snapshot{Files: []tree.File{{
			Name: "x.yaml",
			Data: []byte(object),
		}}}})
	}
	return out
}

// comparisonOf compares two contents of one directory.
func comparisonOf(one, other string) appsetplugin.Comparison {
	content := func(commit string) appsetplugin.Content {
		return appsetplugin.Content{
			URL: "https://git.example.com/x", Key: giturl.Canonical("https://git.example.com/x"), Commit: commit,
			Application: source.Application{Name: "a", Namespace: "n", Project: "default"},
			Sources:     []map[string]any{{"repoURL": "https://git.example.com/x", "path": "apps/web", "targetRevision": commit}},
		}
	}
	return appsetplugin.Comparison{
		Pairs: [][2]appsetplugin.Content{{content("one"), content("other")}},
		Open: func(_ context.Context, _, commit string) (appsetplugin.Tree, error) {
			return known{map[string][]byte{"cm": []byte(map[string]string{"one": one, "other": other}[commit])}}, nil
		},
	}
}

// became is what a source became.
func became(r *source.Result) any {
	out := []any{r.Kind, r.Verdict, r.Inputs}
	for _, p := range r.Problems {
		out = append(out, fmt.Sprint(p.Class, p.Text))
	}
	for _, d := range r.Documents {
		out = append(out, d.Object, d.Position)
	}
	return out
}

// summary are sums with the texts of their errors.
func summary(sums []appsetplugin.Sums, err error) (any, error) {
	var out []string
	for _, s := range sums {
		out = append(out, fmt.Sprint(s.Sum, s.Err))
	}
	return out, err
}
