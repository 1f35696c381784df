package lint

// own returns the rules of this package.
func own() []Rule {
	return []Rule{
		ruleSetGate, ruleTemplateWave, ruleAlwaysHealthy,
		ruleHealthCopies, ruleHealthWithoutStatus, ruleHealthIgnoresSync, ruleHookNeedsLater,
		ruleWaveDelay, ruleFollowsBranch, ruleWaveInside, ruleWaveGap, ruleKindGate, ruleHookDeadline,
		ruleReferenceLater, ruleWebhookBeforeService, ruleServiceMissing, ruleReferenceMissing, ruleClassMissing,
		ruleDestinationInvalid, ruleDestinationUnknown,
		ruleGatesItself, ruleRetryForEver, ruleS3Unnamed, ruleNoSelfHeal,
		ruleSyncTimeout, ruleArgoGates, ruleTriggerPaths, ruleHardRefresh,
		ruleFinalizerUnknown, ruleApplicationHook, ruleAllowEmpty, ruleLeavesObjects,
		ruleNameChanged, ruleNameChanges, ruleShrinks, rulePreserve, ruleFinalizerAdded, ruleDeleteHook,
		ruleNameTooLong, ruleNameInvalid, ruleNameFromServer, ruleSharedObject, ruleSetTwice, ruleSetElsewhere, ruleComponent, ruleUnlisted,
		ruleTemplatedProject, ruleMissingKey,
		ruleUnstable, ruleNotEscaped, rulePatchMode, ruleDropsLocal, ruleSelectorNested, ruleVersionLabel, rulePathTwice,
		ruleNotInterpolated, ruleOwnValues, ruleFastTemplate,
		ruleFieldUnknown, ruleSyncOption, ruleNoReason,
		ruleNoStep, ruleStepEmpty, ruleNoStrategy, ruleMaxUpdate, rulePolicyIgnored, ruleIgnoreInList, rulePathsMiss, ruleRefPath,
	}
}

// booted are rules whose failing example the lab boots: TestLint there has the same names.
var booted = []string{
	"no-health-check", "set-does-not-gate", "health-check-always-healthy", "kind-does-not-gate", "hook-needs-later",
	"kind-later", "kind-missing", "namespace-later", "namespace-missing", "project-later", "project-missing", "project-forbids",
	"volume-waits", "reference-later", "destination-unknown", "destination-invalid",
	"gates-itself", "sync-by-hand", "retry-for-ever", "root-without-self-heal",
	"finalizer-unknown", "application-is-hook", "allow-empty", "no-finalizer", "name-changes", "finalizer-added", "preserve-without-effect",
	"delete-hook-without-source",
}
