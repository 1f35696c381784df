package appset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// rolling is a set with Applications that have labels; a name with a number behind a colon has that as its own wave.
func rolling(name, wave, steps string, apps ...string) string {
	var elements []string
	for _, app := range apps {
		fields := strings.Fields(app)
		own, number, _ := strings.Cut(fields[0], ":")
		elements = append(elements, fmt.Sprintf(`{name: %s, wave: '%s', labels: {%s}}`, own, number, strings.ReplaceAll(strings.Join(fields[1:], ", "), "=", ": ")))
	}
	annotations := ""
	if wave != "" {
		annotations = ", annotations: {argocd.argoproj.io/sync-wave: '" + wave + "'}"
	}
	return `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: ` + name + annotations + `}
spec:
  goTemplate: true
  generators: [{list: {elements: [` + strings.Join(elements, ", ") + `]}}]
  strategy: {type: RollingSync, rollingSync: {steps: [` + steps + `]}}
  template:
    metadata: {name: '{{ .name }}'}
    spec: {project: default, source: {repoURL: x, path: x}, destination: {name: in-cluster}, syncPolicy: {automated: {prune: true}}}
  templatePatch: |
    metadata:
      labels: {{ toJson .labels }}
      {{ if .wave }}annotations: {argocd.argoproj.io/sync-wave: '{{ .wave }}'}{{ end }}
---
`
}

func object(name, wave string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", annotations: {argocd.argoproj.io/sync-wave: '" + wave +
		"'}}\n---\n"
}

func in(values string) string {
	return "{matchExpressions: [{key: env, operator: In, values: [" + values + "]}]}"
}

// TestRollingSync: steps are waves, and everything else keeps its place before, in or behind the whole set.
func TestRollingSync(t *testing.T) {
	const hand = " by hand"
	abc := []string{"a env=dev", "b env=test", "c env=prod"}
	four := []string{"a", "b", "c", "d"}
	for name, tt := range map[string]struct {
		in       string
		want     string // names and waves
		warnings []string
		err      string
	}{
		"steps":          {in: rolling("s", "", in("dev")+", "+in("test")+", "+in("prod"), abc...), want: "a 0, b 1, c 2"},
		"order of steps": {in: rolling("s", "", in("prod")+", "+in("test, dev"), abc...), want: "a 1, b 1, c 0"},
		"empty step":     {in: rolling("s", "", in("none")+", "+in("prod")+", {}", "a env=dev", "c env=prod"), want: "a 1, c 0", warnings: []string{"steps[2]: an earlier step already selects c"}},
		"wave of set":    {in: rolling("s", "4", in("dev")+", "+in("test, prod"), abc...), want: "a 4, b 5, c 5"},
		"own wave inside": {
			in:   rolling("s", "4", in("dev")+", "+in("test, prod"), "a:9 env=dev", "b:7 env=test", "c:6 env=prod"),
			want: "a 6, b 8, c 7",
		},
		"others move": {
			in: object("before", "3") + rolling("s", "4", in("dev")+", "+in("test")+", "+in("prod"), abc...) + object("beside", "4") +
				object("behind", "5") + object("last", "10"),
			want: "before 3, a 4, b 5, c 6, beside 4, behind 7, last 12",
		},
		"negative": {
			in:   rolling("s", "-1", in("dev")+", "+in("test")+", "+in("prod"), abc...) + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: o}\n",
			want: "a -1, b 0, c 1, o 2",
		},
		"two sets": {
			in: rolling("s", "1", in("dev")+", "+in("test")+", "+in("prod"), abc...) +
				rolling("t", "1", in("dev")+", "+in("test"), "d env=dev", "e env=test") +
				rolling("u", "2", in("dev")+", "+in("test"), "f env=dev", "g env=test") + object("o", "3"),
			want: "a 1, b 2, c 3, d 1, e 2, f 4, g 5, o 6",
		},
		"not selected": {
			in:       rolling("s", "1", in("dev")+", "+in("test"), abc...) + object("o", "7"),
			want:     "a 1, b 2, c 8" + hand + ", o 8",
			warnings: []string{"spec.strategy: no step selects c; as in Argo CD, automated sync is off"},
		},
		"nothing selected": {
			in: rolling("s", "3", in("x"), "a"), want: "a 3" + hand, warnings: []string{"no step selects a"},
		},
		"number":       {in: rolling("s", "", "{maxUpdate: 3}", four...), want: "a 0, b 0, c 0, d 1"},
		"percentage":   {in: rolling("s", "", "{maxUpdate: 50%}", four...), want: "a 0, b 0, c 1, d 1"},
		"rounded down": {in: rolling("s", "", "{maxUpdate: 70%}", "a", "b", "c"), want: "a 0, b 0, c 1"},
		"percentage of the first step": { // those of no step count, as in Argo CD
			in:   rolling("s", "", "{maxUpdate: 50%, matchExpressions: [{key: env, operator: In, values: [dev]}]}", "a env=dev", "b env=dev", "c", "d"),
			want: "a 0, b 0, c 0" + hand + ", d 0" + hand, warnings: []string{"no step selects c, d"},
		},
		"at least one":     {in: rolling("s", "", "{maxUpdate: 10%}", "a", "b"), want: "a 0, b 1"},
		"more than all":    {in: rolling("s", "", "{maxUpdate: 200%}", "a", "b"), want: "a 0, b 0"},
		"not a percentage": {in: rolling("s", "", "{maxUpdate: some}", "a", "b"), want: "a 0, b 1", warnings: []string{"steps[0].maxUpdate: neither a number"}},
		"none at all": {
			in:   rolling("s", "", "{maxUpdate: 0, matchExpressions: [{key: env, operator: In, values: [dev]}]}, {maxUpdate: 0%}", "a env=dev", "b"),
			want: "a 0" + hand + ", b 1" + hand, warnings: []string{"steps[1]: an earlier step already selects a"},
		},
		"own waves and a number": {in: rolling("s", "", "{maxUpdate: 2}", "a:2", "b:1", "c:1", "d:1"), want: "a 3, b 1, c 1, d 2"},
		"not in": {
			in:       rolling("s", "", "{matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}, "+in("prod"), append(abc, "d x=z")...),
			want:     "a 0, b 0, c 1, d 0",
			warnings: nil,
		},
		"all expressions": {
			in: rolling("s", "", "{matchExpressions: [{key: env, operator: In, values: [dev]}, {key: x, operator: In, values: [z]}]}, {}",
				"a env=dev", "b env=dev x=z"),
			want: "a 1, b 0", warnings: []string{"steps[1]: an earlier step already selects b; the first step counts"},
		},
		"operator": {
			in:   rolling("s", "", "{matchExpressions: [{key: env, operator: Exists}]}, {}", "a env=dev", "b"),
			want: "a 1, b 0", warnings: []string{
				`matchExpressions[0].operator: "Exists" is neither In nor NotIn`, "steps[1]: an earlier step already selects b",
			},
		},
		"no steps":  {in: rolling("s", "2", "", abc...), want: "a 2, b 2, c 2"},
		"all":       {in: strings.Replace(rolling("s", "", in("dev")+", "+in("x"), abc...), "RollingSync", "AllAtOnce", 1), want: "a 0, b 0, c 0"},
		"unknown":   {in: strings.Replace(rolling("s", "", in("dev"), abc...), "RollingSync", "Canary", 1), want: "a 0, b 0, c 0", warnings: []string{`spec.strategy.type: "Canary" is unknown`}},
		"automated": {in: strings.Replace(rolling("s", "", "{}", "a"), ", syncPolicy: {automated: {prune: true}}", "", 1), want: "a 0"},
		"disabled":  {in: strings.Replace(rolling("s", "", "{}", "a"), "{prune: true}", "{prune: true, enabled: false}", 1), want: "a 0"},
		"too much": {
			in:  rolling("s", "", strings.Repeat(in(strings.Repeat("x, ", 100))+", ", 500)+"{}", strings.Fields(strings.Repeat("a ", 3000))...),
			err: "too large to match against 3000 Applications",
		},
		"types": {in: rolling("s", "", "{maxUpdate: 1.5}", "a"), err: "spec.strategy.rollingSync.steps[0].maxUpdate: must be a whole number of 32 bits or a string"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "too much" {
				for i := range 3000 {
					tt.in = strings.Replace(tt.in, "{name: a,", fmt.Sprintf("{name: a%d,", i), 1)
				}
			}
			docs, err := manifest.Decode("x.yaml", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			before := fmt.Sprint(docs)
			res, err := Expansion{Engine: Embedded{}, Keep: true, Deployed: true, Pinned: true}.Expand(t.Context(), docs)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || len(res.Objects) > 0 {
					t.Errorf("%d objects, %v", len(res.Objects), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, placed(res.Objects)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if fmt.Sprint(docs) != before {
				t.Error("the documents are others now")
			}
			warned(t, generator.Texts(res.Warnings), tt.warnings)
		})
	}
}

// placed lists objects with their waves, and Applications that are not synced automatically.
func placed(objects []manifest.Object) string {
	var out []string
	for _, o := range objects {
		line := fmt.Sprintf("%s %d", manifest.String(o, "metadata", "name"), waveOf(o))
		automated := manifest.Map(o, "spec", "syncPolicy")["automated"]
		if enabled, stated := manifest.Map(o, "spec", "syncPolicy", "automated")["enabled"].(bool); o["kind"] == "Application" &&
			(automated == nil || stated && !enabled) {
			line += " by hand"
		}
		out = append(out, line)
	}
	return strings.Join(out, ", ")
}

// warned checks that each warning has its text.
func warned(t *testing.T, got, want []string) {
	t.Helper()
	for i, text := range want {
		if i >= len(got) || !strings.Contains(got[i], text) {
			t.Errorf("there is no warning %q", text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("warnings: %q", got)
	}
}

// TestRollingSyncNeeds: a step may not come before what its Applications need.
func TestRollingSyncNeeds(t *testing.T) {
	const needs = "argosy.dev/depends-on"
	for name, tt := range map[string]struct{ in, want, err string }{
		"agrees": {in: rolling("s", "", in("dev")+", "+in("prod"), "a env=prod", "b env=dev"), want: "a 1, b 0"},
		"inside": {in: rolling("s", "", "{}", "a", "b"), want: "a 1, b 0"},
		"against": {
			in:  rolling("s", "", in("dev")+", "+in("prod"), "a env=dev", "b env=prod"),
			err: `Application "a": argosy.dev/depends-on: it needs "b", which the steps of a RollingSync deploy later, or at the same time`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(tt.in, "      {{ if .wave }}", "      {{ if eq .name \"a\" }}annotations: {"+needs+": b}{{ end }}\n      {{ if .wave }}", 1)
			docs, err := manifest.Decode("x.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			res, err := Expansion{Engine: Embedded{}, Deployed: true}.Expand(t.Context(), docs)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err || res.Objects != nil {
					t.Error(err)
				}
				return
			}
			if got := placed(res.Objects); err != nil || got != tt.want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// TestControllerFields: fields for the applicationset-controller have an equivalent, or a warning that says what happens instead.
func TestControllerFields(t *testing.T) {
	set := func(fields string) string {
		return "generators: [{list: {elements: [{name: a}]}}]\ntemplate: {metadata: {name: '{{name}}', labels: {team: x}}, spec: {project: default, " +
			"source: {repoURL: x, path: x}, destination: {name: in-cluster}}}\n" + fields
	}
	const options = "argocd.argoproj.io/sync-options"
	for name, tt := range map[string]struct {
		fields   string
		printed  bool // not deployed
		options  any
		warnings []string
	}{
		"none":          {},
		"sync":          {fields: "syncPolicy: {applicationsSync: sync}"},
		"create-update": {fields: "syncPolicy: {applicationsSync: create-update}", options: "Prune=false,Delete=false"},
		"create-only": {
			fields: "syncPolicy: {applicationsSync: create-only}", options: "Prune=false,Delete=false",
			warnings: []string{`spec.syncPolicy.applicationsSync: "create-only": the appset plugin also updates Applications`},
		},
		"create-delete": {fields: "syncPolicy: {applicationsSync: create-delete}", warnings: []string{`"create-delete": the appset plugin also updates`}},
		"unknown":       {fields: "syncPolicy: {applicationsSync: never}", warnings: []string{`applicationsSync: "never" is unknown`}},
		"preserved":     {fields: "preservedFields: {annotations: [a], labels: [b]}"},
		"preserved, in the template": {
			fields: "preservedFields: {labels: [b, team]}", warnings: []string{"spec.preservedFields.labels: team: the template sets it"},
		},
		"differences": {
			fields:   "ignoreApplicationDifferences: [{jsonPointers: [/spec/source/targetRevision]}]",
			warnings: []string{"spec.ignoreApplicationDifferences: no effect with the appset plugin"},
		},
		"no differences": {fields: "ignoreApplicationDifferences: []"},
		"rolling": {
			fields:   "strategy: {type: RollingSync, rollingSync: {steps: [{}]}}",
			warnings: nil,
		},
		"rolling, printed": {
			fields:  "strategy: {type: RollingSync, rollingSync: {steps: [{}]}}",
			printed: true, warnings: []string{"spec.strategy: RollingSync is not in these Applications"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := manifest.Decode("x.yaml", []byte(set(tt.fields)))
			if err != nil {
				t.Fatal(err)
			}
			res, err := Expansion{Engine: Embedded{}, Deployed: !tt.printed}.Expand(t.Context(), docs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.options, manifest.Map(res.Objects[0], "metadata", "annotations")[options]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			warned(t, generator.Texts(res.Warnings), tt.warnings)
		})
	}
}

// TestRollingSyncPin: steps order commits only where Applications are pinned, and a warning says so.
func TestRollingSyncPin(t *testing.T) {
	docs, err := manifest.Decode("x.yaml", []byte(rolling("s", "", in("dev")+", {}", "a env=dev", "b")))
	if err != nil {
		t.Fatal(err)
	}
	for _, pinned := range []bool{true, false} {
		res, err := Expansion{Engine: Embedded{}, Deployed: true, Pinned: pinned}.Expand(t.Context(), docs)
		if said := strings.Contains(strings.Join(generator.Texts(res.Warnings), "\n"), "only with the parameter pin"); err != nil || said == pinned {
			t.Errorf("pinned %v: %q, %v", pinned, res.Warnings, err)
		}
	}
}
