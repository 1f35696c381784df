package lab

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/argosy-cd/argosy/lab/program"
)

// Namespace is where Argo CD and its Applications live.
const Namespace = "argocd"

// OtherNamespaces is a pattern of namespaces whose Applications Argo CD serves, too.
const OtherNamespaces = "apps-*"

// Config configures a lab. The zero Config is a lab with Argo CD's defaults, made quick.
type Config struct {
	// Dir holds everything that the lab writes. Empty is a temporary folder, removed by Stop.
	Dir string
	// Progress gets lines about what is going on. Nil drops them.
	Progress io.Writer
	// Reconcile is how often Argo CD looks at Git by itself; its own default is 3 min. Zero is 10 s, and a commit to a repository of the lab
	// refreshes the Applications that read it, as a webhook does: polling every few seconds takes most of a lab's processor time.
	Reconcile time.Duration
	// Settings are put into argocd-cm.
	Settings map[string]string
	// RepoServers is how many repo-servers there are, each with plugins of its own. Zero is 1.
	RepoServers int
	// ProgressiveSyncs starts the applicationset-controller with --enable-progressive-syncs. Argo CD's own default is false.
	ProgressiveSyncs bool
	// WaveDelay is Argo CD's pause between two waves, in whole seconds. Zero is its own default.
	WaveDelay time.Duration
}

// Lab is a running cluster.
type Lab struct {
	Dir        string
	Kubeconfig string // path
	Tools      *program.Tools

	ArgoCDURL   string
	ArgoCDToken string // of an account with all rights

	S3Endpoint  string
	S3AccessKey string
	S3SecretKey string

	// PluginDirs is where each repo-server looks for sockets of plugins. PluginDir is the first.
	PluginDirs []string
	PluginDir  string

	// Git and S3 are what lies between Argo CD and these servers, RepoServer between Argo CD and its repo-servers.
	Git, S3, RepoServer *Proxy

	cfg       Config
	log       io.Writer
	removeDir bool
	git       *gitServer
	processes []*Process
	api       *API
	token     string
	ports     map[string]int
	hooks     bool // a commit refreshes Applications
	// reservation keeps the ports from other labs.
	reservation io.Closer
}

// Start starts a lab. Building the programs for the first time takes about a quarter of an hour; after that a lab is
// ready within seconds.
func Start(ctx context.Context, cfg Config) (l *Lab, err error) {
	log := cfg.Progress
	if log == nil {
		log = io.Discard
	}
	tools, err := Build(ctx, log)
	if err != nil {
		return nil, err
	}
	hooks := false
	if cfg.Reconcile == 0 {
		cfg.Reconcile, hooks = 10*time.Second, true
	}
	cfg.RepoServers = max(cfg.RepoServers, 1)
	l = &Lab{Dir: cfg.Dir, Tools: tools, cfg: cfg, log: log, ports: map[string]int{}, hooks: hooks}
	if l.Dir == "" {
		if l.Dir, err = os.MkdirTemp("", "argosy-lab-"); err != nil {
			return nil, err
		}
		l.removeDir = true
	}
	for _, dir := range []string{"log", "certs", "etcd", "s3", "work", "argocd/tls", "argocd/ssh", "argocd/gpg", "tmp"} {
		if err := os.MkdirAll(filepath.Join(l.Dir, dir), 0o755); err != nil {
			return nil, err
		}
	}
	for n := range cfg.RepoServers {
		dir := filepath.Join(l.Dir, numbered("plugins", n))
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(filepath.Join(l.Dir, numbered("tmp", n)), 0o755)); err != nil {
			return nil, err
		}
		l.PluginDirs = append(l.PluginDirs, dir)
	}
	l.PluginDir = l.PluginDirs[0]
	l.token, l.S3AccessKey, l.S3SecretKey = random(), "lab"+random()[:8], random()
	registry.Lock()
	registry.labs = append(registry.labs, l)
	registry.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if err := l.start(ctx); err != nil {
		// The logs are worth more than a clean disk.
		l.removeDir = false
		l.Stop()
		return nil, fmt.Errorf("starting the lab: %w\n(logs in %s)", err, filepath.Join(l.Dir, "log"))
	}
	return l, nil
}

// numbered is the name of replica n: "tmp", "tmp-2".
func numbered(name string, n int) string {
	if n == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n+1)
}

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (l *Lab) start(ctx context.Context) error {
	names := []string{
		"etcd", "etcd-peer", "apiserver", "controller-manager", "scheduler", "kwok", "redis", "s3", "controller-metrics", "server", "server-metrics",
		"appset-metrics", "appset-probe", "appset-webhook",
	}
	for n := range l.cfg.RepoServers {
		names = append(names, numbered("repo-server", n), numbered("repo-server-metrics", n))
	}
	ports, reservation, err := reservePorts(len(names))
	if err != nil {
		return err
	}
	l.reservation = reservation
	for i, name := range names {
		l.ports[name] = ports[i]
	}
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"Kubernetes", l.startKubernetes},
		{"Redis, S3 and Git", l.startStores},
		{"Argo CD", l.startArgoCD},
	}
	for _, s := range steps {
		began := time.Now()
		if err := s.run(ctx); err != nil {
			return err
		}
		fmt.Fprintf(l.log, "%s ready in %s\n", s.name, time.Since(began).Round(100*time.Millisecond))
	}
	return nil
}

// startStores starts what Argo CD reads from.
func (l *Lab) startStores(ctx context.Context) error {
	redis, err := findRedis(ctx)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.Go(func() error {
		return l.run(ctx, &Process{
			Name: "redis", path: redis, ready: portOpen(l.ports["redis"]),
			args: []string{
				"--port", fmt.Sprint(l.ports["redis"]), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
				filepath.Join(l.Dir, "tmp"),
			},
		})
	})
	group.Go(func() error {
		return l.run(ctx, &Process{
			Name: "s3", path: l.Tools.Path("versitygw"), ready: portOpen(l.ports["s3"]),
			env:  []string{"ROOT_ACCESS_KEY=" + l.S3AccessKey, "ROOT_SECRET_KEY=" + l.S3SecretKey},
			args: []string{"--port", address(l.ports["s3"]), "posix", filepath.Join(l.Dir, "s3")},
		})
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if l.S3, err = newProxy(address(l.ports["s3"])); err != nil {
		return err
	}
	l.S3Endpoint = "http://" + l.S3.Address()
	if l.git, err = startGitServer(ctx, filepath.Join(l.Dir, "git")); err != nil {
		return err
	}
	l.Git = l.git.proxy
	return nil
}

// findRedis returns Debian's redis-server, which it installs when it can.
func findRedis(ctx context.Context) (string, error) {
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path, nil
	}
	if os.Getuid() != 0 {
		return "", errors.New("redis-server is not installed; install it, for example with apt-get install redis-server")
	}
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "--no-install-recommends", "redis-server"}} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		// Debian's package would start a server of its own.
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("installing redis-server: %w\n%s", err, lastLines(string(out), 5))
		}
	}
	return exec.LookPath("redis-server")
}

// run registers a process and starts it.
func (l *Lab) run(ctx context.Context, p *Process) error {
	p.Log = filepath.Join(l.Dir, "log", p.Name+".log")
	l.register(p)
	return p.Start(ctx)
}

// Process returns a process by its name: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, redis, s3,
// argocd-repo-server (and argocd-repo-server-2), argocd-application-controller, argocd-server, argocd-applicationset-controller.
func (l *Lab) Process(name string) *Process {
	registry.Lock()
	defer registry.Unlock()
	for _, p := range l.processes {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Run starts a program as part of the lab, with a log of its own and a life that ends with the lab's. ready may be nil.
func (l *Lab) Run(ctx context.Context, name, path string, args, env []string, ready func(context.Context) error) (*Process, error) {
	p := &Process{Name: name, path: path, args: args, env: env, ready: ready}
	return p, l.run(ctx, p)
}

// Stop ends everything, the last started first, and removes the folder if the lab made it.
func (l *Lab) Stop() {
	registry.Lock()
	processes := slices.Clone(l.processes)
	registry.labs = slices.DeleteFunc(registry.labs, func(other *Lab) bool { return other == l })
	registry.Unlock()
	// None of them depends on an orderly end: nothing of this lab is used again.
	for _, p := range slices.Backward(processes) {
		p.Kill()
	}
	if l.git != nil {
		l.git.close()
	}
	for _, p := range []*Proxy{l.S3, l.RepoServer} {
		if p != nil {
			p.close()
		}
	}
	if l.reservation != nil {
		_ = l.reservation.Close()
	}
	if l.removeDir {
		_ = os.RemoveAll(l.Dir)
	}
}

// KeepLogs makes Stop leave the folder, and returns the folder of the logs.
func (l *Lab) KeepLogs() string {
	l.removeDir = false
	return filepath.Join(l.Dir, "log")
}
