package lint

// own returns the rules of this package.
func own() []Rule {
	return []Rule{
		ruleSetGate, ruleTemplateWave, ruleAlwaysHealthy,
		ruleGatesItself, ruleRetryForEver, ruleS3Unnamed, ruleNoSelfHeal,
		ruleFinalizerUnknown, ruleApplicationHook, ruleAllowEmpty, ruleLeavesObjects,
		ruleNameChanges, ruleShrinks, rulePreserve, ruleFinalizerAdded, ruleDeleteHook, ruleCRDPruned,
		ruleNameTooLong, ruleNameInvalid, ruleNameFromServer, ruleSharedObject, ruleSetTwice, ruleSetElsewhere, ruleComponent, ruleUnlisted,
		ruleTemplatedProject, ruleMissingKey,
		ruleUnstable, ruleNotEscaped, rulePatchMode, ruleDropsLocal, ruleSelectorNested, ruleVersionLabel, rulePathTwice,
		ruleNotInterpolated, ruleOwnValues, ruleFastTemplate,
		ruleFieldUnknown, ruleSyncOption, ruleNoReason,
		ruleNoStep, ruleStepEmpty, ruleMaxUpdate, rulePolicyIgnored, ruleIgnoreInList, rulePathsMiss, ruleRefPath,
	}
}
