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
	return k.argosyMay(0, args...)
}

// argosyMay is argosy with a command that may end with another exit code.
func (k *kit) argosyMay(code int, args ...string) string {
	k.Helper()
	cmd := exec.CommandContext(k.ctx, argosy, args...)
	cmd.Env = append(os.Environ(), k.s3Environment()...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != code {
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

// TestS3 is the flow of the plugin s3: CI uploads manifests, an Application refers to a repository with a trigger
// file, the plugin downloads and prints, Argo CD applies.
func TestS3(t *testing.T) {
	t.Parallel()
	for _, how := range []string{native, stock} {
		t.Run(how, func(t *testing.T) { testS3(t, how) })
	}
}

func testS3(t *testing.T, how string) {
	k := newKit(t, "s3-"+how)
	bucket := "test-bucket-" + how
	k.must(k.lab.Bucket(k.ctx, bucket))
	k.plugins(how)
	trigger := "bucket: " + bucket + "\npath: apps/demo-app\nversion: v1.0.0\n"
	put := func(key, content string) {
		t.Helper()
		k.must(k.lab.Put(k.ctx, bucket, "apps/demo-app/"+key, content))
	}
	put("one.yaml", configMap(k.name+"-one", "1"))
	put("two.yaml", configMap(k.name+"-two", "1"))
	k.commit(map[string]string{"app/s3-source.yaml": trigger})
	// One application names the plugin, another leaves it to discovery.
	k.apply(
		k.app(app{name: k.name + "-named", path: "app", plugin: "s3"}),
		k.app(app{name: k.name + "-found", path: "app", namespace: k.name + "-found"}),
	)
	for _, name := range []string{k.name + "-named", k.name + "-found"} {
		k.await("Application", name, "health Healthy")
		k.await("Application", name, "sync Synced")
	}
	k.await("ConfigMap", k.name+"-one", "created")

	// A change in the bucket alone is seen by a hard refresh.
	put("one.yaml", configMap(k.name+"-one", "2"))
	k.refresh(k.name+"-named", "hard")
	k.value(k.name, k.name+"-one", "2")

	// A new version in Git makes Argo CD ask again, and deploy what has changed: without a hard refresh and, since the
	// revision is new, without self-healing.
	k.must(k.lab.Patch(k.ctx, application, lab.Namespace, k.name+"-named", `{"spec": {"syncPolicy": {"automated": {"selfHeal": false}}}}`))
	put("one.yaml", configMap(k.name+"-one", "3"))
	revision := k.commit(map[string]string{"app/s3-source.yaml": strings.Replace(trigger, "v1.0.0", "v1.0.1", 1)})
	k.refresh(k.name+"-named", "normal")
	k.value(k.name, k.name+"-one", "3")
	k.wait(k.name+"-named", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "syncResult", "revision") == revision
	})
	k.must(k.lab.Patch(k.ctx, application, lab.Namespace, k.name+"-named", `{"spec": {"syncPolicy": {"automated": {"selfHeal": true}}}}`))

	// S3 away: an error that says so, and nothing is deleted, with pruning on.
	k.lab.S3.Cut()
	k.refresh(k.name+"-named", "hard")
	t.Logf("S3 away: %s", k.failure(k.name+"-named", "listing s3://"+bucket+"/apps/demo-app/: "))
	k.lab.S3.Restore()

	// An empty path: the same.
	for _, key := range []string{"one.yaml", "two.yaml"} {
		k.must(k.lab.Remove(k.ctx, bucket, "apps/demo-app/"+key))
	}
	k.refresh(k.name+"-named", "hard")
	message := k.failure(k.name+"-named", "s3://"+bucket+"/apps/demo-app: there are no objects in this path, so the answer would be empty")
	t.Logf("empty path: %s", message)
	// A manifest that is not valid: with the others missing, everything but it would go.
	put("one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n")
	k.refresh(k.name+"-named", "hard")
	t.Logf("invalid: %s", k.failure(k.name+"-named", "s3://"+bucket+"/apps/demo-app/one.yaml:3: "))
	for _, name := range []string{k.name + "-one", k.name + "-two"} {
		if !k.exists("ConfigMap", k.name, name) {
			t.Errorf("%s was deleted", name)
		}
	}
	if strings.Contains(message, k.lab.S3SecretKey) {
		t.Error("the message has a secret")
	}

	// What is really deleted from the bucket is deleted from the cluster.
	put("one.yaml", configMap(k.name+"-one", "4"))
	k.refresh(k.name+"-named", "hard")
	k.await("ConfigMap", k.name+"-two", "deleted")
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
	t.Parallel()
	for _, how := range []string{native, stock} {
		t.Run(how, func(t *testing.T) { testS3Kinds(t, how) })
	}
}

func testS3Kinds(t *testing.T, how string) {
	k := newKit(t, "kinds-"+how)
	for _, b := range []string{k.name + "-charts", k.name + "-config"} {
		k.must(k.lab.Bucket(k.ctx, b))
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	k.must(os.WriteFile(policy, []byte("projects:\n- name: default\n  s3:\n  - buckets: [kinds-*]\n    prefixes: [stable]\n"), 0o644))
	k.plugins(how, "ARGOSY_POLICY="+policy)

	chart := k.directory(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "values.yaml": "value: chart\n",
		"templates/cm.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}-chart, namespace: {{ .Release.Namespace }}}, data: {value: {{ .Values.value | quote }}, kube: {{ .Capabilities.KubeVersion.Minor | quote }}, crds: {{ .Capabilities.APIVersions.Has "argoproj.io/v1alpha1" | quote }}}}`,
	})
	overlay := k.directory(map[string]string{
		"kustomization.yaml": "resources: [cm.yaml]\nnamePrefix: " + k.name + "-\n", "cm.yaml": configMap("overlay", "1"),
	})
	k.argosy("s3", "push", "--archive", chart, "s3://"+k.name+"-charts/stable/web-1.0.0.tgz")
	digest := k.argosy("s3", "push", overlay, "s3://"+k.name+"-config/stable/overlay")
	k.commit(map[string]string{
		"app/s3-source.yaml": "version: 1.0.0\nsources:\n- bucket: " + k.name +
			"-charts\n  path: stable/web-${version}.tgz\n  helm: {valueFiles: [values-git.yaml]}\n" +
			"- bucket: " + k.name + "-config\n  path: stable/overlay\n  digest: " + digest + "\n",
		"app/values-git.yaml":      "value: git\n",
		"refused/s3-source.yaml":   "bucket: test-bucket\npath: apps/demo-app\n",
		"elsewhere/s3-source.yaml": "bucket: " + k.name + "-config\npath: stable\nendpoint: http://169.254.169.254\n",
	})
	k.apply(k.app(app{name: k.name, path: "app", plugin: "s3"}), k.app(app{name: k.name + "-refused", path: "refused", plugin: "s3"}),
		k.app(app{name: k.name + "-elsewhere", path: "elsewhere", plugin: "s3"}))
	k.await("Application", k.name, "sync Synced")
	k.value(k.name, k.name+"-overlay", "1")
	k.value(k.name, k.name+"-chart", "git")
	o, err := k.lab.Get(k.ctx, "ConfigMap", k.name, k.name+"-chart")
	k.must(err)
	if text(o, "data", "kube") != "34" || text(o, "data", "crds") != "true" {
		t.Errorf("the chart was told %v", o.Object["data"])
	}
	t.Log(k.failure(k.name+"-refused", `projects[0].s3[0].buckets does not include "test-bucket"`))
	t.Log(k.failure(k.name+"-elsewhere", `projects[0].s3[0].endpoints does not include "http://169.254.169.254"`))

	// Another push changes the content; the pin holds.
	k.must(os.WriteFile(filepath.Join(overlay, "cm.yaml"), []byte(configMap("overlay", "2")), 0o644))
	k.argosy("s3", "push", overlay, "s3://"+k.name+"-config/stable/overlay")
	k.refresh(k.name, "hard")
	k.failure(k.name, "but digest demands "+digest)
	k.value(k.name, k.name+"-overlay", "1")
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
