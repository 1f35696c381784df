package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refers are the references of a plan, as "Item needs Kind name: how it comes".
func refers(p *Plan) []string {
	var out []string
	for _, r := range p.References {
		how := "missing"
		switch {
		case r.Later && r.Holds:
			how = "later, a deadlock, in " + r.Other.At() + " of " + r.At.Name
		case r.Later:
			how = fmt.Sprintf("later, in doubt %t", r.InDoubt)
		case r.By.App != nil:
			how = "by " + r.By.Item.Kind
		case r.Exists:
			how = "exists"
		case r.Unknown != "":
			how = r.Unknown
		}
		out = append(out, fmt.Sprintf("%s needs %s: %s", r.Item.Name, r.Named, how))
	}
	slices.Sort(out)
	return out
}

func inWave(wave, kind, name, rest string) string {
	return fmt.Sprintf("{%s, metadata: {name: %s, annotations: {argocd.argoproj.io/sync-wave: %q}}%s}\n", kind, name, wave, rest)
}

func TestReferences(t *testing.T) {
	const (
		class    = "apiVersion: storage.k8s.io/v1, kind: StorageClass"
		volume   = "apiVersion: v1, kind: PersistentVolume"
		claim    = "apiVersion: v1, kind: PersistentVolumeClaim"
		secret   = "apiVersion: v1, kind: Secret"
		external = "apiVersion: external-secrets.io/v1, kind: ExternalSecret"
		pod      = "apiVersion: v1, kind: Pod"
		deploy   = "apiVersion: apps/v1, kind: Deployment"
		webhook  = "apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration"
		fast     = ", spec: {storageClassName: fast}"
		mounts   = ", spec: {volumes: [{name: v, secret: {secretName: s}}]}"
	)
	one := func(files ...string) memory {
		m := memory{"root/a.yaml": application("a", "a", "0")}
		for i, text := range files {
			m[fmt.Sprintf("a/%d.yaml", i)] = text
		}
		return m
	}
	for name, c := range map[string]struct {
		files  memory
		exists []Thing
		script string
		want   []string
	}{
		"in the same wave": {files: one(inWave("0", claim, "c", fast), inWave("0", class, "fast", "")), want: []string{"c needs StorageClass fast: by StorageClass"}},
		"later": {
			files: one(inWave("0", claim, "c", fast), inWave("1", class, "fast", "")),
			want:  []string{"c needs StorageClass fast: later, a deadlock, in wave 1 of a"},
		},
		"a volume has its class":     {files: one(inWave("0", claim, "c", fast), inWave("0", volume, "v", fast)), want: []string{"c needs StorageClass fast: by PersistentVolume"}},
		"a claim of a volume":        {files: one(inWave("0", claim, "c", ", spec: {storageClassName: fast, volumeName: v}"))},
		"nobody":                     {files: one(inWave("0", claim, "c", fast)), want: []string{"c needs StorageClass fast: missing"}},
		"the cluster":                {files: one(inWave("0", claim, "c", fast)), exists: []Thing{{What: "StorageClass", Name: "fast"}}, want: []string{"c needs StorageClass fast: exists"}},
		"a Secret that is made":      {files: one(inWave("0", pod, "p", mounts), inWave("1", external, "x", ", spec: {target: {name: s}}")), want: []string{"p needs Secret s: later, a deadlock, in wave 1 of a"}},
		"in another namespace":       {files: one(inWave("0", pod, "p", mounts), "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: other}}"), want: []string{"p needs Secret s: missing"}},
		"one of two is in time":      {files: one(inWave("0", pod, "p", mounts), inWave("1", external, "s", ""), inWave("0", secret, "s", "")), want: []string{"p needs Secret s: by Secret"}},
		"optional":                   {files: one(inWave("0", pod, "p", ", spec: {volumes: [{name: v, secret: {secretName: s, optional: true}}]}"))},
		"no Pods":                    {files: one(inWave("0", deploy, "d", ", spec: {replicas: 0, template: {spec: {priorityClassName: high}}}"))},
		"a class of Kubernetes":      {files: one(inWave("0", deploy, "d", ", spec: {template: {spec: {priorityClassName: system-node-critical}}}"))},
		"of the default account":     {files: one(inWave("0", pod, "p", ", spec: {serviceAccountName: default}"))},
		"a webhook holds up nothing": {files: one(inWave("0", webhook, "w", ", webhooks: [{clientConfig: {service: {name: s, namespace: argocd}}}]"), inWave("1", "apiVersion: v1, kind: Service", "s", "")), want: []string{"w needs Service s: later, in doubt false"}},
		"another Application, later": {
			files: memory{"root/a.yaml": application("a", "a", "0"), "root/b.yaml": application("b", "b", "1"), "a/c.yaml": inWave("0", claim, "c", fast), "b/s.yaml": inWave("0", class, "fast", "")},
			want:  []string{"c needs StorageClass fast: later, a deadlock, in wave 1 of root"},
		},
		"another Application, not awaited": {
			files:  memory{"root/a.yaml": application("a", "a", "0"), "root/b.yaml": application("b", "b", "1"), "a/c.yaml": inWave("0", claim, "c", fast), "b/s.yaml": inWave("0", class, "fast", "")},
			script: "-",
			want:   []string{"c needs StorageClass fast: later, in doubt false"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Exists: c.exists}
			if c.script != "" { // no health check of Applications
				cfg.Settings = copying(t, "return {status = 'Healthy'}")
				cfg.Settings.Health = nil
			}
			if diff := cmp.Diff(c.want, refers(planOf(t, cfg, c.files))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReferencesUnknown: a source that is not known may bring everything.
func TestReferencesUnknown(t *testing.T) {
	p := planOf(t, Config{}, memory{
		"root/a.yaml": application("a", "a", "0"), "a/c.yaml": "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {storageClassName: fast}}",
		"root/b.yaml": "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: b}, spec: {project: default, source: {repoURL: https://x/charts, chart: c, targetRevision: 1.0.0}, destination: {name: in-cluster, namespace: b}}}",
	})
	want := []string{"c needs StorageClass fast: b may deploy it, from sources that are not known completely"}
	if diff := cmp.Diff(want, refers(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNeedsCycle(t *testing.T) {
	needing := func(name, wave, need string) string {
		return fmt.Sprintf("{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: %s, annotations: {argocd.argoproj.io/sync-wave: %q, argosy.dev/depends-on: %q}}, "+
			"spec: {project: default, source: {repoURL: https://x/y, path: none}, destination: {name: in-cluster, namespace: x}}}\n", name, wave, need)
	}
	p := planOf(t, Config{}, memory{
		"root/a.yaml": needing("a", "0", "b"), "root/b.yaml": needing("b", "1", "c"), "root/c.yaml": needing("c", "2", "a"),
		"root/d.yaml": needing("d", "0", "a"), "root/e.yaml": needing("e", "0", "e"),
	})
	want := []string{
		"needs-cycle a: they need each other (argosy.dev/depends-on): a → b → c → a",
		"needs-cycle e: they need each other (argosy.dev/depends-on): e → e",
		"needs-later d: it needs a (argosy.dev/depends-on) and does not wait for it: it is in wave 0, and a in wave 0",
	}
	if diff := cmp.Diff(want, about(p, "needs-")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
