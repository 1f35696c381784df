package cause

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// remote reports whether an Application deploys to another cluster, as far as its destination tells: the list of clusters is in Secrets,
// which are not read.
func remote(n *live.Node) bool { return !generator.ClusterList(nil).Local(n.Cluster, n.Server) }

// objects explains the objects that an Application waits for, or its unhealthy ones. If none of them is the reason, another object may be
// in deletion: Argo CD calls that Progressing.
func (e *engine) objects(n *live.Node, path []string) {
	before := len(e.report.Causes)
	e.look(n, path, e.suspects(n), e.object)
	if len(e.report.Causes) > before || n.Set || n.Good() || n.Operation.Running() || n.Deleting.IsZero() && n.Sync == argo.SyncUnknown {
		return
	}
	var others []live.Key
	for _, r := range n.Resources {
		if !isApplication(r.Key) && (n.Health == health.Progressing || r.Prune) && !e.hasHealth(r) {
			others = append(others, r.Key)
		}
	}
	e.look(n, path, others, func(n *live.Node, at way, key live.Key) {
		if o, err := e.lookup(key); err == nil && manifest.String(o, "metadata", "deletionTimestamp") != "" {
			e.stuck(n, at.path, o)
		}
	})
}

// way leads to an object.
type way struct {
	path []string
	hook string // the type of the hook on it; "" is none
}

// to is the way to an object that the last one owns.
func (w way) to(key live.Key) way { return way{append(slices.Clone(w.path), key.String()), w.hook} }

// look calls do for objects, up to a limit.
func (e *engine) look(n *live.Node, path []string, keys []live.Key, do func(n *live.Node, at way, key live.Key)) {
	if len(keys) == 0 || e.cluster == nil {
		return
	}
	if remote(n) {
		e.blind("objects of "+e.snapshot.Title(n), fmt.Errorf("they are in cluster %s", cmp.Or(n.Cluster, n.Server)))
		return
	}
	for i, key := range keys {
		if i == maxObjects {
			e.blind("objects of "+e.snapshot.Title(n), fmt.Errorf("%d of %d were read", maxObjects, len(keys)))
			return
		}
		step, hook := key.String(), hookOf(n, key)
		if hook != "" {
			step = hook + " hook " + step
		}
		do(n, way{append(slices.Clone(path), step), hook}, key)
	}
}

// suspects are the objects of an Application that may be the reason, the most likely ones first. Applications are not among them.
func (e *engine) suspects(n *live.Node) []live.Key {
	var out []live.Key
	seen := map[live.Key]bool{}
	add := func(k live.Key) {
		if !seen[k] && !isApplication(k) {
			seen[k] = true
			out = append(out, k)
		}
	}
	for _, w := range n.Waits {
		if w.Node == nil && w.Object.Kind != "" {
			add(w.Object)
		}
	}
	// While a sync waits for something, nothing else matters.
	if len(n.Waits) > 0 && n.Operation.Running() && !n.Operation.Retrying() && n.Deleting.IsZero() {
		return out
	}
	if n.Health == health.Healthy && n.Deleting.IsZero() {
		return out
	}
	list := slices.Clone(n.Resources)
	weight := func(r live.Resource) int {
		switch r.Health {
		case health.Degraded:
			return 0
		case "":
			return 2
		case health.Healthy, health.Suspended:
			return 3
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b live.Resource) int {
		return cmp.Or(cmp.Compare(weight(a), weight(b)), cmp.Compare(a.Wave, b.Wave))
	})
	for _, r := range list {
		if r.Health != health.Healthy && (r.Health != "" || e.hasHealth(r)) || !n.Deleting.IsZero() {
			add(r.Key)
		}
	}
	return out
}

// isApplication reports whether an object is an Application or a set, which snapshots have.
func isApplication(k live.Key) bool {
	return k.Group == argo.Group && (k.Kind == argo.KindApplication || k.Kind == argo.KindApplicationSet)
}

// hasHealth reports whether Argo CD has a health check for an object.
func (e *engine) hasHealth(r live.Resource) bool {
	version := r.Version
	if r.Group != "" {
		version = r.Group + "/" + r.Version
	}
	o := manifest.Object{"apiVersion": version, "kind": r.Kind}
	key, _ := e.checks.Covers(o)
	return key != "" || health.BuiltIn(o) || health.Bundled(o, e.version())
}

// may reports whether one more request may be made.
func (e *engine) may() bool {
	if e.left--; e.left < 0 {
		e.blind("more objects", fmt.Errorf("the limit of %d requests is reached; argosy why APP reads only one Application", maxRequests))
		return false
	}
	return true
}

// list reads the objects of a kind in a namespace, once.
func (e *engine) list(group, kind, namespace string) []manifest.Object {
	key := live.Key{Group: group, Kind: kind, Namespace: namespace}
	if known, ok := e.lists[key]; ok {
		return known
	}
	if e.cluster == nil || !e.may() {
		return nil
	}
	out, err := e.cluster.List(e.ctx, group, kind, namespace)
	if err != nil {
		e.blind(fmt.Sprintf("%ss in namespace %s", kind, namespace), err)
	}
	e.lists[key] = out
	return out
}

// event is an Event about an object.
type event struct {
	reason, message string
	at              time.Time
	warning         bool
}

// events reads the Events about an object, the newest first.
func (e *engine) events(key live.Key) []event {
	if e.cluster == nil || !e.may() {
		return nil
	}
	list, err := e.cluster.Events(e.ctx, key)
	if err != nil {
		e.blind(fmt.Sprintf("Events in namespace %s", key.Namespace), err)
	}
	var out []event
	for _, o := range list {
		x := event{
			reason: manifest.String(o, "reason"), message: manifest.String(o, "message"), warning: manifest.String(o, "type") == "Warning",
		}
		for _, field := range []string{"lastTimestamp", "eventTime", "firstTimestamp"} {
			if t, err := time.Parse(time.RFC3339, manifest.String(o, field)); err == nil {
				x.at = t
				break
			}
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b event) int { return b.at.Compare(a.at) })
	return out
}

// object explains an unhealthy object. A healthy one adds no cause.
func (e *engine) object(n *live.Node, at way, key live.Key) {
	path := at.path
	if key.Namespace == "" { // a message of Argo CD has none
		key.Namespace = n.Destination
	}
	if e.cluster == nil {
		return
	}
	o, err := e.lookup(key)
	switch {
	case errors.Is(err, ErrNoKind):
		e.add(Cause{
			Kind: MissingCRD, App: n, Path: path, Fix: "deploy the CRD in an earlier wave",
			Text: fmt.Sprintf("%s: the cluster has no kind %s of group %q: its CRD is not installed", key, key.Kind, key.Group),
		})
		return
	case err != nil:
		return
	case o == nil:
		// Skip it if another cause of the Application explains the missing object.
		if !n.Deleting.IsZero() || slices.ContainsFunc(e.report.Causes, func(c Cause) bool { return c.App == n }) {
			return
		}
		e.add(Cause{Kind: Missing, App: n, Path: path, Text: fmt.Sprintf("%s is not in the cluster", key), Since: n.HealthSince})
		return
	}
	key.Namespace = manifest.String(o, "metadata", "namespace")
	if deleted := manifest.String(o, "metadata", "deletionTimestamp"); deleted != "" {
		e.stuck(n, path, o)
		return
	}
	h, checked, err := health.Evaluate(o, e.checks, health.Limits{Now: func() time.Time { return e.now }, Version: e.version()})
	if err != nil {
		e.blind("health of "+key.String(), err)
	}
	if checked && h.Status == health.Healthy {
		e.healthy[key] = true
		return
	}
	before := len(e.report.Causes)
	e.inside(n, at, o)
	if len(e.report.Causes) > before {
		return
	}
	e.says(n, path, o, h)
}

// lookup reads an object that may be of a kind that the cluster does not have.
func (e *engine) lookup(key live.Key) (manifest.Object, error) {
	if !e.may() {
		return nil, errors.New("too many requests")
	}
	o, err := e.cluster.Get(e.ctx, key)
	if err != nil && !errors.Is(err, ErrNoKind) {
		e.blind(key.String(), err)
	}
	return o, err
}

// inside explains the dependents of an object: replica sets, pods, volumes.
func (e *engine) inside(n *live.Node, at way, o manifest.Object) {
	switch manifest.Group(o) + "/" + manifest.String(o, "kind") {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet", "batch/Job":
		e.workload(n, at, o)
	case "/Pod":
		e.pod(n, at, o)
	case "/PersistentVolumeClaim":
		e.claim(n, at.path, o)
	}
}

// stuck explains an object that does not go away.
func (e *engine) stuck(n *live.Node, path []string, o manifest.Object) {
	key := live.KeyOf(o)
	finalizers := manifest.Strings(manifest.Map(o, "metadata")["finalizers"])
	since, _ := time.Parse(time.RFC3339, manifest.String(o, "metadata", "deletionTimestamp"))
	c := Cause{
		Kind: Finalizer, App: n, Path: path, Since: since, weight: 10,
		Text:    fmt.Sprintf("%s is being deleted, and %s", key, keeps(finalizers)),
		Fix:     "start the controller that removes the finalizer; this command shows the finalizers",
		Command: kubectlOn("get", key, "-o", "jsonpath={.metadata.finalizers}"),
	}
	if len(finalizers) == 0 {
		c.Fix, c.Command = "", nil
	}
	for _, condition := range conditions(o) {
		if manifest.String(condition, "status") == "True" && key.Kind == "Namespace" {
			c.Detail = plain(manifest.String(condition, "message"))
		}
	}
	e.add(c)
}

// says adds the cause that an object itself reports: a bad condition, or its newest warning.
func (e *engine) says(n *live.Node, path []string, o manifest.Object, h health.Health) {
	key := live.KeyOf(o)
	state := string(h.Status)
	for _, r := range n.Resources {
		if r.Key == key && state == "" {
			state, h.Message = string(r.Health), r.Message
		}
	}
	c := Cause{Kind: Degraded, App: n, Path: path, Detail: plain(h.Message)}
	c.Text = fmt.Sprintf("%s is %s", key, state)
	wrong, fine := told(o)
	if wrong != nil {
		c.Detail = plain(strings.TrimSpace(manifest.String(wrong, "reason") + ": " + manifest.String(wrong, "message")))
		c.Since, _ = time.Parse(time.RFC3339, manifest.String(wrong, "lastTransitionTime"))
		c.Text = fmt.Sprintf("%s is %s", key, cmp.Or(state, "not healthy"))
	}
	if s, ok := understand(c.Detail); ok {
		c.Kind, c.Text, c.Fix = s.kind, fmt.Sprintf("%s: %s", key, s.text), s.fix
	}
	for _, x := range e.events(key) {
		if !x.warning {
			continue
		}
		if s, ok := understand(x.message); ok {
			c.Kind, c.Text, c.Fix, c.Detail = s.kind, fmt.Sprintf("%s: %s", key, s.text), s.fix, plain(x.message)
		} else if c.Detail == "" {
			c.Detail = plain(x.reason + ": " + x.message)
		}
		break
	}
	if state == "" && wrong == nil && c.Kind == Degraded {
		if fine && c.Detail == "" {
			return
		}
		// Only a health check that is not evaluated here knows more.
		c.weight, c.Text = 60, fmt.Sprintf("%s is probably not healthy", key)
		if len(conditions(o)) == 0 && c.Detail == "" {
			c.Detail, c.Fix = "no controller has reported its conditions", "start the controller of this kind, or read its log"
		}
	}
	if hook := hookOf(n, key); hook != "" && c.Kind == Degraded {
		c.Kind, c.Since = Hook, n.Operation.Started
		if h.Status == health.Degraded {
			c.Text, c.Fix = fmt.Sprintf("the %s hook %s failed", hook, key), "correct the hook"
		} else {
			c.Text = fmt.Sprintf("the %s hook %s has not ended", hook, key)
			c.Fix = "find out why it has not ended, or end the sync with this command"
			c.Command = []string{"argocd", "app", "terminate-op", e.snapshot.Title(n)}
		}
	}
	if key.Kind == "Service" && c.Kind == Degraded {
		c.Text = fmt.Sprintf("%s of type LoadBalancer has no address", key)
		c.Fix = "install a load balancer controller, or change the type of the Service"
	}
	c.Detail = words.Shorten(c.Detail, maxDetail)
	e.add(c)
}

// told returns the first condition that is not as it should be, nil if there is none, and whether one says that the object is well.
func told(o manifest.Object) (wrong map[string]any, fine bool) {
	good := []string{"Ready", "Available", "Established", "Healthy", "Synced", "Complete", "Accepted", "Programmed"}
	bad := []string{"Failed", "Degraded", "Stalled"}
	for _, c := range conditions(o) {
		kind, status := manifest.String(c, "type"), manifest.String(c, "status")
		if status == "False" && slices.Contains(good, kind) || status == "True" && slices.Contains(bad, kind) {
			return c, false
		}
		fine = fine || status == "True" && slices.Contains(good, kind)
	}
	return nil, fine
}

// maxDetail bounds the shown part of a message.
const maxDetail = 400

// hookOf is the type of hook that a sync waits for, "" if the object is none.
func hookOf(n *live.Node, key live.Key) string {
	if !n.Operation.Running() {
		return ""
	}
	in := func(k live.Key) live.Key {
		k.Namespace = cmp.Or(k.Namespace, n.Destination) // a message of Argo CD has none
		return k
	}
	for _, r := range n.Operation.Results {
		if r.Hook != "" && in(r.Key) == in(key) {
			return r.Hook
		}
	}
	return ""
}

func conditions(o manifest.Object) []map[string]any {
	return manifest.Maps(manifest.Map(o, "status")["conditions"])
}
