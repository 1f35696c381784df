package refresh

import (
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/trigger"
	"github.com/argosy-cd/argosy/internal/trigger/triggerurl"
)

// App has the relevant fields of an Application.
type App struct {
	Ref       argo.Ref
	UID       string
	Version   string // of the object
	Project   string
	Sources   []Source
	Revisions []string  // that each source was compared at last
	Looked    time.Time // when Argo CD compared it last; zero is never
	Failed    bool      // it could not be compared
	Pending   bool      // a refresh is requested already
	Leave     bool      // it is being deleted, or not to be reconciled
	// SyncsOnce says that its automated sync does not heal: a revision that was synced is not synced again.
	SyncsOnce bool
}

// Source is one source of an Application.
type Source struct {
	URL    string
	Target string // revision
	Plugin string // name; "" is none
	Origin string // as argo.Call has it
	Plain  bool   // Argo CD has found that it needs no plugin
}

// Fields are the fields of an Application that NewApp reads.
func Fields() manifest.Fields {
	source := manifest.Fields{"repoURL": nil, "targetRevision": nil, "path": nil, "plugin": {"name": nil}}
	return manifest.Fields{
		"metadata": {
			"namespace": nil, "name": nil, "uid": nil, "resourceVersion": nil, "deletionTimestamp": nil,
			"annotations": {argo.RefreshAnnotation: nil, argo.SkipReconcileAnnotation: nil},
		},
		"spec": {"project": nil, "source": source, "sources": source, "syncPolicy": {"automated": {"selfHeal": nil, "enabled": nil}}},
		"status": {
			"sync": {"revision": nil, "revisions": nil}, "sourceType": nil, "sourceTypes": nil, "reconciledAt": nil,
			"conditions": {"type": nil},
		},
	}
}

// NewApp reads an Application, of which Fields are enough.
func NewApp(o manifest.Object) App {
	notes := manifest.Map(o, "metadata", "annotations")
	_, pending := notes[argo.RefreshAnnotation]
	_, deleted := manifest.Map(o, "metadata")["deletionTimestamp"]
	a := App{
		Ref: argo.Ref{Namespace: manifest.String(o, "metadata", "namespace"), Name: manifest.String(o, "metadata", "name")},
		UID: manifest.String(o, "metadata", "uid"), Version: manifest.String(o, "metadata", "resourceVersion"),
		Project: manifest.String(o, "spec", "project"),
		Pending: pending, Leave: deleted || manifest.String(notes, argo.SkipReconcileAnnotation) == "true",
	}
	sources := argo.Sources(o)
	if len(sources) > 1 || len(sources[0]) == 0 {
		sources = sources[1:] // Argo CD does not look at source where there are sources
	}
	for _, s := range sources {
		a.Sources = append(a.Sources, Source{
			URL: manifest.String(s, "repoURL"), Target: manifest.String(s, "targetRevision"), Plugin: manifest.String(s, "plugin", "name"),
			Origin: argo.SourceOrigin(s),
		})
	}
	sync := manifest.Map(o, "status", "sync")
	if list, ok := sync["revisions"].([]any); ok {
		for _, v := range list {
			text, _ := v.(string)
			a.Revisions = append(a.Revisions, text)
		}
	} else if text := manifest.String(sync, "revision"); text != "" {
		a.Revisions = []string{text}
	}
	types, _ := manifest.Map(o, "status")["sourceTypes"].([]any)
	if len(types) == 0 {
		types = []any{manifest.Map(o, "status")["sourceType"]}
	}
	for i := range min(len(types), len(a.Sources)) {
		kind, _ := types[i].(string)
		a.Sources[i].Plain = kind != "" && kind != "Plugin"
	}
	a.Looked, _ = time.Parse(time.RFC3339, manifest.String(o, "status", "reconciledAt"))
	conditions, _ := manifest.Map(o, "status")["conditions"].([]any)
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		// A failed sync is no failed comparison.
		if kind := manifest.String(m, "type"); argo.IsError(kind) && kind != argo.SyncError {
			a.Failed = true
		}
	}
	automated, on := argo.Automated(o)
	a.SyncsOnce = on && automated["selfHeal"] != true
	return a
}

// revision returns the revision at which a source was compared last, "" if unknown.
func (a *App) revision(source int) string {
	if source < len(a.Revisions) {
		return a.Revisions[source]
	}
	return ""
}

// Triggers decides which sources have a trigger.
type Triggers struct {
	// Hosts are patterns of hosts that serve trigger repositories, such as repo-*.example.com, with or without a port.
	Hosts  []string
	Clocks *trigger.Clocks
}

// DefaultHosts are the names of the Service appset-repo in Argo CD's namespace. One of the same name in a tenant's namespace is not
// trusted.
func DefaultHosts(namespace string) []string {
	full := triggerurl.Service + "." + namespace
	return []string{triggerurl.Service, full, full + ".svc", full + ".svc.cluster.local"}
}

// repository returns the path of a trigger repository, "" for any other.
func (t Triggers) repository(s Source) string {
	u, err := url.Parse(s.URL)
	if err != nil || argo.IsCommit(s.Target) {
		return "" // a commit never changes
	}
	for _, pattern := range t.Hosts {
		for _, host := range []string{u.Host, u.Hostname()} {
			if ok, err := path.Match(pattern, host); ok && err == nil {
				return strings.Trim(u.Path, "/")
			}
		}
	}
	return ""
}

// clock returns the clock of a source. Known says that its commits are the source's revisions.
func (t Triggers) clock(s Source) (c *trigger.Clock, known bool) {
	if p := t.repository(s); p != "" && !strings.HasPrefix(p, triggerurl.BucketPrefix) {
		if c, err := t.Clocks.Open(p); err == nil {
			return c, true
		}
	}
	if argo.IsPlugin(s.Plugin, argo.PluginAppSet) {
		if c, err := t.Clocks.Open(triggerurl.Interval); err == nil {
			return c, false
		}
	}
	return nil, false
}

// bucket returns the bucket's URL of a bucket repository.
func (t Triggers) bucket(s Source) (bucket.URL, bool) {
	p, err := triggerurl.Parse(t.repository(s))
	if err != nil || p.Place == "" {
		return bucket.URL{}, false
	}
	u, err := bucket.ParseURL("s3://" + p.Place)
	return u, err == nil && u.Path != ""
}
