package plan

import (
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/source"
)

// Config is what a plan is made with.
type Config struct {
	// Loader opens repositories and renders sources. Its settings of Kustomize are replaced by those that are known.
	Loader source.Loader
	// Git answers Git generators. An error of it makes a set unknown.
	Git generator.Repositories
	// APIs answers generators that ask hosts of repositories, plugins or the cluster. Nil makes their sets unknown.
	APIs generator.APIs
	// Clusters are those of Argo CD. Nil is not known, except for those whose Secrets the plan itself deploys.
	Clusters generator.ClusterList
	// Namespace is Argo CD's; "" is that of the root.
	Namespace string
	// Sets says what renders ApplicationSets; "" is what the tree uses for each of them.
	Sets Renderer
	// Settings are those of Argo CD. Nil are those that the plan itself deploys.
	Settings *settings.Settings
	// Plugins says of plugins of the user what they do, by name.
	Plugins map[string]source.Kind
	// Version is that of Argo CD; 0 is what the plan itself deploys, or else the newest.
	Version versions.Version
	// ProgressiveSyncs says whether the applicationset-controller has --enable-progressive-syncs; nil is what the plan itself deploys, or
	// not known.
	ProgressiveSyncs *bool
	// Exists is what the cluster has before the boot, besides Kubernetes and Argo CD. A thing with no Cluster is in every one.
	Exists []Thing
	// ExistsAll says that the cluster has everything that nothing in the plan deploys.
	ExistsAll bool
	// Cache is shared by plans of the same repositories, with the same Loader, Git and Plugins. Nil is one for this plan alone.
	Cache *Cache
}

// Renderer is who renders ApplicationSets.
type Renderer string

// Who may render ApplicationSets, whatever the Applications say.
const (
	SetsByController Renderer = "controller" // Argo CD's applicationset-controller
	SetsByPlugin     Renderer = "plugin"     // the plugin appset
)

// Application is an Application and what it deploys.
type Application struct {
	argo.Ref
	Project     string
	Destination Destination
	Sources     []Source
	Items       []*Item // in the order in which they are deployed
	// Needs are the Applications that it says it needs.
	Needs []string
	// Automated says that Argo CD syncs it without being asked, Retry how often it tries.
	Automated bool
	Retry     Retry
	// Broken says why Argo CD cannot render its manifests, so that it deploys nothing of it; "" is nothing that is known here.
	Broken string
	// Hides says that what is not known of it may have Applications.
	Hides bool
	// ArgoCD says that it deploys the chart of Argo CD itself, which is not available here.
	ArgoCD bool
	// Itself says that it is deployed by one that it deploys; its items are there.
	Itself bool
	// Applied says that it is not there: it stands for whoever applies the roots of the plan by hand.
	Applied bool
	// Refused says why Argo CD does not even compare it with its source: its project is not there at all, or forbids its source or its
	// destination.
	Refused string
	// Requires is what must be in the cluster before Argo CD compares it, its project; Provides is what its sync makes besides its items,
	// its namespace.
	Requires, Provides []Thing
	// Pinned says that all of its parents give it a commit, not a branch: a new commit reaches it only by a parent's sync.
	Pinned bool
	// KeepsPin says that it keeps its commit if a new one does not change it, whichever parent syncs.
	KeepsPin bool
	// DeleteHooks are the hooks of its deletion, each with its kind.
	DeleteHooks []string
	// Object is the Application itself.
	Object manifest.Object
	// Position is where it is, or the set that generates it.
	Position manifest.Position
	// Origin says which set has generated it, "" for one that is in a file.
	Origin string

	loose bool // a parent gives it a branch
	away  bool // it deploys Applications to a cluster that is not known
}

// Verdict is how much of it is known: that of its worst source.
func (a *Application) Verdict() source.Verdict {
	v := source.Known
	for _, s := range a.Sources {
		v = max(v, s.Verdict)
	}
	if a.Broken != "" {
		v = source.Broken
	}
	return v
}

// Source is where the manifests of an Application are.
type Source struct {
	Repository, Revision, Path, Chart string
	// Kind is how they are made.
	Kind source.Kind
	// Verdict is how much of it is known, Unknown the first reason why it is not all, "" if it is.
	Verdict source.Verdict
	Unknown string
	// Inputs are the files that it is made of.
	Inputs []source.Input
	// Spec is the source as the Application has it.
	Spec map[string]any
	// Sets are the ApplicationSets that the plugin appset renders.
	Sets []manifest.Document
	// Unlisted are manifests beside its Kustomizations that none of them reads, Component that its own Kustomization is one.
	Unlisted  []string
	Component bool

	hides    bool // what is not known may have Applications
	mentions bool // and what is known names some
	// Deprecated are fields that a later version of its engine may refuse, each with its file.
	Deprecated []string
}

// Item is an object that an Application deploys.
type Item struct {
	Group, Kind, Namespace, Name string
	Phase                        string
	Wave                         int
	// Hook says that it is run by a sync, and no part of what the Application is.
	Hook bool
	// Application is set for an Application, Children for the Applications of an ApplicationSet; it is not nil for one.
	Application *Application
	Children    []*Application
	// Unknown says why the Applications of an ApplicationSet are not known, "" if they are; Broken that Argo CD does not know them, either.
	Unknown string
	Broken  bool
	// Position is where it is, if it was read verbatim from a file. Repository is that of the source that deploys it.
	Position   manifest.Position
	Repository string
	// Waits says whether the next wave waits until it is healthy, Why what decides that.
	Waits bool
	// InDoubt says that it is not known whether the next wave waits; Waits is false then.
	InDoubt bool
	Why     string
	// Moved says where it was written, if Argo CD moves it to the place of the first object that needs it: "wave 3", "PostSync wave 1"; ""
	// if it does not.
	Moved string
	// Requires is what must be in the cluster before it can be applied, without what the cluster has before the boot; Provides is what it
	// is for others that require it.
	Requires, Provides []Thing
	// Unchecked says that its sync begins even if its kind is not there: the same sync deploys the kind, or an option says so.
	Unchecked bool
	// Forbidden says why its project does not allow it, so that no sync of its Application begins; "" if it does.
	Forbidden string
	// Bundled says that its health check is a script of Argo CD's own.
	Bundled bool
	// Awaits says that it is an ApplicationSet with a health check that waits for its Applications.
	Awaits bool
	// Rollout says that it is an ApplicationSet with RollingSync: whether it is Progressing during one depends on
	// --enable-progressive-syncs.
	Rollout bool
	// FirstConsumer says that it is a PersistentVolumeClaim that is not bound before a Pod uses it; Consumers are the items that do, of any
	// Application.
	FirstConsumer bool
	Consumers     []*Item
	// Object is the object itself.
	Object manifest.Object
}

// Thing is something that must be in a cluster before something else can be.
type Thing struct {
	// What is CustomResourceDefinition, Namespace or AppProject. Name is group/Kind for the first.
	What string
	// Cluster is the API server, as plan knows it.
	Cluster, Name string
}

// What things are.
const (
	ThingKind      = "CustomResourceDefinition"
	ThingNamespace = "Namespace"
	ThingProject   = "AppProject"
)

func (t Thing) String() string { return t.What + " " + t.Name }

// Plan is a boot.
type Plan struct {
	Root     *Application
	Findings []Finding
	// Applications are all of them, in the order in which they are found.
	Applications []*Application
	// Namespace is Argo CD's.
	Namespace string
	// Settings are those that were used; nil if none are known.
	Settings *settings.Settings
	// Doubts are things that nothing known of the plan brings, and something unknown may.
	Doubts []Thing
	// References are what objects name and do not work without.
	References []Reference
	// Version is that of Argo CD, and VersionFrom where it comes from.
	Version     versions.Version
	VersionFrom string
	// ProgressiveSyncs says whether the applicationset-controller has --enable-progressive-syncs; nil is not known.
	ProgressiveSyncs *bool
	// SetPolicy is what the applicationset-controller forces on sets, whatever they say themselves; "" is nothing, or not known.
	SetPolicy string
	// SyncTimeout is the number of seconds after which Argo CD ends a sync, 0 for never, and WaveDelay that between two waves. Nil is not
	// known.
	SyncTimeout, WaveDelay *Said
	// Clusters are those of Argo CD that are known, ClustersKnown says that there are no others.
	Clusters      generator.ClusterList
	ClustersKnown bool
	// SyncAware says that the health check of Applications also waits for the end of their syncs, SeesBroken that it does not call one
	// healthy whose manifests cannot be made, as Argo CD does.
	SyncAware, SeesBroken bool
	// KnowsItself says that the health check does not wait for the sync of an Application that deploys itself.
	KnowsItself bool
}

// Said is an option of Argo CD that the plan deploys, and where.
type Said struct {
	Value    string
	App      *Application
	Position manifest.Position
}
