package plan

import (
	"cmp"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Kind is the kind of a finding.
type Kind string

// Kinds of findings, in the order of a report.
const (
	Broken   Kind = "broken"   // Argo CD fails
	Unknown  Kind = "unknown"  // it cannot be known here
	Ordering Kind = "ordering" // the order is not as written
	Advice   Kind = "advice"   // worth a look
)

// Severity is how bad a finding is.
type Severity string

// Severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Rule is a kind of finding with a stable name.
type Rule struct {
	Name     string
	Kind     Kind
	Severity Severity
	// Means describes the effect in Argo CD, Cure the remedy.
	Means, Cure string
}

// Rules of findings.
var (
	RuleSourceBroken = Rule{
		"source-broken", Broken, Error,
		"Argo CD cannot render the Application. It deploys nothing new of it, and keeps what is deployed.",
		"Correct the file that the finding names.",
	}
	RuleApplicationInvalid = Rule{
		"application-invalid", Broken, Error,
		"The API server refuses the Application, because a field has the wrong type, or Argo CD refuses it, because it has no source.",
		"Correct the field.",
	}
	RuleSetBroken = Rule{
		"set-broken", Broken, Error,
		"The ApplicationSet cannot be rendered. The controller creates and changes none of its Applications, and reports ErrorOccurred.",
		"Correct the set. argosy appset generate prints the same error.",
	}
	RuleNameTwice = Rule{
		"name-twice", Broken, Error,
		"Two different Applications have one name in one namespace. Whichever is applied last wins, and the two replace each other for " +
			"ever.",
		"Rename one of them.",
	}
	RuleSourceUnknown = Rule{
		"source-unknown", Unknown, Warning,
		"Nothing of the source is available here: a chart, a repository or an artifact could not be fetched, or a plugin that is not " +
			"known makes its manifests.",
		"Fetch it (without --offline), vendor the chart (--charts), map the repository (--repo URL=PATH), or say what the plugin does " +
			"(--plugin).",
	}
	RuleSourcePartly = Rule{
		"source-partly-known", Unknown, Warning,
		"A part of the source is not available here. The rest is planned.",
		"Fetch the part (without --offline), vendor the chart (--charts), or map the repository (--repo URL=PATH).",
	}
	RuleSetUnknown = Rule{
		"set-unknown", Unknown, Warning,
		"A generator of the ApplicationSet needs something that is not available here, such as the clusters of Argo CD or the API of a " +
			"Git host. Its Applications are missing from the plan.",
		"List the clusters with --clusters, or accept the set with --allow-unknown.",
	}
	RuleFieldIgnored = Rule{
		"field-not-honoured", Unknown, Warning,
		"Argosy does not support a field of the source. What the field changes is not in the plan.",
		"Compare with Argo CD, and report the field.",
	}
	RuleSettingsUnknown = Rule{
		"settings-unknown", Unknown, Info,
		"The settings of Argo CD were not found, so Argosy cannot tell whether waves wait for Applications.",
		"Name the settings with --customizations: argocd-cm, values of the argo-cd chart, or an ArgoCD resource.",
	}
	RuleSettingsBroken = Rule{
		"settings-broken", Broken, Error,
		"A setting of Argo CD in this tree is wrong. While one customization is wrong, Argo CD ignores all of them.",
		"Correct the setting.",
	}
	RuleControllerUnknown = Rule{
		"controller-unknown", Unknown, Warning,
		"Argo CD calls the object Progressing until a controller has accepted it. Without that controller the waves behind it never " +
			"start. Whether one runs, and when, cannot be seen in the tree.",
		"Deploy the controller in an earlier wave, or move the object to the last wave of an Application that nothing waits for.",
	}
	RuleTooLarge = Rule{
		"plan-ends", Unknown, Error,
		"The plan is over a limit and ends here.",
		"Plan a part of the tree.",
	}
	RuleOtherCluster = Rule{
		"other-cluster", Advice, Info,
		"The Application deploys Applications to another cluster, whose own Argo CD deploys them. They are not planned.",
		"Plan that cluster by itself.",
	}
	RuleClusterUnknown = Rule{
		"cluster-unknown", Unknown, Warning,
		"The Application deploys Applications to a cluster that may be Argo CD's own under another name, or another one with an Argo CD " +
			"of its own. They are not planned.",
		"List the clusters with --clusters. An entry with server https://kubernetes.default.svc is a name of Argo CD's own cluster.",
	}
	RuleClustersFromTree = Rule{
		"clusters-from-tree", Unknown, Info,
		"Clusters are known only from Secrets in this tree. Argo CD may know others, which were added by hand or by another tool, and " +
			"cluster generators would use them, too.",
		"List all clusters with --clusters.",
	}
	RuleSeveralParents = Rule{
		"several-parents", Ordering, Warning,
		"Several Applications deploy this one. They overwrite each other's changes.",
		"Keep it in one of them.",
	}
	RuleCycle = Rule{
		"cycle", Ordering, Warning,
		"An Application deploys its own parent. The parent then belongs to it, and its syncs overwrite the parent.",
		"Remove the parent from the files that the Application deploys.",
	}
	RuleWaveNotANumber = Rule{
		"wave-not-a-number", Ordering, Warning,
		"Argo CD treats a sync wave that is not a number as 0.",
		"Write a whole number in quotes.",
	}
	RuleSyncByHand = Rule{
		"sync-by-hand", Ordering, Warning,
		"An Application that is not synced automatically stays OutOfSync. Waves behind it wait until somebody syncs it. Before Argo CD " +
			"3.4, if no kind that it deploys has a health check, it is Healthy with nothing deployed, and the waves do not wait.",
		"Set syncPolicy.automated.",
	}
	RuleNeedsMissing = Rule{
		"needs-missing", Ordering, Warning,
		"An Application needs another that its parent does not deploy, so nothing can wait for it. The plugin appset refuses to render it.",
		"Correct the name in " + argo.DependsAnnotation + ", or deploy both by one parent.",
	}
	RuleNeedsLater = Rule{
		"needs-later", Ordering, Warning,
		"An Application needs another one that is in the same wave or in a later one, so it does not wait for it. The plugin " +
			"appset gives a wave to an Application that has none, and refuses to render one whose own wave is too early.",
		"Run argosy plan --assign-waves, or remove the wave and render the Application by the plugin appset.",
	}
	RuleNeedsCycle = Rule{
		"needs-cycle", Ordering, Error,
		"Applications need each other, so no order of waves is right. The plugin appset refuses to render them.",
		"Remove one of the names from " + argo.DependsAnnotation + ".",
	}
	RuleUpdatesUnordered = Rule{
		"updates-unordered", Ordering, Warning,
		"The parent pins its Applications to commits, so that updates follow the waves. This Application, or those that it deploys, " +
			"follow a branch, and sync as soon as a commit arrives.",
		"Give it the revision of its parent, or render it by the plugin appset with the parameter pin.",
	}
	RulePinnedPaths = Rule{
		"pinned-by-paths", Ordering, Warning,
		"The Application pins others to commits, and has the annotation " + argo.PathsAnnotation +
			". Argo CD does not render it again for a commit outside of these paths, so the commit does not reach its Applications.",
		"Remove the annotation, or name the paths of all of its Applications in it.",
	}
	RuleRolloutIgnored = Rule{
		"rollout-ignored", Ordering, Warning,
		"The ApplicationSet has RollingSync, and the applicationset-controller runs without --enable-progressive-syncs. It ignores the " +
			"steps, and no wave waits for a rollout.",
		"Set applicationsetcontroller.enable.progressive.syncs in argocd-cmd-params-cm, or render the set by the plugin appset.",
	}
	RuleRolloutUnknown = Rule{
		"rollout-unknown", Unknown, Info,
		"It is not known whether later waves wait for the RollingSync of the set. They wait if the applicationset-controller runs with " +
			"--enable-progressive-syncs.",
		"Set --progressive-syncs on or off.",
	}
	RuleKindMissing = Rule{
		"kind-missing", Ordering, Warning,
		"Nobody in the plan deploys the CRD of a kind. Unless the cluster has it, a sync with such an object fails before it applies " +
			"anything.",
		"Deploy the CRD in an earlier wave, or set --exists GROUP/KIND if the cluster has it.",
	}
	RuleKindLater = Rule{
		"kind-later", Ordering, Error,
		"The CRD of a kind comes later than an object of that kind. A sync does not begin before all kinds exist, unless it deploys " +
			"their CRDs itself.",
		"Deploy the CRD in an earlier wave, or set SkipDryRunOnMissingResource=true if the order is right otherwise.",
	}
	RuleNamespaceMissing = Rule{
		"namespace-missing", Ordering, Warning,
		"Nobody in the plan creates a namespace. Unless the cluster has it, a sync fails when it comes to an object in it.",
		"Set the sync option CreateNamespace=true, deploy the Namespace, or set --exists Namespace/NAME if the cluster has it.",
	}
	RuleNamespaceLater = Rule{
		"namespace-later", Ordering, Error,
		"A namespace is created later than an object in it. The sync of the object fails.",
		"Create the namespace in an earlier wave, or set the sync option CreateNamespace=true.",
	}
	RuleProjectMissing = Rule{
		"project-missing", Ordering, Warning,
		"Nobody in the plan deploys the AppProject of an Application. Unless the cluster has it, Argo CD does not compare or sync the " +
			"Application.",
		"Deploy the AppProject in an earlier wave, or set --exists AppProject/NAME if the cluster has it.",
	}
	RuleProjectLater = Rule{
		"project-later", Ordering, Error,
		"The AppProject of an Application is deployed after the Application, or by the Application itself. Argo CD refuses the " +
			"Application until then.",
		"Deploy the AppProject in an earlier wave, or apply it before the root.",
	}
	RuleProjectForbids = Rule{
		"project-forbids", Ordering, Error,
		"The AppProject in this plan does not permit the source, the destination or a kind of an Application. Argo CD refuses the " +
			"Application, or its syncs do not begin.",
		"Correct the AppProject, or the Application.",
	}
	RulePrerequisiteUnknown = Rule{
		"prerequisite-unknown", Unknown, Info,
		"Something needs a kind, a namespace or a project that no known source of the plan deploys. An unknown source may " +
			"deploy it.",
		"Make the sources available, or list what the cluster has with --exists.",
	}
	RuleVolumeWaits = Rule{
		"volume-waits", Ordering, Error,
		"A PersistentVolumeClaim with WaitForFirstConsumer is not bound before a Pod uses it. In a wave before its Pod it is never " +
			"healthy, and later waves wait for ever.",
		"Put the claim in the wave of the workload that mounts it.",
	}
	RuleNoHealthCheck = Rule{
		"no-health-check", Ordering, Warning,
		"Argo CD has no health check for Applications since version 1.8. Without one in its settings, no wave waits for an Application.",
		"Run \"argosy health script applications\" and put its output into argocd-cm, key " +
			"resource.customizations.health.argoproj.io_Application.",
	}
	RuleHealthCheckNested = Rule{
		"health-check-ignores-nested", Ordering, Warning,
		"The health check of Applications copies status.health. An Application that deploys Applications is healthy as long as none of " +
			"them exist, so the next wave can start too early.",
		"Run \"argosy health script applications\" and put its output into argocd-cm, key " +
			"resource.customizations.health.argoproj.io_Application.",
	}
	RuleHealthCheckDeployed = Rule{
		"health-check-in-tree", Advice, Info,
		"The tree itself deploys the health check of Applications. At the first boot it is not there yet, and no wave waits.",
		"Apply argocd-cm before the root.",
	}
	RuleSetEmpty = Rule{
		"set-empty", Advice, Warning,
		"The generators of the ApplicationSet give nothing, so it has no Applications. The plugin appset refuses such a set.",
		"Check the paths, patterns and selectors of its generators.",
	}
	RuleHydrated = Rule{
		"hydrated", Advice, Info,
		"The Application has a source hydrator. The plan shows its dry source; Argo CD deploys what the hydrator has pushed to the " +
			"branch of syncSource, which may be older.",
		"Compare with that branch.",
	}
	RuleOtherNamespace = Rule{
		"other-namespace", Advice, Warning,
		"The Application is in another namespace than Argo CD, which watches it only if application.namespaces lists it.",
		"Check application.namespaces, or move the Application.",
	}
	RuleAlternatives = Rule{
		"roots-of-one-name", Advice, Warning,
		"Several roots have one name and different specs. They may be alternatives, such as environments; applied to one cluster, the " +
			"last one wins. The first is planned.",
		"Name the root that you apply.",
	}
	RuleLenient = Rule{
		"lenient", Advice, Warning,
		"Argo CD accepts something that is probably a mistake, such as a key that is there twice.",
		"Correct the file.",
	}
	RulePlaceholderLeft = Rule{
		"placeholder-left", Advice, Warning,
		"The template of an ApplicationSet without goTemplate has a placeholder that is no parameter, such as one with the dot of Go " +
			"templates. Argo CD leaves it as it is, braces included.",
		"Correct the name, or set goTemplate: true. If the braces are meant for something else, ignore the finding.",
	}
	RuleGlobDeeper = Rule{
		"glob-matches-deeper", Advice, Warning,
		"A pattern of a git generator with files matches files in deeper directories than it seems to: * matches slashes, too. There " +
			"is an Application for each of them.",
		"Exclude the deeper files, or turn on applicationsetcontroller.enable.new.git.file.globbing.",
	}
	RuleMergeKey = Rule{
		"merge-key-absent", Advice, Warning,
		"A generator of the merge does not have the merge key as a parameter. Its parameter sets then match none of the others, or all " +
			"match each other. With Go templates, a key with a dot, such as values.name, is never a parameter.",
		"Name a parameter that all generators of the merge have.",
	}
	RuleVersionNearest = Rule{
		"version-not-known", Advice, Info,
		"The tree deploys a version of Argo CD that is older or newer than those whose differences Argosy knows. The plan is that of the " +
			"nearest one.",
		"Read the release notes of that version, or choose another with --argocd-version.",
	}
	RuleExcluded = Rule{
		"excluded", Advice, Info,
		"Argo CD's settings exclude the kind of this object (resource.exclusions), so it is not deployed.",
		"Remove the object, or the exclusion.",
	}
)

// Rules returns all rules, in the order of a report.
func Rules() []Rule {
	all := []Rule{
		RuleSourceBroken, RuleApplicationInvalid, RuleSetBroken, RuleNameTwice, RuleSettingsBroken,
		RuleSourceUnknown, RuleSourcePartly, RuleSetUnknown, RuleFieldIgnored, RuleControllerUnknown, RuleTooLarge, RuleClusterUnknown,
		RuleClustersFromTree, RuleSettingsUnknown, RuleRolloutUnknown, RulePrerequisiteUnknown,
		RuleKindLater, RuleNamespaceLater, RuleProjectLater, RuleProjectForbids, RuleVolumeWaits, RuleKindMissing, RuleNamespaceMissing,
		RuleProjectMissing,
		RuleNoHealthCheck, RuleHealthCheckNested, RuleRolloutIgnored, RuleSeveralParents, RuleCycle, RuleWaveNotANumber, RuleSyncByHand,
		RuleNeedsCycle, RuleNeedsMissing, RuleNeedsLater, RuleUpdatesUnordered, RulePinnedPaths,
		RuleSetEmpty, RulePlaceholderLeft, RuleGlobDeeper, RuleMergeKey,
		RuleHydrated, RuleHealthCheckDeployed, RuleOtherCluster, RuleOtherNamespace,
		RuleAlternatives, RuleLenient,
		RuleExcluded,
		RuleVersionNearest,
	}
	return all
}

// Finding is something that the reader should know.
type Finding struct {
	Rule    Rule
	Subject string // an Application or a set
	// Position is its position in the user's files; for a generated Application, its set's.
	Position manifest.Position
	// Origin names the set that has generated the Application, "" for an Application in a file.
	Origin  string
	Message string
	// Field is the path of the field that it is about, in the object at Position. Nil is the object.
	Field []string
	// Lacks is the part of the message that says what the plan lacks and who needs it, without the effect on a cluster that does not have
	// it. It is "" for other findings.
	Lacks string
	// Err is the error that it reports, and Topic the topic of the warning. They are zero for other findings.
	Err   error
	Topic generator.Topic
	// Meant is the probably intended name. "" is unknown.
	Meant string
}

// findingKey names a finding.
type findingKey struct{ rule, subject, file, message string }

// key is the same for findings that say the same about the same.
func (f Finding) key() findingKey {
	return findingKey{f.Rule.Name, f.Subject, f.Position.Name(), f.Message}
}

// sortFindings puts the worst first, and findings of one rule together.
func sortFindings(list []Finding) {
	order := map[string]int{}
	for i, r := range Rules() {
		order[r.Name] = i
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Compare(order[a.Rule.Name], order[b.Rule.Name]) })
}
