package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// Snapshot is a boot at one moment. It never changes.
type Snapshot struct {
	// At is the time of the last event.
	At      time.Time
	Sources []Source
	// Roots are the nodes without a parent.
	Roots []*Node
	// Nodes are all Applications and sets, each parent before its children, and those by phase, wave and name.
	Nodes []*Node

	namespace string
	byKey     map[Key]*Node
}

// Node is an Application or an ApplicationSet in its place.
type Node struct {
	*Application
	// Missing says that its parent is going to create it, and has not yet; or, with Unseen, that it may be there.
	Missing bool
	// Unseen is why it cannot be watched, "" if it can.
	Unseen   string
	Parent   *Node // nil is a root
	Children []*Node
	Depth    int
	// Waits are the nodes and objects that it waits for.
	Waits []Wait
}

// Reason is the way in which something waits.
type Reason string

// Reasons.
const (
	ForHealth   Reason = "health"   // its sync waits until an object is healthy
	ForHook     Reason = "hook"     // its sync waits until a hook has ended
	ForDeletion Reason = "deletion" // its sync waits until an object is deleted
	ForRetry    Reason = "retry"    // its sync failed and is tried again
	ForWindow   Reason = "window"   // a sync window blocks its sync
	ForWave     Reason = "wave"     // it is in a later wave of its parent, which has not come to it
	ForChild    Reason = "child"    // its health depends on the children
	ForNobody   Reason = "nobody"   // it has no automated sync
)

// Wait is something that an Application waits for.
type Wait struct {
	Reason Reason
	Object Key
	// Node is set if the object is an Application or a set that is known.
	Node *Node
}

func newSnapshot(namespace string, at time.Time, apps map[Key]*Application, sources []Source) *Snapshot {
	s := &Snapshot{At: at, Sources: sources, namespace: namespace, byKey: make(map[Key]*Node, len(apps))}
	keys := make([]Key, 0, len(apps))
	sets := map[string]Key{} // by UID
	for key, a := range apps {
		keys = append(keys, key)
		s.byKey[key] = &Node{Application: a}
		if a.Set {
			sets[a.UID] = key
		}
	}
	slices.SortFunc(keys, compareKeys)
	parents := s.parents(keys, sets)
	for _, key := range keys {
		if parent, ok := parents[key]; ok {
			s.byKey[key].Parent = s.byKey[parent]
		}
	}
	s.cutLoops(keys)
	for _, key := range keys {
		n := s.byKey[key]
		s.addMissing(n)
	}
	all := make([]*Node, 0, len(s.byKey))
	for _, n := range s.byKey {
		all = append(all, n)
	}
	slices.SortFunc(all, compareNodes)
	for _, n := range all {
		if n.Parent == nil {
			s.Roots = append(s.Roots, n)
		} else {
			n.Parent.Children = append(n.Parent.Children, n)
		}
	}
	for _, root := range s.Roots {
		s.place(root, 0)
	}
	for _, n := range s.Nodes {
		n.Waits = s.waits(n)
	}
	return s
}

func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

func compareNodes(a, b *Node) int {
	return cmp.Or(order.Compare(a.Phase, a.Wave, b.Phase, b.Wave), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Namespace, b.Namespace), compareKeys(a.Key(), b.Key()))
}

// parents finds the parent of each Application: by the owning set, the tracking annotation, the resources of Applications, and last the
// tracking label, which charts set, too.
func (s *Snapshot) parents(keys []Key, sets map[string]Key) map[Key]Key {
	listed := map[Key]Key{}
	for _, key := range keys {
		for _, r := range s.byKey[key].deploys {
			if r.Key != key {
				if _, twice := listed[r.Key]; !twice {
					listed[r.Key] = key
				}
			}
		}
	}
	out := map[Key]Key{}
	for _, key := range keys {
		a := s.byKey[key].Application
		set, owned := sets[a.owner]
		parent, inResources := listed[key]
		// Another Argo CD of the cluster may have Applications of the same names.
		namespace := cmp.Or(a.controller, s.namespace)
		switch tracked, labelled := application(a.tracked, namespace), application(instance(a.label), namespace); {
		case owned && a.owner != "":
			out[key] = set
		case s.byKey[tracked] != nil && tracked != key:
			out[key] = tracked
		case inResources:
			out[key] = parent
		case a.tracked == argo.Ref{} && s.byKey[labelled] != nil && labelled != key:
			out[key] = labelled
		}
	}
	return out
}

func instance(value string) argo.Ref {
	if value == "" {
		return argo.Ref{}
	}
	return argo.Instance(value, "")
}

// application is the key of an Application; one without a namespace is in that of its Argo CD.
func application(r argo.Ref, namespace string) Key {
	return Key{argo.Group, argo.KindApplication, cmp.Or(r.Namespace, namespace), r.Name}
}

// cutLoops makes one Application of each cycle a root.
func (s *Snapshot) cutLoops(keys []Key) {
	done := map[*Node]bool{}
	for _, key := range keys {
		path := map[*Node]bool{}
		n := s.byKey[key]
		for ; n != nil && !done[n]; n = n.Parent {
			path[n] = true
			if path[n.Parent] {
				n.Parent = nil
			}
		}
		for n := range path {
			done[n] = true
		}
	}
}

// addMissing adds the Applications and sets that one deploys and that do not exist yet, or cannot be watched.
func (s *Snapshot) addMissing(parent *Node) {
	for _, r := range parent.deploys {
		if s.byKey[r.Key] != nil {
			continue
		}
		n := &Node{Parent: parent, Missing: true, Unseen: s.unseen(r.Key), Application: &Application{
			Ref: argo.Ref{Namespace: r.Namespace, Name: r.Name}, Set: r.Kind == argo.KindApplicationSet, Wave: r.Wave, Phase: order.Sync,
			Health: health.Missing, Sync: r.Sync,
		}}
		if n.Unseen != "" {
			n.Health = health.Unknown
		}
		s.byKey[r.Key] = n
	}
}

// unseen is why an Application or a set cannot be watched, "" if it can.
func (s *Snapshot) unseen(k Key) string {
	reason, listed := "", false
	for _, source := range s.Sources {
		switch {
		case source.Scope == Scope{k.Kind, k.Namespace, k.Name} && source.Lost != nil: // it alone
			return Brief(source.Lost)
		case source.Kind != k.Kind || source.Name != "" || source.Namespace != "" && source.Namespace != k.Namespace:
		case source.Listed:
			listed = true
		case source.Lost != nil:
			reason = Brief(source.Lost)
		}
	}
	if listed {
		return ""
	}
	return reason
}

func (s *Snapshot) place(n *Node, depth int) {
	n.Depth = depth
	s.Nodes = append(s.Nodes, n)
	for _, child := range n.Children {
		s.place(child, depth+1)
	}
}

// waits returns the nodes and objects that a node waits for.
func (s *Snapshot) waits(n *Node) []Wait {
	op := n.Operation
	switch {
	case n.Unseen != "":
		return nil
	case n.Missing:
		return []Wait{{Reason: ForWave, Object: n.Parent.Key(), Node: n.Parent}}
	case op.InWindow():
		return []Wait{{Reason: ForWindow}}
	case op.Retrying():
		return []Wait{{Reason: ForRetry}}
	}
	var out []Wait
	for _, r := range op.awaited() {
		key := r.Key
		if key.Namespace == "" && key.isArgo() {
			key.Namespace = n.Namespace
		}
		out = append(out, Wait{Reason: op.Waits.For, Object: r.Key, Node: s.byKey[key]})
	}
	if len(out) > 0 || op.Running() {
		return out
	}
	if !n.Set && !n.Automated && n.Sync == argo.OutOfSync {
		out = append(out, Wait{Reason: ForNobody})
	}
	if n.Health != health.Healthy || n.Set {
		for _, child := range n.Children {
			if !child.Good() {
				out = append(out, Wait{Reason: ForChild, Object: child.Key(), Node: child})
			}
		}
	}
	return out
}

// Good reports whether an Application exists, is not being deleted, is hydrated, healthy and synced, and nothing of it runs. A set is good
// if it has rendered its Applications.
func (n *Node) Good() bool {
	return n.Settled() && n.Health == health.Healthy && (n.Set || n.Sync == argo.Synced)
}

// Settled reports whether an Application exists, is not being deleted, was hydrated if it has to be, and nothing of it runs.
func (n *Node) Settled() bool {
	return !n.Missing && n.Deleting.IsZero() && n.Hydration.Done() && !n.Operation.Running() && !n.Requested
}

// Trouble returns the first error that Argo CD reports: a condition, a failed hydration or sync. what is "" if there is none.
func (n *Node) Trouble() (what, message string) {
	if n.Hydration.Failed() {
		return "its source was not hydrated", n.Hydration.Message
	}
	for _, c := range n.Conditions {
		if argo.IsError(c.Type) || n.Set && argo.IsSetError(c.Type, c.Status) {
			return c.Type, c.Message
		}
	}
	if op := n.Operation; op != nil && (op.Phase == argo.PhaseFailed || op.Phase == argo.PhaseError) {
		return "its sync failed", op.Message
	}
	return "", ""
}

// All calls do for a node and everything below it.
func (n *Node) All(do func(*Node)) {
	do(n)
	for _, child := range n.Children {
		child.All(do)
	}
}

// Running returns the phase and the wave that its sync is in, and whether it is in one.
func (n *Node) Running() (wave int, ok bool) {
	for i, r := range n.Operation.awaited() {
		for _, known := range n.Resources {
			if known.Key == r.Key {
				return known.Wave, true
			}
		}
		if w := n.waitFor(i); w != nil {
			return w.Wave, true
		}
	}
	return 0, false
}

func (n *Node) waitFor(i int) *Node {
	if i < len(n.Waits) {
		return n.Waits[i].Node
	}
	return nil
}

// Get returns the node of an object, nil if it is not known.
func (s *Snapshot) Get(key Key) *Node { return s.byKey[key] }

// Find returns the Application of a name, NAME or NAMESPACE/NAME; nil if there is none. Several are an error.
func (s *Snapshot) Find(name string) (*Node, error) {
	namespace, short, qualified := strings.Cut(name, "/")
	if !qualified {
		short = name
	}
	var found []*Node
	for _, n := range s.Nodes {
		if !n.Set && n.Name == short && (!qualified || n.Namespace == namespace) {
			found = append(found, n)
		}
	}
	if len(found) > 1 {
		var names []string
		for _, n := range found {
			names = append(names, n.String())
		}
		return nil, problem.Usagef("there are several Applications %q; name one as NAMESPACE/NAME: %s", name, words.Some(names))
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found[0], nil
}

// Title is the name of a node in reports: that of an Application in Argo CD's namespace, or with its namespace.
func (s *Snapshot) Title(n *Node) string {
	name := n.Name
	if n.Namespace != s.namespace {
		name = n.String()
	}
	if n.Set {
		return fmt.Sprintf("%s %s", argo.KindApplicationSet, name)
	}
	return name
}

// Stale returns the sources whose watch was lost: their state may be out of date.
func (s *Snapshot) Stale() []Source {
	return slices.DeleteFunc(slices.Clone(s.Sources), func(x Source) bool { return !x.Listed || x.Lost == nil })
}

// Unwatched returns the sources that were never watched, each with its reason. Their Applications are unknown.
func (s *Snapshot) Unwatched() []Source {
	return slices.DeleteFunc(slices.Clone(s.Sources), func(x Source) bool { return x.Listed || x.Lost == nil })
}

// Namespace is Argo CD's.
func (s *Snapshot) Namespace() string { return s.namespace }
