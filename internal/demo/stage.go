package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/s3"
	"github.com/argosy-cd/argosy/internal/bucket/s3/local"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/gitremote"
	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/trigger"
)

// stage is everything that a boot needs besides a cluster, in this process and on loopback: an S3 server, a Git server with the
// repository and the clocks, our plugins on their sockets, and what the repo-server does with them.
type stage struct {
	Config
	exhibit *Exhibit         // what is in the repositories now
	dir     string           // everything that is on disk
	time    func() time.Time // of the boot

	s3      *local.Server
	repos   []servedRepo
	clocks  *trigger.Clocks
	git     string // URL of the Git server
	sockets map[string]string
	tell    func(Facts)       // the plugins
	remote  *gitremote.Remote // the repo-server's
	packed  struct {          // the repository that was sent last
		commit string
		data   []byte
	}
	viewing sync.Mutex
	views   map[[2]string]source.Repository // of the plan
	reads   atomic.Int64                    // requests to S3 by the plugin
	stop    []func() error
}

// servedRepo is a repository on the Git server.
type servedRepo struct {
	key   string // of its URL
	path  string // there
	files *trigger.Files
}

// interval is how often the clock appset.git ticks, in the time of the boot.
const interval = 30 * time.Second

// open starts all of it. The clocks have a time of their own.
func (s *stage) open(ctx context.Context) (err error) {
	s.clocks, s.sockets = &trigger.Clocks{Interval: interval, Now: s.time}, map[string]string{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for _, r := range s.exhibit.repos {
		// A random name hides the user's files from other users of this machine.
		name := strings.ToLower(rand.Text()[:10]) + "/cluster.git"
		s.repos = append(s.repos, servedRepo{
			giturl.Key(r.url), name,
			&trigger.Files{Date: s.time(), Message: "the repository as it is now"},
		})
	}
	if err := s.look(ctx); err != nil {
		return err
	}
	for _, start := range []func(context.Context) error{s.serveS3, s.serveGit, s.servePlugins} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	s.remote = s.newRemote("repo-server")
	return s.remote.Open()
}

// close stops everything, the last first.
func (s *stage) close() error {
	var errs []error
	for _, stop := range slices.Backward(s.stop) {
		errs = append(errs, stop())
	}
	s.stop = nil
	return errors.Join(errs...)
}

// look commits the current content of the repositories.
func (s *stage) look(ctx context.Context) error {
	s.views = nil
	for i, r := range s.exhibit.repos {
		files, err := r.read(ctx)
		if err != nil {
			return err
		}
		if err := s.repos[i].files.Set(files); err != nil {
			return err
		}
	}
	return nil
}

// serveS3 starts the S3 server, and pushes the artifacts as CI does.
func (s *stage) serveS3(ctx context.Context) error {
	names := map[string]bool{}
	for u := range s.exhibit.artifacts {
		names[u.Bucket] = true
	}
	var err error
	if s.s3, err = local.Start(ctx, local.Config{Buckets: slices.Sorted(maps.Keys(names))}); err != nil {
		return err
	}
	s.stop = append(s.stop, s.s3.Close)
	return s.push(ctx)
}

// push pushes the artifacts to S3.
func (s *stage) push(ctx context.Context) error {
	for u, files := range s.exhibit.artifacts {
		store, err := s3.Open(ctx, s3.Config{Bucket: u.Bucket, Endpoint: s.s3.URL, Anonymous: true, Alone: true, Now: s.Now})
		if err != nil {
			return err
		}
		if _, err := (bucket.Publication{
			Store: store, Bucket: u.Bucket, Path: u.Path, Files: files,
			Limits: bucket.DefaultLimits,
		}).Run(ctx); err != nil {
			return fmt.Errorf("pushing to %s: %w", u, err)
		}
	}
	return nil
}

// serveGit starts the Git server.
func (s *stage) serveGit(ctx context.Context) error {
	server, err := serve.Listen(ctx, serve.Config{Address: "127.0.0.1:0"}, &gitserver.Server{
		Open: func(_ context.Context, name string) (gitserver.Repository, error) {
			if i := slices.IndexFunc(s.repos, func(r servedRepo) bool { return r.path == name }); i >= 0 {
				return s.repos[i].files, nil
			}
			c, err := s.clocks.Open(name)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		Failed: func(string, error) {}, // the client says it, too
	})
	if err != nil {
		return fmt.Errorf("starting a Git server: %w", err)
	}
	s.git = "http://" + server.Address()
	s.stop = append(s.stop, server.Start(ctx))
	return nil
}

// newRemote reads from our own Git server, and from nowhere else.
func (s *stage) newRemote(name string) *gitremote.Remote {
	return &gitremote.Remote{Dir: filepath.Join(s.dir, name), Now: s.Now, Instead: s.instead}
}

// instead maps a repository to our own Git server. Clocks have one branch, and directories on disk only their current content.
func (s *stage) instead(repository, _ string) (string, string, error) {
	for _, r := range s.repos {
		if r.key == giturl.Key(repository) {
			return s.git + "/" + r.path, "HEAD", nil
		}
	}
	if clock := s.clockPath(repository); clock != "" {
		return s.git + "/" + clock, "HEAD", nil
	}
	return "", "", errors.New("not available: a demo reads nothing from the network")
}

// clockPath is the path of a trigger repository, "" if it is none.
func (s *stage) clockPath(repository string) string {
	u, err := url.Parse(repository)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	name := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git") + ".git"
	if _, err := s.clocks.Open(name); err != nil {
		return ""
	}
	return name
}

// servePlugins starts the plugins on their sockets, as argosy cmp does.
func (s *stage) servePlugins(ctx context.Context) error {
	sockets := filepath.Join(s.dir, "plugins")
	if err := os.Mkdir(sockets, 0o700); err != nil {
		return err
	}
	remote := s.newRemote("appset")
	plugins, err := s.Plugins(Place{Namespace: s.Namespace, Git: remote, S3: s.s3.URL, Read: func() { s.reads.Add(1) }})
	if err != nil {
		return err
	}
	s.tell = plugins.Planned
	if err := remote.Open(); err != nil {
		return err
	}
	server, err := cmp.Listen(ctx, cmp.Config{Dir: sockets, TempDir: s.dir, Now: s.Now, Plugins: plugins.Served})
	if err != nil {
		return err
	}
	for _, socket := range server.Paths() {
		s.sockets[strings.TrimSuffix(filepath.Base(socket), ".sock")] = socket
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	var ended error
	running.Go(func() { ended = server.Serve(serving, time.Second) })
	s.stop = append(s.stop, func() error {
		cancel()
		running.Wait()
		return ended
	})
	return nil
}

// Tree implements generator.Repositories, for the plan.
func (s *stage) Tree(ctx context.Context, url, revision string) (generator.Tree, error) {
	if _, _, err := s.instead(url, revision); err != nil && s.exhibit.elsewhere != nil {
		return s.exhibit.elsewhere.Git.Tree(ctx, url, revision)
	}
	t, err := s.remote.Tree(ctx, url, revision, nil)
	if err != nil {
		return nil, plan.Absent(err)
	}
	return t, nil
}

// fetch fetches a repository and says at which commit it is.
func (s *stage) fetch(ctx context.Context, url string) (string, error) {
	if _, err := s.remote.Tree(ctx, url, "HEAD", nil); err != nil {
		return "", err
	}
	return s.remote.Commit(ctx, url, "HEAD", nil)
}

// repository opens a repository for the plan: one on the stage, a bucket, or one that is fetched.
func (s *stage) repository(ctx context.Context, url, revision string) (source.Repository, error) {
	if name, ok := strings.CutPrefix(url, "s3://"); ok {
		view, err := s.bucketView(strings.Trim(name, "/"))
		return source.Repository{View: view}, err
	}
	if _, _, err := s.instead(url, revision); err != nil && s.exhibit.elsewhere != nil {
		return s.exhibit.elsewhere.Loader.Open(ctx, url, revision)
	}
	id := [2]string{url, revision}
	s.viewing.Lock()
	defer s.viewing.Unlock()
	if r, ok := s.views[id]; ok {
		return r, nil
	}
	t, err := s.remote.Tree(ctx, url, revision, nil)
	if err != nil {
		return source.Repository{}, err
	}
	if s.views == nil {
		s.views = map[[2]string]source.Repository{}
	}
	s.views[id] = source.Repository{View: t.View(), Commit: t.Commit()}
	return s.views[id], nil
}

// bucketView returns the artifacts in a bucket.
func (s *stage) bucketView(name string) (*tree.View, error) {
	var out []tree.File
	for u, files := range s.exhibit.artifacts {
		for _, f := range files {
			if u.Bucket == name {
				out = append(out, tree.File{Name: path.Join(u.Path, f.Name), Data: f.Data})
			}
		}
	}
	if out == nil {
		return nil, fmt.Errorf("bucket %q is not available: a demo reads nothing from the network", name)
	}
	return tree.Of(out), nil
}
