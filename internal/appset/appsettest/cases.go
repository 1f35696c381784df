// Package appsettest holds the cases that compare this project's ApplicationSets with Argo CD's: it loads them and
// runs ours. The ordinary tests compare with Argo CD's answers on file; the module conformance/ asks Argo CD itself.
package appsettest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// URLPrefix is in front of the names of the repositories in testdata/repos.
const URLPrefix = "https://git.example.com/"

// Case is one directory of cases.
type Case struct {
	Name string
	Dir  string
	// Input is in.yaml: one ApplicationSet or more.
	Input []byte
	// Clusters is clusters.yaml of the case, or that of all cases: Argo CD's cluster Secrets.
	Clusters []byte
	// Differs is why our answer is another than Argo CD's on purpose; empty if it must be the same.
	Differs string
	// AnyOrder is set where Argo CD's own order is random.
	AnyOrder bool
	// Newer is upstream-3.5.yaml: the answer of Argo CD 3.5 where it is not that of 3.2. Nil if it is.
	Newer []byte
}

// Suite is all cases and what they need.
type Suite struct {
	Cases  []Case
	source *gitsource.Source
}

// Load reads all cases below testdata.
func Load(tb testing.TB, testdata string) *Suite {
	tb.Helper()
	inputs, err := filepath.Glob(filepath.Join(testdata, "conformance", "*", "in.yaml"))
	if err != nil || len(inputs) == 0 {
		tb.Fatalf("no cases in %s: %v", testdata, err)
	}
	s := &Suite{}
	for _, input := range inputs {
		dir := filepath.Dir(input)
		c := Case{Name: filepath.Base(dir), Dir: dir, Input: read(tb, input)}
		clusters := filepath.Join(dir, "clusters.yaml")
		if !exists(clusters) {
			clusters = filepath.Join(testdata, "clusters.yaml")
		}
		c.Clusters = read(tb, clusters)
		for line := range strings.Lines(string(c.Input)) {
			if reason, ok := strings.CutPrefix(line, "# differs: "); ok {
				c.Differs = strings.TrimSpace(reason)
			}
		}
		c.AnyOrder = strings.Contains(string(c.Input), "merge:")
		if newer := filepath.Join(dir, "upstream-3.5.yaml"); exists(newer) {
			c.Newer = read(tb, newer)
		}
		s.Cases = append(s.Cases, c)
	}
	var local []gitsource.Local
	for url, dir := range Repositories(tb, testdata) {
		local = append(local, gitsource.Local{URL: url, Path: dir})
	}
	s.source = gitsource.New(gitsource.Config{Local: local, Offline: true, Env: environ.New(os.Environ()...)})
	return s
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func read(tb testing.TB, file string) []byte {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// Repositories maps the URLs of the repositories in testdata/repos to their directories.
func Repositories(tb testing.TB, testdata string) map[string]string {
	tb.Helper()
	dirs, err := filepath.Glob(filepath.Join(testdata, "repos", "*"))
	if err != nil || len(dirs) == 0 {
		tb.Fatalf("no repositories in %s: %v", testdata, err)
	}
	out := map[string]string{}
	for _, dir := range dirs {
		out[URLPrefix+filepath.Base(dir)+".git"] = dir
	}
	return out
}

// Tree implements generator.Repositories.
func (s *Suite) Tree(ctx context.Context, url, revision string) (generator.Tree, error) {
	return s.source.Tree(ctx, url, revision)
}

// Ours renders a case as a version of Argo CD would.
func (s *Suite) Ours(c Case, version versions.Version) ([]manifest.Object, error) {
	secrets, err := manifest.Decode("clusters.yaml", c.Clusters)
	if err != nil {
		return nil, err
	}
	clusters, err := generator.SecretClusters(secrets)
	if err != nil {
		return nil, err
	}
	docs, err := manifest.Decode("in.yaml", c.Input)
	if err != nil {
		return nil, err
	}
	var sets []appset.Set
	for _, d := range docs {
		set, ok, err := appset.Parse(d)
		if err != nil {
			return nil, err
		}
		if ok {
			sets = append(sets, set)
		}
	}
	cfg := appset.Config{Clusters: generator.ClusterList(clusters), Git: s, AllowEmpty: true, MaxSets: 1000, Version: version}
	res, err := appset.Generate(context.Background(), cfg, sets...)
	if err != nil {
		return nil, err
	}
	return slices.Concat(res.Applications...), nil
}
