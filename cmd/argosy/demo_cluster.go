package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
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
	"github.com/argosy-cd/argosy/internal/words"
)

// exhibit is what a demo boots: a repository, and what is in S3.
type exhibit struct {
	title string
	repos []exhibitRepo
	roots []manifest.Document
	// elsewhere fetches what is in none of the repositories. Nil fetches nothing.
	elsewhere *repositories
	sets      string // who renders sets, as in plan.Config
	// artifacts are what CI left in S3.
	artifacts map[bucket.URL][]tree.File
	// later is what becomes of it after the boot. Nil is nothing.
	later *exhibit
}

// exhibitRepo is a Git repository.
type exhibitRepo struct {
	url string // as Applications name it
	// read returns what is in it now.
	read func(ctx context.Context) ([]tree.File, error)
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
	x := &exhibit{title: "the example cluster", artifacts: map[bucket.URL][]tree.File{}}
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
	x.repos = []exhibitRepo{{exampleURL, func(context.Context) ([]tree.File, error) { return all, nil }}}
	const root = "infrastructure/controllers/argocd/root.yaml"
	docs, err := manifest.Decode(root, files[root])
	if err != nil {
		return nil, err
	}
	x.roots = docs
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

// ownCluster are directories of the user's, as they lie on disk.
func ownCluster(ctx context.Context, std stdio, opts demoOptions, args []string) (*exhibit, error) {
	x := &exhibit{sets: plan.SetsByPlugin, artifacts: map[bucket.URL][]tree.File{}}
	repos := &repositories{std: std, offline: opts.settings.offline, charts: opts.settings.charts, alone: true, foreign: newForeign(std)}
	for _, flag := range opts.repos {
		local, err := ownRepository(flag)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(local.URL, "s3://") {
			place, err := parseURL(local.URL)
			if err != nil {
				return nil, err
			}
			if x.artifacts[place], err = readDir(std, local.Path); err != nil {
				return nil, err
			}
		} else if local.URL, err = x.add(ctx, std, local); err != nil {
			return nil, err
		}
		repos.flags = append(repos.flags, local)
	}
	if len(x.repos) == 0 {
		return nil, usagef("--repo must name a repository, and not only buckets")
	}
	input := opts.settings
	input.sets = x.sets
	for i, arg := range args {
		args[i] = rootFile(arg, repos.flags)
	}
	roots, err := planRoots(ctx, std, repos, input, args)
	if err != nil {
		return nil, errors.Join(err, repos.close())
	}
	x.roots, x.elsewhere = roots.docs, roots.repos
	return x, nil
}

// add adds a directory, and returns its URL.
func (x *exhibit) add(ctx context.Context, std stdio, local gitsource.Local) (string, error) {
	files, left, err := readOwn(ctx, std, local)
	if err != nil {
		return "", err
	}
	if len(left) > 0 {
		fmt.Fprintf(std.err, "note: %s of %s %s not served: over %d MiB, not to be read, a link to something that is no file in it, or with a name that is not for every system; such as %s\n", words.Count(len(left), "file"), words.Printable(local.Path), words.IsAre(len(left)), maxOwnFile>>20, words.Printable(left[0]))
	}
	url := cmp.Or(local.URL, namedMost(tree.Names(files), files))
	if url == "" {
		return "", fmt.Errorf("%s: no Application in it has a source that is in it, too, so its URL is not known; name it, as in --repo URL=%s", local.Path, local.Path)
	}
	x.title = strings.TrimPrefix(x.title+", "+words.Printable(local.Path), ", ")
	x.repos = append(x.repos, exhibitRepo{url, func(ctx context.Context) ([]tree.File, error) {
		files, _, err := readOwn(ctx, std, local)
		return files, err
	}})
	return url, nil
}

// rootFile is a file from where we stand, or, if there is none, in one of the repositories.
func rootFile(file string, local []gitsource.Local) string {
	if _, err := os.Stat(file); err == nil || file == "-" {
		return file
	}
	for _, l := range local {
		if inside := filepath.Join(l.Path, file); filepath.IsLocal(file) {
			if _, err := os.Stat(inside); err == nil {
				return inside
			}
		}
	}
	return file
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
		err = fmt.Errorf("%s: %w", words.Printable(local.Path), err)
	}
	return files, left, errors.Join(err, source.Close())
}

// ownRepository reads PATH, or URL=PATH. The URL of a directory alone is not known yet.
func ownRepository(flag string) (gitsource.Local, error) {
	info, err := os.Stat(flag)
	switch {
	case err == nil && info.IsDir():
		return gitsource.Local{Path: flag}, nil
	case err == nil:
		return gitsource.Local{}, usagef("--repo %s: it is not a directory", words.Printable(flag))
	case !strings.Contains(flag, "="):
		return gitsource.Local{}, usagef("--repo %q: there is no such directory", flag)
	}
	return parseRepoFlag(flag)
}

// namedMost is the repository that a directory is: the one that Applications and sets in it name most often, with paths that are there.
func namedMost(names []string, files []tree.File) string {
	c := naming{dirs: map[string]bool{".": true}, times: map[string]int{}, spelt: map[string]string{}}
	for _, name := range names {
		c.dirs[name] = true // of a generator
		for dir := path.Dir(name); dir != "." && !c.dirs[dir]; dir = path.Dir(dir) {
			c.dirs[dir] = true
		}
	}
	for _, f := range files {
		if !tree.IsManifest(f.Name) || !mentions(f) {
			continue
		}
		docs, _, err := manifest.DecodeLoose(f.Name, f.Data)
		if err != nil {
			continue // said by the plan, if it matters
		}
		for _, d := range docs {
			if argo.IsApplication(d.Object) || argo.IsApplicationSet(d.Object) {
				c.walk(d.Object["spec"])
			}
		}
	}
	if len(c.times) == 0 {
		return ""
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(c.times)), func(a, b string) int { return c.times[a] - c.times[b] })
	return c.spelt[most]
}

// naming counts repositories.
type naming struct {
	dirs  map[string]bool // directories and files that are there
	times map[string]int
	spelt map[string]string
}

// walk counts the sources and Git generators in a part of an Application or a set.
func (c naming) walk(v any) {
	switch v := v.(type) {
	case map[string]any:
		c.count(v)
		for _, e := range v {
			c.walk(e)
		}
	case []any:
		for _, e := range v {
			c.walk(e)
		}
	}
}

// count counts a source, or a Git generator, whose path begins with something that is there.
func (c naming) count(source map[string]any) {
	url := manifest.String(source, "repoURL")
	if url == "" || strings.ContainsAny(url, "{}<>$ ") || manifest.String(source, "chart") != "" {
		return
	}
	paths := []string{manifest.String(source, "path")}
	for _, list := range []string{"directories", "files"} {
		items, _ := source[list].([]any)
		for _, item := range items {
			m, _ := item.(map[string]any)
			paths = append(paths, manifest.String(m, "path"))
		}
	}
	for _, name := range paths {
		// Up to the first part that is a template or a pattern.
		fixed := path.Clean("/" + name)[1:]
		if i := strings.IndexAny(fixed, "{*?["); i >= 0 {
			fixed = fixed[:i]
			fixed = fixed[:strings.LastIndexByte(fixed, '/')+1]
		}
		if fixed = path.Clean(fixed); fixed != "." && c.dirs[fixed] {
			key := gitsource.Key(url)
			c.times[key]++
			if c.spelt[key] == "" {
				c.spelt[key] = url
			}
			return
		}
	}
}

// cmpNamespace is Argo CD's namespace: that of the flag, or of the first root.
func cmpNamespace(flag string, roots []manifest.Document) string {
	if flag == "" && len(roots) > 0 {
		flag = manifest.String(roots[0].Object, "metadata", "namespace")
	}
	return cmp.Or(flag, kube.DefaultNamespace)
}
