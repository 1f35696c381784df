package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// gitServer serves the bare repositories of a folder by git's own smart-HTTP program.
type gitServer struct {
	dir    string
	server *http.Server
	proxy  *Proxy
}

func startGitServer(ctx context.Context, dir string) (*gitServer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("git --exec-path: %w", err)
	}
	handler := &cgi.Handler{
		Path:       filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:        []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
		InheritEnv: []string{"PATH"},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gitServer{dir: dir, server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}}
	go func() { _ = g.server.Serve(l) }()
	if g.proxy, err = newProxy(l.Addr().String()); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *gitServer) close() {
	g.proxy.close()
	g.server.Close()
}

// Repo is a Git repository of the lab, served over HTTP.
type Repo struct {
	// URL is what Argo CD clones from.
	URL string
	// Quiet makes commits refresh nothing: Argo CD finds them by polling only.
	Quiet bool
	work  string
	// pushed is called after each push.
	pushed func(context.Context) error
}

// Repo creates a repository, with one empty commit on main.
func (l *Lab) Repo(ctx context.Context, name string) (*Repo, error) {
	bare := filepath.Join(l.git.dir, name+".git")
	r := &Repo{URL: "http://" + l.git.proxy.Address() + "/" + name + ".git", work: filepath.Join(l.Dir, "work", name)}
	r.pushed = func(ctx context.Context) error { return l.pushed(ctx, r.URL) }
	if err := runGit(ctx, l.Dir, "init", "--quiet", "--bare", "--initial-branch=main", bare); err != nil {
		return nil, err
	}
	// People push to the lab's repositories over HTTP.
	if err := runGit(ctx, bare, "config", "http.receivepack", "true"); err != nil {
		return nil, err
	}
	// As at the large hosts, any commit can be fetched.
	if err := runGit(ctx, bare, "config", "uploadpack.allowAnySHA1InWant", "true"); err != nil {
		return nil, err
	}
	if err := runGit(ctx, l.Dir, "clone", "--quiet", bare, r.work); err != nil {
		return nil, err
	}
	if _, err := r.Commit(ctx, nil); err != nil {
		return nil, err
	}
	return r, nil
}

// Commit writes files, deletes those whose content is empty, and pushes the commit, which is empty if nothing
// changed. It returns the commit's hash.
func (r *Repo) Commit(ctx context.Context, files map[string]string) (string, error) {
	for name, content := range files {
		path := filepath.Join(r.work, filepath.FromSlash(name))
		if content == "" {
			if err := os.Remove(path); err != nil {
				return "", err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{
		{"checkout", "--quiet", "-B", "main"},
		{"add", "--all"},
		{"commit", "--quiet", "--allow-empty", "--message=lab"},
		{"push", "--quiet", "origin", "main"},
	} {
		if err := runGit(ctx, r.work, args...); err != nil {
			return "", err
		}
	}
	if !r.Quiet {
		if err := r.pushed(ctx); err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, "git", "rev-parse", "HEAD")
	cmd.Dir = r.work
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// pushed refreshes the Applications that read a repository, as Argo CD does when a webhook tells it of a push.
func (l *Lab) pushed(ctx context.Context, url string) error {
	if !l.hooks {
		return nil
	}
	apps, err := l.api.resource("Application.argoproj.io", "")
	if err != nil {
		return err
	}
	list, err := apps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, app := range list.Items {
		if !reads(app.Object, url) {
			continue
		}
		err := l.Patch(ctx, "Application.argoproj.io", app.GetNamespace(), app.GetName(),
			`{"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}`)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// reads reports whether a source of an Application is in a repository.
func reads(app map[string]any, url string) bool {
	sources, _, _ := unstructured.NestedSlice(app, "spec", "sources")
	if source, ok, _ := unstructured.NestedMap(app, "spec", "source"); ok {
		sources = append(sources, source)
	}
	return slices.ContainsFunc(sources, func(s any) bool {
		source, _ := s.(map[string]any)
		return source["repoURL"] == url
	})
}

// Output runs git and returns what it prints.
func Output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return string(out), err
}

func runGit(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=lab", "-c", "user.email=lab@example.com", "-c", "gc.auto=0"},
		args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
	}
	return nil
}
