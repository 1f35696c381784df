package render

// Limits of rendering. Packages manifest and template have those of YAML and of templates.
const (
	// maxChartFiles and maxChartBytes bound a chart with its dependencies, also those that are archives in it, and archives in those.
	maxChartFiles = 20_000
	maxChartBytes = 128 << 20
	// maxArchives bounds how deep archives are inside each other.
	maxArchives = 10
	// maxDependencies bounds those of one chart: each alias is the whole dependency again.
	maxDependencies = 200
	// maxIgnoreWork bounds the rules of .helmignore times the names that they are held against.
	maxIgnoreWork = 20_000_000
	// maxIndexes bounds the sum of all indexes in parameters such as a[3]: a list with that many elements is made for each.
	maxIndexes = 1_000_000
	// maxAliased bounds what aliases add to a document in a Kustomization, in values; maxAliasedBytes in bytes.
	maxAliased      = 500_000
	maxAliasedBytes = 32 << 20
	// maxBuilds bounds how many Kustomizations a build goes through: one that is reached in several ways is built each time, so a few files
	// can take for ever. maxAlone bounds a build that blocks all others.
	maxBuilds = 5_000
	maxAlone  = 200
	// maxComparisons bounds the resources of each Kustomization of a build, squared, together: Kustomize compares each with each. This many
	// take up to a minute. maxAloneComparisons is for a build that blocks all others.
	maxComparisons      = 64_000_000
	maxAloneComparisons = 1_000_000
	// MaxValues and MaxBytes bound all manifests that are decoded together, in values and in bytes. Argo CD takes 10 MB from a directory.
	MaxValues = 3_000_000
	MaxBytes  = 64 << 20
	// maxErrors bounds the errors of one build.
	maxErrors = 100
)
