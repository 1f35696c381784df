package demo

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/argosy-cd/argosy/examples"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Exhibit is the input of a demo: repositories, and artifacts in S3.
type Exhibit struct {
	title string
	repos []exhibitRepo
	roots []manifest.Document
	// elsewhere fetches content that is in none of the repositories. Nil fetches nothing.
	elsewhere *Elsewhere
	sets      plan.Renderer // the renderer of sets, as in plan.Config
	// artifacts are the files that CI has pushed to S3.
	artifacts map[bucket.URL][]tree.File
	// later replaces it after the boot. Nil keeps it.
	later *Exhibit
}

// exhibitRepo is a Git repository.
type exhibitRepo struct {
	url string // as Applications name it
	// read returns what is in it now.
	read func(ctx context.Context) ([]tree.File, error)
}

// exampleURL is the repository that the example cluster names.
const exampleURL = "https://git.example.com/home/cluster.git"

// Elsewhere fetches content that is in none of the repositories of a demo.
type Elsewhere struct {
	// Git is for generators, Loader for sources.
	Git    generator.Repositories
	Loader source.Loader
	Close  func() error
}

// Close closes the repositories of the exhibit.
func (x *Exhibit) Close() error {
	if x.elsewhere == nil {
		return nil
	}
	return x.elsewhere.Close()
}

// Example is the cluster that is embedded, with what the demo lays over it.
func Example() (*Exhibit, error) {
	x, err := layers("cluster", "demo")
	if err != nil {
		return nil, err
	}
	x.later, err = layers("cluster", "demo", "later")
	return x, err
}

// layers is a cluster from directories of the examples, one over the other. Files beside a trigger file go to S3.
func layers(dirs ...string) (*Exhibit, error) {
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
	x := &Exhibit{title: "the example cluster", artifacts: map[bucket.URL][]tree.File{}}
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

// argoNamespace is Argo CD's namespace: that of the flag, or of the first root.
func argoNamespace(flag string, roots []manifest.Document) string {
	if flag == "" && len(roots) > 0 {
		flag = manifest.String(roots[0].Object, "metadata", "namespace")
	}
	return cmp.Or(flag, argo.DefaultNamespace)
}
