package handover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// stateAnnotation stores the state of a hand-over of a folder: on the root its state, on a set the fields that stopping it has replaced.
const stateAnnotation = "argosy.dev/handover"

// state is the state of a hand-over, from the first change to the last.
type state struct {
	// Plain and Plugin are the sources of the root in both worlds.
	Plain  map[string]any `json:"plain"`
	Plugin map[string]any `json:"plugin"`
	// Automated is the automated sync of the root, as it was. Nil is none; an empty one is on.
	Automated map[string]any `json:"automated"`
	// Sets are the ApplicationSets of the folder, and Applications their Applications.
	Sets         []argo.Ref `json:"sets,omitempty"`
	Applications []argo.Ref `json:"applications,omitempty"`
}

// folder is a hand-over of all sets of a folder and the cluster as it was seen last.
type folder struct {
	Config

	root  manifest.Object
	probe manifest.Object // the Application that proves that the plugin renders the same; nil is not there
	state state
	begun bool // the state was read from the cluster
	sets  []*run
}

// RunFolder moves all sets that an Application deploys to the plugin in the source of this Application, or back. Set is the Application.
//
// The order matters here, too. A second Application proves that the plugin renders the same Applications. Then the automated sync of the
// root is turned off, the sets are stopped, let go and deleted as in Run, and only then the root gets the plugin: with sets that own
// Applications, the guard of the plugin would refuse to answer. On the way back, a sync of the sets alone, without pruning, brings them
// again, and the automated sync of the root stays off until the controller owns all of their Applications.
func (c Config) RunFolder(ctx context.Context) error {
	c.Tell = harmless(c.Tell)
	f := &folder{Config: c}
	if err := f.look(ctx); err != nil {
		return err
	}
	if f.root == nil {
		return fmt.Errorf("%s %s is not in the cluster", argo.KindApplication, c.Set)
	}
	if err := undisturbed(ctx, c, "Application "+c.Set.String(), f.root); err != nil {
		return err
	}
	if !f.begun {
		if convert.UsesFolder(f.root) != c.Back { // it is there already
			return c.follow(ctx, []step{
				f.withoutProbe(),
				{fmt.Sprintf("wait until Application %s is Synced", c.Set), f.isSynced, func(context.Context) error { return nil }},
			}, f.look)
		}
		if err := f.begin(ctx); err != nil {
			return err
		}
	}
	if c.Back {
		return c.follow(ctx, f.backward(), f.look)
	}
	return c.follow(ctx, f.forward(), f.look)
}

func (f *folder) probeRef() argo.Ref {
	return argo.Ref{Namespace: f.Set.Namespace, Name: f.Set.Name + "-handover"}
}

// look reads the cluster.
func (f *folder) look(ctx context.Context) (err error) {
	if f.root, err = f.Cluster.Object(ctx, argo.KindApplication, f.Set); err != nil {
		return err
	}
	if f.probe, err = f.Cluster.Object(ctx, argo.KindApplication, f.probeRef()); err != nil {
		return err
	}
	f.begun = false
	if text := manifest.String(f.root, "metadata", "annotations", stateAnnotation); text != "" {
		var s state
		if err := json.Unmarshal([]byte(text), &s); err != nil || s.Plain == nil || s.Plugin == nil {
			return fmt.Errorf("%s %s: annotation %s: it is not the state of a hand-over", argo.KindApplication, f.Set, stateAnnotation)
		}
		f.state, f.begun = s, true
	}
	refs := f.state.Sets
	if len(refs) == 0 { // those of the folder, once Argo CD has rendered it
		refs = f.resources(argo.KindApplicationSet)
	}
	owners := map[string]map[string][]string{}
	f.sets = nil
	for _, ref := range refs {
		r := &run{Config: f.Config, names: f.namesOf(ref)}
		r.Set, r.Parent = ref, f.Set.Name
		if r.set, err = f.Cluster.Object(ctx, argo.KindApplicationSet, ref); err != nil {
			return err
		}
		if owners[ref.Namespace] == nil {
			if owners[ref.Namespace], err = f.Cluster.Owned(ctx, ref.Namespace); err != nil {
				return err
			}
		}
		r.owners = owners[ref.Namespace]
		if r.set != nil {
			// The state is on the root: its editors may have written any name.
			if by, ok := f.Tracking.Owner(r.set, f.Argo); !ok || by != f.Set {
				return fmt.Errorf("ApplicationSet %s is not deployed by Application %s", ref, f.Set)
			}
			if r.origin, err = fromAnnotation(r.set); err != nil {
				return fmt.Errorf("ApplicationSet %s: %w", ref, err)
			}
		}
		f.sets = append(f.sets, r)
	}
	return nil
}

// namesOf keeps the names of a set's Applications from one look to the next.
func (f *folder) namesOf(set argo.Ref) []string {
	for _, r := range f.sets {
		if r.Set == set {
			return r.names
		}
	}
	return nil
}

// fromAnnotation returns a set as it was before it was stopped.
func fromAnnotation(set manifest.Object) (manifest.Object, error) {
	out := clean(set)
	if !isStopped(set) {
		return out, nil
	}
	var spec map[string]any
	text := manifest.String(set, "metadata", "annotations", stateAnnotation)
	if err := json.Unmarshal([]byte(text), &spec); err != nil || spec["generators"] == nil {
		return nil, errors.New("it is stopped, and does not say what its generators were; apply it again")
	}
	unstop(out, spec)
	return out, nil
}

// resources are the objects of a kind of Argo CD in the status of the root, hooks left out: what it deploys, and what it would prune.
func (f *folder) resources(kind string) []argo.Ref { return resourcesOf(f.root, kind, nil) }

func resourcesOf(app manifest.Object, kind string, keep func(map[string]any) bool) []argo.Ref {
	list, _ := manifest.Map(app, "status")["resources"].([]any)
	var out []argo.Ref
	for _, v := range list {
		m, _ := v.(map[string]any)
		if manifest.String(m, "group") == argo.Group && manifest.String(m, "kind") == kind && m["hook"] != true &&
			(keep == nil || keep(m)) {
			out = append(out, argo.Ref{Namespace: manifest.String(m, "namespace"), Name: manifest.String(m, "name")})
		}
	}
	slices.SortFunc(out, func(a, b argo.Ref) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func pruned(m map[string]any) bool { return m["requiresPruning"] == true }

// begin checks that a hand-over may start, and finds its state.
func (f *folder) begin(ctx context.Context) error {
	if status := manifest.String(f.root, "status", "sync", "status"); status != argo.Synced && !f.Back {
		return fmt.Errorf("%s %s is %s; it must be Synced before its sets are moved", argo.KindApplication, f.Set, words.OrDash(status))
	}
	destination := manifest.Map(f.root, "spec", "destination")
	if !generator.ClusterList(nil).Local(manifest.String(destination, "name"), manifest.String(destination, "server")) {
		return fmt.Errorf("%s %s deploys to another cluster, where this controller renders no sets", argo.KindApplication, f.Set)
	}
	f.state = state{Automated: manifest.Map(f.root, "spec", "syncPolicy", "automated")}
	if f.Back {
		if why := troubles(f.root); why != "" {
			return fmt.Errorf("%s %s: %s", argo.KindApplication, f.Set, why)
		}
		if gone := resourcesOf(f.root, argo.KindApplication, pruned); len(gone) > 0 {
			return fmt.Errorf("%s %s would prune %s; sync it first", argo.KindApplication, f.Set, words.Some(texts(gone)))
		}
		f.state.Plain, f.state.Plugin = convert.PlainSource(f.root), manifest.Map(f.root, "spec", "source")
		f.state.Applications = f.resources(argo.KindApplication)
		return nil
	}
	var err error
	f.state.Plain = manifest.Map(f.root, "spec", "source")
	if f.state.Plugin, err = convert.FolderSource(f.root); err != nil {
		return fmt.Errorf("%s %s: %w", argo.KindApplication, f.Set, err)
	}
	if len(f.sets) == 0 {
		return fmt.Errorf("%s %s deploys no ApplicationSet", argo.KindApplication, f.Set)
	}
	return f.agree(ctx)
}

// agree compares all sets with the Applications in the cluster.
func (f *folder) agree(ctx context.Context) error {
	var errs []error
	seen := map[argo.Ref]argo.Ref{}
	for _, r := range f.sets {
		f.state.Sets = append(f.state.Sets, r.Set)
		if r.set == nil {
			errs = append(errs, fmt.Errorf("ApplicationSet %s is not in the cluster", r.Set))
			continue
		}
		for _, lack := range convert.Lacking(f.root, r.origin) {
			errs = append(errs, fmt.Errorf("ApplicationSet %s: %s", r.Set, lack))
		}
		if !convert.Updates(r.origin) {
			f.Tell(fmt.Sprintf("note: ApplicationSet %s does not update Applications; after --back, the controller treats its "+
				"Applications as new, and overwrites manual changes once", r.Set))
		}
		r.target = f.root // its ignoreDifferences count
		more, err := r.compare(ctx)
		if err != nil {
			return err
		}
		errs = append(errs, more...)
		for _, name := range r.names {
			ref := argo.Ref{Namespace: r.Set.Namespace, Name: name}
			if other, ok := seen[ref]; ok {
				errs = append(errs, fmt.Errorf("%s %s: ApplicationSets %s and %s render it", argo.KindApplication, ref, other, r.Set))
			}
			if seen[ref] = r.Set; ref == f.probeRef() {
				errs = append(errs, fmt.Errorf("%s %s has the name that argosy needs for a temporary Application; rename it in its set",
					argo.KindApplication, ref))
			}
			f.state.Applications = append(f.state.Applications, ref)
		}
	}
	if len(errs) > 0 {
		return errors.Join(append([]error{fmt.Errorf("the sets of Application %s and their Applications in the cluster disagree; nothing "+
			"was changed", f.Set)}, errs...)...)
	}
	return nil
}

// exchange is a patch that makes one map of another.
func exchange(old, wanted map[string]any) map[string]any {
	out := maps.Clone(wanted)
	for k := range old {
		if _, ok := wanted[k]; !ok {
			out[k] = nil
		}
	}
	for k, v := range wanted {
		a, ok1 := old[k].(map[string]any)
		b, ok2 := v.(map[string]any)
		if ok1 && ok2 {
			out[k] = exchange(a, b)
		}
	}
	return out
}
