package plan

import (
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/source"
)

// Config configures a plan.
type Config struct {
	// Loader opens repositories and renders sources. Its settings of Kustomize are replaced by those that are known.
	Loader source.Loader
	// Git answers Git generators. An error of it makes a set unknown.
	Git generator.Repositories
	// APIs answers generators that ask hosts of repositories, plugins or the cluster. Nil makes their sets unknown.
	APIs generator.APIs
	// Clusters are the clusters of Argo CD. Nil knows only those whose Secrets the plan itself deploys.
	Clusters generator.ClusterList
	// Namespace is Argo CD's; "" uses the root's.
	Namespace string
	// Sets is the renderer of ApplicationSets; "" uses the one that the tree has for each of them.
	Sets Renderer
	// Settings are Argo CD's. Nil uses those that the plan itself deploys.
	Settings *settings.Settings
	// Plugins has the kinds of the user's plugins, by name.
	Plugins map[string]source.Kind
	// Version is Argo CD's; 0 uses the one that the plan itself deploys, or else the newest.
	Version versions.Version
	// ProgressiveSyncs says whether the applicationset-controller has --enable-progressive-syncs; nil uses what the plan itself deploys, or
	// is unknown.
	ProgressiveSyncs *bool
	// Exists lists things that exist before the boot, besides those of Kubernetes and Argo CD. Without Cluster, a thing is in every one.
	Exists []Thing
	// ExistsAll says that the cluster has all required things that the plan does not deploy.
	ExistsAll bool
	// Cache is shared by plans of the same repositories, with the same Loader, Git and Plugins. Nil is one for this plan alone.
	Cache *Cache
}

// Renderer names the renderer of ApplicationSets.
type Renderer string

// Renderers of ApplicationSets, which override the sources of Applications.
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
	// Automated says that Argo CD syncs it automatically, Retry how often a sync is retried.
	Automated bool
	Retry     Retry
	// Broken says why Argo CD cannot render its manifests, and so deploys none of them; "" if no error is known.
	Broken string
	// Hides says that its unknown part may have Applications.
	Hides bool
	// ArgoCD says that it deploys the chart of Argo CD itself, which is not available here.
	ArgoCD bool
	// Itself says that one of its own descendants deploys it, too; its items are listed at its first occurrence.
	Itself bool
	// Applied says that it is no real Application: it stands for a manual apply of the plan's roots.
	Applied bool
	// Refused says why Argo CD does not compare it with its source: its project does not exist, or forbids its source or its destination.
	Refused string
	// Requires has the thing that Argo CD needs to compare it, its project. Provides has the thing that its sync creates besides its items,
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
	// Position is its position, or that of the set that generates it.
	Position manifest.Position
	// Origin names the set that has generated it, "" if it is in a file.
	Origin string

	loose bool // a parent gives it a branch
	away  bool // it deploys Applications to an unknown cluster
}

// Verdict is the verdict of its worst source.
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

// Source is a source of an Application's manifests.
type Source struct {
	Repository, Revision, Path, Chart string
	// Kind is how they are rendered.
	Kind source.Kind
	// Verdict says how much of it is known, Unknown the first reason why it is incomplete, "" if it is complete.
	Verdict source.Verdict
	Unknown string
	// Inputs are the files that were read to render it.
	Inputs []source.Input
	// Spec is the source as the Application has it.
	Spec map[string]any
	// Sets are the ApplicationSets that the plugin appset renders.
	Sets []manifest.Document
	// Unlisted are manifests beside its Kustomizations that none of them reads. Component says that its own Kustomization is a Component.
	Unlisted  []string
	Component bool

	hides    bool // the unknown part may have Applications
	mentions bool // the known part names Applications
	// Deprecated are fields that a later version of its engine may refuse, each with its file.
	Deprecated []string
}

// Item is an object that an Application deploys.
type Item struct {
	Group, Kind, Namespace, Name string
	Phase                        string
	Wave                         int
	// Hook says that it is a hook: a sync runs it, and it does not count for the Application's state.
	Hook bool
	// Application is set for an Application, Children for the Applications of an ApplicationSet; it is not nil for one.
	Application *Application
	Children    []*Application
	// Unknown says why the Applications of an ApplicationSet are unknown, else it is ""; Broken that Argo CD cannot render them, either.
	Unknown string
	Broken  bool
	// Position is its position, if it was read verbatim from a file. Repository is the repository of the source that deploys it.
	Position   manifest.Position
	Repository string
	// Waits says whether the next wave waits until it is healthy, Why gives the reason.
	Waits bool
	// InDoubt says that it is not known whether the next wave waits; Waits is false then.
	InDoubt bool
	Why     string
	// Moved is its written place, such as "wave 3" or "PostSync wave 1", if Argo CD moves it to the place of the first object that needs
	// it; else "".
	Moved string
	// Requires has the things that must exist before it can be applied, without those that exist before the boot. Provides has the things
	// that it is for others.
	Requires, Provides []Thing
	// Unchecked says that its sync begins even if its kind does not exist: the same sync deploys the kind, or an option allows it.
	Unchecked bool
	// Forbidden says why its project does not allow it, so that no sync of its Application begins; "" if it does.
	Forbidden string
	// Counts says that its Application is Missing while it does not exist: before Argo CD 3.4, if its kind has a health check in Argo CD's
	// code, or if argocd-cm customizes its kind in any way.
	Counts bool
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

// Thing is a prerequisite of other objects in a cluster.
type Thing struct {
	// What is CustomResourceDefinition, Namespace or AppProject. Name is group/Kind for the first.
	What string
	// Cluster is the API server, or the name of a cluster whose server is unknown.
	Cluster, Name string
}

// Kinds of things.
const (
	ThingKind      = "CustomResourceDefinition"
	ThingNamespace = "Namespace"
	ThingProject   = "AppProject"
)

func (t Thing) String() string { return t.What + " " + t.Name }

// Plan is a predicted boot.
type Plan struct {
	Root     *Application
	Findings []Finding
	// Applications are all Applications of the plan, in the order in which they are found.
	Applications []*Application
	// Namespace is Argo CD's.
	Namespace string
	// Settings are the used settings of Argo CD; nil if they are unknown.
	Settings *settings.Settings
	// Doubts are required things that no known part of the plan deploys, but an unknown part may.
	Doubts []Thing
	// References are the objects that other objects name and need.
	References []Reference
	// Version is Argo CD's, and VersionFrom says where it was found.
	Version     versions.Version
	VersionFrom string
	// ProgressiveSyncs says whether the applicationset-controller has --enable-progressive-syncs; nil is not known.
	ProgressiveSyncs *bool
	// SetPolicy is the policy that the applicationset-controller forces on all sets; "" if there is none, or it is unknown.
	SetPolicy argo.ApplicationsSync
	// SyncTimeout is the number of seconds after which Argo CD ends a sync, 0 for never, and WaveDelay the seconds between two waves. Nil
	// is unknown.
	SyncTimeout, WaveDelay *Said
	// Clusters are the known clusters of Argo CD, ClustersKnown says that there are no others.
	Clusters      generator.ClusterList
	ClustersKnown bool
	// SyncAware says that the health check of Applications also waits for the end of their syncs. SeesBroken says that it does not return
	// Healthy for an Application whose manifests cannot be rendered; Argo CD itself does.
	SyncAware, SeesBroken bool
	// KnowsItself says that the health check does not block the sync of an Application that deploys itself.
	KnowsItself bool
}

// Said is an option of Argo CD that the plan deploys, and where.
type Said struct {
	Value    string
	App      *Application
	Position manifest.Position
}
