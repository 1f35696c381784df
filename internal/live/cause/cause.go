// Package cause finds out why an Application, or a boot, waits: the chain from what waits down to the object and its condition or Event.
//
// It starts from a snapshot of package live, follows what waits for what, and looks at single objects through an interface, within a limit
// of requests. Causes are ranked: the first is the most likely one. An object that it could not read is reported with the reason, and never
// counts as healthy.
package cause

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// Cluster has the objects that Applications deploy. An error is a reason why something could not be looked at.
type Cluster interface {
	// Get returns an object, nil if there is none.
	Get(ctx context.Context, key live.Key) (manifest.Object, error)
	// List returns the objects of a kind in a namespace.
	List(ctx context.Context, group, kind, namespace string) ([]manifest.Object, error)
	// Events returns the Events about an object.
	Events(ctx context.Context, key live.Key) ([]manifest.Object, error)
	// Checks returns the health checks of Argo CD's settings.
	Checks(ctx context.Context) (health.Customizations, error)
	// Version returns the version of Argo CD, 0 if it is not known.
	Version(ctx context.Context) versions.Version
}

// ErrNoKind says that the cluster does not know a kind.
var ErrNoKind = errors.New("the cluster has no kind")

// Kind is a sort of cause.
type Kind string

// Kinds of causes.
const (
	ImagePull    Kind = "image-pull"
	Crash        Kind = "crash"
	NotReady     Kind = "not-ready"
	Config       Kind = "missing-config"
	Unscheduled  Kind = "unscheduled"
	Volume       Kind = "pending-volume"
	Quota        Kind = "quota"
	PodSecurity  Kind = "pod-security"
	MissingCRD   Kind = "missing-crd"
	NoNamespace  Kind = "missing-namespace"
	Webhook      Kind = "webhook"
	Immutable    Kind = "immutable-field"
	Invalid      Kind = "invalid-manifest"
	TooLarge     Kind = "too-large"
	Conflict     Kind = "conflict"
	Rights       Kind = "rights"
	Project      Kind = "project"
	SyncError    Kind = "sync-error"
	Shared       Kind = "shared-object"
	Hook         Kind = "hook"
	Retries      Kind = "retries-exhausted"
	Stale        Kind = "stale-operation"
	Partial      Kind = "partial-sync"
	SameRevision Kind = "same-revision"
	ByHand       Kind = "manual-sync"
	Window       Kind = "sync-window"
	Confirm      Kind = "prune-confirmation"
	Finalizer    Kind = "finalizer"
	Manifests    Kind = "manifests"
	Hydrator     Kind = "hydrator"
	SetError     Kind = "applicationset"
	Plugin       Kind = "plugin"
	Repository   Kind = "repository"
	Destination  Kind = "destination"
	Skipped      Kind = "skip-reconcile"
	Unreconciled Kind = "not-reconciled"
	Degraded     Kind = "unhealthy-object"
	Missing      Kind = "missing-object"
	Wiped        Kind = "empty-source"
	Unknown      Kind = "unknown"
)

// rank is how likely a cause is the first one: the smaller, the more.
func (k Kind) rank() int {
	switch k {
	case Stale:
		return 5
	case Retries, Finalizer:
		return 20
	case SyncError, Hook:
		return 30
	case Degraded, NotReady, Partial, SameRevision, ByHand:
		return 40
	case Missing, Unreconciled:
		return 50
	case Unknown:
		return 90
	}
	return 10 // the object or the message says exactly what is wrong
}

// Cause is why something waits.
type Cause struct {
	Kind Kind
	// App is the Application or set that has the cause.
	App *live.Node
	// Path leads from the requested Application to the object: "root", "wave 1: longhorn", "Deployment storage/ui".
	Path []string
	// Text describes the problem in one sentence.
	Text string
	// Detail is the cluster's message, "" if Text says enough.
	Detail string
	// Fix is the cure, and Command the command for it, if there is one.
	Fix     string
	Command []string
	// Since is when it began; zero is not known.
	Since time.Time
	// Blocks says that the requested Application waits for it. Nothing waits for the other causes.
	Blocks bool

	weight int // of its kind, unless it says otherwise
}

// Report is why something waits.
type Report struct {
	// Asked are the Applications that were asked about.
	Asked []*live.Node
	// Causes are in order, the most likely one first.
	Causes []Cause
	// Unseen lists what could not be read, each with its reason.
	Unseen []Unseen
	// Blind says that some Applications or sets cannot be watched, so there may be others that are not healthy.
	Blind bool
}

// Unseen is something that could not be read.
type Unseen struct {
	// Text names it with the reason.
	Text string
	// Lacks is the right that is missing, nil if that is not the reason.
	Lacks *live.Right
}

// NotRead returns the texts of what could not be read.
func (r *Report) NotRead() []string {
	out := make([]string, len(r.Unseen))
	for i, u := range r.Unseen {
		out[i] = u.Text
	}
	return out
}

// Good reports whether all requested Applications are healthy and synced, and all of them are watched.
func (r *Report) Good() bool {
	if r.Blind {
		return false
	}
	for _, root := range r.Asked {
		good := true
		root.All(func(n *live.Node) { good = good && n.Good() })
		if !good {
			return false
		}
	}
	return true
}

// ExplainAt explains why some Applications are not healthy and synced. Sync windows and health checks are evaluated at the time now: that
// of the last event for a recording, a later one for a live cluster. With a nil cluster, no objects are read.
func ExplainAt(ctx context.Context, now time.Time, s *live.Snapshot, cluster Cluster, asked ...*live.Node) *Report {
	e := &engine{
		now: now,
		ctx: ctx, snapshot: s, cluster: cluster, report: &Report{Asked: asked}, visited: map[*live.Node]bool{}, unseen: map[string]bool{},
		lists: map[live.Key][]manifest.Object{}, healthy: map[live.Key]bool{}, left: maxRequests,
	}
	e.version = sync.OnceValue(func() versions.Version {
		if cluster == nil {
			return 0
		}
		return cluster.Version(ctx)
	})
	for _, source := range s.Sources {
		if source.Lost != nil {
			e.blind(source.String(), source.Lost)
			e.report.Blind = true
		}
	}
	if cluster == nil {
		e.blind("objects", errors.New("there is no cluster to look at"))
	} else if e.checks, e.err = cluster.Checks(ctx); e.err != nil {
		e.blind("Argo CD's health checks", e.err)
	}
	e.blocks = true
	for _, n := range asked {
		e.walk(n, []string{s.Title(n)})
	}
	// Others are wrong, and nothing waits for them.
	e.blocks = false
	for _, n := range asked {
		n.All(func(n *live.Node) {
			if !n.Missing || n.Unseen != "" {
				e.walk(n, e.path(n))
			}
		})
	}
	slices.SortStableFunc(e.report.Causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(later(a.Blocks), later(b.Blocks)), cmp.Compare(a.weight, b.weight))
	})
	return e.report
}

// ExplainOne is ExplainAt about one Application. Sources that cannot be watched do not matter: what is below it is in its own status.
func ExplainOne(ctx context.Context, now time.Time, s *live.Snapshot, cluster Cluster, asked *live.Node) *Report {
	r := ExplainAt(ctx, now, s, cluster, asked)
	r.Blind = false
	return r
}

// ExplainAll is ExplainAt about many Applications: if some are not good, it is about those only.
func ExplainAll(ctx context.Context, now time.Time, s *live.Snapshot, cluster Cluster, asked ...*live.Node) *Report {
	bad := slices.DeleteFunc(slices.Clone(asked), func(n *live.Node) bool { return (&Report{Asked: []*live.Node{n}}).Good() })
	if len(bad) > 0 {
		asked = bad
	}
	return ExplainAt(ctx, now, s, cluster, asked...)
}

func later(blocks bool) int {
	if blocks {
		return 0
	}
	return 1
}

// maxRequests bounds the requests about one question, maxObjects the objects of one Application that are looked at.
const (
	maxRequests = 400
	maxObjects  = 40
)

type engine struct {
	ctx      context.Context
	now      time.Time
	snapshot *live.Snapshot
	cluster  Cluster
	checks   health.Customizations
	err      error
	version  func() versions.Version // of Argo CD; read when it is needed first
	report   *Report
	visited  map[*live.Node]bool
	unseen   map[string]bool
	lists    map[live.Key][]manifest.Object // by kind and namespace
	healthy  map[live.Key]bool              // objects that were looked at
	left     int
	blocks   bool
}

// path is how a node is reached from its root.
func (e *engine) path(n *live.Node) []string {
	if n.Parent == nil {
		return []string{e.snapshot.Title(n)}
	}
	return append(e.path(n.Parent), e.step(n))
}

// step is a node below its parent.
func (e *engine) step(n *live.Node) string {
	if n.Parent == nil || n.Parent.Set {
		return e.snapshot.Title(n)
	}
	return fmt.Sprintf("wave %d: %s", n.Wave, e.snapshot.Title(n))
}

// blind says that something could not be looked at.
func (e *engine) blind(what string, err error) {
	u := Unseen{Text: fmt.Sprintf("%s: %v", what, err)}
	if lacks := (*live.NoRightError)(nil); errors.As(err, &lacks) { // it is missing for all objects of a kind
		u = Unseen{lacks.Error(), &lacks.Right}
	}
	u.Text = words.Shorten(u.Text, 300)
	if !e.unseen[u.Text] {
		e.unseen[u.Text] = true
		e.report.Unseen = append(e.report.Unseen, u)
	}
}

// add adds a cause, unless the same is there.
func (e *engine) add(c Cause) {
	if c.weight == 0 {
		c.weight = c.Kind.rank()
	}
	c.Blocks, c.Text, c.Detail = e.blocks, giturl.RedactText(c.Text), giturl.RedactText(c.Detail)
	for _, other := range e.report.Causes {
		if other.Kind == c.Kind && other.App == c.App && other.Text == c.Text {
			return
		}
	}
	c.Path = slices.Clone(c.Path)
	e.report.Causes = append(e.report.Causes, c)
}

// walk adds the causes of a node, and of the nodes that it waits for.
func (e *engine) walk(n *live.Node, path []string) {
	if e.visited[n] || n.Good() {
		return
	}
	e.visited[n] = true
	before := len(e.report.Causes)
	if n.Unseen != "" {
		e.add(Cause{Kind: Unknown, App: n, Path: path, Text: fmt.Sprintf("%s cannot be watched: %s", e.snapshot.Title(n), n.Unseen)})
		return
	}
	if n.Missing {
		e.walkMissing(n, path)
	} else {
		e.application(n, path)
		waits := false
		for _, w := range n.Waits {
			if w.Node != nil && !w.Node.Good() {
				waits = true
				e.walk(w.Node, append(path, e.step(w.Node)))
			}
		}
		e.objects(n, path)
		if waits {
			return // the cause is there, and was added once
		}
	}
	if len(e.report.Causes) == before {
		e.nothing(n, path)
	}
}

// walkMissing explains an Application that its parent has not created.
func (e *engine) walkMissing(n *live.Node, path []string) {
	parent := n.Parent
	if !e.visited[parent] {
		e.walk(parent, append(path, fmt.Sprintf("not created by %s", e.snapshot.Title(parent))))
	}
}

// nothing adds the cause of a node without any known problem: it runs, waits, or is not synced.
func (e *engine) nothing(n *live.Node, path []string) {
	c := Cause{Kind: Unknown, App: n, Path: path, Since: n.HealthSince}
	switch op := n.Operation; {
	case n.Missing && e.visited[n.Parent] && len(e.report.Causes) > 0:
		return // the parent is explained
	case n.Missing:
		parent := e.snapshot.Title(n.Parent)
		c.Text = fmt.Sprintf("%s is not created, and its parent %s is not syncing", e.snapshot.Title(n), parent)
		if !n.Parent.Set {
			c.Fix, c.Command = "start a sync of "+parent, []string{"argocd", "app", "sync", parent}
		}
	case op.Running():
		c.Text = fmt.Sprintf("%s is syncing; no problem was found", e.snapshot.Title(n))
		c.Detail, c.Since = op.Message, op.Started
	case !n.Hydration.Done():
		c.Text = fmt.Sprintf("the source of %s is being hydrated; no problem was found", e.snapshot.Title(n))
		c.Detail, c.Since = n.Hydration.Message, n.Hydration.Started
	case n.Requested:
		c.Text = fmt.Sprintf("a sync of %s is requested, and has not begun", e.snapshot.Title(n))
		c.Fix = "check that the application-controller runs, and read its log"
	default:
		c.Text = fmt.Sprintf("%s is %s; Argosy found no reason in the objects that it could read", e.snapshot.Title(n), n.Describe())
	}
	e.add(c)
}
