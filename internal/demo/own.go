package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// Own are directories of the user.
type Own struct {
	// Local are the directories. A URL s3://BUCKET/PATH stands for artifacts in S3; a URL "" is replaced by the one that Named finds.
	Local []gitsource.Local
	// Roots are the files of the roots, here or in one of the directories. None are found by Find.
	Roots []string
	Env   environ.Environ
	Note  func(line string)

	// Named returns the URL that Applications in a directory name for it, "" if there is none.
	Named func(names []string, files []tree.File) string
	// ReadDir reads a directory that stands for a bucket.
	ReadDir func(dir string) ([]tree.File, error)
	// Find reads the roots, or finds them in the directories, and opens the fetcher of remote content.
	Find func(ctx context.Context, local []gitsource.Local, roots []string) ([]manifest.Document, *Elsewhere, error)
}

// NewOwn are the local directories of a configuration, planned by planner as argosy plan does.
func NewOwn(cfg workspace.Config, roots []string, planner func(workspace.Config) (*workspace.Planner, error)) Own {
	return Own{
		Local: cfg.Local, Roots: roots, Env: cfg.Env, Note: cfg.Note, Named: workspace.NamedMost,
		ReadDir: func(dir string) ([]tree.File, error) { return transfer.ReadDir(dir, cfg.Note) },
		Find: func(ctx context.Context, local []gitsource.Local, args []string) ([]manifest.Document, *Elsewhere, error) {
			cfg.Local, cfg.Alone = local, true
			p, err := planner(cfg)
			if err != nil {
				return nil, nil, err
			}
			p.Config.Sets, p.Deprecated = plan.SetsByPlugin, nil
			found, err := p.Roots(ctx, args)
			if err != nil {
				return nil, nil, errors.Join(err, p.Close())
			}
			return found.Documents, &Elsewhere{Git: found.Repositories, Loader: found.Repositories.Loader(), Close: p.Close}, nil
		},
	}
}

// Exhibit reads the directories as they lie on disk. The caller closes it.
func (o Own) Exhibit(ctx context.Context) (*Exhibit, error) {
	x := &Exhibit{sets: plan.SetsByPlugin, artifacts: map[bucket.URL][]tree.File{}}
	var locals []gitsource.Local
	for _, local := range o.Local {
		if strings.HasPrefix(local.URL, "s3://") {
			place, err := bucket.ParseURL(local.URL)
			if err != nil {
				return nil, problem.Usage(err)
			}
			if x.artifacts[place], err = o.ReadDir(local.Path); err != nil {
				return nil, err
			}
		} else if err := o.add(ctx, x, &local); err != nil {
			return nil, err
		}
		locals = append(locals, local)
	}
	if len(x.repos) == 0 {
		return nil, problem.Usagef("--repo must name a repository, and not only buckets")
	}
	var roots []string
	for _, file := range o.Roots {
		roots = append(roots, rootFile(file, locals))
	}
	var err error
	if x.roots, x.elsewhere, err = o.Find(ctx, locals, roots); err != nil {
		return nil, err
	}
	return x, nil
}

// add adds a directory, and fills in its URL.
func (o Own) add(ctx context.Context, x *Exhibit, local *gitsource.Local) error {
	files, left, err := o.read(ctx, *local)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		o.Note(fmt.Sprintf("%s of %s %s not served: over %d MiB, not readable, a link to something that is no file in it, or with a "+
			"name that not every system allows; such as %s",
			words.Count(len(left), "file"), words.Printable(local.Path), words.IsAre(len(left)), maxOwnFile>>20, words.Printable(left[0])))
	}
	asked := *local // the URL does not affect what is read
	if local.URL = cmp.Or(local.URL, o.Named(tree.Names(files), files)); local.URL == "" {
		return fmt.Errorf("%s: no Application in it has its source in it, so the URL of the repository is not known; name the URL, as in "+
			"--repo URL=%s", local.Path, local.Path)
	}
	x.title = strings.TrimPrefix(x.title+", "+words.Printable(local.Path), ", ")
	x.repos = append(x.repos, exhibitRepo{local.URL, func(ctx context.Context) ([]tree.File, error) {
		files, _, err := o.read(ctx, asked)
		return files, err
	}})
	return nil
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

// read reads a directory on disk, and names the files that it leaves out.
func (o Own) read(ctx context.Context, local gitsource.Local) ([]tree.File, []string, error) {
	local.URL = cmp.Or(local.URL, local.Path)
	// Open a new source each time: an open one does not see new files.
	source := gitsource.New(gitsource.Config{Local: []gitsource.Local{local}, Offline: true, Env: o.Env})
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
