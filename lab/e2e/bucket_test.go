package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// bucketApp is an Application with sources from bucket repositories, synced automatically but not healed.
func (k *kit) bucketApp(name, sources string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: default
  sources: %s
  destination: {server: https://kubernetes.default.svc, namespace: %s}
  syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true, Validate=false]}
`, name, lab.Namespace, sources, name)
}

// TestBucketRepository deploys from a bucket that is a Git repository to Argo CD: its own Kustomize and Helm, values of
// another bucket, a new revision for each change, rollback, and S3 away.
func TestBucketRepository(t *testing.T) {
	k := newKit(t, "gitb")
	k.must(k.lab.Bucket(k.ctx, "gitb"))
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	k.must(os.WriteFile(policy, []byte("repositories: {s3: [{buckets: [gitb]}]}\n"), 0o644))
	url, _ := k.triggerServer("1h", append(k.s3Environment(), "ARGOSY_POLICY="+policy)...)
	put := func(key, content string) {
		t.Helper()
		k.must(k.lab.Put(k.ctx, "gitb", key, content))
	}
	deploy := func(value string) {
		t.Helper()
		put("plain/cm.yaml", configMap("gitb-plain", value))
		put("kustomize/cm.yaml", configMap("kustomize", value))
		put("values/values.yaml", "value: \""+value+"\"\n")
	}
	put("kustomize/kustomization.yaml", "resources: [cm.yaml]\nnamePrefix: gitb-\n")
	put("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n")
	put("chart/templates/cm.yaml",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gitb-chart}\ndata: {value: {{ .Values.value | quote }}}\n")
	deploy("1")
	repo := func(name string) string {
		return fmt.Sprintf("repoURL: %s/s3/gitb/%s.git, targetRevision: main", url, name)
	}
	k.apply(
		k.bucketApp("gitb-plain", "[{"+repo("plain")+", path: .}]"),
		k.bucketApp("gitb-kustomize", "[{"+repo("kustomize")+", path: .}]"),
		k.bucketApp("gitb-chart", "[{"+repo("chart")+", path: ., helm: {valueFiles: [$values/values.yaml]}}, {"+repo("values")+
			", ref: values}]"),
	)
	names := []string{"gitb-plain", "gitb-kustomize", "gitb-chart"}
	for _, name := range names {
		k.value(name, name, "1")
	}
	first := k.revision("gitb-plain")

	// Objects that change are new revisions: Argo CD's own polling sees and deploys them.
	deploy("2")
	for _, name := range names {
		k.value(name, name, "2")
	}
	if second := k.revision("gitb-plain"); second == first {
		t.Errorf("the revision is still %s", first)
	}

	// S3 away for a minute, through many looks of Argo CD: nothing happens.
	k.lab.S3.Cut()
	for away := time.Now(); time.Since(away) < time.Minute; {
		before := text(k.wait("gitb-plain", func(*unstructured.Unstructured) bool { return true }), "status", "reconciledAt")
		k.refresh("gitb-plain", "normal")
		k.wait("gitb-plain", func(o *unstructured.Unstructured) bool { return text(o, "status", "reconciledAt") != before })
	}
	for _, name := range names {
		o := k.wait(name, func(*unstructured.Unstructured) bool { return true })
		if text(o, "status", "health", "status") != "Healthy" || text(o, "status", "sync", "status") != "Synced" ||
			!k.exists("ConfigMap", name, name) {
			t.Errorf("%s while S3 is away: %v", name, o.Object["status"])
		}
	}
	k.lab.S3.Restore()

	// Back to an earlier revision, as a rollback does.
	k.must(k.lab.Patch(k.ctx, application, lab.Namespace, "gitb-plain", `{"spec": {"syncPolicy": {"automated": null}}}`))
	k.must(k.lab.Patch(k.ctx, application, lab.Namespace, "gitb-plain",
		fmt.Sprintf(`{"operation": {"sync": {"revisions": [%q], "sources": [{"repoURL": "%s/s3/gitb/plain.git", "path": ".", "targetRevision": "main"}]}}}`, first, url)))
	k.value("gitb-plain", "gitb-plain", "1")
}

// revision waits for a synced Application and returns the revision of its first source.
func (k *kit) revision(name string) string {
	k.Helper()
	revision := ""
	k.wait(name, func(o *unstructured.Unstructured) bool {
		list, _, _ := unstructured.NestedStringSlice(o.Object, "status", "sync", "revisions")
		if len(list) > 0 {
			revision = list[0]
		}
		return len(list) > 0 && text(o, "status", "sync", "status") == "Synced"
	})
	return revision
}
