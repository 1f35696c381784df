package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/words"
)

// application adds the causes that Argo CD itself names: in conditions, and in the state of a sync.
func (e *engine) application(n *live.Node, path []string) {
	title := e.snapshot.Title(n)
	if !n.Deleting.IsZero() {
		e.deletion(n, path)
		return
	}
	if n.Skipped {
		e.add(Cause{
			Kind: Skipped, App: n, Path: path,
			Text: title + " is not reconciled: its annotation " + argo.SkipReconcileAnnotation + " says so",
			Fix:  "remove the annotation", Command: kubectl("annotate", n, argo.SkipReconcileAnnotation+"-"),
		})
	}
	conditions := e.conditions(n, path)
	if n.Sync == "" && n.Health == "" && n.Compared.IsZero() && !n.Set && !conditions {
		fix := "check that the application-controller runs, and read its log"
		if n.Namespace != e.snapshot.Namespace() {
			fix = fmt.Sprintf("list namespace %s in application.namespaces; if it is listed, check that the application-controller runs",
				n.Namespace)
		}
		e.add(Cause{
			Kind: Unreconciled, App: n, Path: path, Fix: fix, Since: n.Created,
			Text: fmt.Sprintf("no controller has reconciled %s since it was created", title),
		})
	}
	e.hydration(n, path)
	e.operation(n, path)
	if !n.Operation.Running() && !n.Set {
		e.idle(n, path)
	}
}

// deletion explains an Application that does not go away.
func (e *engine) deletion(n *live.Node, path []string) {
	c := Cause{
		Kind: Finalizer, App: n, Path: path, Since: n.Deleting,
		Text: fmt.Sprintf("%s is being deleted, and %s", e.snapshot.Title(n), keeps(n.Finalizers)),
	}
	if d, ok := n.Condition("DeletionError"); ok {
		c.Detail = plain(d.Message)
	}
	if slices.ContainsFunc(n.Finalizers, func(f string) bool { return argo.IsResourcesFinalizer(f) }) {
		c.Fix = "wait until the objects of the Application are deleted: Argo CD then removes the finalizer"
	}
	e.add(c)
}

func keeps(finalizers []string) string {
	switch len(finalizers) {
	case 0:
		return "it has no finalizer; the deletion should end soon"
	case 1:
		return fmt.Sprintf("the finalizer %s blocks the deletion", finalizers[0])
	}
	return fmt.Sprintf("the finalizers %s block the deletion", words.Some(finalizers))
}

// byPlugin reports whether an error comes from a plugin, and not from the repo-server before the plugin was called.
func byPlugin(message string) bool {
	return strings.Contains(message, "error generating manifests in cmp: ") || strings.Contains(message, "CMP processing failed ")
}

// conditions adds a cause for each error that an Application or a set has. It reports whether there is one.
func (e *engine) conditions(n *live.Node, path []string) bool {
	found := false
	for _, c := range n.Conditions {
		if n.Set && !argo.IsSetError(c.Type, c.Status) || !n.Set && !argo.IsError(c.Type) {
			continue
		}
		found = true
		// The state of the last sync has this message in full.
		if c.Type == argo.SyncError && strings.HasPrefix(c.Message, "Failed last sync attempt") && n.Operation != nil {
			continue
		}
		s, ok := understand(c.Message)
		switch {
		case n.Set && (!ok || s.kind == Manifests):
			s = said{SetError, "its Applications cannot be generated", "correct the set; argosy appset generate shows the same offline"}
		case ok && s.kind == Manifests && argo.IsPlugin(n.Plugin, argo.PluginAppSet) && byPlugin(c.Message):
			s = said{SetError, "its ApplicationSet cannot be rendered", "correct the set; argosy appset generate shows the same offline"}
		case !ok && c.Type == argo.SyncError:
			s = said{kind: SyncError, text: "it cannot be synced"}
		case !ok && c.Type == argo.ComparisonError:
			s = said{kind: Manifests, text: "Argo CD cannot compare it with its source"}
		case !ok:
			s = said{kind: SyncError, text: "Argo CD refuses its spec"}
		}
		e.add(Cause{
			Kind: s.kind, App: n, Path: path, Text: fmt.Sprintf("%s: %s", e.snapshot.Title(n), s.text), Detail: plain(c.Message),
			Fix: s.fix, Since: c.Since,
		})
	}
	return found
}

// hydration explains a failed source hydrator: changes that it did not commit are not deployed, although everything is Synced.
func (e *engine) hydration(n *live.Node, path []string) {
	if !n.Hydration.Failed() {
		return
	}
	message := plain(strings.TrimPrefix(n.Hydration.Message, "Failed to hydrate: "))
	s, ok := understand(message)
	weight := 8 // above its consequence: a missing branch to sync
	switch m := hydratedWith.FindStringSubmatch(message); {
	case m != nil:
		weight = 9
		s = said{Hydrator, "it is hydrated together with Application " + m[1] + ", which has an error", "repair " + m[1] + " first"}
	case ok:
		s.text = "its source cannot be hydrated: " + s.text
	default:
		s = said{Hydrator, "its source cannot be hydrated", "correct spec.sourceHydrator, its dry source, or the credentials to push"}
	}
	c := Cause{
		Kind: s.kind, App: n, Path: path, Text: fmt.Sprintf("%s: %s", e.snapshot.Title(n), s.text), Detail: message, Fix: s.fix,
		Since: n.Hydration.Finished, weight: weight,
	}
	if revision := n.Hydration.Revision; revision != "" {
		c.Text += fmt.Sprintf(" (revision %s)", Short([]string{revision}))
	}
	e.add(c)
}

// hydratedWith is a message of the hydrator: Applications that are committed together are hydrated together.
var hydratedWith = regexp.MustCompile(`^cannot hydrate because application (\S+) (?:has an error|and \d+ more have errors)$`)

// operation explains a sync that failed, is retried, or is blocked.
func (e *engine) operation(n *live.Node, path []string) {
	op, title := n.Operation, e.snapshot.Title(n)
	if op == nil || op.Phase == argo.PhaseSucceeded {
		return
	}
	if op.InWindow() {
		e.blockedByWindow(n, path)
		return
	}
	if m := unconfirmed.FindStringSubmatch(op.Message); m != nil && op.Running() {
		e.add(Cause{
			Kind: Confirm, App: n, Path: path, Since: op.Started,
			Text:   fmt.Sprintf("the sync of %s waits until somebody confirms that %s may be deleted", title, m[1]),
			Detail: plain(op.Message), Fix: "confirm it, if it may be deleted",
			Command: []string{"argocd", "app", "confirm-deletion", title},
		})
		return
	}
	e.stale(n, path)
	failed := false
	for _, r := range op.Results {
		if r.Failed() {
			failed = true
			e.failure(n, path, r)
		}
	}
	if done := op.Phase == argo.PhaseFailed || op.Phase == argo.PhaseError; !failed && (done || op.Retrying()) {
		s, ok := understand(op.Message)
		if !ok {
			s = said{kind: SyncError, text: "its sync failed"}
		}
		e.add(Cause{
			Kind: s.kind, App: n, Path: path, Text: fmt.Sprintf("%s: %s", title, s.text), Detail: plain(op.Message),
			Fix: s.fix, Since: op.Started,
		})
	}
	if op.Running() || op.Retries < op.Limit {
		return
	}
	if n.Automated && slices.Equal(op.Revisions, n.Revisions) {
		e.add(Cause{
			Kind: Retries, App: n, Path: path, Since: op.Finished,
			Text: fmt.Sprintf("the sync of %s to %s failed, %s; automated sync does not start again for this revision", title,
				Short(op.Revisions), retried(op.Retries)),
			Detail: plain(op.Message),
			Fix:    "repair the cause, then start a sync", Command: []string{"argocd", "app", "sync", title},
		})
	}
}

// unconfirmed is a message of the sync engine, of 3.2 and of September 2026.
var unconfirmed = regexp.MustCompile(`^[Ww]aiting for pruning confirmation of /?(\S+)`)

// stale names a sync that holds an old revision: Argo CD does not take a new one before the sync has ended, or is tried again with
// retry.refresh.
func (e *engine) stale(n *live.Node, path []string) {
	op := n.Operation
	if op.Refresh && op.Retrying() {
		return
	}
	if !op.Running() || len(op.Revisions) == 0 || len(n.Revisions) == 0 || slices.Equal(op.Revisions, n.Revisions) {
		return
	}
	title := e.snapshot.Title(n)
	c := Cause{
		Kind: Stale, App: n, Path: path, Since: op.Started,
		Text: fmt.Sprintf("the sync of %s still deploys revision %s; the source is at %s, which Argo CD does not deploy before the sync "+
			"ends", title, Short(op.Revisions), Short(n.Revisions)),
		Detail: plain(op.Message),
		Fix:    "end the sync; automated sync starts the new revision", Command: []string{"argocd", "app", "terminate-op", title},
	}
	if !n.Automated {
		c.Fix = "end the sync, and start a new one"
	}
	switch {
	case op.Retries > 0 && op.Limit < 0:
		c.Text += fmt.Sprintf("; it was retried %s, without a limit", times(op.Retries))
	case op.Retries > 0:
		c.Text += fmt.Sprintf("; it was retried %s, of at most %d", times(op.Retries), op.Limit)
		// The new revision may have nothing to do with it, unless it does not have the object that fails.
		if !slices.ContainsFunc(op.Results, func(r live.Result) bool { return r.Failed() && !deploys(n, r.Key) }) {
			c.weight = 15
		}
	case slices.ContainsFunc(n.Waits, func(w live.Wait) bool { return w.Node == nil }):
		c.weight = 15
	default:
		c.weight = 95 // Applications that it waits for are synced by themselves
	}
	e.add(c)
}

// deploys reports whether an object is in the revision that an Application was compared with.
func deploys(n *live.Node, k live.Key) bool {
	return slices.ContainsFunc(n.Resources, func(r live.Resource) bool { return r.Key == k && !r.Prune })
}

// failure explains an object that could not be synced.
func (e *engine) failure(n *live.Node, path []string, r live.Result) {
	s, ok := understand(r.Message)
	path = append(slices.Clone(path), r.String())
	title := r.String()
	if r.Hook != "" {
		title = fmt.Sprintf("%s hook %s", r.Hook, r.Key)
	}
	c := Cause{Kind: s.kind, App: n, Path: path, Detail: plain(r.Message), Fix: s.fix, Since: n.Operation.Started}
	switch {
	case ok:
		c.Text = fmt.Sprintf("%s: %s", title, s.text)
	case r.Hook != "":
		// Its pods say more, if they are still there.
		c.Kind, c.Text = Hook, fmt.Sprintf("%s failed", title)
		before := len(e.report.Causes)
		e.object(n, way{path: path}, r.Key)
		if len(e.report.Causes) > before {
			return
		}
	case r.Status == argo.ResultSyncFailed:
		c.Kind, c.Text = SyncError, fmt.Sprintf("%s cannot be applied", title)
	default:
		before := len(e.report.Causes)
		e.object(n, way{path: path}, r.Key)
		if len(e.report.Causes) > before {
			return
		}
		c.Kind, c.Text = Degraded, fmt.Sprintf("%s is Degraded, which fails the sync", title)
		if e.healthy[r.Key] {
			c.Text, c.Detail = fmt.Sprintf("%s was Degraded, which failed the sync; it is Healthy now", title), plain(n.Operation.Message)
		}
	}
	if s.kind == Immutable {
		c.Command = kubectlOn("delete", r.Key)
	}
	e.add(c)
}

// idle explains an Application that is not synced while no sync runs.
func (e *engine) idle(n *live.Node, path []string) {
	op, title := n.Operation, e.snapshot.Title(n)
	if n.Sync != argo.OutOfSync || n.Requested {
		return
	}
	var out []live.Key
	for _, r := range n.Resources {
		if r.Sync == argo.OutOfSync {
			out = append(out, r.Key)
		}
	}
	if n.Automated && (op == nil || op.Phase == argo.PhaseSucceeded && !slices.Equal(op.Revisions, n.Revisions)) {
		e.window(n, path)
		return
	}
	switch {
	case !n.Automated:
		e.add(Cause{
			Kind: ByHand, App: n, Path: path, Text: title + " is OutOfSync, and has no automated sync", Since: n.SyncSince,
			Detail: differ(out), Fix: "sync it, or set syncPolicy.automated", Command: []string{"argocd", "app", "sync", title},
		})
	case op.Phase != argo.PhaseSucceeded:
		// Its sync has failed: that is said elsewhere.
	case len(op.Only) > 0 && slices.ContainsFunc(out, func(k live.Key) bool { return !within(op.Only, k) }):
		e.add(Cause{
			Kind: Partial, App: n, Path: path, Since: op.Finished,
			Text: fmt.Sprintf("the last sync of %s was partial (%s); automated sync does not sync the other objects of this revision",
				title, words.Count(len(op.Only), "object")),
			Fix: "remove the state of the last sync; Argo CD then syncs all objects",
			Command: append(kubectl("patch", n), "--type", "json", "-p",
				`[{"op": "remove", "path": "/status/operationState"}]`),
		})
	case !n.Prune && !slices.ContainsFunc(n.Resources, func(r live.Resource) bool { return r.Sync == argo.OutOfSync && !r.Prune }):
		e.add(Cause{
			Kind: SameRevision, App: n, Path: path, Since: n.SyncSince,
			Text: fmt.Sprintf("%s has objects that are no longer in its source, and its automated sync does not prune", title),
			Fix:  "set syncPolicy.automated.prune, or prune once", Command: []string{"argocd", "app", "sync", title, "--prune"},
		})
	case !n.SelfHeal:
		e.add(Cause{
			Kind: SameRevision, App: n, Path: path, Since: n.SyncSince,
			Text: fmt.Sprintf("%s differs from revision %s, which was synced already; automated sync does not sync a revision twice "+
				"without selfHeal", title, Short(n.Revisions)),
			Detail: differ(out), Fix: "set syncPolicy.automated.selfHeal, or start a sync",
			Command: []string{"argocd", "app", "sync", title},
		})
	}
}

// differ names objects that are not as in the source.
func differ(objects []live.Key) string {
	if len(objects) == 0 {
		return ""
	}
	names := make([]string, len(objects))
	for i, k := range objects {
		names[i] = k.String()
	}
	return "OutOfSync: " + words.Some(names)
}

// within reports whether a sync of some objects is of an object. Argo CD compares group, kind and name.
func within(only []live.Key, k live.Key) bool {
	return slices.ContainsFunc(only, func(o live.Key) bool { return o.Group == k.Group && o.Kind == k.Kind && o.Name == k.Name })
}

// kubectl is a command about an Application.
func kubectl(verb string, n *live.Node, more ...string) []string {
	return append([]string{"kubectl", verb, "application.argoproj.io", "-n", n.Namespace, n.Name}, more...)
}

// kubectlOn is a command about an object.
func kubectlOn(verb string, k live.Key, more ...string) []string {
	kind := strings.ToLower(k.Kind)
	if k.Group != "" {
		kind += "." + k.Group
	}
	out := []string{"kubectl", verb, kind}
	if k.Namespace != "" {
		out = append(out, "-n", k.Namespace)
	}
	return append(append(out, k.Name), more...)
}
