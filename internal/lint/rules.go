package lint

// own returns the rules of this package.
func own() []Rule {
	return []Rule{
		ruleSetGate, ruleTemplateWave, ruleAlwaysHealthy,
		ruleHookNeedsLater,
		ruleReferenceLater, ruleWebhookBeforeService, ruleServiceMissing, ruleReferenceMissing, ruleClassMissing,
		ruleGatesItself, ruleRetryForEver, ruleS3Unnamed, ruleNoSelfHeal,
		ruleFinalizerUnknown, ruleApplicationHook, ruleAllowEmpty, ruleLeavesObjects,
		ruleSharedObject,
		ruleTemplatedProject, ruleMissingKey,
		ruleFieldUnknown, ruleSyncOption, ruleNoReason,
	}
}
