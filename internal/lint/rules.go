package lint

// own returns the rules of this package.
func own() []Rule {
	return []Rule{
		ruleNoReason,
	}
}
