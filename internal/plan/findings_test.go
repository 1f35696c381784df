package plan

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/source"
)

// with changes an Application: pairs of old and new texts.
func with(app string, replace ...string) string { return strings.NewReplacer(replace...).Replace(app) }

// TestFindings: what is found in small trees, as rule and subject; only what a case is about is in its tree.
func TestFindings(t *testing.T) {
	const (
		configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
		broken    = "apiVersion: v1\nkind: ConfigMap\nmetadata: {\n"
	)
	set := func(generators string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec: {generators: [" + generators +
			"], template: {metadata: {name: '{{a}}'}, spec: {project: default, source: {repoURL: https://x/y, path: a}, destination: {name: in-cluster, namespace: argocd}, syncPolicy: {automated: {}}}}}\n"
	}
	for name, c := range map[string]struct {
		files memory
		want  []string
	}{
		"nothing":        {memory{"root/a.yaml": application("a", "a", "0"), "a/a.yaml": configMap}, nil},
		"a broken file":  {memory{"root/a.yaml": application("a", "a", "0"), "a/a.yaml": broken}, []string{"source-broken a"}},
		"a broken root":  {memory{"root/a.yaml": broken}, []string{"source-broken root"}},
		"no directory":   {memory{"root/a.yaml": application("a", "nowhere", "0")}, []string{"source-broken a"}},
		"itself":         {memory{"root/a.yaml": application("root", "root", "0")}, nil},
		"its own parent": {memory{"root/a.yaml": application("a", "a", "0"), "a/a.yaml": application("root", "root", "0")}, []string{"cycle root"}},
		"the name of its parent": {memory{
			"root/a.yaml": application("root", "a", "0"), "a/a.yaml": configMap,
		}, []string{"name-twice root"}},
		"a wave in words":  {memory{"root/a.yaml": application("a", "a", "soon"), "a/a.yaml": configMap}, []string{"wave-not-a-number root"}},
		"a wrong type":     {memory{"root/a.yaml": with(application("a", "a", "0"), "path: a", "path: [a]")}, []string{"application-invalid a"}},
		"one of two specs": {memory{"root/a.yaml": application("a", "a", "0"), "root/b.yaml": application("a", "b", "0"), "a/a.yaml": configMap, "b/a.yaml": configMap}, []string{"name-twice a"}},
		"two parents": {memory{
			"root/a.yaml": application("a", "a", "0"), "root/b.yaml": application("b", "a", "0"), "a/a.yaml": application("c", "c", "0"), "c/a.yaml": configMap,
		}, []string{"several-parents c"}},
		"two parents of one name": {memory{
			"root/a.yaml": application("a", "a", "0"), "root/b.yaml": with(application("a", "a", "0"), "namespace: argocd, annotations", "namespace: team, annotations"),
			"a/a.yaml": application("c", "c", "0"), "c/a.yaml": configMap,
		}, []string{"other-namespace a", "several-parents c"}},
		"an empty set": {memory{"root/a.yaml": set("{list: {elements: []}}")}, []string{"set-empty s"}},
		"an empty set of clusters that the tree does not have": {memory{
			"root/a.yaml": set("{clusters: {selector: {matchLabels: {env: x}}}}"), "root/b.yaml": clusterSecret,
		}, []string{"clusters-from-tree root"}},
		"a merge key that is none": {memory{
			"root/a.yaml": set("{merge: {mergeKeys: [b], generators: [{list: {elements: [{a: x}]}}, {list: {elements: [{b: x}]}}]}}"), "a/a.yaml": configMap,
		}, []string{"merge-key-absent s"}},
		"an unknown set with placeholders of Go templates": {memory{
			"root/a.yaml": with(set("{scmProvider: {github: {organization: x}}}"), "{{a}}", "{{ .a }}"),
		}, []string{"placeholder-left s", "set-unknown s"}},
		"a source without a repository": {memory{"root/a.yaml": with(application("a", "a", "0"), "repoURL: https://x/y, ", "")}, []string{"application-invalid a"}},
		"a broken set":                  {memory{"root/a.yaml": set("{list: {elements: [{a: 'A B'}]}}")}, []string{"set-broken s"}},
		"unknown":                       {memory{"root/a.yaml": set("{scmProvider: {github: {organization: x}}}")}, []string{"set-unknown s"}},
		"another plugin":                {memory{"root/a.yaml": with(application("a", "a", "0"), "path: a", "path: a, plugin: {name: mine}"), "a/a.yaml": configMap}, []string{"source-unknown a"}},
		"another cluster, perhaps": {memory{
			"root/a.yaml": with(application("a", "a", "0"), "name: in-cluster", "name: far"), "a/a.yaml": application("b", "b", "0"),
		}, []string{"cluster-unknown a"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(c.files)
			cfg.ExistsAll = true
			p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range p.Findings {
				if f.Rule.Name != RuleSettingsUnknown.Name {
					got = append(got, f.Rule.Name+" "+f.Subject)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, slices.Compact(got)); diff != "" {
				t.Errorf("(-want +got)\n%s\n%v", diff, p.Findings)
			}
		})
	}
}

// TestComplete: a plan is complete if nothing broken or unknown may hide an Application.
func TestComplete(t *testing.T) {
	child := application("a", "a", "0")
	for name, c := range map[string]struct {
		files    memory
		complete bool
		unknown  []string
	}{
		"known":              {memory{"root/a.yaml": child, "a/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}, true, nil},
		"another repository": {memory{"root/a.yaml": with(child, "https://x/y", "https://elsewhere/z")}, false, []string{"a"}},
		"a broken one":       {memory{"root/a.yaml": child, "a/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {\n"}, false, nil},
	} {
		cfg := config(c.files)
		here := cfg.Loader.Open
		cfg.Loader.Open = func(ctx context.Context, url, revision string) (source.Repository, error) {
			if strings.Contains(url, "elsewhere") {
				return source.Repository{}, Absent(errors.New("not here"))
			}
			return here(ctx, url, revision)
		}
		p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
		if err != nil {
			t.Fatal(err)
		}
		s := p.Summary()
		if s.Complete() != c.complete {
			t.Errorf("%s: complete: %t, %+v", name, s.Complete(), s)
		}
		if diff := cmp.Diff(c.unknown, s.Unknown); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// TestS3: a directory with a trigger file is what the plugin s3 makes of a bucket, which is a directory here.
func TestS3(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	for name, c := range map[string]struct {
		trigger, want string
		verdict       source.Verdict
	}{
		"objects":         {"bucket: artifacts\npath: apps\n", "x", source.Known},
		"one object":      {"bucket: artifacts\npath: apps/x.yaml\n", "x", source.Known},
		"nothing there":   {"bucket: artifacts\npath: none\n", "", source.Broken},
		"no such field":   {"bucket: artifacts\npaths: apps\n", "", source.Broken},
		"not here":        {"bucket: elsewhere\npath: apps\n", "", source.Unknown},
		"another account": {"bucket: artifacts\npath: apps\nroleARN: arn:aws:iam::123456789012:role/x\n", "x", source.Known},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(memory{"app/s3-source.yaml": c.trigger})
			here, store := cfg.Loader.Open, memory{"apps/x.yaml": configMap, "other/y.yaml": configMap}.view()
			cfg.Loader.Open = func(ctx context.Context, url, revision string) (source.Repository, error) {
				switch url {
				case "s3://artifacts":
					return source.Repository{View: store}, nil
				case "s3://elsewhere":
					return source.Repository{}, errors.New("no directory stands for it")
				}
				return here(ctx, url, revision)
			}
			p, err := New(t.Context(), cfg, document(t, application("root", "app", "0")))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, item := range p.Root.Items {
				names = append(names, item.Name)
			}
			if got := strings.Join(names, " "); got != c.want || p.Root.Verdict() != c.verdict || p.Root.Sources[0].Kind != source.S3 {
				t.Errorf("%q, %s, %s: %v", got, p.Root.Verdict(), p.Root.Sources[0].Kind, p.Findings)
			}
		})
	}
}
