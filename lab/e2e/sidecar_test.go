package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/lab"
)

// argoManifests is a file of Argo CD's own manifests.
func (k *kit) argoManifests(name string) string {
	k.Helper()
	if files, err := k.lab.Tools.Files("argocd", "manifests/"+name); err == nil && len(files) > 0 {
		return files[0] // of LAB_ARGOCD
	}
	download := exec.CommandContext(k.ctx, "go", "mod", "download", "-json", "github.com/argoproj/argo-cd/v3")
	download.Dir = "../build/argocd"
	answer, err := download.Output()
	k.must(err)
	var module struct{ Dir string }
	k.must(json.Unmarshal(answer, &module))
	return filepath.Join(module.Dir, "manifests", name)
}

// sidecarManifests is Argo CD's own installation with our component, as Kustomize builds it.
func (k *kit) sidecarManifests() []*unstructured.Unstructured {
	k.Helper()
	data, err := os.ReadFile(k.argoManifests("namespace-install.yaml"))
	k.must(err)
	component := map[string]string{
		"install.yaml": string(data),
		"kustomization.yaml": "namespace: argocd\nresources: [install.yaml]\ncomponents: [cmp, cmp-secrets, cmp-apis]\nimages: [{name: argosy, newName: registry.example.com/argosy, newTag: v1}]\n" +
			"patches:\n- target: {kind: Role, name: argosy-cmp-apis}\n  patch: |-\n    - {op: replace, path: /rules/0/resourceNames, value: [apis-token]}\n    - {op: replace, path: /rules/1/resourceNames, value: [apis-plugin]}\n",
	}
	for _, name := range []string{"cmp", "cmp-secrets", "cmp-apis"} {
		files, err := filepath.Glob("../../deploy/kustomize/" + name + "/*.yaml")
		k.must(err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			k.must(err)
			component[name+"/"+filepath.Base(file)] = string(data)
		}
	}
	out, err := exec.CommandContext(k.ctx, k.lab.Tools.Path("kustomize"), "build", k.directory(component)).CombinedOutput()
	if err != nil {
		k.Fatalf("%v\n%s", err, out)
	}
	var objects []*unstructured.Unstructured
	for _, doc := range strings.Split(string(out), "\n---\n") {
		o := &unstructured.Unstructured{}
		k.must(yaml.Unmarshal([]byte(doc), &o.Object))
		objects = append(objects, o)
	}
	return objects
}

func find(objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

// sidecarContainer is our container beside the repo-server's.
func (k *kit) sidecarContainer(objects []*unstructured.Unstructured) *unstructured.Unstructured {
	k.Helper()
	containers, _, _ := unstructured.NestedSlice(find(objects, "Deployment", "argocd-repo-server").Object, "spec", "template", "spec",
		"containers")
	if len(containers) != 2 {
		k.Fatalf("%d containers", len(containers))
	}
	out := &unstructured.Unstructured{}
	for _, c := range containers {
		if m := c.(map[string]any); m["name"] == "argosy-cmp" {
			out.Object = m
		}
	}
	return out
}

// TestSidecarManifests lets a real API server check Argo CD with our sidecar, and our binary what the pod starts it with.
func TestSidecarManifests(t *testing.T) {
	k := newKit(t, "sidecar")
	objects := k.sidecarManifests()
	ours := 0
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			continue
		}
		if strings.HasPrefix(o.GetName(), "argosy-") || o.GetName() == "argocd-repo-server" && o.GetKind() == "Deployment" ||
			o.GetName() == "argocd-cm" {
			text, err := yaml.Marshal(o.Object)
			k.must(err)
			k.must(k.lab.Validate(k.ctx, string(text)))
			ours++
		}
	}
	if ours != 17 {
		t.Errorf("%d objects are ours", ours)
	}
	if cm := find(objects, "ConfigMap", "argocd-cm"); strings.TrimSpace(text(cm, "data", healthKey)) != k.argosy("health", "script",
		"applications") {
		t.Error("the health check is not the one that TestHealthScript tests")
	}
	container := k.sidecarContainer(objects)
	args, _, _ := unstructured.NestedStringSlice(container.Object, "args")
	// Flags that it does not know are an error before help is.
	if out, err := exec.CommandContext(k.ctx, argosy, append(args, "--help")...).CombinedOutput(); err != nil || len(args) == 0 {
		t.Errorf("argosy %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	if out, err := exec.CommandContext(k.ctx, argosy, append(args, "--nonsense", "--help")...).CombinedOutput(); err == nil {
		t.Errorf("this test shows nothing: %s", out)
	}
	// The policy is one.
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	k.must(os.WriteFile(policy, []byte(text(find(objects, "ConfigMap", "argosy-policy"), "data", "policy.yaml")), 0o644))
	trigger := k.directory(map[string]string{"s3-source.yaml": "bucket: any\npath: x\n"})
	k.argosy("s3", "validate", "--policy", policy, "--project", "default", trigger)
}

// applyOf applies an object of manifests. A binding goes when the test ends, because other tests have the same account.
func (k *kit) applyOf(objects []*unstructured.Unstructured, kind, name string) {
	k.Helper()
	text, err := yaml.Marshal(find(objects, kind, name).Object)
	k.must(err)
	k.apply(string(text))
	if kind != "RoleBinding" {
		return
	}
	k.Cleanup(func() {
		if err := k.lab.Delete(context.Background(), "RoleBinding.rbac.authorization.k8s.io", lab.Namespace, name); err != nil {
			k.Error(err)
		}
	})
}

// TestSidecarRights runs the sidecar with the rights that deploy/ gives it, and nothing more: it finds clusters and credentials in
// Argo CD's Secrets, and knows what an answer would delete. Without the right to Secrets it says so.
func TestSidecarRights(t *testing.T) {
	k := newKit(t, "rights")
	objects := k.sidecarManifests()
	apply := func(kind, name string) { k.applyOf(objects, kind, name) }
	apply("ServiceAccount", "argocd-repo-server")
	apply("Role", "argosy-cmp")
	apply("RoleBinding", "argosy-cmp")
	kubeconfig, err := k.lab.ServiceAccount(k.ctx, lab.Namespace, "argocd-repo-server")
	k.must(err)

	// A private repository, by a template of credentials, and a cluster.
	backend, err := url.Parse(k.repo.URL)
	k.must(err)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: backend.Host})
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "argocd" || password != "s3cret-w0rd" {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer private.Close()
	secret := func(name, kind string, labels string, data ...string) string {
		var pairs []string
		for i := 0; i < len(data); i += 2 {
			pairs = append(pairs, fmt.Sprintf("%s: %s", data[i], base64.StdEncoding.EncodeToString([]byte(data[i+1]))))
		}
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: argocd, labels: {argocd.argoproj.io/secret-type: %s%s}}\ndata: {%s}\n", name, kind, labels, strings.Join(pairs, ", "))
	}
	k.apply(
		secret("rights-creds", "repo-creds", "", "url", private.URL, "username", "argocd", "password", "s3cret-w0rd"),
		secret("rights-cluster", "cluster", ", rights: 'yes'", "name", "rights-far", "server", k.lab.API().Config.Host, "config", "{}"),
	)
	k.Cleanup(func() {
		for _, name := range []string{"rights-creds", "rights-cluster"} {
			k.must(k.lab.Delete(context.Background(), "Secret", lab.Namespace, name))
		}
	})
	k.commit(map[string]string{"app/cm.yaml": configMap("cm", "1"), "apps/one/cm.yaml": configMap("one", "1")})
	spec := func(generator, name string) string {
		return fmt.Sprintf(`goTemplate: true
generators: [%s]
template:
  metadata: {name: '%s', finalizers: []}
  spec:
    project: default
    source: {repoURL: %q, path: app, targetRevision: main}
    destination: {server: https://kubernetes.default.svc, namespace: rights}
    syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true, Validate=false]}
`, generator, name, k.repo.URL)
	}
	git := spec("{git: {repoURL: "+private.URL+backend.Path+", revision: main, directories: [{path: apps/*}]}}",
		"rights-{{ .path.basename }}")
	clusters := spec("{clusters: {selector: {matchLabels: {rights: 'yes'}}}}", "rights-{{ .name }}")
	k.plugins(native, "ARGOSY_KUBECONFIG="+kubeconfig)
	k.apply(k.setApp("rights-git", "default", "spec", git), k.setApp("rights-clusters", "default", "spec", clusters))
	t.Log(k.failure("rights-clusters", "reading Argo CD's Secrets of cluster: forbidden: "))
	message := k.failure("rights-git", "the server requires credentials, and Argo CD has none that this project may use; add a Secret of the repository")
	t.Log(message)

	apply("Role", "argosy-cmp-secrets")
	apply("RoleBinding", "argosy-cmp-secrets")
	k.await("Application", "rights-one", "health Healthy")
	k.await("Application", "rights-rights-far", "health Healthy")
	// What the guard reads is among the rights: an answer that deletes nothing passes it.
	k.apply(k.setApp("rights-git", "default", "spec", strings.Replace(git, "finalizers: []", "finalizers: [], labels: {a: b}", 1),
		"max-delete", "0"))
	k.wait("rights-one", func(o *unstructured.Unstructured) bool { return o.GetLabels()["a"] == "b" })
	// And what it counts by.
	k.apply(k.setApp("rights-git", "default", "spec", strings.Replace(git, "apps/*", "none/*", 1), "max-delete", "0", "allow-empty",
		"true"))
	t.Log(k.failure("rights-git", "refused: this answer would delete 1 of 1 Applications, and at most 0 may be deleted at once: rights-one"))
	if strings.Contains(message, "s3cret-w0rd") {
		t.Error("the message has a password")
	}
}

// TestScratch runs the sidecar where there is nothing but its binary, as in an image from scratch.
func TestScratch(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("chroot needs root")
	}
	k := newKit(t, "scratch")
	root := k.directory(map[string]string{"work/x": "", "plugins/x": ""})
	data, err := os.ReadFile(argosy)
	k.must(err)
	k.must(os.WriteFile(filepath.Join(root, "argosy"), data, 0o755))
	k.must(os.Chmod(filepath.Join(root, "work"), 0o777))
	k.must(os.Chmod(filepath.Join(root, "plugins"), 0o777))
	cmd := exec.CommandContext(k.ctx, "/argosy", "cmp", "--socket-dir=/plugins", "--work-dir=/work", "--cache-dir=/work/s3",
		"--listen=none", "--log-format=json")
	cmd.Dir, cmd.Env = "/", []string{"AWS_REGION=us-east-1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 999, Gid: 999}}
	var log strings.Builder
	cmd.Stderr = &log
	k.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for _, err = os.Stat(filepath.Join(root, "plugins/s3.sock")); err != nil; _, err = os.Stat(filepath.Join(root, "plugins/s3.sock")) {
		select {
		case err := <-ended:
			t.Fatalf("it has ended: %v\n%s", err, log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	k.must(cmd.Process.Signal(syscall.SIGTERM))
	if err := <-ended; err != nil {
		t.Errorf("%v\n%s", err, log.String())
	}
	left, err := filepath.Glob(filepath.Join(root, "plugins", "*.sock"))
	if len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
