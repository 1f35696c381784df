package live

import (
	"time"
	"unique"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// maxMessage bounds each message that is kept.
const maxMessage = 2 << 10

// Application is the known state of an Application or an ApplicationSet. It never changes.
type Application struct {
	argo.Ref
	// Set says that it is an ApplicationSet.
	Set               bool
	UID               string
	Project           string
	Created, Deleting time.Time // zero is not
	Finalizers        []string
	// Server, Cluster and Destination are where it deploys to: a URL or a name, and the namespace.
	Server, Cluster, Destination string
	// Plugin is the plugin of its first source that has one; Repository and Target are its first source.
	Plugin, Repository, Target string
	// Wave and Phase are its place in the sync of its parent.
	Wave  int
	Phase string
	// Automated, Prune and SelfHeal are its sync policy.
	Automated, Prune, SelfHeal bool
	// Skipped says that Argo CD is told not to reconcile it.
	Skipped bool
	Health  health.Status // "" is not known yet
	// HealthSince and SyncSince are the times of the last change; zero if that was before the watch.
	HealthSince, SyncSince time.Time
	Sync                   string   // Synced, OutOfSync, Unknown; "" is not known yet
	Revisions              []string // that it was compared with, for each source
	Compared               time.Time
	Conditions             []Condition
	// Operation is the last sync, or the one that runs. Nil is none.
	Operation *Operation
	// Hydration is the last run of the source hydrator, or the one that runs. Nil is none.
	Hydration *Hydration
	// Requested says that a sync is requested and has not begun.
	Requested bool
	Resources []Resource
	// Cut says why a part of its status is not known, "" if all is.
	Cut string

	deploys []Resource // those of Resources that are Applications and sets and stay
	// controller is the namespace of the Argo CD that has compared it; "" is none yet.
	controller string
	tracked    argo.Ref // by annotation
	label      string   // of tracking
	owner      string   // UID of its ApplicationSet
}

// Condition is a condition of an Application or a set.
type Condition struct {
	Type    string
	Status  string // of an ApplicationSet: True, False, Unknown
	Message string
	Since   time.Time
}

// Resource is an object that an Application deploys.
type Resource struct {
	Key
	Version string
	Wave    int
	Sync    string
	Health  health.Status // "" is not known: Argo CD keeps it elsewhere since 3.0
	Message string        // of its health
	Hook    bool
	Prune   bool // it is not in the source any more
}

// Fields are the fields of an Application or ApplicationSet that the model reads.
func Fields() manifest.Fields {
	source := manifest.Fields{"repoURL": nil, "targetRevision": nil, "chart": nil, "path": nil, "plugin": {"name": nil}}
	state := manifest.Fields{"status": nil, "lastTransitionTime": nil, "message": nil}
	fields := LightFields()
	spec := fields["spec"]
	spec["source"], spec["sources"], spec["sourceHydrator"] = source, source, manifest.Fields{"drySource": source}
	result := manifest.Fields{
		"group": nil, "kind": nil, "namespace": nil, "name": nil, "status": nil, "message": nil, "hookType": nil, "hookPhase": nil,
	}
	status := fields["status"]
	status["resources"] = manifest.Fields{
		"group": nil, "version": nil, "kind": nil, "namespace": nil, "name": nil, "status": nil, "health": state, "hook": nil,
		"requiresPruning": nil, "syncWave": nil,
	}
	status["operationState"]["syncResult"]["resources"] = result
	return fields
}

// LightFields are Fields without the objects and sources of an Application, for one that has too many.
func LightFields() manifest.Fields {
	notes := manifest.Fields{argo.TrackingAnnotation: nil, argo.SkipReconcileAnnotation: nil}
	for _, name := range order.Annotations() {
		notes[name] = nil
	}
	state := manifest.Fields{"status": nil, "lastTransitionTime": nil, "message": nil}
	return manifest.Fields{
		"apiVersion": nil, "kind": nil,
		"metadata": {
			"namespace": nil, "name": nil, "uid": nil, "resourceVersion": nil, "creationTimestamp": nil, "deletionTimestamp": nil,
			"finalizers": nil, "annotations": notes, "labels": {argo.InstanceLabel: nil}, "ownerReferences": {"kind": nil, "uid": nil},
		},
		"spec": {
			"project": nil, "destination": {"server": nil, "name": nil, "namespace": nil},
			"syncPolicy":     {"automated": {"enabled": nil, "prune": nil, "selfHeal": nil}},
			"sourceHydrator": {"drySource": {"repoURL": nil, "targetRevision": nil}},
		},
		"operation": {
			"sync": {"revision": nil},
		},
		"status": {
			"health": state, "sync": {"status": nil, "revision": nil, "revisions": nil}, "reconciledAt": nil, "controllerNamespace": nil,
			"conditions": {"type": nil, "status": nil, "message": nil, "lastTransitionTime": nil},
			"operationState": {
				"phase": nil, "message": nil, "startedAt": nil, "finishedAt": nil, "retryCount": nil,
				"operation": {
					"initiatedBy": {"automated": nil}, "retry": {"limit": nil, "refresh": nil},
					"sync": {"revision": nil, "revisions": nil, "resources": {"group": nil, "kind": nil, "name": nil}},
				},
				"syncResult": {"revision": nil, "revisions": nil},
			},
			"sourceHydrator": {"currentOperation": {"phase": nil, "message": nil, "startedAt": nil, "finishedAt": nil, "drySHA": nil}},
		},
	}
}

// CutField is a field beside the Fields, which says why an Application has only LightFields.
const CutField = "cut"

// newApplication reads an Application or an ApplicationSet, of which Fields are enough.
func newApplication(o manifest.Object) *Application {
	meta, spec, status := manifest.Map(o, "metadata"), manifest.Map(o, "spec"), manifest.Map(o, "status")
	a := &Application{
		Ref: argo.Ref{Namespace: manifest.String(meta, "namespace"), Name: manifest.String(meta, "name")}, Set: argo.IsApplicationSet(o),
		UID: manifest.String(meta, "uid"), Project: shared(manifest.String(spec, "project")), Created: at(meta, "creationTimestamp"),
		Deleting: at(meta, "deletionTimestamp"), Finalizers: texts(meta["finalizers"]),
		Server:      shared(manifest.String(spec, "destination", "server")),
		Cluster:     shared(manifest.String(spec, "destination", "name")),
		Destination: shared(manifest.String(spec, "destination", "namespace")),
		Skipped:     manifest.String(meta, "annotations", argo.SkipReconcileAnnotation) == "true",
		Health:      health.Status(shared(manifest.String(status, "health", "status"))),
		HealthSince: at(status, "health", "lastTransitionTime"), Sync: shared(manifest.String(status, "sync", "status")),
		Revisions: revisions(manifest.Map(status, "sync")), Compared: at(status, "reconciledAt"),
		Requested: manifest.Map(o, "operation") != nil, Cut: manifest.String(o, CutField),
		Operation: newOperation(manifest.Map(status, "operationState")),
		label:     manifest.String(meta, "labels", argo.InstanceLabel), controller: shared(manifest.String(status, "controllerNamespace")),
	}
	if spec["sourceHydrator"] != nil {
		a.Hydration = newHydration(manifest.Map(status, "sourceHydrator", "currentOperation"))
	}
	a.tracked, _ = argo.Tracked(o, "")
	phases, wave, _ := order.Place(o)
	a.Wave, a.Phase = wave, order.Sync
	if len(phases) > 0 {
		a.Phase = phases[0]
	}
	automated, on := argo.Automated(o)
	a.Automated, a.Prune, a.SelfHeal = on, automated["prune"] == true, automated["selfHeal"] == true
	for i, source := range argo.Deployed(o) {
		if i == 0 {
			a.Repository = shared(giturl.Redact(manifest.String(source, "repoURL")))
			a.Target = shared(manifest.String(source, "targetRevision"))
		}
		if a.Plugin == "" {
			a.Plugin = shared(manifest.String(source, "plugin", "name"))
		}
	}
	for _, owner := range manifest.Maps(meta["ownerReferences"]) {
		if manifest.String(owner, "kind") == argo.KindApplicationSet {
			a.owner = manifest.String(owner, "uid")
		}
	}
	for _, c := range manifest.Maps(status["conditions"]) {
		a.Conditions = append(a.Conditions, Condition{
			Type: shared(manifest.String(c, "type")), Status: shared(manifest.String(c, "status")),
			Message: message(c), Since: at(c, "lastTransitionTime"),
		})
	}
	// Applications that it deploys to another cluster belong to the Argo CD there.
	elsewhere := a.Server != "" && !generator.ClusterList(nil).Local("", a.Server)
	for _, r := range manifest.Maps(status["resources"]) {
		resource := newResource(r)
		a.Resources = append(a.Resources, resource)
		if resource.isArgo() && !resource.Prune && !elsewhere {
			a.deploys = append(a.deploys, resource)
		}
	}
	if a.Set {
		a.judge()
	}
	return a
}

func newResource(r map[string]any) Resource {
	return Resource{
		Key: keyIn(r), Version: shared(manifest.String(r, "version")), Wave: number(r["syncWave"]),
		Sync: shared(manifest.String(r, "status")), Health: health.Status(shared(manifest.String(r, "health", "status"))),
		Message: message(manifest.Map(r, "health")), Hook: r["hook"] == true, Prune: r["requiresPruning"] == true,
	}
}

// judge sets the health of a set by Argo CD's check, which ignores the set's Applications (resource_customizations/argoproj.io/
// ApplicationSet of Argo CD 3.2 to 3.5).
func (a *Application) judge() {
	is := func(kind string) bool {
		for _, c := range a.Conditions {
			if c.Type == kind && c.Status == "True" {
				a.HealthSince = c.Since
				return true
			}
		}
		return false
	}
	switch {
	case is(argo.ErrorOccurred):
		a.Health = health.Degraded
	case is("RolloutProgressing"):
		a.Health = health.Progressing
	case is("ResourcesUpToDate"):
		a.Health = health.Healthy
	default:
		a.Health = health.Progressing
	}
}

// Condition returns the first condition of a type, and whether there is one.
func (a *Application) Condition(kind string) (Condition, bool) {
	for _, c := range a.Conditions {
		if c.Type == kind {
			return c, true
		}
	}
	return Condition{}, false
}

// Key is its name among objects.
func (a *Application) Key() Key {
	kind := argo.KindApplication
	if a.Set {
		kind = argo.KindApplicationSet
	}
	return Key{argo.Group, kind, a.Namespace, a.Name}
}

// since carries over the times of its health and its sync from the former state. Seen is now.
func (a *Application) since(old *Application, seen time.Time) {
	if old == nil {
		return
	}
	if a.SyncSince = old.SyncSince; old.Sync != a.Sync {
		a.SyncSince = seen
	}
	if a.HealthSince.IsZero() {
		if a.HealthSince = old.HealthSince; old.Health != a.Health {
			a.HealthSince = seen
		}
	}
}

// keyIn is the object that an entry of a status names.
func keyIn(r map[string]any) Key {
	return Key{
		shared(manifest.String(r, "group")), shared(manifest.String(r, "kind")), shared(manifest.String(r, "namespace")),
		manifest.String(r, "name"),
	}
}

// shared is a text that many Applications have, kept once.
func shared(s string) string { return unique.Make(s).Value() }

// message is the message of an entry, without passwords of URLs.
func message(o map[string]any) string {
	return giturl.Message(manifest.String(o, "message"), maxMessage)
}

func at(o map[string]any, path ...string) time.Time {
	t, err := time.Parse(time.RFC3339, manifest.String(o, path...))
	if err != nil {
		return time.Time{}
	}
	return t
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, shared(s))
		}
	}
	return out
}

// revisions are those of all sources.
func revisions(o map[string]any) []string {
	if list := texts(o["revisions"]); len(list) > 0 {
		return list
	}
	if one := manifest.String(o, "revision"); one != "" {
		return []string{shared(one)}
	}
	return nil
}

func number(v any) int {
	n, _ := manifest.Number(v)
	return int(n)
}
