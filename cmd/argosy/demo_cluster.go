package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/examples"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/tree"
)

// exhibit is what a demo boots: a repository, and what is in S3.
type exhibit struct {
	title string
	urls  []string // of the repository, as Applications name it
	root  manifest.Document
	sets  string // who renders sets, as in plan.Config
	// artifacts are what CI left in S3.
	artifacts map[bucket.URL][]tree.File
	// read returns what is in the repository now.
	read func(ctx context.Context) ([]tree.File, error)
}

// exampleURL is the repository that the example cluster names.
const exampleURL = "https://git.example.com/home/cluster.git"

// exampleCluster is the one that is embedded, with what the demo lays over it.
func exampleCluster() (*exhibit, error) {
	files, err := embedded("cluster")
	if err != nil {
		return nil, err
	}
	over, err := embedded("demo")
	if err != nil {
		return nil, err
	}
	delete(over, "README.md")
	x := &exhibit{title: "the example cluster", urls: []string{exampleURL}, artifacts: map[bucket.URL][]tree.File{}}
	for name, data := range over {
		if path.Base(name) == triggerfile.Name {
			sources, err := triggerfile.Parse(name, data)
			if err != nil {
				return nil, err
			}
			// What is in the directory is in S3, and the trigger file in its place.
			to := bucket.URL{Bucket: sources[0].Bucket, Path: sources[0].Path}
			for _, old := range slices.Sorted(maps.Keys(files)) {
				if rest, ok := strings.CutPrefix(old, path.Dir(name)+"/"); ok {
					x.artifacts[to] = append(x.artifacts[to], tree.File{Name: rest, Data: files[old]})
					delete(files, old)
				}
			}
		}
	}
	maps.Copy(files, over)
	const root = "infrastructure/controllers/argocd/root.yaml"
	docs, err := manifest.Decode(root, files[root])
	if err != nil {
		return nil, err
	}
	if x.root, err = oneRoot(root, docs); err != nil {
		return nil, err
	}
	var all []tree.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, tree.File{Name: name, Data: files[name]})
	}
	x.read = func(context.Context) ([]tree.File, error) { return all, nil }
	return x, nil
}

// embedded are the files of a directory of the examples, by name.
func embedded(dir string) (map[string][]byte, error) {
	sub, err := fs.Sub(examples.Files, dir)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	return out, fs.WalkDir(sub, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[name], err = fs.ReadFile(sub, name)
		return err
	})
}

// ownCluster is a directory of the user's, as it lies on disk.
func ownCluster(ctx context.Context, std stdio, flag string, args []string) (*exhibit, error) {
	local, err := ownRepository(flag)
	if err != nil {
		return nil, err
	}
	x := &exhibit{title: printable(local.Path), sets: plan.SetsByPlugin}
	read := func(ctx context.Context) ([]tree.File, error) {
		// A new source each time: one that is kept does not see new files.
		source := gitsource.New(gitsource.Config{Local: []gitsource.Local{local}, Offline: true, Env: std.env})
		t, err := source.Tree(ctx, local.URL, "HEAD")
		if err != nil {
			return nil, errors.Join(err, source.Close())
		}
		files, err := t.Select(ctx, tree.Selection{Keep: tree.Safe, Links: true, MaxBytes: 4 << 20})
		return files, errors.Join(err, source.Close())
	}
	files, err := read(ctx)
	if err != nil {
		return nil, err
	}
	x.read = read
	if local.URL == "" {
		if local.URL = namedMost(files); local.URL == "" {
			return nil, fmt.Errorf("%s: no Application in it has a source that is in it, too, so its URL is not known; name it, as in --repo URL=%s", local.Path, local.Path)
		}
	}
	x.urls = []string{local.URL}
	repos := &repositories{std: std, offline: true, alone: true, flags: []gitsource.Local{local}}
	x.root, _, err = planRoot(ctx, std, repos, planInput{namespace: kube.DefaultNamespace, sets: x.sets}, args)
	return x, errors.Join(err, repos.close())
}

// ownRepository reads PATH, or URL=PATH. The URL of a directory alone is not known yet.
func ownRepository(flag string) (gitsource.Local, error) {
	if l := splitRevision(flag); l.Path == flag {
		if root, err := openDir(flag); err == nil {
			return l, root.Close()
		}
	}
	if !strings.Contains(flag, "=") {
		return gitsource.Local{}, usagef("--repo %s: there is no such directory", printable(flag))
	}
	return parseRepoFlag(flag)
}

// namedMost is the repository that a directory is: the one that Applications and sets in it name most often, with paths that are there.
func namedMost(files []tree.File) string {
	dirs := map[string]bool{".": true}
	for _, f := range files {
		for dir := path.Dir(f.Name); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	times, spelt := map[string]int{}, map[string]string{}
	count := func(source map[string]any) {
		url, dir := manifest.String(source, "repoURL"), manifest.String(source, "path")
		if url == "" || dir == "" || !dirs[path.Clean(dir)] {
			return
		}
		key := gitsource.Key(url)
		times[key]++
		spelt[key] = cmp.Or(spelt[key], url)
	}
	for _, f := range files {
		if !tree.IsManifest(f.Name) || !strings.Contains(string(f.Data), argo.Group) {
			continue
		}
		docs, err := manifest.Decode(f.Name, f.Data)
		if err != nil {
			continue // it is told by the plan, if it matters
		}
		for _, d := range docs {
			for _, s := range argo.Sources(d.Object) {
				count(s)
			}
		}
	}
	if len(times) == 0 {
		return ""
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(times)), func(a, b string) int { return times[a] - times[b] })
	return spelt[most]
}
