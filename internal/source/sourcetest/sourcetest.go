// Package sourcetest holds the cases that compare our rendering of an Application's sources with Argo CD's. The ordinary tests compare with
// Argo CD's answers on file; the module conformance/ runs Argo CD and writes the files.
package sourcetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// URLPrefix precedes the names of a case's repositories in its Application.
const URLPrefix = "https://git.example.com/"

// ArgoNamespace is the namespace of Argo CD. The name of an Application in any other namespace is prefixed with that namespace.
const ArgoNamespace = "argocd"

// Case is one directory of cases.
type Case struct {
	Name string
	Dir  string
	// App is app.yaml: one Application.
	App manifest.Document
	// Repos maps the URLs of repositories to their directories, each the content of one commit.
	Repos map[string]string
	// Settings is settings.yaml, with defaults.
	Settings Settings
	// Differs is the reason why our answer differs on purpose; empty if it must be the same.
	Differs string
	// Upstream is upstream.yaml: Argo CD's objects in order, sources in order. List kinds are not expanded.
	Upstream []manifest.Document
	// UpstreamErr is upstream.err: Argo CD's error. Empty if it accepts the case.
	UpstreamErr string
}

// Settings are Argo CD's inputs besides the Application and its repositories.
type Settings struct {
	// BuildOptions is kustomize.buildOptions of argocd-cm.
	BuildOptions string `json:"kustomize.buildOptions"`
	// KubeVersion is the version of the destination cluster. The default is DefaultKubeVersion.
	KubeVersion string `json:"kubeVersion"`
	// APIVersions are the API versions of the destination cluster, as in "apps/v1" and "apps/v1/Deployment". The default is none: helm then
	// has only its built-in ones.
	APIVersions []string `json:"apiVersions"`
}

// DefaultKubeVersion is the version of the destination cluster of a case whose settings name none.
const DefaultKubeVersion = "1.34"

// Cases reads all cases below dir, in the order of their names.
func Cases(tb testing.TB, dir string) []Case {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "app.yaml"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no cases in %s: %v", dir, err)
	}
	cases := make([]Case, 0, len(files))
	for _, file := range files {
		cases = append(cases, load(tb, filepath.Dir(file)))
	}
	return cases
}

func load(tb testing.TB, dir string) Case {
	tb.Helper()
	c := Case{Name: filepath.Base(dir), Dir: dir, Repos: map[string]string{}, Settings: Settings{KubeVersion: DefaultKubeVersion}}
	text, _ := read(tb, filepath.Join(dir, "app.yaml"))
	docs, err := manifest.Decode(filepath.Join(dir, "app.yaml"), text)
	if err != nil || len(docs) != 1 {
		tb.Fatalf("%s: app.yaml must have one document, it has %d: %v", dir, len(docs), err)
	}
	c.App = docs[0]
	first, _, _ := strings.Cut(string(text), "\n")
	c.Differs, _ = strings.CutPrefix(first, "# differs: ")
	if c.Differs == first {
		c.Differs = ""
	}
	repos, err := filepath.Glob(filepath.Join(dir, "repos", "*"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, repo := range repos {
		c.Repos[URLPrefix+filepath.Base(repo)] = repo
	}
	if text, ok := read(tb, filepath.Join(dir, "settings.yaml")); ok {
		if err := manifest.Unmarshal(text, &c.Settings); err != nil {
			tb.Fatalf("%s: settings.yaml: %v", dir, err)
		}
	}
	if text, ok := read(tb, filepath.Join(dir, "upstream.yaml")); ok {
		c.Upstream = stream(tb, filepath.Join(dir, "upstream.yaml"), string(text))
	}
	refusal, _ := read(tb, filepath.Join(dir, "upstream.err"))
	c.UpstreamErr = strings.TrimSpace(string(refusal))
	return c
}

// stream decodes what manifest.WriteYAML wrote. It does not expand List kinds, because Argo CD does not expand Lists inside of Lists.
func stream(tb testing.TB, file, text string) []manifest.Document {
	tb.Helper()
	var docs []manifest.Document
	line := 2
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "---\n"), "\n---\n") {
		if part == "" {
			break
		}
		v, err := manifest.Value([]byte(part))
		o, ok := v.(map[string]any)
		if err != nil || !ok {
			tb.Fatalf("%s:%d: must be an object: %v", file, line, err)
		}
		docs = append(docs, manifest.Document{Object: o, Position: manifest.Position{File: file, Line: line, Number: len(docs) + 1}})
		line += strings.Count(part, "\n") + 2
	}
	return docs
}

// read returns the content of a file and whether it exists.
func read(tb testing.TB, file string) ([]byte, bool) {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		tb.Fatal(err)
	}
	return data, err == nil
}

// Names lists the files and symbolic links of a repository, with true for links, as tree.NewView wants them.
func Names(tb testing.TB, repo string) map[string]bool {
	tb.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(repo, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(repo, file)
		names[filepath.ToSlash(rel)] = d.Type()&os.ModeSymlink != 0
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

// Read returns a function that reads a file of a repository, or the target of a symbolic link, as tree.NewView wants it.
func Read(repo string) func(ctx context.Context, name string) ([]byte, error) {
	return func(_ context.Context, name string) ([]byte, error) {
		file := filepath.Join(repo, filepath.FromSlash(name))
		if target, err := os.Readlink(file); err == nil {
			return []byte(target), nil
		}
		return os.ReadFile(file)
	}
}
