package plan

import (
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
)

func TestFind(t *testing.T) {
	web := app("web")
	web.Namespace = "other"
	p := boot(app("root", child(0, app("web")), child(0, web), child(0, app("db"))))
	for name, c := range map[string]struct{ want, err string }{
		"db":         {want: "argocd/db"},
		"other/web":  {want: "other/web"},
		"argocd/web": {want: "argocd/web"},
		"web":        {err: `there are several Applications "web"; name one with its namespace: argocd/web, other/web`},
		"no":         {},
	} {
		found, err := p.Find(name)
		got, text := "", ""
		if found != nil {
			got = found.String()
		}
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("%s: got %q, %q", name, got, text)
		}
	}
}

func TestOnly(t *testing.T) {
	for name, c := range map[string]struct {
		plan      *Plan
		want, err string
	}{
		"one":  {plan: boot(app("web")), want: "web"},
		"none": {plan: &Plan{}},
		"applied": {
			plan: &Plan{Root: &Application{Applied: true, Items: []*Item{configMap("x", ""), child(0, app("web"))}}},
			want: "web",
		},
		"only others": {plan: &Plan{Root: &Application{Applied: true, Items: []*Item{configMap("x", "")}}}},
		"several": {
			plan: &Plan{Root: &Application{Applied: true, Items: []*Item{child(0, app("a")), child(0, app("b"))}}},
			err:  "x.yaml: there are several Applications in it: a, b; name one, with --root x.yaml",
		},
	} {
		found, err := c.plan.Only("x.yaml")
		got, text := "", ""
		if found != nil {
			got = found.Name
		}
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("%s: got %q, %q", name, got, text)
		}
	}
}

func TestNotFound(t *testing.T) {
	hides := app("hides").unknown(source.Unknown)
	hides.Hides = true
	p := boot(app("root", child(0, app("web")), child(0, hides)))
	for _, c := range []struct {
		name    string
		allowed bool
		want    string
	}{
		{name: "no", allowed: true, want: `there is no Application "no"`},
		{name: "argocd/wen", allowed: true, want: `there is no Application "argocd/wen"; did you mean web?`},
		{name: "no", want: `there is no Application "no"; unknown parts of hides may have it`},
	} {
		err := NotFound{Plans: []*Plan{p, p}, Allowed: func(string) bool { return c.allowed }}.Err(c.name)
		if err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestHasKind(t *testing.T) {
	p := boot(app("root", child(0, app("web", configMap("x", "")))))
	if !p.HasKind("ConfigMap") || p.HasKind("Secret") {
		t.Error("a kind is there that is not, or the other way round")
	}
}

// TestRootsAmong chooses those that deploy others and that nothing else deploys.
func TestRootsAmong(t *testing.T) {
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	for name, c := range map[string]struct {
		files      memory
		candidates string // name=path, with / in front if it has no namespace
		want       string
	}{
		"a tree": {memory{"apps/a.yaml": application("a", "a", "0"), "a/x.yaml": configMap}, "root=apps a=a", "root"},
		"two trees": {memory{
			"apps/a.yaml": application("a", "a", "0"), "more/b.yaml": application("b", "a", "0"),
			"a/x.yaml": configMap,
		}, "root=apps other=more a=a b=a", "root other"},
		"in the middle": {memory{
			"apps/a.yaml": application("a", "deep", "0"), "deep/b.yaml": application("b", "b", "0"),
			"b/x.yaml": configMap,
		}, "a=deep root=apps", "root"},
		"a circle": {
			memory{"one/b.yaml": application("b", "two", "0"), "two/a.yaml": application("a", "one", "0")},
			"b=two a=one",
			"b",
		},
		"of several clusters": {memory{
			"dev/a.yaml": application("a", "a", "0"), "prod/a.yaml": application("a", "a", "0"), "a/x.yaml": configMap,
		}, "root=dev root=prod root=dev a=a", "root root"},
		"of several clusters, one without a namespace": {memory{
			"dev/a.yaml": application("a", "a", "0"), "prod/more.yaml": application("more", "more", "0"),
			"more/b.yaml": application("b", "a", "0"), "a/x.yaml": configMap,
		}, "root=dev /root=prod more=more a=a", "root root"},
		"deployed by the second of several clusters": {memory{
			"dev/a.yaml": application("a", "a", "0"), "prod/mid.yaml": application("mid", "more", "0"),
			"more/b.yaml": application("b", "a", "0"), "a/x.yaml": configMap,
		}, "root=dev mid=more root=prod a=a", "root root"},
		"several clusters that deploy their root": {memory{
			"dev/root.yaml": application("root", "dev", "0"), "dev/a.yaml": application("a", "a", "0"),
			"prod/root.yaml": application("root", "prod", "0"), "prod/b.yaml": application("b", "a", "0"), "a/x.yaml": configMap,
		}, "root=dev root=prod", "root root"},
		"none has any": {memory{"a/x.yaml": configMap}, "a=a b=a", ""},
		"it deploys itself": {memory{
			"apps/root.yaml": application("root", "apps", "0"), "apps/a.yaml": application("a", "a", "0"),
			"a/x.yaml": configMap,
		}, "root=apps a=a", "root"},
	} {
		t.Run(name, func(t *testing.T) {
			var docs []manifest.Document
			for _, c := range strings.Fields(c.candidates) {
				name, path, _ := strings.Cut(c, "=")
				name, bare := strings.CutPrefix(name, "/")
				d := document(t, application(name, path, "0"))
				if bare {
					delete(manifest.Map(d.Object, "metadata"), "namespace")
				}
				docs = append(docs, d)
			}
			roots, err := RootsAmong(docs, func(docs []manifest.Document) (*Plan, error) {
				return New(t.Context(), config(c.files), docs...)
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range roots {
				got = append(got, manifest.String(d.Object, "metadata", "name"))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}
