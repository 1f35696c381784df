package siegetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Attack is something that a hostile project does.
type Attack struct {
	Request
	// Kind is the target of the attack: Computing, Space, Waiting or Passing.
	Kind string
	// Times is how often it is sent at once. Zero is once.
	Times int
	// Error is a part of the sidecar's error, if that comes before the deadline; "" if the attack may also be answered.
	Error string
	// Before is called before it is sent. Nil is not called.
	Before func()
	// Held is the metric that reaches at least Places once the hanging requests hold what they attack. "" if requests are answered.
	Held   string
	Places float64
}

// Kinds of attacks.
const (
	Computing = "computing" // time
	Space     = "space"     // memory, or the stack
	Waiting   = "waiting"   // places in the queue
	Passing   = "passing"   // the policy and the guard
)

// Attacks are all of them.
func (w *World) Attacks() []Attack {
	all := slices.Concat(w.templates(), w.charts(), w.kustomizations(), w.manifests(), w.git(), w.waits(), w.passes())
	for i := range all {
		if all[i].Plugin == "" {
			all[i].Plugin = "appset"
		}
		all[i].Request = all[i].Packs()
	}
	return all
}

// files are those of an application in the directory app.
func files(pairs ...string) Request {
	r := Request{Dir: "app", Files: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		r.Files[pairs[i]] = pairs[i+1]
	}
	return r
}

// named is an attack by a request.
func named(name, kind string, r Request, want string) Attack {
	r.Name = name
	return Attack{Request: r, Kind: kind, Error: want}
}

func ofSet(annotations, more string) Request {
	return files("app/set.yaml", set(Evil, annotations, more))
}

func ofChart(template string) Request { return Request{Dir: "app", Files: chart("app/", template)} }

const (
	selfCall        = `{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`
	endlessTemplate = `{{ range until 10000 }}{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}`
	endlessLoop     = `{{ range until 100000 }}{{ $y := regexMatch "(a?){50}b" (repeat 1000 "a") }}{{ end }}`
)

// templates are those of sets.
func (w *World) templates() []Attack {
	rep := strings.Repeat
	parse := named("8 fromYaml of 4 MB", Computing,
		ofSet(`x: '{{ range until 1000 }}{{ $x := fromYaml (printf "a:\n%s" (repeat 500000 "- b: c\n")) }}{{ end }}'`, ""), "")
	parse.Times = 8
	return []Attack{
		named("a template that calls itself through 200 ifs", Space,
			ofSet(`x: '{{ define "x" }}`+rep("{{ if true }}", 200)+`{{ template "x" . }}`+rep("{{ end }}", 200)+
				`{{ end }}{{ template "x" . }}'`, ""), "nested deeper than"),
		named("parameters in a circle, printed by another field", Space, ofSet(`x: '{{ $_ := set . "self" . }}', y: '{{ . }}'`, ""),
			"over the limit of 4194304 bytes"),
		named("10,000 references to one large string, printed", Space,
			ofSet(`x: '{{ $s := repeat 500000 "x" }}{{ $l := list }}{{ range until 10000 }}{{ $l = append $l $s }}{{ end }}{{ $l }}'`, ""),
			"over the limit of 4194304 bytes"),
		named("a templatePatch with 100,000 aliases", Space, ofSet("x: fine",
			"  templatePatch: |\n    metadata: {annotations: {a: &a '{{ repeat 100000 \"x\" }}', b: [{{ range until 100000 }}*a, {{ end "+
				"}}]}}\n"), "with its aliases replaced it is over the limit"),
		named("1.9 million nested ifs", Space, ofSet("x: '"+rep("{{if 1}}", 1_900_000)+rep("{{end}}", 1_900_000)+"'", ""), "app/set.yaml"),
		named("a template that does not end", Computing, ofSet("x: '"+endlessTemplate+"'", ""), ""),
		parse,
	}
}

// charts are in the repository, and in S3.
func (w *World) charts() []Attack {
	archives := ofChart("")
	for i := range 25 {
		archives.Files[fmt.Sprintf("app/charts/s%d.tgz", i)] = subchart(fmt.Sprintf("s%d", i), 20, 4<<20)
	}
	answers := named("8 large answers", Space,
		ofChart("{{ range until 20 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'x{{ . }}'}\ndata: {a: {{ repeat 500000 "+
			"\"x\" }}}\n{{ end }}"), "")
	answers.Times = 8
	return []Attack{
		named("a chart that calls itself", Space, ofChart(selfCall), "nested deeper than"),
		named("a chart with tpl of itself", Space,
			ofChart(`{{ define "a" }}{{ tpl "{{ include \"a\" . }}" . }}{{ end }}{{ include "a" . }}`), "nested deeper than"),
		named("a chart with 25 chart archives", Space, archives, "with its dependencies the chart is over the limit"),
		named("repeat 500000000 in a chart", Space, ofChart(`x: {{ repeat 500000000 "x" }}`), "repeat would give more than"),
		named("a chart with nested documents", Space, ofChart("x: "+strings.Repeat("[", 900_000)), "exceeded max depth"),
		named("a chart that keeps large strings", Space,
			ofChart(`{{ $l := list }}{{ range $i := until 1000 }}{{ $l = append $l (repeat 16000000 (toString $i)) }}{{ end }}`), ""),
		answers,
		named("a chart that does not end", Computing, ofChart(endlessLoop), ""),
		named("a chart with loops in loops", Computing,
			ofChart(`{{ range until 100000 }}{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}{{ end }}`), ""),
		named("a chart in S3 that calls itself", Space, ofS3("evilchart"), "nested deeper than"),
		named("a chart in S3 that does not end", Computing, ofS3("endless"), ""),
	}
}

func ofS3(path string) Request {
	r := files("app/s3-source.yaml", "bucket: artifacts\npath: "+path+"\n")
	r.Plugin = "s3"
	return r
}

// subchart is an archive with a chart of n files of some bytes.
func subchart(name string, n, size int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	write := func(file, content string) {
		if err := t.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: name + "/" + file, Size: int64(len(content)),
			Mode: 0o644,
		}); err != nil {
			panic(err)
		}
		if _, err := t.Write([]byte(content)); err != nil {
			panic(err)
		}
	}
	write("Chart.yaml", "apiVersion: v2\nname: "+name+"\nversion: 1.0.0\n")
	for i := range n {
		write(fmt.Sprintf("files/%d", i), strings.Repeat("x", size))
	}
	_, _ = t.Close(), z.Close()
	return b.String()
}

// diamond has two bases, each of which has the same two, and so on.
func diamond(dir string, levels int) map[string]string {
	out := map[string]string{dir + "/kustomization.yaml": "resources: [../b0/l, ../b0/r]\n"}
	for i := range levels + 1 {
		for _, side := range []string{"l", "r"} {
			at := fmt.Sprintf("b%d/%s/", i, side)
			out[at+"kustomization.yaml"] = fmt.Sprintf("namePrefix: %s\nresources: [../../b%d/l, ../../b%d/r]\n", side, i+1, i+1)
			if i == levels {
				out[at+"kustomization.yaml"], out[at+"cm.yaml"] = "resources: [cm.yaml]\n",
					"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+side+"}\n"
			}
		}
	}
	return out
}

func (w *World) kustomizations() []Attack {
	return []Attack{
		named("a diamond of kustomizations", Computing, Request{Dir: "app", Files: diamond("app", 40)}, "it builds more than"),
		named("a small diamond of kustomizations", Computing, Request{Dir: "app", Files: diamond("app", 9)}, ""),
	}
}

const largeAnchor = 100_000

// aliased is a manifest with one large anchor and 100,000 aliases.
func aliased() string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\na: &a " + strings.Repeat("x", largeAnchor) + "\nb: [" +
		strings.Repeat("*a,", 100_000) + "]\n"
}

func (w *World) manifests() []Attack {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return []Attack{
		named("a manifest with 100,000 aliases", Space, files("app/cm.yaml", aliased()), "over the limit"),
		named("a manifest with aliases of aliases", Space, files("app/cm.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"+bomb), "alias"),
		named("an object in S3 with 100,000 aliases", Space, ofS3("aliases"), "over the limit"),
		{
			Request: Request{
				Name: "8 applications with 240 MB in S3", Plugin: "s3", Dir: "app",
				Files: map[string]string{"app/s3-source.yaml": "bucket: " + bulk + "\npath: x\n"},
			}, Kind: Space, Times: 8,
			Error: "over the limit",
		},
	}
}

// objects are those in the bucket.
func objects() map[string]string {
	out := goodObjects()
	out["aliases/cm.yaml"] = aliased()
	out["app/app.yaml"] = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x, namespace: argocd}\nspec: {project: " +
		"infra, source: {repoURL: https://git.example.com/x, path: x}, destination: {name: in-cluster, namespace: kube-system}}\n"
	maps.Copy(out, chart("evilchart/", selfCall))
	maps.Copy(out, chart("endless/", endlessLoop))
	return out
}

// repositories are those of the Git server.
func repositories() map[string]*repository {
	hostile := func(text string) map[string]string {
		return merged(chart("a/", text+selfCall), chart("b/", text+endlessLoop))
	}
	diamonds := func(text string) map[string]string {
		return merged(diamond("a", 40), map[string]string{
			"b/kustomization.yaml": "resources: [../a, " + text + ".yaml]\n",
			"b/" + text + ".yaml":  aliased(),
		})
	}
	large := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n" + strings.Repeat("# "+strings.Repeat("x", 97)+"\n", 20_000)
	heavy := func(text string) map[string]string {
		out := map[string]string{}
		for i := range 100 {
			for _, dir := range []string{"a", "b"} {
				out[fmt.Sprintf("%s/%d.yaml", dir, i)] = large + text
			}
		}
		return out
	}
	return map[string]*repository{
		"heavy": ofFiles(heavy("# 1\n"), heavy("# 2\n")),
		"good":  goodRepository(), "files": bomb(10, 7, "", true), "directories": bomb(2, 40, "", false), "deep": bomb(1, 200, "", true),
		// Within the limits: 172,262 paths whose names have 22 MB.
		"large": bomb(17, 4, strings.Repeat("x", 30), true), "charts": ofFiles(hostile("# 1\n"), hostile("# 2\n")),
		"diamonds": ofFiles(diamonds("one"), diamonds("two")),
	}
}

// generator is a set with the directories of a repository, and annotations.
func (w *World) generator(repository, annotations string) Request {
	url := w.Git + "/" + repository + ".git"
	spec := fmt.Sprintf(setFile, "{git: {repoURL: '"+url+"', revision: HEAD, directories: [{path: '*'}]}}", "", annotations, Evil)
	return Request{Files: map[string]string{"x": ""}, Env: map[string]string{
		"ARGOCD_APP_SOURCE_REPO_URL": url,
		"PARAM_SPEC":                 strings.ReplaceAll(spec, ".name", ".path.basename"),
	}}
}

// everything is a set with all files of a repository.
func (w *World) everything(repository string) Request {
	r := w.generator(repository, "x: fine")
	r.Env["PARAM_SPEC"] = strings.Replace(r.Env["PARAM_SPEC"], "directories: [{path: '*'}]", "files: [{path: '**'}]", 1)
	return r
}

// git are repositories of generators, and of Applications that are pinned.
func (w *World) git() []Attack {
	pin := func(repository string) Request {
		return Request{Files: map[string]string{"x": ""}, Env: w.pinned(w.Git+"/"+repository+".git", w.repositories[repository].commit(1),
			"evil-"+repository, Evil, "")}
	}
	heavy := named("8 Git repositories of 400 MB in a few kilobytes", Space, w.everything("heavy-NUMBER"), "over the limit")
	heavy.Times = 8
	return []Attack{
		named("a Git tree of 10 million paths", Space, w.generator("files", "x: fine"), "more than 300000 files and directories"),
		named("a Git tree of directories only", Computing, w.generator("directories", "x: fine"), "more than 300000 files and directories"),
		named("a Git tree of 200 levels", Space, w.generator("deep", "x: fine"), "more than 100 levels deep"),
		heavy,
		named("pin: changed with 400 MB", Space, pin("heavy"), ""),
		named("pin: changed with hostile charts", Computing, pin("charts"), ""),
		named("pin: changed with hostile kustomizations", Computing, pin("diamonds"), ""),
	}
}

// waits are requests that take a place and do not go on. The sidecar has three places that one project can fill.
func (w *World) waits() []Attack {
	upload := named("8 stalled uploads", Waiting, ofSet("x: fine", ""), "")
	upload.Stop, upload.Times, upload.Held, upload.Places = 10, 8, "argosy_cmp_uploads_held", 8
	other := named("8 stalled uploads to s3", Waiting, ofS3("good"), "")
	other.Stop, other.Times, other.Held, other.Places = 10, 8, upload.Held, upload.Places
	bucket := named("8 applications on an S3 that hangs", Waiting, files("app/s3-source.yaml", "bucket: "+silent+"\npath: x\n"),
		"not finished after")
	bucket.Plugin, bucket.Times, bucket.Held, bucket.Places = "s3", 8, "argosy_cmp_calls_waiting", 5
	git := named("8 applications on a Git server that hangs", Waiting, w.generator("silent", "x: fine"), "not finished after")
	git.Times, git.Held, git.Places = 8, bucket.Held, bucket.Places
	// Each has a tree of its own, which is kept as long as its templates run.
	keep := named("8 applications that keep large Git trees", Waiting, w.generator("large-NUMBER", "x: '"+endlessTemplate+"'"),
		"not finished after")
	keep.Times, keep.Held, keep.Places = 8, bucket.Held, bucket.Places
	return []Attack{upload, other, bucket, git, keep}
}

// passes are answers that must not be given.
func (w *World) passes() []Attack {
	spec := func(app, text string) Request {
		return Request{Files: map[string]string{"x": ""}, Env: map[string]string{"ARGOCD_APP_NAME": app, "PARAM_SPEC": text}}
	}
	halved := func(name, apps string) Request {
		r := spec("evil-halved", strings.Replace(set(Evil, "x: fine", ""), "{name: a}, {name: b}", apps, 1))
		r.Name = name
		return r
	}
	app := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x, namespace: argocd}\nspec: {project: evil, source: " +
		"{repoURL: https://git.example.com/x, path: x}, destination: {name: in-cluster, namespace: x}}\n"
	return []Attack{
		named("Applications with the hook presync", Passing, spec("evil-hook", set(Evil, "argocd.argoproj.io/hook: presync", "")),
			`the hook type "presync" is refused`),
		named("an Application with a status", Passing, files("app/a.yaml",
			app+"status: {operationState: {phase: Running, operation: {sync: {}}}}\n"), "status is refused"),
		named("an Application with an operation", Passing, files("app/a.yaml", app+"operation: {sync: {}}\n"), "operation is refused"),
		named("an Application of another project in S3", Passing, ofS3("app"), `project "infra" is refused`),
		{Request: halved("half of all Applications", "{name: a}, {name: b}, {name: c}, {name: d}"), Kind: Passing},
		{
			Request: halved("half of the rest", "{name: a}, {name: b}"), Kind: Passing, Before: w.halve,
			Error: "refused: this answer would delete 2 Applications, which makes 6 of 8 in the last hour",
		},
	}
}

// applications are those in the cluster.
func (w *World) applications() []map[string]any {
	const none = `{"project": "evil", "destination": {"name": "in-cluster"}, "source": {}}`
	names := strings.Split("abcdefgh", "")
	out := []map[string]any{
		application("evil-hook", none, names...),
		application("good-pinned", strings.ReplaceAll(none, Evil, Good), "good-pinned-a", "good-pinned-b"),
	}
	w.mu.Lock()
	halved := application("evil-halved", none, names...)
	if !w.halved.IsZero() { // Argo CD has synced the answer
		halved = application("evil-halved", none, names[:4]...)
		var pruned []any
		for _, r := range resources(names[4:]) {
			r["status"] = "Pruned"
			pruned = append(pruned, r)
		}
		halved["status"].(map[string]any)["operationState"] = map[string]any{
			"finishedAt": w.halved.UTC().Format(time.RFC3339),
			"syncResult": map[string]any{"resources": pruned},
		}
		names = names[:4]
	}
	w.mu.Unlock()
	out = append(out, halved)
	for _, name := range names {
		out = append(out, application(name, none))
	}
	child := func(app, project, repository, path string) map[string]any {
		return application(app,
			fmt.Sprintf(`{"project": %q, "destination": {"name": "in-cluster", "namespace": "x"}, "source": {"repoURL": %q, "path": %q, "targetRevision": %q}}`, project, w.Git+"/"+repository+".git", path, w.repositories[repository].commit(0)))
	}
	for _, name := range []string{"a", "b"} {
		out = append(out, child("good-pinned-"+name, Good, "good", "apps/"+name))
		for _, repository := range []string{"charts", "diamonds", "heavy"} {
			out = append(out, child("evil-"+repository+"-"+name, Evil, repository, name))
		}
	}
	for _, repository := range []string{"charts", "diamonds", "heavy"} {
		out = append(out, application("evil-"+repository, none, "evil-"+repository+"-a", "evil-"+repository+"-b"))
	}
	return out
}

// halve has Argo CD delete half of the Applications of evil-halved.
func (w *World) halve() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.halved.IsZero() {
		w.halved = time.Now()
	}
}
