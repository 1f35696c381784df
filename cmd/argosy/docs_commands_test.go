package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/scm/scmtest"
)

// block is a fenced block of a page with command lines.
type block struct {
	page     string // from the top of the repository
	line     int
	commands []shown
}

// shown is a command line as a page shows it, without its comment, and the output below it.
type shown struct {
	line   string
	output []string
}

// exit codes of command lines that do not end with 0 in their stage, as their pages say.
var docsExits = map[string]int{
	"argosy simulate --repo examples/cluster --never longhorn examples/cluster/infrastructure/controllers/argocd/root.yaml": exitFound,
	"argosy demo --fail longhorn": exitFound,
}

// docsNotRun are command lines that no test can run here: why, and the test that runs the command for real. Their flags are checked.
var docsNotRun = map[string]struct{ why, test string }{
	"argosy boot root.yaml --dry-run":                               {"a cluster", "internal/boot TestDryRun"},
	"argosy boot root.yaml":                                         {"a cluster", "lab/e2e TestBootCommand"},
	"argosy status root":                                            {"a cluster", "lab/e2e TestWhyPods"},
	"argosy status root --watch":                                    {"a cluster", "internal/follow TestWatch"},
	"argosy wait root --for healthy --timeout 20m":                  {"a cluster", "lab/e2e TestWhyPods"},
	"argosy board":                                                  {"a cluster", "lab/e2e TestBootCommand"},
	"argosy why":                                                    {"a cluster", "lab/e2e TestWhyPods"},
	"argosy appset handover argocd/web":                             {"a cluster", "lab/e2e TestHandover"},
	"argosy appset handover argocd/web --yes":                       {"a cluster", "lab/e2e TestHandover"},
	"argosy appset handover argocd/web --back --yes":                {"a cluster", "lab/e2e TestHandover"},
	"argosy appset handover --folder argocd/root":                   {"a cluster", "lab/e2e TestFolderHandover"},
	"argosy appset handover --folder argocd/root --yes":             {"a cluster", "lab/e2e TestFolderHandover"},
	"argosy appset handover --folder argocd/root --back --yes":      {"a cluster", "lab/e2e TestFolderHandover"},
	"argosy install --image registry.example.com/argosy:v1 --apply": {"a cluster", "lab/e2e TestInstall"},
	"argosy install --remove":                                       {"a cluster", "lab/e2e TestInstall"},
	"APPSET_REFRESH_INTERVAL=5m argosy repo --listen :8080":         {"a server, which does not end", "cmd/argosy TestRepoTLS"},
}

// docsMore are flags that make a command line quick, or keep it off the network. They change nothing that the page is about.
var docsMore = map[string]string{
	"argosy demo": "--speed 2000",
}

// TestDocsCommands runs the command lines of README.md and docs as they are written, those of a page one after the other in a directory of
// its own, and compares the output that the pages show. The directory is a copy of testdata/docs/PAGE.txtar, of stage.txtar, or of the examples.
func TestDocsCommands(t *testing.T) {
	hostile.Unraced(t) // scripts run the same commands with it
	stages := newStages(t)
	seen := map[string]bool{}
	pages := map[string][]shown{}
	for _, b := range docsBlocks(t) {
		for _, c := range b.commands {
			seen[c.line] = true
			if err := checkFlags(c.line); err != nil {
				t.Errorf("%s:%d: %s: %v", b.page, b.line, c.line, err)
			}
		}
		run := slices.DeleteFunc(b.commands, func(c shown) bool { return docsNotRun[c.line].why != "" })
		pages[b.page] = append(pages[b.page], run...)
	}
	if len(seen) < 60 {
		t.Errorf("only %d command lines were found", len(seen))
	}
	for page, commands := range pages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			runDocs(t, stages, page, commands)
		})
	}
	for _, line := range slices.Concat(slices.Collect(maps.Keys(docsNotRun)), slices.Collect(maps.Keys(docsExits))) {
		if !seen[line] {
			t.Errorf("no page has the line %q any more", line)
		}
	}
	for line, not := range docsNotRun {
		dir, name, _ := strings.Cut(not.test, " ")
		if out, _ := exec.Command("grep", "-rl", "^func "+name+"(", "../../"+dir).Output(); len(out) == 0 {
			t.Errorf("%s: %s has no test %s", line, dir, name)
		}
	}
}

func runDocs(t *testing.T, stages stages, page string, commands []shown) {
	t.Helper()
	dir := t.TempDir()
	stages.set(t, page, dir)
	env := append(os.Environ(),
		"HOME="+dir, "ARGOSY_CACHE_DIR="+filepath.Join(dir, ".cache"), "KUBECONFIG=/nowhere", "PATH="+stages.bin+":"+os.Getenv("PATH"),
		"AWS_ENDPOINT_URL_S3="+buckettest.InProcess(t, "artifacts"), "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ACCESS_KEY_ID="+buckettest.AccessKey, "AWS_SECRET_ACCESS_KEY="+buckettest.SecretKey,
		// Nothing outside of this machine is reached.
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1",
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GITHUB_TOKEN=")
	for _, c := range commands {
		line := c.line
		for prefix, more := range docsMore {
			if line == prefix || strings.HasPrefix(line, prefix+" ") {
				line += " " + more
			}
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", line)
		cmd.Dir, cmd.Env = dir, env
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != docsExits[c.line] {
			t.Errorf("%s: exit code %d, want %d:\n%s", c.line, code, docsExits[c.line], out.String())
		}
		if missing, ok := printed(out.String(), c.output); !ok {
			t.Errorf("%s: the page shows %q, which is not printed:\n%s", c.line, missing, out.String())
		}
	}
}

// printed reports whether lines are printed, in this order; spaces do not count, … stands for any text, and a line … for any lines. It
// returns the first line that is missing.
func printed(out string, lines []string) (string, bool) {
	have := strings.Split(out, "\n")
	for _, want := range lines {
		var parts []string
		for part := range strings.SplitSeq(strings.Join(strings.Fields(want), " "), "…") {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		pattern := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
		i := slices.IndexFunc(have, func(line string) bool { return pattern.MatchString(strings.Join(strings.Fields(line), " ")) })
		if i < 0 {
			return want, false
		}
		if strings.TrimSpace(want) != "…" {
			have = have[i+1:]
		}
	}
	return "", true
}

// stages are the directories that blocks start in, made once and copied for each.
type stages struct{ dir, bin string }

func newStages(t *testing.T) stages {
	t.Helper()
	s := stages{t.TempDir(), t.TempDir()}
	// kubectl takes what is piped into it, and prints an object.
	kubectl := "#!/bin/sh\ncase \"$*\" in get*) exec cat object.yaml ;; *) exec cat >/dev/null ;; esac\n"
	if err := os.WriteFile(filepath.Join(s.bin, "kubectl"), []byte(kubectl), 0o755); err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob("testdata/docs/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	github := scmtest.New(t, "github").URL
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range archive.Files {
			archive.Files[i].Data = bytes.ReplaceAll(archive.Files[i].Data, []byte("$GITHUB"), []byte(github))
		}
		dir := filepath.Join(s.dir, strings.TrimSuffix(filepath.Base(name), ".txtar"))
		if err := txtar.Write(archive, dir); err != nil {
			t.Fatal(err)
		}
		commit(t, dir, "https://git.example.com/home/cluster.git")
	}
	examples := filepath.Join(s.dir, "examples")
	if err := os.CopyFS(filepath.Join(examples, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	commit(t, examples, "https://git.example.com/argosy.git")
	return s
}

// commit makes a directory the work tree of a repository, whose branch main has all of its files.
func commit(t *testing.T, dir, origin string) {
	t.Helper()
	script := "git init -q -b main && git remote add origin " + origin + " && git add -A && " +
		"git -c user.name=x -c user.email=x@example.com commit -q -m x && git update-ref refs/remotes/origin/main main"
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// set puts the stage of a page into a directory.
func (s stages) set(t *testing.T, page, dir string) {
	t.Helper()
	stage := filepath.Join(s.dir, strings.TrimSuffix(filepath.Base(page), ".md"))
	switch page {
	case "README.md", "docs/plan.md", "docs/simulate.md":
		stage = filepath.Join(s.dir, "examples")
	default:
		if _, err := os.Stat(stage); err != nil {
			stage = filepath.Join(s.dir, "stage")
		}
	}
	if err := os.CopyFS(dir, os.DirFS(stage)); err != nil {
		t.Fatal(err)
	}
}

// docsPages are README.md and the pages of docs, without those that are made from the commands.
func docsPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		page, err := filepath.Rel("../..", name)
		if err != nil {
			return err
		}
		page = filepath.ToSlash(page)
		if d.IsDir() {
			if page != "." && page != "docs" && !strings.HasPrefix(page, "docs/") || page == "docs/cli" {
				return filepath.SkipDir
			}
			return nil
		}
		if page != "README.md" && (filepath.Ext(page) != ".md" || !strings.HasPrefix(page, "docs/")) {
			return nil
		}
		data, err := os.ReadFile(name)
		pages[page] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// runsArgosy is a line that runs argosy, maybe with variables before it or in a pipe.
var runsArgosy = regexp.MustCompile(`(^|\|\s*)([A-Z_]+=\S+ )*argosy( |$)`)

// docsBlocks are the blocks with lines that run argosy. A block without a language right below one is the output of its last line; in a
// block "console" commands begin with $.
func docsBlocks(t *testing.T) []block {
	t.Helper()
	var out []block
	pages := docsPages(t)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		out = append(out, blocksOf(page, pages[page])...)
	}
	return out
}

func blocksOf(page, text string) []block {
	fence := regexp.MustCompile("^ *```(.*)$")
	var out []block
	language, inside, below := "", false, false // below: only empty lines since the last block with commands
	for i, line := range strings.Split(text, "\n") {
		if m := fence.FindStringSubmatch(line); m != nil {
			inside = !inside
			if inside {
				language = m[1]
				if language == "sh" || language == "console" {
					out = append(out, block{page: page, line: i + 1})
				}
			} else {
				below = language == "sh" || below && language == ""
			}
			continue
		}
		switch last := len(out) - 1; {
		case !inside && strings.TrimSpace(line) != "":
			below = false
		case inside && language == "sh":
			out[last].command(line)
		case inside && language == "console":
			if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
				out[last].command(command)
			} else {
				out[last].show(line)
			}
		case inside && language == "" && below:
			out[last].show(line)
		}
	}
	return slices.DeleteFunc(out, func(b block) bool { return len(b.commands) == 0 })
}

func (b *block) command(line string) {
	line = strings.TrimSpace(regexp.MustCompile(`(^|\s)# .*$`).ReplaceAllString(line, ""))
	if runsArgosy.MatchString(line) {
		b.commands = append(b.commands, shown{line: line})
	}
}

func (b *block) show(line string) {
	if n := len(b.commands); n > 0 && strings.TrimSpace(line) != "" {
		b.commands[n-1].output = append(b.commands[n-1].output, line)
	}
}
