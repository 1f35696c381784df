package versions

// The differences that this program follows.
var (
	DecisionsPrinted = Difference{
		"decisions-printed", 3, "ApplicationSets",
		"the clusterDecisionResource generator prints numbers and other values of a decision",
		"a decision whose values are not all strings ends the controller",
	}
	AppInstallationFound = Difference{
		"app-installation-found", 3, "ApplicationSets",
		"if githubAppInstallationID is not set, the GitHub App's installation in the organization is found",
		"githubAppInstallationID must be set",
	}
	ClustersFromSecrets = Difference{
		"clusters-from-secrets", 4, "ApplicationSets",
		"the clusters generator reads the Secrets alone: the local cluster comes last, two Secrets with one cluster name are one " +
			"cluster, and only the exact server " +
			"https://kubernetes.default.svc is the local cluster",
		"the local cluster comes first, of two Secrets with one cluster name the last counts twice, and a slash at the end of a server " +
			"is ignored",
	}
	ClusterConfigUnread = Difference{
		"cluster-config-unread", 4, "ApplicationSets",
		"the clusters generator accepts a cluster Secret whose config is not JSON",
		"such a Secret fails every clusters generator",
	}
	SelectorSeesNested = Difference{
		"selector-sees-nested", 4, "ApplicationSets",
		"with Go templates the selector of a generator sees labels, annotations and values one by one, such as metadata.labels.env",
		"each of these objects is one parameter, printed as a Go map",
	}
	ValuesKeptForOwn = Difference{
		"values-kept-for-own", 4, "ApplicationSets",
		"in a matrix, values of the second generator may use parameters that only the second generator has (since 3.4.4); keys of " +
			"values are not templates",
		"these values are rendered with the parameters of the first generator only, so such a parameter has no value",
	}
	AutomatedFalseKept = Difference{
		"automated-false-kept", 4, "ApplicationSets",
		"prune, selfHeal and allowEmpty of syncPolicy.automated stay in a generated Application if they are false",
		"false is left out",
	}
	EmptyJsonnetOmitted = Difference{
		"empty-jsonnet-omitted", 4, "ApplicationSets",
		"an empty directory.jsonnet is left out of a generated Application",
		"it stays",
	}
	MissingNotCounted = Difference{
		"missing-not-counted", 4, "health",
		"objects that do not exist yet do not count for the health of their Application; it is Missing only if none of its objects exist",
		"an object that is not there makes its Application Missing if its kind has a health check in Go, or if argocd-cm customizes " +
			"its kind in any way, as it does by default for ConfigMaps",
	}
	PruneOfApplication = Difference{
		"prune-of-application", 4, "sync",
		"the sync options Prune=false and Prune=confirm of an Application count for all of its objects that have no such option",
		"these options count in the annotation of an object only",
	}
	ArchivedRepositories = Difference{
		"archived-repositories", 5, "ApplicationSets",
		"scmProvider has excludeArchivedRepos (github, gitea) and includeArchivedRepos (gitlab)",
		"the API server drops these fields",
	}
	AutoscalerFailureFirst = Difference{
		"autoscaler-failure-first", 5, "health",
		"a HorizontalPodAutoscaler with any failing condition is Degraded; FailedGetObjectMetric, FailedGetPodsMetric, " +
			"FailedGetExternalMetric and FailedComputeMetricsReplicas are failures, too",
		"the first condition that fails or succeeds decides",
	}
)

// Differences returns all of them, those of the oldest version first.
func Differences() []Difference {
	return []Difference{
		DecisionsPrinted, AppInstallationFound,
		ClustersFromSecrets, ClusterConfigUnread, SelectorSeesNested, ValuesKeptForOwn, AutomatedFalseKept, EmptyJsonnetOmitted,
		MissingNotCounted, PruneOfApplication,
		ArchivedRepositories, AutoscalerFailureFirst,
	}
}
