package render_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// packed is a chart archive with files, each by its name and content.
func packed(pairs ...string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i+1 < len(pairs); i += 2 {
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: pairs[i], Size: int64(len(pairs[i+1])), Mode: 0o644})
		_, _ = w.Write([]byte(pairs[i+1]))
	}
	_ = w.Close()
	_ = z.Close()
	return b.String()
}

// subchart is an archive with a chart of n files of some bytes.
func subchart(name string, n, size int) string {
	pairs := []string{name + "/Chart.yaml", "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"}
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("%s/files/%d", name, i), strings.Repeat("x", size))
	}
	return packed(pairs...)
}

// TestHostileCharts has charts that end the process, or take a core for long, with Helm's own engine.
func TestHostileCharts(t *testing.T) {
	rep := strings.Repeat
	ifs := func(inside string) string { return rep("{{ if 1 }}", 200) + inside + rep("{{ end }}", 200) }
	template := func(text string) func() []tree.File {
		return func() []tree.File { return files("Chart.yaml", chartFile, "templates/a.yaml", text) }
	}
	const aliases = "a: &a %s\nb: [%s]\n"
	aliased := fmt.Sprintf(aliases, rep("x", 100_000), rep("*a,", 100_000))
	for name, c := range map[string]struct {
		files func() []tree.File
		set   []render.Set
		want  string
		// deadline is for what only a deadline ends.
		deadline time.Duration
	}{
		"a template calls itself": {
			files: template(`{{ define "x" }}` + ifs(`{{ template "x" . }}`) +
				`{{ end }}{{ template "x" . }}`),
			want: "Chart.yaml: rendering: c/templates/a.yaml: templates, control structures and parentheses are nested deeper than 1000",
		},
		"a template includes itself": {
			files: template(`{{ define "x" }}` + ifs(`{{ include "x" . }}`) + `{{ end }}{{ include "x" . }}`),
			want:  "nested deeper than 1000",
		},
		"templates include each other": {files: template(circle(900)), want: "nested deeper than 1000"},
		"includes in parentheses": {files: template(`{{ define "x" }}{{ ` + rep("(", 900) + `include "x" .` + rep(")", 900) +
			`}}{{ end }}{{ include "x" . }}`), want: "nested deeper than 1000"},
		"tpl of itself": {
			files: template(`{{ $x := "{{ tpl .x . }}" }}{{ tpl $x (dict "x" $x "Template" .Template) }}`),
			want:  "nested deeper than 1000",
		},
		"tpl that doubles": {
			files: template(`{{ $x := "{{ tpl .x . }}{{ tpl .x . }}" }}{{ tpl $x (dict "x" $x "Template" .Template) }}`),
			want:  "nested deeper than 1000",
		},
		"tpl that grows": {files: template(`{{ $x := "{{ tpl (print .x .x) (dict \"x\" (print .x .x)) }}" }}{{ tpl $x (dict "x" $x "Template" .Template) }}`), want: "placeholders"},
		"nested ifs":     {files: template(rep("{{ if 1 }}", 100_000)), want: "more than 10000 control structures"},
		"nested ifs in tpl": {
			files: template(`{{ tpl (repeat 100000 "{{ if 1 }}") . }}`),
			want:  "more than 10000 control structures",
		},
		"repeat":        {files: template(`{{ repeat 500000000 "x" }}`), want: "repeat would give more"},
		"repeat in tpl": {files: template(`{{ tpl "{{ repeat 500000000 \"x\" }}" . }}`), want: "repeat would give more"},
		"until":         {files: template(`{{ until 1000000000 }}`), want: "until would give more"},
		"random text":   {files: template(`{{ randAlphaNum 1000000000 }}`), want: "randAlphaNum would give more"},
		"a long loop": {
			files: template(`{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}`),
			want:  "too many steps",
		},
		"a loop that the deadline ends": {files: template(`{{ range until 100000 }}{{ $x := toYaml $.Values }}{{ $y := regexMatch "(a?){50}b" (repeat 1000 "a") }}{{ end }}`), want: "c/templates/a.yaml: ", deadline: time.Second},
		"keys of RSA": {
			files: template(`{{ range until 1000 }}{{ $x := genPrivateKey "ecdsa" }}{{ end }}`),
			want:  "too many steps",
		},
		"output": {
			files: template(`{{ $x := repeat 1000000 "x" }}{{ range until 100000 }}{{ $x }}{{ end }}`),
			want:  "over the limit",
		},
		"output of includes":       {files: template(`{{ define "x" }}{{ repeat 4000000 "x" }}{{ end }}{{ range until 1000 }}{{ $x := include "x" . }}{{ end }}`), want: "over the limit"},
		"output of many templates": {files: outputs, want: "over the limit"},
		"a list that doubles": {
			files: template(`{{ $l := list 1 2 }}{{ range until 60 }}{{ $l = concat $l $l }}{{ end }}`),
			want:  "over the limit",
		},
		"a tree that doubles": {
			files: template(`{{ $l := list 1 2 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}{{ toYaml $l }}`),
			want:  "over the limit",
		},
		"a tree that doubles, printed": {
			files: template(`{{ $l := list 1 2 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}{{ $l }}`),
			want:  "over the limit",
		},
		"a dict in itself": {files: template(`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}`), want: "over the limit"},
		"a dict in itself, as JSON": {
			files: template(`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toJson $d }}`),
			want:  "over the limit",
		},
		"a dict in itself, compared": {
			files: template(`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ eq $d $d }}`),
			want:  "over the limit",
		},
		"a dict in itself, pretty": {
			files: template(`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toYamlPretty $d }}`),
			want:  "over the limit",
		},
		"a dict in itself, as TOML": {
			files: template(`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toToml $d }}`),
			want:  "over the limit",
		},
		"a dict in itself, merged": {
			files: template(`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $x := merge (dict) $d }}`),
			want:  "over the limit",
		},
		"values in themselves": {files: template(`{{ $_ := set .Values "v" .Values }}{{ .Values }}`), want: "over the limit"},
		"all values kept":      {files: template(`{{ $l := list }}{{ range until 5000 }}{{ $l = append $l (repeat 4000000 "x") }}{{ end }}`), want: "over the limit"},
		"from YAML":            {files: template(`{{ fromYaml (repeat 2000000 "-\n") }}`), want: "fromYaml would give more"},
		"from YAML with aliases": {
			files: template(`{{ fromYaml (printf "a: &a %s\nb: [%s]" (repeat 100000 "x") (repeat 10000 "*a,")) }}`),
			want:  "aliases replaced",
		},
		"files": {files: template(`{{ range until 1000000 }}{{ $x := $.Files.Get "values.yaml" }}{{ $y := $.Files.AsConfig }}{{ $z := $.Files.Glob "**" }}{{ end }}`), want: "none", deadline: time.Second},
		"aliases in values": {files: func() []tree.File {
			return files("Chart.yaml", chartFile, "values.yaml", aliased)
		}, want: "values.yaml: with its aliases replaced it is over the limit"},
		"aliases in Chart.yaml": {files: func() []tree.File {
			return files("Chart.yaml", chartFile+aliased)
		}, want: "Chart.yaml: with its aliases replaced"},
		"aliases in Chart.lock": {files: func() []tree.File {
			return files("Chart.yaml", chartFile, "Chart.lock", aliased)
		}, want: "Chart.lock: with its aliases replaced"},
		"aliases in a subchart": {files: func() []tree.File {
			return files("Chart.yaml", chartFile, "charts/s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 1.0.0\n",
				"charts/s/values.yaml", aliased)
		}, want: "charts/s/values.yaml: with its aliases replaced"},
		"aliases in an archive": {files: func() []tree.File {
			return files("Chart.yaml", chartFile, "charts/s.tgz", packed("s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 1.0.0\n",
				"s/values.yaml", aliased))
		}, want: "s/values.yaml: with its aliases replaced"},
		"aliases in a template": {files: template(aliased), want: "aliases replaced"},
		"archives": {
			files: archives,
			want:  "Chart.yaml: with its dependencies the chart is over the limit of 134217728 bytes",
		},
		"archives in an archive": {files: func() []tree.File {
			return files("Chart.yaml", chartFile, "charts/s.tgz", archiveOf(10, subchart("x", 40, 4<<20)))
		}, want: "the chart is over the limit"},
		"archives inside each other": {files: nestedArchives, want: "archives are nested more than 10 deep"},
		"files of archives": {files: func() []tree.File {
			return files("Chart.yaml", chartFile, "charts/a.tgz", subchart("a", 15_000, 1), "charts/b.tgz", subchart("b", 15_000, 1))
		}, want: "the chart has more than 20000 files"},
		"a million files": {files: func() []tree.File {
			return manyFiles(1_000_000, "")
		}, want: "the chart has more than 20000 files"},
		"rules of .helmignore": {files: func() []tree.File {
			return manyFiles(15_000, rep("a*b\n", 100_000))
		}, want: ".helmignore: 100001 rules are too many for 15002 files"},
		"aliases of a dependency": {files: dependencies, want: "Chart.yaml: 5000 dependencies are over the limit of 200"},
		"indexes": {
			files: template(object("a")), set: indexes(),
			want: "the indexes of all parameters are over the limit of 1000000",
		},
		"values with a long error": {files: template(`{{ fail (repeat 4000000 "x") }}`), want: "xxx"},
		"a regular expression":     {files: template(`{{ regexMatch (repeat 3000 "x{1000}") "" }}`), want: "regexMatch would give more"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Refused(t, c.want, func() error {
				ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(c.deadline, time.Minute))
				defer cancel()
				_, err := render.Helm(ctx, c.files(), render.Options{
					Lenient: true,
					Chart:   render.Chart{ReleaseName: "r", Namespace: "n", Set: c.set},
				})
				if err == nil || c.want == "none" { // the deadline ends it
					return errors.New("none")
				}
				return err
			})
		})
	}
}

// circle is n templates of which each includes the next.
func circle(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{{ define "t%d" }}{{ include "t%d" . }}{{ end }}`, i, (i+1)%n)
	}
	return b.String() + `{{ include "t0" . }}`
}

func outputs() []tree.File {
	pairs := []string{"Chart.yaml", chartFile}
	for i := range 100 {
		pairs = append(pairs, fmt.Sprintf("templates/%d.yaml", i), `# {{ repeat 8000000 "x" }}`)
	}
	return files(pairs...)
}

func archives() []tree.File {
	pairs := []string{"Chart.yaml", chartFile}
	content := subchart("s", 20, 4<<20)
	for i := range 25 {
		pairs = append(pairs, fmt.Sprintf("charts/s%d.tgz", i), content)
	}
	return files(pairs...)
}

func archiveOf(n int, content string) string {
	pairs := []string{"s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 1.0.0\n"}
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("s/charts/x%d.tgz", i), content)
	}
	return packed(pairs...)
}

func nestedArchives() []tree.File {
	content := subchart("x", 1, 1)
	for range 20 {
		content = archiveOf(1, content)
	}
	return files("Chart.yaml", chartFile, "charts/s.tgz", content)
}

func manyFiles(n int, rules string) []tree.File {
	out := files("Chart.yaml", chartFile, ".helmignore", rules)
	for i := range n {
		out = append(out, tree.File{Name: fmt.Sprintf("files/%d", i)})
	}
	return out
}

func dependencies() []tree.File {
	text := chartFile + "dependencies:\n"
	for i := range 5000 {
		text += fmt.Sprintf("- {name: s, version: 1.0.0, alias: a%d}\n", i)
	}
	return files("Chart.yaml", text, "charts/s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 1.0.0\n")
}

func indexes() []render.Set {
	var out []render.Set
	for i := range 1000 {
		out = append(out, render.Set{Name: fmt.Sprintf("a%d[65000]", i), Value: "x"})
	}
	return out
}

// TestHostileKustomizations has Kustomizations that end the process, or take a core or the lock for long.
func TestHostileKustomizations(t *testing.T) {
	rep := strings.Repeat
	aliased := "a: &a " + rep("x", 100_000) + "\nb: [" + rep("*a,", 100_000) + "]\n"
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		pairs []string
		want  string
	}{
		"aliases in a resource": {
			[]string{"kustomization.yaml", "resources: [a.yaml]\n", "a.yaml", object + aliased},
			"aliases replaced",
		},
		"aliases in a patch": {[]string{
			"kustomization.yaml", "resources: [a.yaml]\npatches: [{path: b.yaml}]\n", "a.yaml", object,
			"b.yaml", object + aliased,
		}, "aliases replaced"},
		"aliases in a Kustomization": {
			[]string{"kustomization.yaml", "resources: [a.yaml]\n" + aliased, "a.yaml", object},
			"aliases replaced",
		},
		"aliases in a configuration": {[]string{
			"kustomization.yaml", "resources: [a.yaml]\nconfigurations: [b.yaml]\n", "a.yaml", object,
			"b.yaml", aliased,
		}, "aliases replaced"},
		"aliases in crds": {[]string{
			"kustomization.yaml", "resources: [a.yaml]\ncrds: [b.yaml]\n", "a.yaml", object, "b.yaml",
			aliased,
		}, "aliases replaced"},
		"aliases in a schema": {[]string{
			"kustomization.yaml", "resources: [a.yaml]\nopenapi: {path: b.yaml}\n", "a.yaml", object,
			"b.yaml", aliased,
		}, "aliases replaced"},
		"aliases in replacements": {[]string{
			"kustomization.yaml", "resources: [a.yaml]\nreplacements: [{path: b.yaml}]\n", "a.yaml",
			object, "b.yaml", aliased,
		}, "aliases replaced"},
		"aliases in values": {[]string{
			"kustomization.yaml", "helmCharts: [{name: c, valuesInline: {x: y}}]\n",
			"charts/c/Chart.yaml", chartFile, "charts/c/values.yaml", aliased,
		}, "aliases replaced"},
		"many values": {[]string{
			"kustomization.yaml", "resources: [a.yaml]\n", "a.yaml",
			object + "x: [" + rep("a,", 4_000_000) + "]\n",
		}, "more than 2000000 values"},
		"many values, Kustomization": {[]string{
			"kustomization.yaml", "resources: [a.yaml]\nx: [" + rep("a,", 4_000_000) + "]\n", "a.yaml",
			object,
		}, "more than 2000000 values"},
		"a diamond":                   {diamond(30, 1, ""), "it builds more than 5000 Kustomizations"},
		"a diamond of many resources": {diamond(10, 100, ""), "its Kustomizations compare resources too often"},
		"a diamond with a schema":     {diamond(9, 1, "openapi: {version: v1.21.2}\n"), "so that no other build can run meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Refused(t, c.want, func() error {
				built, err := render.Build(context.Background(), render.Kustomization{View: tree.Of(files(c.pairs...))})
				if err == nil && len(built.Missing) > 0 {
					err = built.Missing[0]
				}
				return err
			})
		})
	}
}

// diamond is levels of Kustomizations of which each refers to both of the next.
func diamond(levels, resources int, more string) []string {
	pairs := []string{"kustomization.yaml", "resources: [a0, b0]\n" + more}
	for i := range levels {
		next := fmt.Sprintf("resources: [../a%d, ../b%d]", i+1, i+1)
		if i == levels-1 {
			next = "resources: [x.yaml]"
		}
		for _, s := range []string{"a", "b"} {
			var objects strings.Builder
			for n := range resources {
				objects.WriteString("---\n" + object(fmt.Sprintf("x%d", n)))
			}
			pairs = append(pairs, fmt.Sprintf("%s%d/kustomization.yaml", s, i), next+"\nnamePrefix: "+s+"-\n",
				fmt.Sprintf("%s%d/x.yaml", s, i), objects.String())
		}
	}
	return pairs
}
