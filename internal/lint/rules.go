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
