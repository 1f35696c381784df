package lab

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// fewerCollections makes a program collect garbage a quarter as often: it takes more memory and less of the processor.
const fewerCollections = "GOGC=400"

func (l *Lab) startKubernetes(ctx context.Context) error {
	etcd := "http://" + address(l.ports["etcd"])
	err := l.run(ctx, &Process{
		Name: "etcd", path: l.Tools.Path("etcd"), env: []string{fewerCollections}, ready: httpOK(http.DefaultClient, etcd+"/health"),
		args: []string{
			flag("data-dir", filepath.Join(l.Dir, "etcd")), flag("unsafe-no-fsync", true), flag("log-level", "warn"),
			flag("listen-client-urls", etcd), flag("advertise-client-urls", etcd),
			flag("listen-peer-urls", "http://"+address(l.ports["etcd-peer"])),
			flag("initial-advertise-peer-urls", "http://"+address(l.ports["etcd-peer"])),
			flag("initial-cluster", "default=http://"+address(l.ports["etcd-peer"])),
		},
	})
	if err != nil {
		return err
	}
	if err := l.startAPIServer(ctx, etcd); err != nil {
		return err
	}
	if l.api, err = newAPI(l.Kubeconfig); err != nil {
		return err
	}
	return l.startControllers(ctx)
}

func (l *Lab) startAPIServer(ctx context.Context, etcd string) error {
	key, err := writeServiceAccountKey(filepath.Join(l.Dir, "certs", "service-account.key"))
	if err != nil {
		return err
	}
	tokens := filepath.Join(l.Dir, "certs", "tokens.csv")
	if err := os.WriteFile(tokens, []byte(l.token+",lab-admin,lab-admin,system:masters\n"), 0o600); err != nil {
		return err
	}
	certs := filepath.Join(l.Dir, "certs")
	url := "https://" + address(l.ports["apiserver"])
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the certificate is not written yet
	err = l.run(ctx, &Process{
		Name: "kube-apiserver", path: l.Tools.Path("kube-apiserver"), ready: withToken(insecure, url+"/readyz", l.token),
		env: []string{fewerCollections},
		args: []string{
			flag("etcd-servers", etcd), flag("cert-dir", certs), flag("bind-address", "127.0.0.1"),
			flag("secure-port", l.ports["apiserver"]),
			flag("token-auth-file", tokens), flag("authorization-mode", "RBAC"), flag("service-cluster-ip-range", "10.0.0.0/24"),
			flag("service-account-issuer", url), flag("service-account-key-file", key), flag("service-account-signing-key-file", key),
			// Pods run without service account tokens: nothing in them runs.
			flag("disable-admission-plugins", "ServiceAccount"), flag("allow-privileged", true),
			flag("enable-priority-and-fairness", false), flag("watch-cache", true),
		},
	})
	if err != nil {
		return err
	}
	l.Kubeconfig, err = l.writeKubeconfig("kubeconfig", url, filepath.Join(certs, "apiserver.crt"), l.token)
	return err
}

// writeKubeconfig writes a file with which a token can be used.
func (l *Lab) writeKubeconfig(name, url, ca, token string) (string, error) {
	file := filepath.Join(l.Dir, name)
	return file, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: lab
clusters:
- name: lab
  cluster: {server: %q, certificate-authority: %q}
users:
- name: lab
  user: {token: %q}
contexts:
- name: lab
  context: {cluster: lab, user: lab, namespace: default}
`, url, ca, token), 0o600)
}

func withToken(client *http.Client, url, token string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, res.Status)
		}
		return nil
	}
}

func writeServiceAccountKey(path string) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

const node = `apiVersion: v1
kind: Node
metadata:
  name: lab
  annotations: {kwok.x-k8s.io/node: fake}
  labels: {kubernetes.io/hostname: lab, kubernetes.io/os: linux, kubernetes.io/arch: amd64, node-role.kubernetes.io/control-plane: ""}
status:
  allocatable: {cpu: "256", memory: 1Ti, pods: "10000"}
  capacity: {cpu: "256", memory: 1Ti, pods: "10000"}
`

func (l *Lab) startControllers(ctx context.Context) error {
	stages, err := l.kwokStages()
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.Go(func() error {
		return l.run(ctx, &Process{
			Name: "kube-controller-manager", path: l.Tools.Path("kube-controller-manager"), ready: portOpen(l.ports["controller-manager"]),
			env: []string{fewerCollections},
			args: []string{
				flag("kubeconfig", l.Kubeconfig), flag("secure-port", l.ports["controller-manager"]), flag("bind-address", "127.0.0.1"),
				flag("cert-dir", filepath.Join(l.Dir, "certs", "controller-manager")), flag("leader-elect", false),
				flag("service-account-private-key-file", filepath.Join(l.Dir, "certs", "service-account.key")),
			},
		})
	})
	group.Go(func() error {
		return l.run(ctx, &Process{
			Name: "kube-scheduler", path: l.Tools.Path("kube-scheduler"), ready: portOpen(l.ports["scheduler"]),
			env: []string{fewerCollections},
			args: []string{
				flag("kubeconfig", l.Kubeconfig), flag("secure-port", l.ports["scheduler"]), flag("bind-address", "127.0.0.1"),
				flag("cert-dir", filepath.Join(l.Dir, "certs", "scheduler")), flag("leader-elect", false),
			},
		})
	})
	group.Go(func() error {
		return l.run(ctx, &Process{
			Name: "kwok", path: l.Tools.Path("kwok"), ready: portOpen(l.ports["kwok"]),
			env: []string{fewerCollections},
			args: []string{
				flag("kubeconfig", l.Kubeconfig), flag("config", stages), flag("manage-all-nodes", true),
				flag("node-lease-duration-seconds", 40),
				flag("server-address", address(l.ports["kwok"])),
			},
		})
	})
	group.Go(func() error { return l.Apply(ctx, node) })
	return group.Wait()
}

// kwokStages writes the stages that make nodes and pods ready at once into one file.
func (l *Lab) kwokStages() (string, error) {
	var all strings.Builder
	for _, folder := range []string{"node/fast", "node/heartbeat-with-lease", "pod/fast"} {
		files, err := l.Tools.Files("kwok", "kustomize/stage/"+folder+"/*.yaml")
		if err != nil {
			return "", err
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&all, "---\n%s\n", data)
		}
	}
	path := filepath.Join(l.Dir, "kwok.yaml")
	return path, os.WriteFile(path, []byte(all.String()), 0o644)
}
