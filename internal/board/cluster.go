package board

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/board/scene"
	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/retry"
)

// cluster is a real boot: a live one, or a recording.
type cluster struct {
	model   *live.Model
	objects cause.Cluster
	now     func() time.Time
	// scene is the scene of a recording. Nil for a live cluster.
	scene   *scene.Scene
	planned *scene.Scene // nil is none
	argocd  string
}

// FromCluster shows a boot that goes on. Planned is the plan that it is compared with, nil for none; argocd the URL of Argo CD's own page.
func FromCluster(b *follow.Boot, planned *scene.Scene, argocd string) Source {
	return &cluster{model: b.Model(), objects: b.Cluster(), now: b.Now, planned: planned, argocd: argocd}
}

// FromRecording reads a recorded boot. name is its name in errors, namespace Argo CD's; planned and argocd are as in FromCluster.
func FromRecording(name string, r io.Reader, namespace string, planned *scene.Scene, argocd string) (Source, error) {
	s, model, err := scene.Replay(name, r, namespace)
	if err != nil {
		return nil, err
	}
	return &cluster{
		model: model, objects: cause.Recorded(model.Objects()), now: func() time.Time { return model.Snapshot().At }, scene: s,
		planned: planned, argocd: argocd,
	}, nil
}

// pause is how long changes of a cluster are collected.
const pause = 300 * time.Millisecond

// Run implements Source.
func (c *cluster) Run(ctx context.Context, publish func(*scene.Scene)) error {
	if c.scene != nil {
		c.finish(c.scene)
		publish(c.scene)
		<-ctx.Done()
		return nil
	}
	var t scene.Tracker
	for ctx.Err() == nil {
		changed := c.model.Changed()
		s := t.Observe(c.model.Snapshot())
		c.finish(s)
		publish(s)
		select {
		case <-ctx.Done():
		case <-changed:
			retry.Wait(ctx, time.After(pause))
		}
	}
	return nil
}

func (c *cluster) finish(s *scene.Scene) {
	s.ArgoCD = c.argocd
	if c.planned != nil {
		s.Compare(c.planned)
	}
}

// find returns the node of a key, nil if there is none.
func (c *cluster) find(snap *live.Snapshot, key string) *live.Node {
	for _, n := range snap.Nodes {
		if scene.Key(n.Set, n.Namespace, n.Name) == key {
			return n
		}
	}
	return nil
}

// Why implements Source.
func (c *cluster) Why(ctx context.Context, key string, visible func(string) bool) (any, error) {
	snap := c.model.Snapshot()
	ctx, cancel := context.WithTimeout(ctx, follow.Looking)
	defer cancel()
	if key == "" {
		return report.WhyObject(cause.ExplainAll(ctx, c.now(), snap, c.objects, snap.Roots...)), nil
	}
	n := c.find(snap, key)
	if n == nil {
		return nil, fmt.Errorf("%s is gone", key)
	}
	r := cause.ExplainOne(ctx, c.now(), snap, c.objects, n)
	if visible != nil {
		r = restricted(snap, r, visible)
	}
	return report.WhyObject(r), nil
}

// restricted removes from a report what the viewer may not see: causes of other Applications, names on the path to a cause, and texts of
// Argo CD that name other Applications.
func restricted(snap *live.Snapshot, r *cause.Report, visible func(string) bool) *cause.Report {
	out := &cause.Report{Asked: r.Asked, Blind: r.Blind}
	hidden := false
	var names []string
	for _, root := range snap.Roots {
		root.All(func(n *live.Node) {
			if !visible(scene.Key(n.Set, n.Namespace, n.Name)) {
				names = append(names, n.Name)
			}
		})
	}
	tells := func(texts ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return slices.ContainsFunc(texts, func(text string) bool { return mentions(text, name) })
		})
	}
	for _, x := range r.Causes {
		if !visible(scene.Key(x.App.Set, x.App.Namespace, x.App.Name)) {
			hidden = true
			continue
		}
		x.Path = []string{snap.Title(x.App)}
		if tells(x.Detail) {
			x.Detail = ""
		}
		if tells(slices.Concat(x.Command, []string{x.Text, x.Fix})...) {
			x.Text, x.Fix, x.Command = "it waits for "+scene.Hidden, "", nil
		}
		out.Causes = append(out.Causes, x)
	}
	for _, u := range r.Unseen {
		if u := (cause.Unseen{Text: discreet(u)}); !slices.Contains(out.Unseen, u) {
			out.Unseen = append(out.Unseen, u)
		}
	}
	if hidden {
		out.Unseen = append(out.Unseen, cause.Unseen{Text: "causes of " + scene.Hidden})
	}
	return out
}

// discreet says that something could not be looked at, without naming it: a right that is missing without its namespace, all else in
// general.
func discreet(u cause.Unseen) string {
	if u.Lacks != nil {
		return live.NoRight + u.Lacks.Anywhere()
	}
	return "some objects could not be read"
}

// mentions reports whether a text has a name as a word.
func mentions(text, name string) bool {
	part := func(b byte) bool { return b == '-' || b == '.' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' }
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		// A dot may end a sentence.
		after := end < len(text) && part(text[end]) && (text[end] != '.' || end+1 < len(text) && part(text[end+1]))
		if (i == 0 || !part(text[i-1])) && !after {
			return true
		}
		from = i + 1
	}
	return false
}

// App implements Source.
func (c *cluster) App(ctx context.Context, key string) (*Detail, error) {
	n := c.find(c.model.Snapshot(), key)
	if n == nil {
		return nil, nil
	}
	d := &Detail{}
	for _, r := range n.Resources {
		d.Objects = append(d.Objects, Object{
			Wave: r.Wave, Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Health: string(r.Health), Sync: r.Sync,
			Message: r.Message, Hook: r.Hook,
		})
	}
	sortObjects(d.Objects)
	switch {
	case n.Unseen != "":
		d.Note = "it cannot be watched: " + n.Unseen
	case n.Missing:
		d.Note = "it is not created yet"
	case c.scene != nil:
		d.Note = "a recording does not have specs"
	default:
		o, err := c.objects.Get(ctx, n.Key())
		switch {
		case err != nil:
			d.Note = "its spec cannot be read: " + live.Brief(err)
		case o != nil:
			d.Spec = specOf(o)
		}
	}
	d.Note = cmp.Or(d.Note, n.Cut)
	return d, nil
}

// specOf is an Application as its author wrote it, as YAML, without passwords in URLs.
func specOf(o manifest.Object) string {
	meta := map[string]any{"name": manifest.String(o, "metadata", "name"), "namespace": manifest.String(o, "metadata", "namespace")}
	for _, field := range []string{"labels", "annotations"} {
		if m := manifest.Map(o, "metadata", field); len(m) > 0 {
			kept := map[string]any{}
			for k, v := range m {
				if k != "kubectl.kubernetes.io/last-applied-configuration" {
					kept[k] = v
				}
			}
			meta[field] = kept
		}
	}
	out := manifest.Object{"apiVersion": argo.Group + "/v1alpha1", "kind": o["kind"], "metadata": meta, "spec": o["spec"]}
	return giturl.RedactText(string(manifest.AppendYAML(nil, out)))
}
