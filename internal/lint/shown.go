package lint

// Shown says how a rule was verified on real Argo CD: by a test in lab/e2e, or why there is none. The zero Shown means unknown.
type Shown struct {
	Test string
	// Example says that the test boots the failing example of the rule.
	Example bool
	// Not says why no test shows it.
	Not string
}

// Tests that boot failing examples.
const (
	bootTest     = "TestLint"
	settingsTest = "TestLintSettings" // with other settings of Argo CD's processes
)

// shownBy is the test that shows a rule.
var shownBy = map[string]string{
	// Waves.
	"needs-cycle":                 bootTest,
	"no-health-check":             bootTest,
	"health-check-ignores-nested": bootTest,
	"rollout-ignored":             settingsTest,
	"cycle":                       bootTest,
	"wave-not-a-number":           "TestWaveRules",
	"needs-missing":               bootTest,
	"needs-later":                 bootTest,
	"updates-unordered":           bootTest,
	"pinned-by-paths":             bootTest,
	"set-does-not-gate":           bootTest,
	"wave-in-set-template":        bootTest,
	"health-check-always-healthy": bootTest,
	"health-check-without-status": bootTest,
	"wave-delay":                  settingsTest,
	"health-check-copies-health":  "TestBrokenChild",
	"updates-follow-branch":       "TestPin",
	"wave-inside-contradicts":     bootTest,
	"wave-gap":                    bootTest,
	"kind-does-not-gate":          bootTest,
	"hook-without-deadline":       bootTest,
	// Prerequisites.
	"kind-later":             bootTest,
	"namespace-later":        bootTest,
	"project-later":          bootTest,
	"project-forbids":        bootTest,
	"volume-waits":           bootTest,
	"reference-later":        bootTest,
	"destination-invalid":    bootTest,
	"destination-unknown":    bootTest,
	"kind-missing":           bootTest,
	"namespace-missing":      bootTest,
	"project-missing":        bootTest,
	"webhook-before-service": bootTest,
	"service-missing":        bootTest,
	"reference-missing":      bootTest,
	"class-missing":          bootTest,
	// Wedges.
	"gates-itself":                   bootTest,
	"sync-by-hand":                   bootTest,
	"retry-for-ever":                 bootTest,
	"s3-plugin-not-named":            bootTest,
	"trigger-paths":                  "TestEmptyCommit",
	"hard-refresh-without-self-heal": "TestBucketUnderUnchangedRevision",
	"root-without-self-heal":         bootTest,
	"no-sync-timeout":                bootTest,
	"argocd-gates-root":              bootTest,
	// Loss.
	"finalizer-unknown":          bootTest,
	"application-is-hook":        bootTest,
	"name-template-changed":      bootTest,
	"allow-empty":                bootTest,
	"name-changes":               bootTest,
	"generator-can-shrink":       bootTest,
	"preserve-without-effect":    bootTest,
	"finalizer-added":            bootTest,
	"delete-hook-without-source": bootTest,
	"no-finalizer":               bootTest,
}

// notShown says why no test shows a rule.
var notShown = map[string]string{
	"health-check-ignores-sync": "the tests run Argo CD 3.2.11, and the rule is for 3.4 and later",
	"hook-needs-later":          "the cluster of the tests admits pods without their service account, and ends their Jobs",
}

// shown is how a rule was seen.
func shown(rule string) Shown {
	test := shownBy[rule]
	return Shown{Test: test, Example: test == bootTest || test == settingsTest, Not: notShown[rule]}
}
