package versions

// The differences.
var (
	MissingNotCounted = Difference{
		"missing-not-counted", 4,
		"an Application whose objects are not all there yet is as healthy as those that are; it is Missing only if none are",
		"an object that is not there makes its Application Missing if it has a health check in Go or in argocd-cm",
	}
)
