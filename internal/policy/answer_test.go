package policy

import (
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

func decode(t testing.TB, text string) []manifest.Object {
	t.Helper()
	docs, err := manifest.Decode("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []manifest.Object
	for _, d := range docs {
		out = append(out, d.Object)
	}
	return out
}

// TestAnswer: what a plugin may answer with, for a team and for administrators.
func TestAnswer(t *testing.T) {
	app := func(metadata, more string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web" + metadata + "}\nspec: {project: team-a}\n" +
			more
	}
	hook := func(kind, text string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: web, annotations: {argocd.argoproj.io/hook: " +
			text + "}}\nspec: {project: team-a}\n"
	}
	const dropped = `the hook type "presync" is refused: Argo CD does not know it`
	for name, c := range map[string]struct {
		objects           string
		err, admin, warns string // admin is the error for administrators
	}{
		"an Application": {objects: app("", "")},
		"in another namespace": {
			objects: app(", namespace: kube-system", ""),
			err:     `Application "web": namespace "kube-system" is refused`,
		},
		"of another project": {
			objects: strings.Replace(app("", ""), "team-a", "infra", 1),
			err:     `Application "web": project "infra" is refused`,
		},
		"an operation":            {objects: app("", "operation: {sync: {}}\n"), err: `Application "web": operation is refused`},
		"an operation of no type": {objects: app("", "operation: 1\n"), err: `Application "web": operation is refused`},
		"an empty operation":      {objects: app("", "operation: {}\n"), err: `Application "web": operation is refused`},
		"a status": {
			objects: app("", "status: {operationState: {phase: Running}}\n"),
			err:     `Application "web": status is refused: Argo CD continues an operation`,
		},
		"an empty status": {objects: app("", "status: {}\noperation: null\n")},
		"a set": {
			objects: "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s}\nspec: {}\n",
			err:     `ApplicationSet "s" is refused: Argo CD would generate Applications from it`,
		},
		"a set with a status":  {objects: "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s}\nstatus: {conditions: []}\n", err: `ApplicationSet "s": status is refused`},
		"a typo in a hook":     {objects: hook("Application", "presync"), err: dropped, admin: dropped},
		"no type of a hook":    {objects: hook("Application", "''"), err: `the hook type ""`, admin: `the hook type ""`},
		"a typo, a project":    {objects: hook("AppProject", "presync"), err: dropped, admin: dropped},
		"a typo, a ConfigMap":  {objects: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, annotations: {argocd.argoproj.io/hook: presync}}\n", warns: `ConfigMap "x": Argo CD does not know the hook type "presync"`},
		"a hook":               {objects: hook("Application", "PreSync")},
		"a hook of a deletion": {objects: hook("Application", "PostDelete")},
		"skipped":              {objects: hook("Application", "Skip")},
		"a test of a chart":    {objects: "apiVersion: v1\nkind: Pod\nmetadata: {name: x, annotations: {helm.sh/hook: test}}\n"},
		"a project":            {objects: "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: x}\nstatus: {jwtTokensByRole: {a: {}}}\n"},
		"a status of another":  {objects: "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nstatus: {loadBalancer: {x: 1}}\n"},
		"another Application":  {objects: "apiVersion: app.k8s.io/v1beta1\nkind: Application\nmetadata: {name: x}\nstatus: {a: 1}\n"},
		"a list": {
			objects: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nitems: [1]\n",
			err:     `ConfigMap "x": Argo CD treats an object with an items list`, admin: `ConfigMap "x": Argo CD treats`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := decode(t, c.objects)
			for project, want := range map[string]string{"team-a": c.err, "default": c.admin} {
				parent := ParentOf(argo.Call{Project: project}, "argocd", []string{"default"})
				warnings, err := (*Policy)(nil).Answer(parent, "argocd", objects)
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v\nwant %s", project, err, want)
				}
				if got := strings.Join(warnings, "\n"); (got == "") != (c.warns == "") || !strings.Contains(got, c.warns) {
					t.Errorf("%s: warnings %q", project, got)
				}
			}
		})
	}
	// With rules, they hold for administrators, too, in an answer of any plugin.
	p, err := Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Answer(Parent{Project: "default", Namespace: "argocd", Admin: true}, "argocd",
		decode(t, app("", "status: {x: 1}\n"))); err == nil || !strings.Contains(err.Error(), "status is refused") ||
		!strings.Contains(err.Error(), "no entry of projects is for project") {
		t.Error(err)
	}
}

// TestAnswerIsShort: messages do not grow with the values that authors choose, nor with the number of objects.
func TestAnswerIsShort(t *testing.T) {
	team := Parent{Project: "team-a", Namespace: "argocd"}
	long := strings.Repeat("\u00a0", 100_000)
	hook := map[string]any{"argocd.argoproj.io/hook": strings.Repeat("x", 1000)}
	bad := func() manifest.Object {
		return manifest.Object{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
			"metadata": map[string]any{"name": long, "namespace": long, "annotations": hook},
			"items":    []any{}, "operation": map[string]any{"a": 1}, "status": map[string]any{"a": 1},
			"spec": map[string]any{
				"project": long, "destination": map[string]any{"server": long, "namespace": long},
				"source": map[string]any{"repoURL": "https://" + long},
			},
		}
	}
	parse := func(rules string) *Policy {
		p, err := Parse("policy.yaml", []byte("projects: [{name: team-a, applications: [{projects: ['*'], "+rules+"}]}]"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, p := range map[string]*Policy{
		"no rules": nil, "namespaces": parse("namespaces: [x]"), "own namespace": parse(""),
		"destinations": parse("namespaces: ['*'], destinations: [{namespace: x}]"),
		"repositories": parse("namespaces: ['*'], repositories: [x]"),
	} {
		if _, err := p.Answer(team, "argocd", []manifest.Object{bad()}); err == nil || len(err.Error()) > 20_000 ||
			strings.Count(err.Error(), "\n") != 4 {
			t.Errorf("%s: %d bytes, %.300v", name, len(err.Error()), err)
		}
	}
	var refused, warned, allowed []manifest.Object
	for range 1000 {
		refused = append(refused, bad())
		warned = append(warned, manifest.Object{
			"apiVersion": "v1", "kind": long,
			"metadata": map[string]any{"name": long, "annotations": hook},
		})
		allowed = append(allowed,
			decode(t, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web}, spec: {project: team-a}}")...)
	}
	_, err := (*Policy)(nil).Answer(team, "argocd", refused)
	if n := len(problem.All(err)); n != maxProblems+1 || !strings.HasSuffix(err.Error(),
		"checking stopped after 100 problems; there may be more") {
		t.Errorf("%d problems", n)
	}
	// Objects that are allowed are no problems.
	if _, err := (*Policy)(nil).Answer(team, "argocd", append(allowed, bad())); len(problem.All(err)) != 5 {
		t.Errorf("%d problems", len(problem.All(err)))
	}
	warnings, err := (*Policy)(nil).Answer(team, "argocd", warned)
	if got := strings.Join(warnings, "\n"); err != nil || len(warnings) != 1000 || len(got) > 300_000 ||
		!strings.HasSuffix(got, "\none more object has a hook type that Argo CD does not know") {
		t.Errorf("%d warnings, %d bytes, %v", len(warnings), len(got), err)
	}
}

// FuzzAnswer: no object makes it panic, and nothing that is accepted for a team has an operation, a status, or another project.
func FuzzAnswer(f *testing.F) {
	f.Add("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, annotations: {argocd.argoproj.io/hook: presync}}\nspec: {project: team-a}\nstatus: {a: 1}\n")
	f.Add("apiVersion: argoproj.io/v1\nkind: Application\nmetadata: 1\nspec: [a]\noperation: {}\n")
	f.Add("{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {annotations: {helm.sh/hook: 1}}, items: []}")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := manifest.Decode("x.yaml", []byte(text)); err != nil {
			return
		}
		objects := decode(t, text)
		if _, err := (*Policy)(nil).Answer(Parent{Project: "team-a", Namespace: "argocd"}, "argocd", objects); err != nil {
			return
		}
		for _, o := range objects {
			if argo.IsApplicationSet(o) {
				t.Error("a set was accepted")
			}
			if argo.IsApplication(o) && (manifest.String(o, "spec", "project") != "team-a" || len(manifest.Map(o, "status")) > 0 ||
				o["operation"] != nil) {
				t.Errorf("accepted: %v", o)
			}
		}
	})
}
