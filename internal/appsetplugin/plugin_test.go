package appsetplugin_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

const spec = `generators: [{list: {elements: [{name: a}, {name: b}]}}]
template:
  metadata: {name: '{{name}}'}
  spec:
    project: default
    source: {repoURL: https://git.example.com/x, path: '{{name}}'}
    destination: {server: https://kubernetes.default.svc, namespace: '{{name}}'}
`

// set is an ApplicationSet with spec, in a wave.
func set(name, wave string) string {
	return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: %s, annotations: {argocd.argoproj.io/sync-wave: %q}}\nspec:\n  %s\n",
		name, wave, strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  "))
}

// live is a cluster in which the parent has children, some of which are there.
type live struct {
	children []string
	sets     map[string]int // ApplicationSets, and how many Applications each owns
	missing  map[string]bool
	remote   bool
	sources  int
	err      error
	ownedErr error
	specs    map[string]map[string]any
	large    map[string]bool // Applications whose specs are too large
	pruned   []string
	prunedAt time.Time
}

func (l live) Specs(_ context.Context, refs []argo.Ref) (out map[argo.Ref]map[string]any, large []argo.Ref, err error) {
	out = map[argo.Ref]map[string]any{}
	for _, r := range refs {
		if l.large[r.Name] {
			large = append(large, r)
		} else if spec := l.specs[r.Name]; spec != nil && r.Namespace == "argocd" {
			out[r] = spec
		}
	}
	return out, large, nil
}

func (l live) Children(_ context.Context, p argo.Ref) (*appsetplugin.Children, error) {
	if p != (argo.Ref{Namespace: "argocd", Name: "root"}) {
		return nil, fmt.Errorf("asked for the children of %s", p)
	}
	if l.children == nil && l.sets == nil {
		return nil, l.err
	}
	out := &appsetplugin.Children{Remote: l.remote, Sources: l.sources, PrunedAt: l.prunedAt}
	for _, name := range l.pruned {
		out.Pruned = append(out.Pruned, argo.Ref{Namespace: "argocd", Name: name})
	}
	for _, name := range l.children {
		out.Applications = append(out.Applications, argo.Ref{Namespace: "argocd", Name: name})
	}
	for _, name := range slices.Sorted(maps.Keys(l.sets)) {
		out.Sets = append(out.Sets, argo.Ref{Namespace: "argocd", Name: name})
	}
	return out, l.err
}

func (l live) OwnedBy(_ context.Context, sets []argo.Ref) (map[argo.Ref]int, error) {
	out := map[argo.Ref]int{}
	for _, set := range sets {
		if n, ok := l.sets[set.Name]; !ok || set.Namespace != "argocd" {
			return nil, fmt.Errorf("asked for what %s owns", set)
		} else if n > 0 {
			out[set] = n
		}
	}
	return out, l.ownedErr
}

func (l live) Existing(_ context.Context, refs []argo.Ref) (map[argo.Ref]bool, error) {
	out := map[argo.Ref]bool{}
	for _, r := range refs {
		if !l.missing[r.Name] {
			out[r] = true
		}
	}
	return out, nil
}

// ask asks for an application with a repository and parameters.
func ask(t *testing.T, c appsetplugin.Config, files, env map[string]string) ([]string, error) {
	t.Helper()
	c.Namespace = "argocd"
	if c.Admins == nil {
		c.Admins = []string{"default"}
	}
	c.Engine = func(f appsetplugin.For) appset.Engine { return appset.Embedded{AllowEmpty: f.AllowEmpty} }
	all := map[string]string{"ARGOCD_APP_NAME": "root", "ARGOCD_APP_NAMESPACE": "argocd", "ARGOCD_APP_PROJECT_NAME": "default"}
	for k, v := range env {
		all[k] = v
	}
	call, err := argo.NewCall(func(name string) string { return all[name] }, appsetplugin.Parameters())
	if err != nil {
		t.Fatal(err)
	}
	dir := "apps"
	if d, ok := all["dir"]; ok {
		dir = d
	}
	var list []tree.File
	for name, content := range files {
		list = append(list, tree.File{Name: name, Data: []byte(content)})
	}
	a, err := c.Generate(t.Context(), appsetplugin.Request{Call: call, Dir: dir, Repository: func(context.Context) (*tree.View, error) {
		return tree.Of(list), nil
	}})
	if err != nil && a.Objects != nil {
		t.Error("objects and an error")
	}
	var got []string
	for _, o := range a.Objects {
		line := manifest.String(o, "kind") + " " + manifest.String(o, "metadata", "namespace") + "/" +
			manifest.String(o, "metadata", "name")
		if wave := manifest.String(o, "metadata", "annotations", argo.SyncWaveAnnotation); wave != "" {
			line += " wave " + wave
		}
		if options := manifest.String(o, "metadata", "annotations", argo.SyncOptionsAnnotation); options != "" {
			line += " " + options
		}
		got = append(got, line)
	}
	return got, err
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\n"

func TestGenerate(t *testing.T) {
	child := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: plain}\nspec: {project: default}\n"
	for name, c := range map[string]struct {
		files, env map[string]string
		want       []string
		err        string
	}{
		"a spec": {env: map[string]string{"PARAM_SPEC": spec}, want: []string{"Application argocd/a", "Application argocd/b"}},
		"another namespace": {
			env:  map[string]string{"PARAM_SPEC": spec, "ARGOCD_APP_NAME": "team_root"},
			want: []string{"Application team/a", "Application team/b"},
		},
		"a set": {
			env:  map[string]string{"PARAM_SPEC": set("x", "4")},
			want: []string{"Application argocd/a wave 4", "Application argocd/b wave 4"},
		},
		"several documents": {
			env: map[string]string{"PARAM_SPEC": configMap + "---\n" + set("x", "4") + "---\n" +
				strings.NewReplacer("name: a", "name: c", "name: b", "name: d").Replace(spec)},
			want: []string{
				"ConfigMap /cm", "Application argocd/a wave 4", "Application argocd/b wave 4", "Application argocd/c",
				"Application argocd/d",
			},
		},
		"the template's wave": {
			env: map[string]string{"PARAM_SPEC": strings.Replace(set("x", "4"), "{name: '{{name}}'}",
				`{name: '{{name}}', annotations: {argocd.argoproj.io/sync-wave: "7"}}`, 1)},
			want: []string{"Application argocd/a wave 7", "Application argocd/b wave 7"},
		},
		"kept": {
			env:  map[string]string{"PARAM_SPEC": spec + "syncPolicy: {applicationsSync: create-update}\n"},
			want: []string{"Application argocd/a Prune=false,Delete=false", "Application argocd/b Prune=false,Delete=false"},
		},
		"a directory": {
			files: map[string]string{
				"apps/1.yaml": configMap, "apps/2.yml": set("x", "-1"),
				"apps/3.json": `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}`, "apps/sub/4.yaml": "x",
				"apps/README.md": "x", "5.yaml": "x", "apps/values.yaml": "replicas: 3\n",
				"apps/4.yaml": `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "json"}}`,
			},
			want: []string{"ConfigMap /cm", "Application argocd/a wave -1", "Application argocd/b wave -1", "Secret /s", "Secret /json"},
		},
		"the root": {
			env: map[string]string{"dir": "."}, files: map[string]string{"1.yaml": configMap, "sub/2.yaml": "x"},
			want: []string{"ConfigMap /cm"},
		},
		"with subdirectories": {
			env: map[string]string{"PARAM_RECURSE": "true"}, files: map[string]string{"apps/sub/1.yaml": configMap},
			want: []string{"ConfigMap /cm"},
		},
		"a Kustomization": {
			files: map[string]string{"apps/kustomization.yaml": "resources: [../base]\ncommonAnnotations: {argocd.argoproj.io/sync-wave: \"9\"}\n", "base/kustomization.yaml": "resources: [set.yaml]\n", "base/set.yaml": set("x", "1")},
			want:  []string{"Application argocd/a wave 9", "Application argocd/b wave 9"},
		},
		"a chart": {
			files: map[string]string{
				"apps/Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n", "apps/values.yaml": "wave: 3\n",
				"apps/templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  annotations: {argocd.argoproj.io/sync-wave: {{ .Values.wave | quote }}}\n",
			},
			want: []string{"ConfigMap /root wave 3"},
		},
		"what needs another": {
			env: map[string]string{"PARAM_SPEC": strings.Replace(set("x", "4"), "{name: '{{name}}'}",
				`{name: '{{name}}', annotations: {argosy.dev/depends-on: '{{needs}}'}}`, 1) + "---\n" +
				strings.Replace(child, "{name: plain}", "{name: plain, annotations: {argosy.dev/depends-on: b}}", 1)},
			err: `Application "a": argosy.dev/depends-on: there is no Application "{{needs}}" beside it`,
		},
		"what needs another of its set": {
			env: map[string]string{"PARAM_SPEC": strings.NewReplacer("{name: b}", "{name: b, needs: a}", "{name: a}",
				"{name: a, needs: ''}", "{name: '{{name}}'}",
				`{name: '{{name}}', annotations: {argosy.dev/depends-on: '{{needs}}'}}`).Replace(set("x", "4"))},
			want: []string{"Application argocd/a wave 4", "Application argocd/b wave 5"},
		},
		"what needs another, in a folder": {
			files: map[string]string{"apps/1.yaml": strings.Replace(child, "{name: plain}",
				"{name: plain, annotations: {argosy.dev/depends-on: b}}", 1), "apps/2.yaml": set("x", "4")},
			want: []string{"Application /plain wave 5", "Application argocd/a wave 4", "Application argocd/b wave 4"},
		},
		"a plain Application": {files: map[string]string{"apps/a.yaml": child}, want: []string{"Application /plain"}},

		"no set in the spec": {
			env: map[string]string{"PARAM_SPEC": configMap},
			err: "parameter spec: there is no ApplicationSet in it, and no spec of one (generators and template)",
		},
		"not YAML": {env: map[string]string{"PARAM_SPEC": "generators: [\n"}, err: "parameter spec:"},
		"an error in the spec": {
			env: map[string]string{"PARAM_SPEC": strings.Replace(spec, "{name: b}", "{name: B}", 1)},
			err: `parameter spec:1: ApplicationSet: spec.generators[0].list, element 1: metadata.name: "B" is not a name that Kubernetes allows`,
		},
		"an empty set": {
			env: map[string]string{"PARAM_SPEC": strings.Replace(spec, "{name: a}, {name: b}", "", 1)},
			err: "no Applications: the generators gave no parameters",
		},
		"nothing": {
			files: map[string]string{"apps/README.md": ""},
			err:   "apps: there are no manifests, so the answer would be empty and delete what is there",
		},
		"one of two is broken": {files: map[string]string{"apps/a.yaml": "{\"apiVersion\": \"v1\", \"kind\": \"X\", \"metadata\": {\"name\": \"a\"}}\n---\nfoo: bar\n"}, err: "apps/a.yaml:3: document 2: Object 'Kind' is missing"},
		"a broken file": {
			files: map[string]string{"apps/a.yaml": "apiVersion: v1\nkind: X\nmetadata: [\n"},
			err:   "apps/a.yaml:3: ",
		},
		"rendered twice": {files: map[string]string{
			"apps/a.yaml": strings.Replace(child, "plain", "a", 1),
			"apps/b.yaml": set("x", "1"),
		}, err: `apps/a.yaml:1: Application "a" is rendered by an ApplicationSet, too`},
		"a flag": {
			env: map[string]string{"PARAM_SPEC": spec, "PARAM_ALLOW_EMPTY": "yes"},
			err: `plugin.parameters: allow-empty must be true or false, it is "yes"`,
		},
		"a limit": {
			env: map[string]string{"PARAM_SPEC": spec, "PARAM_MAX_DELETE": "-1"},
			err: `plugin.parameters: max-delete must be a number such as 5, or a percentage such as 100%, it is "-1"`,
		},
		"the policy": {
			env: map[string]string{"PARAM_SPEC": spec, "ARGOCD_APP_PROJECT_NAME": "team-a"},
			err: `Application "a": project "default" is refused: its parent is in project "team-a"`,
		},
		"no such directory": {files: map[string]string{"x": ""}, err: "apps: there is no such directory"},
		"hidden in a list":  {files: map[string]string{"apps/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nitems: [{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: hidden}, spec: {project: default}}]\n"}, env: map[string]string{"ARGOCD_APP_PROJECT_NAME": "team-a"}, err: `Application "hidden": project "default" is refused`},
		"a list of another kind": {
			env: map[string]string{"PARAM_SPEC": set("x", "1") +
				"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nitems: [{kind: Application}]\n"},
			err: `ConfigMap "x": Argo CD treats an object with an items list as a List`,
		},
		"an operation": {
			files: map[string]string{"apps/a.yaml": strings.Replace(child, "project: default", "project: team-a",
				1) + "operation: {sync: {}}\n"}, env: map[string]string{"ARGOCD_APP_PROJECT_NAME": "team-a"},
			err: `Application "plain": operation is refused`,
		},
		"a status": {
			files: map[string]string{"apps/a.yaml": strings.Replace(child, "project: default", "project: team-a",
				1) + "status: {operationState: {phase: Running}}\n"}, env: map[string]string{"ARGOCD_APP_PROJECT_NAME": "team-a"},
			err: `Application "plain": status is refused`,
		},
		"the policy, not a set": {
			files: map[string]string{"apps/a.yaml": child},
			env:   map[string]string{"ARGOCD_APP_PROJECT_NAME": "team-a"}, err: `Application "plain": project "default" is refused`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ask(t, appsetplugin.Config{}, c.files, c.env)
			if err != nil || c.err != "" {
				if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v\nwant %s", err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got, err := ask(t, appsetplugin.Config{}, nil, map[string]string{
		"PARAM_SPEC":        strings.Replace(spec, "{name: a}, {name: b}", "", 1),
		"PARAM_ALLOW_EMPTY": "true",
	}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestGuard(t *testing.T) {
	old := strings.Fields("a b c d e f g h i j")
	refused := func(n, of, allowed int, names string) string {
		return fmt.Sprintf("refused: this answer would delete %d of %d Applications, and at most %d may be deleted at once: %s; if this is meant, set the parameter max-delete to %d", n, of, allowed, names, n)
	}
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf("x%02d", i)
	}
	for name, c := range map[string]struct {
		live  live
		limit string
		err   string
	}{
		"a new parent":     {live: live{}},
		"nothing goes":     {live: live{children: old[:2]}},
		"three always may": {live: live{children: old[:5]}},
		"half may":         {live: live{children: old[:4]}},
		"more than half":   {live: live{children: old}, err: refused(8, 10, 5, "c, d, e, f, g, h, i, j")},
		"never created": {live: live{children: old, missing: map[string]bool{
			"c": true, "d": true, "e": true, "f": true,
			"g": true,
		}}},
		"half of those that are there": {
			live: live{children: old, missing: map[string]bool{"c": true, "d": true, "a": true}},
			err:  refused(6, 7, 3, "e, f, g, h, i, j"),
		},
		"in another cluster": {live: live{children: old, missing: map[string]bool{
			"c": true, "d": true, "e": true, "f": true,
			"g": true,
		}, remote: true}, err: refused(8, 10, 5, "c, d, e, f, g, h, i, j")},
		"several sources":    {live: live{children: old, sources: 2}},
		"a number":           {live: live{children: old}, limit: "8"},
		"a smaller number":   {live: live{children: old}, limit: "7", err: refused(8, 10, 7, "c, d, e, f, g, h, i, j")},
		"none":               {live: live{children: old[:3]}, limit: "0", err: refused(1, 3, 0, "c")},
		"a percentage":       {live: live{children: old}, limit: "80%"},
		"a small percentage": {live: live{children: old}, limit: "79%", err: refused(8, 10, 7, "c, d, e, f, g, h, i, j")},
		"many":               {live: live{children: many}, err: "x18, x19 and 80 more; if this is meant"},
		"no answer": {
			live: live{err: errors.New("forbidden")},
			err:  "looking for Applications that this answer would delete: forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"PARAM_SPEC": spec}
			if c.limit != "" {
				env["PARAM_MAX_DELETE"] = c.limit
			}
			_, err := ask(t, appsetplugin.Config{Live: c.live}, nil, env)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v\nwant %s", err, c.err)
			}
		})
	}
}

// elements is spec with other Applications.
func elements(names string) string {
	var list []string
	for _, name := range strings.Fields(names) {
		list = append(list, fmt.Sprintf("{name: %q}", name))
	}
	return strings.Replace(spec, "{name: a}, {name: b}", strings.Join(list, ", "), 1)
}

// TestGuardWindow: deletions within an hour count together, whether this process has seen them or not.
func TestGuardWindow(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	removals := &appsetplugin.Removals{}
	answer := func(l live, names, limit string) error {
		t.Helper()
		env := map[string]string{"PARAM_SPEC": elements(names)}
		if limit != "" {
			env["PARAM_MAX_DELETE"] = limit
		}
		_, err := ask(t, appsetplugin.Config{Live: l, Removals: removals, Now: func() time.Time { return now }}, nil, env)
		return err
	}
	wants := func(err error, want string) {
		t.Helper()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	all := "a b c d e f g h i j k l m n o p"
	there := func(names string) live { return live{children: strings.Fields(names)} }
	wants(answer(there(all), "a b c d e f g h", ""), "") // 8 of 16
	wants(answer(there(all), "a b c d e f g h", ""), "") // again, before they are gone
	now = now.Add(30 * time.Minute)
	wants(answer(there("a b c d e f g h"), "a b c d", ""),
		"refused: this answer would delete 4 Applications, which makes 12 of 16 in the last hour, and at most 8 may be deleted in an hour: e, f, g, h; if this is meant, set the parameter max-delete to 12")
	wants(answer(there("a b c d e f g h"), "a b c d", "11"), "max-delete to 12")
	// What deletes nothing is not refused, whatever was before; and what comes back is not gone.
	wants(answer(there("a b c d e f g h"), "a b c d e f g h", "0"), "")
	wants(answer(there("a b c d e f g h"), "a b c d i j k l m n o p", ""), "")
	wants(answer(there("a b c d e f g h"), "a b c d", "12"), "")
	now = now.Add(61 * time.Minute)
	wants(answer(there("a b c d"), "a b", ""), "")

	// Another process has seen nothing: the last sync of the parent counts.
	removals = &appsetplugin.Removals{}
	l := live{children: strings.Fields("a b c d e f g h"), pruned: strings.Fields("i j k l m n o p"), prunedAt: now.Add(-59 * time.Minute)}
	wants(answer(l, "a b c d", ""), "which makes 12 of 16 in the last hour")
	l.prunedAt = now.Add(-time.Hour)
	wants(answer(l, "a b c d", ""), "")
	// Both know the same: it counts once.
	wants(answer(live{children: strings.Fields("a b c d"), pruned: strings.Fields("e f g h"), prunedAt: now}, "a b c", ""),
		"which makes 5 of 8 in the last hour")
}

// TestGuardKeeps: only what Argo CD keeps counts as staying.
func TestGuardKeeps(t *testing.T) {
	for hook, want := range map[string]string{
		"Skip":              "",
		"PreSync":           "refused: this answer would delete 4 of 4 Applications",
		"PostDelete":        "refused: this answer would delete 4 of 4 Applications",
		"Sync":              "refused: this answer would delete 4 of 4 Applications",
		"presync":           `the hook type "presync" is refused`,
		"'presync,PreSync'": "refused: this answer would delete 4 of 4 Applications",
	} {
		text := strings.Replace(elements("a b c d"), "{name: '{{name}}'}",
			"{name: '{{name}}', annotations: {argocd.argoproj.io/hook: "+hook+"}}", 1)
		_, err := ask(t, appsetplugin.Config{Live: live{children: strings.Fields("a b c d")}}, nil, map[string]string{"PARAM_SPEC": text})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", hook, err, want)
		}
	}
}

// TestGuardSets: an answer that prunes ApplicationSets deletes what they own, so it is refused, whatever max-delete is.
func TestGuardSets(t *testing.T) {
	const refused = `refused: this answer would prune ApplicationSets, and with them the 5 Applications that they own: other, x; move them first with "argosy appset handover --folder argocd/root"; if deleting is meant, set the parameter prune-sets to true`
	for name, c := range map[string]struct {
		live  live
		prune string
		err   string
	}{
		"a folder with live sets": {live: live{sets: map[string]int{"x": 2, "other": 3}}, err: refused},
		"sets that own nothing":   {live: live{sets: map[string]int{"x": 0, "other": 0}}},
		"one that owns something": {live: live{sets: map[string]int{"x": 1, "other": 0}}, err: "the 1 Application that they own: x;"},
		"it is meant":             {live: live{sets: map[string]int{"x": 2}}, prune: "true"},
		"not a flag":              {live: live{sets: map[string]int{"x": 2}}, prune: "yes", err: "prune-sets must be true or false"},
		"in another cluster": {
			live: live{sets: map[string]int{"x": 0}, remote: true},
			err:  "refused: this answer would prune ApplicationSets in another cluster, and their Applications with them: x",
		},
		"several sources": {live: live{sets: map[string]int{"x": 2}, sources: 2}},
		"no answer": {
			live: live{sets: map[string]int{"x": 2}, ownedErr: errors.New("forbidden")},
			err:  "looking for ApplicationSets that this answer would prune: forbidden",
		},
		"none": {live: live{children: []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"PARAM_MAX_DELETE": "100%"}
			if c.prune != "" {
				env["PARAM_PRUNE_SETS"] = c.prune
			}
			_, err := ask(t, appsetplugin.Config{Live: c.live}, map[string]string{"apps/set.yaml": set("x", "1")}, env)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v\nwant %s", err, c.err)
			}
		})
	}
}
