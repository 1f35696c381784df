package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"
)

// startArgoCD installs the CRDs and settings, starts the servers and makes an account with a token.
func (l *Lab) startArgoCD(ctx context.Context) error {
	password := random()
	if err := l.installArgoCD(ctx, password); err != nil {
		return err
	}
	redis := address(l.ports["redis"])
	l.ArgoCDURL = "http://" + address(l.ports["server"])
	var group errgroup.Group
	if err := l.startRepoServers(ctx, &group); err != nil {
		return err
	}
	repoServer := l.RepoServer.Address()
	for _, p := range []*Process{
		{Name: "argocd-application-controller", ready: httpOK(http.DefaultClient,
			"http://"+address(l.ports["controller-metrics"])+"/healthz"), args: []string{
			flag("kubeconfig", l.Kubeconfig), flag("namespace", Namespace), flag("metrics-port", l.ports["controller-metrics"]),
			flag("redis", redis), flag("repo-server", repoServer), flag("repo-server-plaintext", true),
			flag("app-resync", int(l.cfg.Reconcile.Seconds())),
			flag("app-resync-jitter", 0),
		}},
		{Name: "argocd-server", ready: httpOK(http.DefaultClient, l.ArgoCDURL+"/healthz"), args: []string{
			flag("kubeconfig", l.Kubeconfig), flag("namespace", Namespace), flag("address", "127.0.0.1"), flag("port", l.ports["server"]),
			flag("metrics-port", l.ports["server-metrics"]), flag("redis", redis), flag("repo-server", repoServer),
			flag("repo-server-plaintext", true),
			flag("insecure", true), flag("dex-server", "http://127.0.0.1:1"), flag("staticassets", filepath.Join(l.Dir, "tmp")),
		}},
		{Name: "argocd-applicationset-controller", ready: portOpen(l.ports["appset-probe"]), args: []string{
			flag("kubeconfig", l.Kubeconfig), flag("namespace", Namespace), flag("metrics-addr", address(l.ports["appset-metrics"])),
			flag("probe-addr", address(l.ports["appset-probe"])), flag("webhook-addr", address(l.ports["appset-webhook"])),
			flag("argocd-repo-server", repoServer), flag("repo-server-plaintext", true),
			flag("enable-progressive-syncs", l.cfg.ProgressiveSyncs),
		}},
	} {
		p.path, p.env = l.Tools.Path("argocd"), l.argoEnvironment(p.Name)
		group.Go(func() error { return l.run(ctx, p) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return l.login(ctx, password)
}

// startRepoServers starts all replicas, behind one address. Each has its own copies of repositories and its own sockets of plugins.
func (l *Lab) startRepoServers(ctx context.Context, group *errgroup.Group) (err error) {
	var addresses []string
	for n, sockets := range l.PluginDirs {
		port := l.ports[numbered("repo-server", n)]
		addresses = append(addresses, address(port))
		p := &Process{
			Name: numbered("argocd-repo-server", n), path: l.Tools.Path("argocd"), ready: portOpen(port),
			env: append(l.argoEnvironment("argocd-repo-server"), "ARGOCD_PLUGINSOCKFILEPATH="+sockets,
				"TMPDIR="+filepath.Join(l.Dir, numbered("tmp", n))),
			args: []string{
				flag("address", "127.0.0.1"), flag("port", port), flag("metrics-address", "127.0.0.1"),
				flag("metrics-port", l.ports[numbered("repo-server-metrics", n)]),
				flag("redis", address(l.ports["redis"])), flag("disable-tls", true),
			},
		}
		if l.Tools.ArgoCDMinor() >= 5 {
			// It has a default, which it then refuses without TLS.
			p.args = append(p.args, flag("client-ca-path", ""))
		}
		group.Go(func() error { return l.run(ctx, p) })
	}
	l.RepoServer, err = newProxy(addresses...)
	return err
}

// argoEnvironment makes the one binary be a server, and keeps it inside the lab's folder.
func (l *Lab) argoEnvironment(name string) []string {
	believe := l.cfg.Reconcile
	if l.hooks {
		believe = 3 * time.Second
	}
	path := filepath.Dir(l.Tools.Path("helm")) + ":" + filepath.Dir(l.Tools.Path("kustomize")) + ":" + os.Getenv("PATH")
	if wrapper, _ := l.Tools.Files("argocd", "hack/git-verify-wrapper.sh"); len(wrapper) > 0 {
		path += ":" + filepath.Dir(wrapper[0]) // 3.5 runs it for every source
	}
	env := []string{
		"ARGOCD_BINARY_NAME=" + name, "ARGOCD_FAKE_IN_CLUSTER=true", "KUBECONFIG=" + l.Kubeconfig, "PATH=" + path,
		"ARGOCD_PLUGINSOCKFILEPATH=" + l.PluginDir, "ARGOCD_TLS_DATA_PATH=" + filepath.Join(l.Dir, "argocd/tls"),
		"ARGOCD_SSH_DATA_PATH=" + filepath.Join(l.Dir, "argocd/ssh"), "ARGOCD_GNUPGHOME=" + filepath.Join(l.Dir, "argocd/gpg"),
		"ARGOCD_GPG_ENABLED=false", "HOSTNAME=argocd-application-controller-0", "TMPDIR=" + filepath.Join(l.Dir, "tmp"),
		"ARGOCD_CMP_WORKDIR=" + filepath.Join(l.Dir, "tmp"), "HOME=" + filepath.Join(l.Dir, "tmp"), "GIT_CONFIG_NOSYSTEM=1",
		"ARGOCD_APPLICATION_NAMESPACES=" + OtherNamespaces, "ARGOCD_RECONCILIATION_JITTER=0s",
		// Redis is on this machine.
		"REDIS_COMPRESSION=none",
		// How long repo-server believes what it knows about branches; the controller has a flag.
		"ARGOCD_RECONCILIATION_TIMEOUT=" + believe.String(), fewerCollections,
	}
	if l.cfg.WaveDelay > 0 {
		env = append(env, fmt.Sprint("ARGOCD_SYNC_WAVE_DELAY=", int(l.cfg.WaveDelay.Seconds())))
	}
	return env
}

func (l *Lab) installArgoCD(ctx context.Context, password string) error {
	crds, err := l.Tools.Files("argocd", "manifests/crds/*-crd.yaml")
	if err != nil {
		return err
	}
	for _, file := range crds {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := l.Apply(ctx, string(data)); err != nil {
			return err
		}
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		return err
	}
	settings, err := l.defaultSettings()
	if err != nil {
		return err
	}
	maps.Copy(settings, map[string]string{
		"accounts.lab": "apiKey", "timeout.reconciliation": l.cfg.Reconcile.String(), "timeout.reconciliation.jitter": "0s",
	})
	maps.Copy(settings, l.cfg.Settings)
	label := map[string]string{"app.kubernetes.io/part-of": "argocd"}
	object := func(kind, name string, more map[string]any) string {
		o := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{
			"name": name, "namespace": Namespace,
			"labels": label,
		}}
		maps.Copy(o, more)
		data, _ := json.Marshal(o)
		return string(data)
	}
	now := time.Now().UTC().Format(time.RFC3339)
	err = l.Apply(ctx,
		`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "`+Namespace+`"}}`,
		object("ConfigMap", "argocd-cm", map[string]any{"data": settings}),
		object("ConfigMap", "argocd-rbac-cm", map[string]any{"data": map[string]string{"policy.csv": "g, lab, role:admin\n"}}),
		object("ConfigMap", "argocd-cmd-params-cm", nil),
		object("ConfigMap", "argocd-tls-certs-cm", nil),
		object("ConfigMap", "argocd-ssh-known-hosts-cm", nil),
		object("ConfigMap", "argocd-gpg-keys-cm", nil),
		object("Secret", "argocd-secret", map[string]any{"stringData": map[string]string{
			"admin.password": string(hash), "admin.passwordMtime": now, "server.secretkey": random(),
		}}),
	)
	if err != nil {
		return err
	}
	return l.Apply(ctx, `apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: `+Namespace+`}
spec:
  sourceRepos: ['*']
  sourceNamespaces: ['`+OtherNamespaces+`']
  destinations: [{namespace: '*', server: '*'}]
  clusterResourceWhitelist: [{group: '*', kind: '*'}]
`)
}

// defaultSettings are those that every installation of Argo CD begins with: kinds that it does not watch, and changes that it ignores.
func (l *Lab) defaultSettings() (map[string]string, error) {
	const name = "manifests/base/config/argocd-cm.yaml"
	files, err := l.Tools.Files("argocd", name)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("the files of Argo CD have no " + name)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	var config struct{ Data map[string]string }
	if err := yaml.Unmarshal(data, &config); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if config.Data == nil {
		return nil, fmt.Errorf("%s has no data", name)
	}
	return config.Data, nil
}

// login gets a token for the account "lab", which RBAC makes an administrator.
func (l *Lab) login(ctx context.Context, password string) error {
	var session, token struct {
		Token string `json:"token"`
	}
	if err := l.argoPost(ctx, "/api/v1/session", "", map[string]any{"username": "admin", "password": password}, &session); err != nil {
		return err
	}
	if err := l.argoPost(ctx, "/api/v1/account/lab/token", session.Token, map[string]any{"name": "lab"}, &token); err != nil {
		return err
	}
	l.ArgoCDToken = token.Token
	return nil
}

func (l *Lab) argoPost(ctx context.Context, path, token string, body, out any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.ArgoCDURL+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("POST %s: %s: %s", path, res.Status, answer)
	}
	return json.Unmarshal(answer, out)
}

// StockPlugin starts Argo CD's own plugin server, argocd-cmp-server, with the plugin.yaml in a folder, and waits for its
// socket.
func (l *Lab) StockPlugin(ctx context.Context, name, config string, env ...string) (*Process, error) {
	p := &Process{
		Name: "plugin-" + name, path: l.Tools.Path("argocd"), args: []string{flag("config-dir-path", config)},
		env: append(l.argoEnvironment("argocd-cmp-server"), env...),
		ready: func(context.Context) error {
			_, err := os.Stat(filepath.Join(l.PluginDir, name+".sock"))
			return err
		},
	}
	return p, l.run(ctx, p)
}
