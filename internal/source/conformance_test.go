package source_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/source/sourcetest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestConformance compares our rendering with the answers of Argo CD 3.2.11 on file, objects in order. `make conformance` writes and checks
// the files. A case that Argo CD refuses must be broken here; one that fails for want of a network must not be known.
func TestConformance(t *testing.T) {
	for _, c := range sourcetest.Cases(t, "testdata/conformance") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got := ours(t, c)
			diff := difference(t, c, got)
			switch {
			case c.Differs == "" && diff != "":
				t.Errorf("%s\n%v", diff, got.Problems)
			case c.Differs != "" && diff == "":
				t.Error("it says that it differs from Argo CD, but does not")
			}
		})
	}
}

// onlyIgnored reports whether nothing but fields that Argo CD 3.2 ignores, too, keeps a result from being known.
func onlyIgnored(r *source.Result) bool {
	return r.Verdict == source.Partly && !slices.ContainsFunc(r.Problems, func(p source.Problem) bool { return p.Class == source.Missing })
}

// difference describes how our answer differs from Argo CD's, "" if it does not.
func difference(t *testing.T, c sourcetest.Case, got *source.Result) string {
	t.Helper()
	switch {
	case strings.Contains(c.UpstreamErr, "<no network>"):
		if got.Verdict == source.Known {
			return "known, but Argo CD needs the network: " + c.UpstreamErr
		}
		return ""
	case c.UpstreamErr != "":
		if got.Verdict != source.Broken {
			return got.Verdict.String() + ", but Argo CD refuses this: " + c.UpstreamErr
		}
		return ""
	case got.Verdict != source.Known && !onlyIgnored(got):
		return got.Verdict.String() + ", but Argo CD accepts this"
	}
	if diff := cmp.Diff(objects(t, c.Upstream), objects(t, got.Documents)); diff != "" {
		return "(-Argo CD +ours):\n" + diff
	}
	return ""
}

// ours renders all sources of a case and adds up the results; the worst verdict counts.
func ours(t *testing.T, c sourcetest.Case) *source.Result {
	t.Helper()
	sum := &source.Result{}
	app := c.App.Object
	about := source.Application{
		Name: manifest.String(app, "metadata", "name"), Namespace: manifest.String(app, "spec", "destination", "namespace"),
		Project: manifest.String(app, "spec", "project"),
	}
	if namespace := manifest.String(app, "metadata", "namespace"); namespace != sourcetest.ArgoNamespace {
		about.Name = namespace + "_" + about.Name
	}
	loader := source.Loader{
		Open: func(_ context.Context, url, revision string) (source.Repository, error) {
			repo, err := repository(t, c, url, revision)
			if err != nil {
				sum.Verdict = source.Broken // there is no other place where it could be
			}
			return repo, err
		},
		Environment: source.Environment{
			BuildOptions: &c.Settings.BuildOptions, KustomizeVersions: []string{}, KubeVersion: c.Settings.KubeVersion,
			APIVersions: c.Settings.APIVersions, Unbounded: true,
		},
	}
	list := argo.Deployed(app)
	sources, _ := manifest.Map(app, "spec")["sources"].([]any)
	about.Several = len(sources) > 0
	if manifest.Map(app, "spec", "sourceHydrator") != nil {
		// The hydrator knows neither the namespace nor the cluster.
		about.Namespace, loader.KubeVersion, loader.APIVersions, about.Several = "", "", nil, false
	}
	refs := loader.Refs(t.Context(), list)
	for _, spec := range list {
		if about.Several && manifest.String(spec, "path") == "" && manifest.String(spec, "chart") == "" {
			continue
		}
		r := loader.Load(t.Context(), about, spec, refs)
		sum.Documents = append(sum.Documents, r.Documents...)
		sum.Problems = append(sum.Problems, r.Problems...)
		sum.Verdict = max(sum.Verdict, r.Verdict)
	}
	return sum
}

// repository returns a repository of a case at a revision, all of which are the same one.
func repository(t *testing.T, c sourcetest.Case, url, revision string) (source.Repository, error) {
	t.Helper()
	dir, ok := c.Repos[url]
	if !ok || revision != "HEAD" && revision != "main" {
		return source.Repository{}, errors.New("it does not exist")
	}
	return source.Repository{View: tree.NewView(sourcetest.Names(t, dir), sourcetest.Read(dir)), Commit: sourcetest.Commit(t, dir)}, nil
}

// objects brings objects into one form: as JSON has them, with numbers as text that is the same for equal numbers.
func objects(t *testing.T, docs []manifest.Document) []any {
	t.Helper()
	out := []any{}
	for _, d := range docs {
		data, err := json.Marshal(d.Object)
		if err != nil {
			t.Fatal(err)
		}
		v, err := manifest.JSON(data)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, plain(v))
	}
	return out
}

type number string

func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	case int64:
		return number(strconv.FormatInt(v, 10))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return number(strconv.FormatInt(int64(v), 10))
		}
		return number(strconv.FormatFloat(v, 'g', -1, 64))
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return number(v)
		}
		return number(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return v
}
