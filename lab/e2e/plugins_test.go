package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// calls returns how often a plugin was asked, from the file it writes a line to each time.
func (k *kit) calls(file string) int {
	k.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		k.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

// atRevision waits until Argo CD has compared an application with a commit.
func (k *kit) atRevision(name, revision string) {
	k.Helper()
	k.wait(name, func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "revision") == revision })
}

// TestEmptyCommit: a commit that changes no file makes Argo CD ask a plugin again, which is what trigger repositories rest
// on; the annotation manifest-generate-paths prevents it. (Facts 1 and 3.)
func TestEmptyCommit(t *testing.T) {
	k := newKit(t, "empty")
	count := filepath.Join(t.TempDir(), "calls")
	annotated := filepath.Join(t.TempDir(), "calls")
	script := func(file string) string {
		return "echo x >> " + file + `; echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "'$ARGOCD_APP_NAME'"}}'`
	}
	k.plugin("empty-plain", script(count))
	k.plugin("empty-paths", script(annotated))
	first := k.commit(map[string]string{"app/readme": "x\n"})
	k.apply(
		k.app(app{name: "empty-plain", path: "app", plugin: "empty-plain"}),
		k.app(app{
			name: "empty-paths", path: "app", plugin: "empty-paths",
			annotations: map[string]string{"argocd.argoproj.io/manifest-generate-paths": "."},
		}),
	)
	for _, name := range []string{"empty-plain", "empty-paths"} {
		k.atRevision(name, first)
		k.await("Application", name, "health Healthy")
	}
	plain, paths := k.calls(count), k.calls(annotated)

	// Looking again at the same revision asks nobody.
	k.refresh("empty-plain", "normal")
	if got := k.calls(count); got != plain {
		t.Errorf("a soft refresh of an unchanged revision asked the plugin: %d calls, then %d", plain, got)
	}

	second := k.commit(nil)
	for _, name := range []string{"empty-plain", "empty-paths"} {
		k.refresh(name, "normal")
		k.atRevision(name, second)
	}
	if got := k.calls(count); got <= plain {
		t.Errorf("an empty commit did not ask the plugin: %d calls, then %d", plain, got)
	}
	if got := k.calls(annotated); got != paths {
		t.Errorf("with manifest-generate-paths an empty commit asked the plugin: %d calls, then %d", paths, got)
	}
}

// TestBucketUnderUnchangedRevision: Argo CD does not see what a plugin reads from elsewhere until a hard refresh, and then
// does not deploy it without selfHeal. (Facts 1, 2 and 6.)
func TestBucketUnderUnchangedRevision(t *testing.T) {
	k := newKit(t, "bucket")
	k.must(k.lab.Bucket(k.ctx, "bucket"))
	k.must(k.lab.Put(k.ctx, "bucket", "cm.yaml", configMap("bucket", "one")))
	k.plugin("bucket", tool+" s3cat bucket cm.yaml",
		"LAB_S3_ENDPOINT="+k.lab.S3Endpoint, "LAB_S3_ACCESS_KEY="+k.lab.S3AccessKey, "LAB_S3_SECRET_KEY="+k.lab.S3SecretKey)
	k.commit(map[string]string{"app/readme": "x\n"})
	k.apply(k.app(app{name: "bucket", path: "app", plugin: "bucket", policy: "{automated: {}, syncOptions: [CreateNamespace=true, Validate=false]}"}))
	synced := func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "Synced" }
	k.wait("bucket", synced)
	value := func() string {
		o, err := k.lab.Get(k.ctx, "ConfigMap", "bucket", "bucket")
		k.must(err)
		return text(o, "data", "value")
	}
	if got := value(); got != "one" {
		t.Fatalf("got %q", got)
	}

	k.must(k.lab.Put(k.ctx, "bucket", "cm.yaml", configMap("bucket", "two")))
	k.refresh("bucket", "normal")
	if o := k.wait("bucket", func(*unstructured.Unstructured) bool { return true }); !synced(o) {
		t.Error("a soft refresh saw the bucket's change")
	}
	k.refresh("bucket", "hard")
	o := k.wait("bucket", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "OutOfSync" })
	operation := text(o, "status", "operationState", "finishedAt")
	// Two more looks give automated sync its chance.
	k.refresh("bucket", "normal")
	k.refresh("bucket", "normal")
	o = k.wait("bucket", func(*unstructured.Unstructured) bool { return true })
	if got := value(); got != "one" || text(o, "status", "operationState", "finishedAt") != operation {
		t.Errorf("the change was deployed without selfHeal: %q", got)
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	t.Logf("conditions without selfHeal: %v", conditions)

	k.must(k.lab.Patch(k.ctx, application, lab.Namespace, "bucket", `{"spec": {"syncPolicy": {"automated": {"selfHeal": true}}}}`))
	k.wait("bucket", synced)
	if got := value(); got != "two" {
		t.Errorf("with selfHeal: got %q", got)
	}
}

// TestBlankPlugin: what a plugin leaves out is pruned, without a question. Only when nothing at all is left does Argo CD
// refuse, in automated sync, unless allowEmpty. The loss of a part is not guarded.
func TestBlankPlugin(t *testing.T) {
	k := newKit(t, "blank")
	manifests := filepath.Join(t.TempDir(), "manifests")
	write := func(content string) {
		k.Helper()
		k.must(os.WriteFile(manifests, []byte(content), 0o644))
		k.commit(nil)
		k.refresh("blank", "normal")
	}
	k.plugin("blank", "cat "+manifests)
	k.must(os.WriteFile(manifests, []byte(configMap("blank-a", "1")+"---\n"+configMap("blank-b", "1")), 0o644))
	k.commit(map[string]string{"app/readme": "x\n"})
	k.apply(k.app(app{name: "blank", path: "app", plugin: "blank"}))
	k.await("ConfigMap", "blank-a", "created")
	k.await("ConfigMap", "blank-b", "created")
	k.await("Application", "blank", "operation Succeeded")

	write(configMap("blank-a", "1"))
	k.await("ConfigMap", "blank-b", "deleted")

	write("")
	refused := k.wait("blank", func(o *unstructured.Unstructured) bool {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if m, _ := c.(map[string]any); strings.Contains(m["message"].(string), "auto-sync will wipe out all resources") {
				return true
			}
		}
		return false
	})
	t.Logf("the guard says: %v", refused.Object["status"].(map[string]any)["conditions"])
	if !k.exists("ConfigMap", "blank", "blank-a") {
		t.Error("the last object was deleted in spite of the guard")
	}

	k.must(k.lab.Patch(k.ctx, application, lab.Namespace, "blank", `{"spec": {"syncPolicy": {"automated": {"allowEmpty": true}}}}`))
	k.await("ConfigMap", "blank-a", "deleted")
}
