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
		ruleSharedObject,
		ruleTemplatedProject, ruleMissingKey,
		ruleFieldUnknown, ruleSyncOption, ruleNoReason,
	}
}
