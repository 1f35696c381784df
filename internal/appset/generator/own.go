package generator

// Own reports whether a generator of a kind always has a parameter of this name in Go templates.
func Own(kind Kind, name string) bool {
	var params Params
	switch kind {
	case KindGit:
		return name == "path"
	case KindClusters:
		params = Cluster{}.params(true)
	case KindSCMProvider:
		params = Repository{}.params("")
	case KindPullRequest:
		params = PullRequest{}.params(true, func(string) {})
	}
	_, ok := params[name]
	return ok
}
