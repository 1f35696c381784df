package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/lab"
)

// rootOf is the manifest of a rule's root.
func (k *kit) rootOf(r rule) string {
	a := r.root
	a.name, a.path = r.name, r.name
	if a.namespace == "" {
		a.namespace = r.name
	}
	manifest := k.app(a)
	if r.project != "" {
		manifest = strings.Replace(manifest, "project: default", "project: "+r.project, 1)
	}
	return manifest
}

var waitingFor = regexp.MustCompile(`waiting for healthy state of [^/]*/([A-Za-z]+)/(\S+)`)

// simulate runs argosy simulate on the trees of rules, with the lab's present settings, and holds it to what real Argo CD does.
func (k *kit) simulate(rules []rule, args ...string) {
	k.Helper()
	cm, err := k.lab.Get(k.ctx, "ConfigMap", lab.Namespace, "argocd-cm")
	k.must(err)
	settings, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "argocd-cm"},
		"data": cm.Object["data"],
	})
	k.must(err)
	dir := k.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		k.must(os.MkdirAll(filepath.Dir(file), 0o755))
		k.must(os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	for _, r := range rules {
		for name, text := range r.files {
			write("repo/"+name, text)
		}
	}
	for _, r := range rules {
		all := []string{
			"simulate", "-o", "json", "--offline", "--argocd-version", argocdVersion(), "--progressive-syncs", "on", "--customizations",
			write("cm.yaml", string(settings)),
			"--repo", k.repo.URL + "=" + filepath.Join(dir, "repo"),
		}
		for _, name := range r.never {
			all = append(all, "--never", name)
		}
		out := k.argosyMay(3, append(append(all, args...), write("roots.yaml",
			strings.Join(append(slices.Clone(r.before), k.rootOf(r)), "---\n")))...)
		var s struct {
			Applications []struct {
				Name, Health, Failure string
				Created, Synced       *float64
			}
			Waiting []string
		}
		k.must(json.Unmarshal([]byte(out), &s))
		found := map[string]int{}
		for i, a := range s.Applications {
			found[a.Name] = i + 1
		}
		if found[r.name] == 0 {
			k.Errorf("%s is not in the simulation: %s", r.name, out)
			continue
		}
		root := s.Applications[found[r.name]-1]
		switch m := waitingFor.FindStringSubmatch(r.message); {
		case r.phase == "Succeeded":
			if root.Synced == nil {
				k.Errorf("%s: the sync does not end in the simulation: %v", r.name, s.Waiting)
			}
		case m != nil:
			waits := func(line string) bool {
				return strings.HasPrefix(line, r.name+": its sync waits for ") && strings.Contains(line, m[1]+" "+m[2])
			}
			if !slices.ContainsFunc(s.Waiting, waits) {
				k.Errorf("%s: the sync does not wait for %s %s in the simulation: %v", r.name, m[1], m[2], s.Waiting)
			}
		case root.Failure == "":
			k.Errorf("%s: the sync does not fail in the simulation: %v", r.name, s.Waiting)
		}
		if r.health != "" && r.health != "Degraded" && root.Health != r.health {
			k.Errorf("%s is %s, and %s in the simulation", r.name, r.health, root.Health)
		}
		for object, made := range r.made() {
			i := found[object]
			if got := i > 0 && s.Applications[i-1].Created != nil; got != made {
				k.Errorf("%s: %s is made: %t, and in the simulation: %t", r.name, object, made, got)
			}
		}
	}
}

// made says of Applications whether they are made.
func (r *rule) made() map[string]bool {
	out := map[string]bool{}
	for made, list := range map[bool][]string{true: r.there, false: r.absent} {
		for _, object := range list {
			if name, ok := strings.CutPrefix(object, application+"/"); ok {
				out[name] = made
			}
		}
	}
	return out
}
