package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// argosy runs our command against the lab's S3 server.
func (k *kit) argosy(args ...string) string {
	k.Helper()
	cmd := exec.CommandContext(k.ctx, argosy, args...)
	cmd.Env = append(os.Environ(), k.s3Environment()...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		k.Fatalf("argosy %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func (k *kit) s3Environment() []string {
	return []string{
		"AWS_ENDPOINT_URL_S3=" + k.lab.S3Endpoint, "AWS_ACCESS_KEY_ID=" + k.lab.S3AccessKey, "AWS_SECRET_ACCESS_KEY=" + k.lab.S3SecretKey,
		"AWS_REGION=us-east-1", "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		"ARGOSY_CACHE_DIR=" + filepath.Join(k.TempDir(), "cache"), "PATH=" + filepath.Dir(argosy) + ":" + os.Getenv("PATH"),
	}
}

// s3Plugin starts Argo CD's own plugin server with our plugin.yaml.
func (k *kit) s3Plugin(env ...string) {
	k.Helper()
	config, err := filepath.Abs("../../deploy/s3-cmp")
	k.must(err)
	p, err := k.lab.StockPlugin(k.ctx, "s3", config, append(k.s3Environment(), env...)...)
	k.must(err)
	k.Cleanup(p.Kill)
}

// failure waits for an error that Argo CD shows about an application, and returns it.
func (k *kit) failure(name, part string) string {
	k.Helper()
	found := ""
	k.wait(name, func(o *unstructured.Unstructured) bool {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			m, _ := c.(map[string]any)
			if message, _ := m["message"].(string); strings.Contains(message, part) {
				found = message
				return true
			}
		}
		return false
	})
	return found
}

// TestS3 is the flow of the S3 plugin's design: CI uploads manifests, an Application refers to a repository with a trigger
// file, the plugin downloads and prints, Argo CD applies.
func TestS3(t *testing.T) {
	k := newKit(t, "s3")
	k.must(k.lab.Bucket(k.ctx, "test-bucket"))
	k.s3Plugin()
	trigger := "bucket: test-bucket\npath: apps/demo-app\nversion: v1.0.0\n"
	put := func(key, content string) {
		t.Helper()
		k.must(k.lab.Put(k.ctx, "test-bucket", "apps/demo-app/"+key, content))
	}
	put("one.yaml", configMap("s3-one", "1"))
	put("two.yaml", configMap("s3-two", "1"))
	k.commit(map[string]string{"app/s3-source.yaml": trigger})
	// One application names the plugin, another leaves it to discovery.
	k.apply(
		k.app(app{name: "s3-named", path: "app", plugin: "s3"}),
		k.app(app{name: "s3-found", path: "app", namespace: "s3-found"}),
	)
	for _, name := range []string{"s3-named", "s3-found"} {
		k.await("Application", name, "health Healthy")
		k.await("Application", name, "sync Synced")
	}
	k.await("ConfigMap", "s3-one", "created")

	// A change in the bucket alone is seen by a hard refresh.
	put("one.yaml", configMap("s3-one", "2"))
	k.refresh("s3-named", "hard")
	k.value("s3", "s3-one", "2")

	// A new version in Git makes Argo CD ask again, and deploy what has changed: without a hard refresh and, since the
	// revision is new, without self-healing.
	k.must(k.lab.Patch(k.ctx, application, lab.Namespace, "s3-named", `{"spec": {"syncPolicy": {"automated": {"selfHeal": false}}}}`))
	put("one.yaml", configMap("s3-one", "3"))
	revision := k.commit(map[string]string{"app/s3-source.yaml": strings.Replace(trigger, "v1.0.0", "v1.0.1", 1)})
	k.refresh("s3-named", "normal")
	k.value("s3", "s3-one", "3")
	k.wait("s3-named", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "syncResult", "revision") == revision
	})
	k.must(k.lab.Patch(k.ctx, application, lab.Namespace, "s3-named", `{"spec": {"syncPolicy": {"automated": {"selfHeal": true}}}}`))

	// S3 away: an error that says so, and nothing is deleted, with pruning on.
	k.lab.S3.Cut()
	k.refresh("s3-named", "hard")
	t.Logf("S3 away: %s", k.failure("s3-named", "listing s3://test-bucket/apps/demo-app/: "))
	k.lab.S3.Restore()

	// An empty path: the same.
	for _, key := range []string{"one.yaml", "two.yaml"} {
		k.must(k.lab.Remove(k.ctx, "test-bucket", "apps/demo-app/"+key))
	}
	k.refresh("s3-named", "hard")
	message := k.failure("s3-named", "s3://test-bucket/apps/demo-app: there are no objects in this path, so the answer would be empty")
	t.Logf("empty path: %s", message)
	// A manifest that is not valid: with the others missing, everything but it would go.
	put("one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n")
	k.refresh("s3-named", "hard")
	t.Logf("invalid: %s", k.failure("s3-named", "s3://test-bucket/apps/demo-app/one.yaml:3: "))
	for _, name := range []string{"s3-one", "s3-two"} {
		if !k.exists("ConfigMap", "s3", name) {
			t.Errorf("%s was deleted", name)
		}
	}
	if strings.Contains(message, k.lab.S3SecretKey) {
		t.Error("the message has a secret")
	}

	// What is really deleted from the bucket is deleted from the cluster.
	put("one.yaml", configMap("s3-one", "4"))
	k.refresh("s3-named", "hard")
	k.await("ConfigMap", "s3-two", "deleted")
}

// value waits until a ConfigMap has a value.
func (k *kit) value(namespace, name, want string) {
	k.Helper()
	_, err := k.lab.Wait(k.ctx, "ConfigMap", namespace, name, func(o *unstructured.Unstructured) bool {
		return o != nil && text(o, "data", "value") == want
	})
	k.must(err)
}

// TestS3Kinds deploys a chart, a Kustomization and an archive from several buckets with one trigger file, under a policy.
func TestS3Kinds(t *testing.T) {
	k := newKit(t, "kinds")
	for _, b := range []string{"kinds-charts", "kinds-config"} {
		k.must(k.lab.Bucket(k.ctx, b))
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	k.must(os.WriteFile(policy, []byte("projects:\n- name: default\n  s3:\n  - buckets: [kinds-*]\n    prefixes: [stable]\n"), 0o644))
	k.s3Plugin("ARGOSY_POLICY=" + policy)

	chart := k.directory(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "values.yaml": "value: chart\n",
		"templates/cm.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}-chart, namespace: {{ .Release.Namespace }}}, data: {value: {{ .Values.value | quote }}, kube: {{ .Capabilities.KubeVersion.Minor | quote }}, crds: {{ .Capabilities.APIVersions.Has "argoproj.io/v1alpha1" | quote }}}}`,
	})
	overlay := k.directory(map[string]string{
		"kustomization.yaml": "resources: [cm.yaml]\nnamePrefix: kinds-\n", "cm.yaml": configMap("overlay", "1"),
	})
	k.argosy("s3", "push", "--archive", chart, "s3://kinds-charts/stable/web-1.0.0.tgz")
	digest := k.argosy("s3", "push", overlay, "s3://kinds-config/stable/overlay")
	k.commit(map[string]string{
		"app/s3-source.yaml": "version: 1.0.0\nsources:\n- bucket: kinds-charts\n  path: stable/web-${version}.tgz\n  helm: {valueFiles: [values-git.yaml]}\n" +
			"- bucket: kinds-config\n  path: stable/overlay\n  digest: " + digest + "\n",
		"app/values-git.yaml":      "value: git\n",
		"refused/s3-source.yaml":   "bucket: test-bucket\npath: apps/demo-app\n",
		"elsewhere/s3-source.yaml": "bucket: kinds-config\npath: stable\nendpoint: http://169.254.169.254\n",
	})
	k.apply(k.app(app{name: "kinds", path: "app", plugin: "s3"}), k.app(app{name: "kinds-refused", path: "refused", plugin: "s3"}), k.app(app{name: "kinds-elsewhere", path: "elsewhere", plugin: "s3"}))
	k.await("Application", "kinds", "sync Synced")
	k.value("kinds", "kinds-overlay", "1")
	k.value("kinds", "kinds-chart", "git")
	o, err := k.lab.Get(k.ctx, "ConfigMap", "kinds", "kinds-chart")
	k.must(err)
	if text(o, "data", "kube") != "34" || text(o, "data", "crds") != "true" {
		t.Errorf("the chart was told %v", o.Object["data"])
	}
	t.Log(k.failure("kinds-refused", `projects[0].s3[0].buckets does not include "test-bucket"`))
	t.Log(k.failure("kinds-elsewhere", `projects[0].s3[0].endpoints does not include "http://169.254.169.254"`))

	// Another push changes the content; the pin holds.
	k.must(os.WriteFile(filepath.Join(overlay, "cm.yaml"), []byte(configMap("overlay", "2")), 0o644))
	k.argosy("s3", "push", overlay, "s3://kinds-config/stable/overlay")
	k.refresh("kinds", "hard")
	k.failure("kinds", "but digest demands "+digest)
	k.value("kinds", "kinds-overlay", "1")
}

// directory writes files to a new directory.
func (k *kit) directory(files map[string]string) string {
	k.Helper()
	dir := k.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		k.must(os.MkdirAll(filepath.Dir(path), 0o755))
		k.must(os.WriteFile(path, []byte(content), 0o644))
	}
	return dir
}
