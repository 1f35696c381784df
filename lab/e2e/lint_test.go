package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// proof boots the failing example of a rule.
type proof struct {
	// change are files of the example that are others here, such as a workload that never becomes healthy.
	change map[string]string
	// prepare comes before the boot. Nil is nothing.
	prepare func(t *tree)
	// see looks at what goes wrong.
	see func(t *tree)
}

// sick is a workload that never becomes healthy.
var sick = map[string]string{"web/cm.yaml": deployment("web", false)}

// well is one that has a health check.
var well = map[string]string{"web/cm.yaml": deployment("web", true)}

// passes: a wave does not wait for an Application that is not healthy.
func passes(kind string) func(t *tree) {
	return func(t *tree) {
		t.appears(kind, "last")
		t.application("web", inHealth("Progressing"))
	}
}

// stops: a sync waits for something for ever, and what comes behind it is not there.
func stops(app, message, kind, last string) func(t *tree) {
	return func(t *tree) {
		t.operation(app, message)
		t.absent(kind, last)
	}
}

func synced(o *unstructured.Unstructured) bool {
	return text(o, "status", "sync", "status") == "Synced"
}

// gone waits until an object is not there.
func (t *tree) gone(kind, namespace, name string) {
	t.Helper()
	_, err := t.lab.Wait(t.ctx, kind, namespace, name, func(o *unstructured.Unstructured) bool { return o == nil })
	t.must(err)
}

// TestLint boots the failing examples of argosy lint. Those with one health check of Applications boot beside each other.
func TestLint(t *testing.T) {
	k := newKit(t, "lint")
	config, err := filepath.Abs("../../deploy/appset-cmp")
	k.must(err)
	plugin, err := k.lab.StockPlugin(k.ctx, "appset", config, append(k.s3Environment(), k.clusterEnvironment()...)...)
	k.must(err)
	t.Cleanup(plugin.Kill)
	groups := map[string][]*tree{}
	for _, rule := range slices.Sorted(maps.Keys(proofs)) {
		tree := k.newTree(rule)
		maps.Copy(tree.files, proofs[rule].change)
		if prepare := proofs[rule].prepare; prepare != nil {
			prepare(tree)
		}
		check := tree.settings[healthKey]
		if tree.settings == nil {
			check = copyingLua
		}
		groups[check] = append(groups[check], tree)
	}
	k.settings(map[string]string{healthKey: copyingLua})
	// Small groups first: the trees of a group keep Argo CD busy in the next one.
	checks := slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(groups[a]), len(groups[b])), cmp.Compare(a, b))
	})
	for i, check := range checks {
		k.must(k.lab.Patch(k.ctx, "ConfigMap", lab.Namespace, "argocd-cm", dataPatch(map[string]string{healthKey: check})))
		t.Run(fmt.Sprint("check", i), func(t *testing.T) {
			for _, tree := range groups[check] {
				tree.boot()
				t.Run(tree.rule, func(t *testing.T) {
					t.Parallel()
					own := *tree.kit
					own.T = t
					tree.kit = &own
					proofs[tree.rule].see(tree)
				})
			}
		})
	}
}

// settingsProofs are those that need other settings of Argo CD's processes.
var settingsProofs = map[string]proof{
	"rollout-ignored": {change: sick, see: passes("ConfigMap")},
	"wave-delay": {
		change: map[string]string{"web/cm.yaml": sick["web/cm.yaml"], "apps/last.yaml": inWave(configMap("last", "1"), 1)},
		see: func(t *tree) {
			passes("ConfigMap")(t)
			web := t.application("web", inHealth("Progressing"))
			last, err := t.lab.Get(t.ctx, "ConfigMap", lab.Namespace, t.own("last"))
			t.must(err)
			// Times are in whole seconds.
			if pause := last.GetCreationTimestamp().Sub(web.GetCreationTimestamp().Time); pause < waveDelay-time.Second {
				t.Errorf("there is no pause, so this shows nothing: %s", pause)
			}
		},
	},
}

const waveDelay = 5 * time.Second

// TestLintSettings is TestLint in a lab with a long pause between waves, and without progressive syncs and a health check of Applications.
func TestLintSettings(t *testing.T) {
	ownLane.enter(t)
	l, err := lab.Start(t.Context(), lab.Config{Progress: os.Stderr, WaveDelay: waveDelay})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	k := newKitIn(t, l, "lint")
	var trees []*tree
	for _, rule := range slices.Sorted(maps.Keys(settingsProofs)) {
		trees = append(trees, k.newTree(rule))
		maps.Copy(trees[len(trees)-1].files, settingsProofs[rule].change)
		trees[len(trees)-1].boot()
	}
	for _, tree := range trees {
		settingsProofs[tree.rule].see(tree)
	}
}

// TestCRDsStay is why no rule is about CRDs that are pruned: Argo CD gives a CRD no tracking, so it does not prune one that a source has
// lost.
func TestCRDsStay(t *testing.T) {
	k := newKit(t, "crds")
	k.commit(map[string]string{"app/crd.yaml": definition("stays.example.com"), "app/a.yaml": configMap("crds-a", "1")})
	k.apply(k.app(app{name: "crds", path: "app"}))
	k.await("ConfigMap", "crds-a", "created")
	k.await("CustomResourceDefinition", "things.stays.example.com", "created")
	k.commit(map[string]string{"app/crd.yaml": "", "app/a.yaml": "", "app/b.yaml": configMap("crds-b", "1")})
	k.refresh("crds", "normal")
	k.await("ConfigMap", "crds-a", "deleted")
	if !k.exists("CustomResourceDefinition.apiextensions.k8s.io", "", "things.stays.example.com") {
		t.Error("the CRD was pruned")
	}
}

// TestLintPages: the page of a rule says that the lab boots its example if that is so.
func TestLintPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/lint/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(err, pages)
	}
	named := map[string][]string{}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(data), "\n## ")[1:] {
			rule, text, _ := strings.Cut(part, "\n")
			for _, test := range []string{"TestLint", "TestLintSettings"} {
				if strings.Contains(text, "`"+test+"`") {
					named[test] = append(named[test], rule)
				}
			}
		}
	}
	for test, proofs := range map[string]map[string]proof{"TestLint": proofs, "TestLintSettings": settingsProofs} {
		slices.Sort(named[test])
		if want := slices.Sorted(maps.Keys(proofs)); !slices.Equal(want, named[test]) {
			t.Errorf("the pages name %v, and the proofs of %s are %v", named[test], test, want)
		}
	}
}
