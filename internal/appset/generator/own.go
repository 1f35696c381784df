package generator

// Own reports whether a generator of a kind always has a parameter of this name in Go templates.
func Own(kind, name string) bool {
	var params Params
	switch kind {
	case "git":
		return name == "path"
	case "clusters":
		params = Cluster{}.params(true)
	case "scmProvider":
		params = Repository{}.params("")
	case "pullRequest":
		params = PullRequest{}.params(true, func(string) {})
	}
	_, ok := params[name]
	return ok
}
