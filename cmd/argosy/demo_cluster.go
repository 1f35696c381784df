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
	// later is what becomes of it after the boot. Nil is nothing.
	later *exhibit
}

// exampleURL is the repository that the example cluster names.
const exampleURL = "https://git.example.com/home/cluster.git"

// exampleCluster is the one that is embedded, with what the demo lays over it.
func exampleCluster() (*exhibit, error) {
	x, err := layers("cluster", "demo")
	if err != nil {
		return nil, err
	}
	x.later, err = layers("cluster", "demo", "later")
	return x, err
}

// layers is a cluster of directories of the examples, one over the other. What is beside a trigger file is in S3.
func layers(dirs ...string) (*exhibit, error) {
	files := map[string][]byte{}
	for i, dir := range dirs {
		more, err := embedded(dir)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			delete(more, "README.md") // it is about the layer
		}
		maps.Copy(files, more)
	}
	x := &exhibit{title: "the example cluster", urls: []string{exampleURL}, artifacts: map[bucket.URL][]tree.File{}}
	places := map[string]bucket.URL{}
	for name, data := range files {
		if path.Base(name) == triggerfile.Name {
			sources, err := triggerfile.Parse(name, data)
			if err != nil {
				return nil, err
			}
			places[path.Dir(name)] = bucket.URL{Bucket: sources[0].Bucket, Path: sources[0].Path}
		}
	}
	var all []tree.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := tree.File{Name: name, Data: files[name]}
		place, elsewhere := places[path.Dir(name)]
		if !elsewhere || path.Base(name) == triggerfile.Name {
			all = append(all, f)
			continue
		}
		f.Name = path.Base(name)
		x.artifacts[place] = append(x.artifacts[place], f)
	}
	x.read = func(context.Context) ([]tree.File, error) { return all, nil }
	const root = "infrastructure/controllers/argocd/root.yaml"
	docs, err := manifest.Decode(root, files[root])
	if err != nil {
		return nil, err
	}
	x.root, err = oneRoot(root, docs)
	return x, err
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
	files, left, err := readOwn(ctx, std, local)
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		fmt.Fprintf(std.err, "note: %s of %s %s not served: over %d MiB, or a link to something that is no file in it; such as %s\n", count(len(left), "file"), x.title, isAre(len(left)), maxOwnFile>>20, printable(left[0]))
	}
	if local.URL == "" {
		if local.URL = namedMost(files); local.URL == "" {
			return nil, fmt.Errorf("%s: no Application in it has a source that is in it, too, so its URL is not known; name it, as in --repo URL=%s", local.Path, local.Path)
		}
	}
	x.urls = []string{local.URL}
	x.read = func(ctx context.Context) ([]tree.File, error) {
		files, _, err := readOwn(ctx, std, local)
		return files, err
	}
	repos := &repositories{std: std, offline: true, alone: true, flags: []gitsource.Local{local}}
	x.root, _, err = planRoot(ctx, std, repos, planInput{namespace: kube.DefaultNamespace, sets: x.sets}, args)
	return x, errors.Join(err, repos.close())
}

// maxOwnFile is the size of the largest file that is served.
const maxOwnFile = 4 << 20

// readOwn reads a directory as it lies on disk, and says what it leaves out.
func readOwn(ctx context.Context, std stdio, local gitsource.Local) ([]tree.File, []string, error) {
	local.URL = cmp.Or(local.URL, local.Path)
	// A new source each time: one that is kept does not see new files.
	source := gitsource.New(gitsource.Config{Local: []gitsource.Local{local}, Offline: true, Env: std.env})
	t, err := source.Tree(ctx, local.URL, "HEAD")
	if err != nil {
		return nil, nil, errors.Join(err, source.Close())
	}
	files, left, err := t.Most(ctx, maxOwnFile)
	if err != nil {
		err = fmt.Errorf("%s: %w", printable(local.Path), err)
	}
	return files, left, errors.Join(err, source.Close())
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
