package argosy_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/argosy-cd/argosy"

// mayImport says which layers a layer may import from.
var mayImport = map[string][]string{
	"data":    {"data"},
	"logic":   {"data", "logic"},
	"edge":    {"data", "logic", "edge"},
	"command": {"data", "logic", "edge"},
	"test":    {"data", "logic", "edge", "test"},
}

// pkg is a package as its files are.
type pkg struct {
	doc     string
	imports map[string]bool // of files that are not tests
}

// packages parses the Go files of the main module.
func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	out := map[string]*pkg{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != "." {
				return filepath.SkipDir
			}
			if name := d.Name(); file != "." && (name == "testdata" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		if out[dir] == nil {
			out[dir] = &pkg{imports: map[string]bool{}}
		}
		out[dir].add(f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (p *pkg) add(f *ast.File) {
	p.doc += f.Doc.Text()
	for _, i := range f.Imports {
		name, _ := strconv.Unquote(i.Path.Value)
		p.imports[name] = true
	}
}

var mapLine = regexp.MustCompile(`(?m)^//\t((?:internal/|cmd/|examples|deploy)\S*)\s+(\w+)\s+\S.*$`)

// layersOf reads the map: package to layer.
func layersOf(t *testing.T) map[string]string {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	layers := map[string]string{}
	for _, m := range mapLine.FindAllStringSubmatch(string(doc), -1) {
		if mayImport[m[2]] == nil {
			t.Errorf("doc.go: %s is in layer %q, which does not exist", m[1], m[2])
		}
		layers[m[1]] = m[2]
	}
	return layers
}

func TestMap(t *testing.T) {
	layers := layersOf(t)
	found := packages(t)
	delete(found, ".")
	for _, dir := range slices.Sorted(maps.Keys(layers)) {
		if found[dir] == nil {
			t.Errorf("doc.go: %s does not exist", dir)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		layer, ok := layers[dir]
		if !ok {
			t.Errorf("doc.go: %s is missing", dir)
			continue
		}
		if name := path.Base(dir) + " "; layer != "command" && !strings.HasPrefix(found[dir].doc, "Package "+name) &&
			!strings.HasPrefix(found[dir].doc, "Command "+name) {
			t.Errorf("%s: the package doc must start with %q", dir, "Package "+name)
		}
		for name := range found[dir].imports {
			other, ours := strings.CutPrefix(name, module+"/")
			if ours && !slices.Contains(mayImport[layer], layers[other]) {
				t.Errorf("%s (%s) imports %s (%s)", dir, layer, other, layers[other])
			}
		}
	}
}

// TestOneDoor checks that each library enters through one package, or one and those below it. The command and what every command line
// needs are one.
func TestOneDoor(t *testing.T) {
	doors := map[string][]string{}
	for dir, p := range packages(t) {
		for name := range p.imports {
			if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") && !strings.HasPrefix(name, module) {
				if dir == "internal/cli" || strings.HasPrefix(dir, "internal/cli/") {
					dir = "cmd/argosy/" + dir
				}
				doors[name] = append(doors[name], dir)
			}
		}
	}
	for name, dirs := range doors {
		slices.Sort(dirs)
		if slices.ContainsFunc(dirs[1:], func(dir string) bool { return !strings.HasPrefix(dir, dirs[0]+"/") }) {
			t.Errorf("%s is imported by %s", name, strings.Join(dirs, ", "))
		}
	}
}

// sources reads the Go files of a package that are not tests.
func sources(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if out[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// generated is the line that marks a generated file.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// TestSizes checks that the command stays wiring, and that a file of the product can be read in one go. Generated files may be longer.
func TestSizes(t *testing.T) {
	const mostCommand, mostFile = 2500, 400
	command := 0
	for dir := range packages(t) {
		for file, data := range sources(t, dir) {
			if generated.Match(data) {
				continue
			}
			lines := strings.Count(string(data), "\n")
			if lines > mostFile {
				t.Errorf("%s has %d lines, more than %d: split it by meaning", file, lines, mostFile)
			}
			if dir == "cmd/argosy" {
				command += lines
			}
		}
	}
	if command == 0 || command > mostCommand {
		t.Errorf("cmd/argosy has %d lines, more than %d: it is for flags, help, exit codes and wiring", command, mostCommand)
	}
}

// TestPureLogic checks that data and logic stay away from the outside.
func TestPureLogic(t *testing.T) {
	layers := layersOf(t)
	for dir, p := range packages(t) {
		if layer := layers[dir]; layer != "data" && layer != "logic" {
			continue
		}
		for _, bad := range []string{"os", "net", "net/http", "log", "log/slog", "os/exec"} {
			if p.imports[bad] {
				t.Errorf("%s imports %s", dir, bad)
			}
		}
	}
}

// mayWait are files of logic that have a timer or something else of the machine's clock, each for a reason.
var mayWait = map[string]string{
	"internal/argo/window/window.go": "sync windows have time zones, whose rules are the machine's",
	"internal/health/lua.go":         "a script is stopped while it runs",
	"internal/bucket/snapshot.go":    "a listing that has moved is read again after a wait",
}

// clock are the names in package time that depend on the machine.
var clock = []string{
	"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Local", "LoadLocation",
}

// inspect visits the syntax of a package's files that are not tests.
func inspect(t *testing.T, dir string, visit func(file string, n ast.Node)) {
	t.Helper()
	for file, data := range sources(t, dir) {
		f, err := parser.ParseFile(token.NewFileSet(), file, data, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			visit(filepath.ToSlash(file), n)
			return true
		})
	}
}

// selects returns the name after the dot if n is a name of a package, "" otherwise.
func selects(n ast.Node, pkg string) string {
	if s, ok := n.(*ast.SelectorExpr); ok {
		if from, ok := s.X.(*ast.Ident); ok && from.Name == pkg {
			return s.Sel.Name
		}
	}
	return ""
}

// TestNoClock checks that data and logic get the time, and do not take it.
func TestNoClock(t *testing.T) {
	layers, found := layersOf(t), map[string]bool{}
	for dir := range packages(t) {
		if layer := layers[dir]; layer != "data" && layer != "logic" {
			continue
		}
		inspect(t, dir, func(file string, n ast.Node) {
			if !slices.Contains(clock, selects(n, "time")) {
				return
			}
			if found[file] = true; mayWait[file] == "" {
				t.Errorf("%s has a clock: pass the time in", file)
			}
		})
	}
	for file := range mayWait {
		if !found[file] {
			t.Errorf("%s has no clock any more", file)
		}
	}
}

// holdsContext are the types that keep a context, by their package: each is the state of one call, and goes with it.
var holdsContext = map[string]string{
	"internal/appset generation":         "the rendering of a set",
	"internal/appset/generator run":      "an entry of spec.generators",
	"internal/appset/template budget":    "the executions of an Engine, which is made for a rendering",
	"internal/appset/template execution": "an execution of a template",
	"internal/cmp stoppable":             "the body of a request",
	"internal/flight call":               "a call that several callers share",
	"internal/gitremote endingFile":      "a file of a fetch",
	"internal/gitremote cappedReader":    "an answer of a fetch",
	"internal/gitremote walk":            "a walk through a commit",
	"internal/live/cause engine":         "a question",
	"internal/plan loader":               "a plan that is being made",
	"internal/refresh view":              "a check of what Applications read",
	"internal/render localCheck":         "the check of a Kustomization",
	"internal/render disk":               "a build",
	"internal/source job":                "a request for documents",
	"internal/worker talk":               "a job",
}

// TestContexts checks that a context is passed on, and kept only for as long as the call that it belongs to.
func TestContexts(t *testing.T) {
	found := map[string]bool{}
	for dir := range packages(t) {
		inspect(t, dir, func(_ string, n ast.Node) {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				return
			}
			name := dir + " " + spec.Name.Name
			for _, field := range fields.Fields.List {
				if selects(field.Type, "context") != "Context" {
					continue
				}
				if found[name] = true; holdsContext[name] == "" {
					t.Errorf("%s keeps a context: pass it on, or say in holdsContext of which call it is the state", name)
				}
			}
		})
	}
	for name := range holdsContext {
		if !found[name] {
			t.Errorf("%s keeps no context any more", name)
		}
	}
}

// TestDependencies checks that go.mod replaces nothing and that CONTRIBUTING gives a reason for every direct
// dependency.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mod), "replace") {
		t.Error("go.mod has a replace directive; users could not go install the command")
	}
	contributing, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1)
	if len(direct) == 0 {
		t.Fatal("no direct dependencies found in go.mod")
	}
	for _, m := range direct {
		if !strings.Contains(string(contributing), "`"+m[1]+"`") {
			t.Errorf("CONTRIBUTING.md: no reason for %s", m[1])
		}
	}
}

var inBrackets = regexp.MustCompile("[(,] ?`([a-z0-9]+[^`]*)`")

// TestHandWritten checks that what CONTRIBUTING says we wrote ourselves is there.
func TestHandWritten(t *testing.T) {
	contributing, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(contributing), "\n| ours | why |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	for _, row := range rows {
		thing, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for _, m := range inBrackets.FindAllStringSubmatch(thing, -1) {
			if _, err := os.Stat(filepath.Join("internal", filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("CONTRIBUTING.md: %s: %v", thing, err)
			}
		}
	}
	if len(rows) < 40 {
		t.Errorf("only %d rows were found", len(rows))
	}
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	testName = regexp.MustCompile(`^(Test|Fuzz)\w+$`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// testsIn returns the names of a directory's tests.
func testsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(data), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// TestSecurityPage checks that docs/security.md names tests that exist, for every attacker, and every test with hostile input.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	rows := map[string]int{} // of each attacker
	attackers := false
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "|") {
			attackers = false
			continue
		}
		cells := strings.Split(line, "|")
		first := strings.TrimSpace(cells[1])
		if first == "attacker" {
			attackers = true
			continue
		}
		if !attackers || strings.HasPrefix(first, "---") {
			continue
		}
		rows[first]++
		dir, tests := "", 0
		for _, m := range codeSpan.FindAllStringSubmatch(cells[2], -1) {
			span := m[1]
			switch {
			case testName.MatchString(span):
				tests++
				named[dir+" "+span] = true
				if !slices.Contains(testsIn(t, dir), span) {
					t.Errorf("docs/security.md: %s has no %s", dir, span)
				}
			case strings.HasPrefix(line[strings.Index(line, m[0])-len("script "):], "script "):
				if _, err := os.Stat(filepath.Join(dir, "testdata", "script", span+".txtar")); err != nil {
					t.Errorf("docs/security.md: %v", err)
				}
			default:
				dir = span
			}
		}
		if len(cells) == 4 && tests == 0 {
			t.Errorf("docs/security.md: %s has no test", first)
		}
	}
	for attacker, n := range rows {
		if n != 2 {
			t.Errorf("docs/security.md: %q is in %d tables, want what is promised and the tests", attacker, n)
		}
	}
	for dir := range packages(t) {
		for _, name := range testsIn(t, dir) {
			if strings.HasPrefix(name, "TestHostile") && !named[dir+" "+name] {
				t.Errorf("docs/security.md: %s of %s is missing", name, dir)
			}
		}
	}
	if len(named) < 50 {
		t.Errorf("only %d tests were found in docs/security.md", len(named))
	}
}

// TestSecretsAreOptIn: no installation gives the right to read Secrets but the components for it, and the chart if its values say so.
func TestSecretsAreOptIn(t *testing.T) {
	found := 0
	err := filepath.WalkDir("deploy", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		asked := "" // the value of the chart that a line depends on
		for line := range strings.Lines(string(data)) {
			if _, value, ok := strings.Cut(line, "{{- if .Values."); ok {
				asked, _, _ = strings.Cut(value, " ")
			}
			rule, _, _ := strings.Cut(line, "#")
			if !strings.Contains(rule, "resources:") || !strings.Contains(rule, "secrets") && !strings.Contains(rule, "*") {
				continue
			}
			switch filepath.ToSlash(name) {
			case "deploy/kustomize/cmp-secrets/rbac.yaml":
			case "deploy/kustomize/cmp-apis/rbac.yaml": // by name only
				if !strings.Contains(rule, "resourceNames: [argosy-scm], verbs: [get]") {
					t.Errorf("%s: %s", name, line)
				}
			case "deploy/chart/argosy/templates/sidecar.yaml":
				byName := strings.Contains(rule, "resourceNames: {{ toJson . }}, verbs: [get]")
				if asked != "rbac.secrets" && (asked != "rbac.apis.enabled" || !byName) {
					t.Errorf("%s: %s", name, line)
				}
			default:
				t.Errorf("%s: %s", name, line)
			}
			found++
		}
		return nil
	})
	if err != nil || found != 4 {
		t.Errorf("%d rules, %v", found, err)
	}
	values, err := os.ReadFile("deploy/chart/argosy/values.yaml")
	if err != nil || !regexp.MustCompile(`(?m)^rbac:\n  secrets: false `).Match(values) ||
		!regexp.MustCompile(`(?m)^  apis: .*\n    enabled: false$`).Match(values) {
		t.Errorf("the values of the chart give the right by default: %v", err)
	}
}

// TestDockerfile: the image is built from the directories that the program is made of, embedded files included, and from no others.
func TestDockerfile(t *testing.T) {
	const format = `{{with .Module}}{{if .Main}}{{range $.GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{range $.EmbedFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`
	list := exec.Command("go", "list", "-deps", "-f", format, "./cmd/argosy")
	list.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	files, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	need := map[string]bool{"go.mod": true, "go.sum": true}
	for _, file := range strings.Fields(string(files)) {
		name, err := filepath.Rel(top, file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		need[first] = true
	}
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	build, _, _ := strings.Cut(string(text), "\nFROM scratch")
	copied := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^COPY (.+) (\S+)$`).FindAllStringSubmatch(build, -1) {
		for name := range strings.FieldsSeq(m[1]) {
			copied[name] = true
			if m[2] != name && m[2] != "./" {
				t.Errorf("Dockerfile: %s is copied to %s", name, m[2])
			}
		}
	}
	same(t, "Dockerfile: COPY", need, copied)
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	image := regexp.MustCompile(`(?m)^FROM golang:(\d+\.\d+) `).FindStringSubmatch(build)
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))
	if image == nil || wanted == nil || image[1] != wanted[1] {
		t.Errorf("Dockerfile builds with Go %q, go.mod wants %q", image, wanted)
	}
	// Everything but a few directories is kept from the builder.
	ignore, err := os.ReadFile(".dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^!(.+)$`).FindAllStringSubmatch(string(ignore), -1) {
		sent[m[1]] = true
	}
	same(t, ".dockerignore: !", need, sent)
}

func same(t *testing.T, what string, want, got map[string]bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !got[name] {
			t.Errorf("%s: %s is needed and not there", what, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !want[name] {
			t.Errorf("%s: %s is there and not needed", what, name)
		}
	}
}

// linters returns the linters that are on in a directory: those of the nearest configuration, as golangci-lint finds it.
func linters(t *testing.T, dir string) []string {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(dir, ".golangci.yml"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && dir != ".":
		return linters(t, filepath.Dir(dir))
	case err != nil:
		t.Fatal(err)
	}
	on := []string{"errcheck", "govet", "ineffassign", "staticcheck", "unused"} // the standard ones
	_, enabled, _ := strings.Cut(string(config), "  enable:")
	enabled, _, _ = strings.Cut(enabled, "  settings:")
	return append(on, regexp.MustCompile(`[a-z]+`).FindAllString(enabled, -1)...)
}

// TestNoLint allows exceptions only for linters that are on: any other one says that something is checked that is not.
func TestNoLint(t *testing.T) {
	directive := regexp.MustCompile(`//nolint:([a-z,]+)`)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" {
			return err
		}
		text, err := os.ReadFile(name)
		on := []string(nil)
		for _, m := range directive.FindAllStringSubmatch(string(text), -1) {
			if on == nil {
				on = linters(t, filepath.Dir(name))
			}
			for linter := range strings.SplitSeq(m[1], ",") {
				if !slices.Contains(on, linter) {
					t.Errorf("%s: %s is not on", name, linter)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
