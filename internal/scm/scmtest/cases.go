package scmtest

import "strings"

// Case is a generator with questions to a server.
type Case struct {
	Name string
	// Provider is the provider of the server.
	Provider string
	// Generator is an entry of spec.generators as YAML. $API is the server's address.
	Generator string
	// Fails says that there is an error.
	Fails bool
	// FailsOnlyGo says that the error is one of Go templates.
	FailsOnlyGo bool
	// Since is the minor version of Argo CD 3 that knows it; 0 is all.
	Since int
}

// tokens are the ways in which sets name the Secret of the tests.
const (
	secretRef = `{secretName: scm, key: token}`
	basicAuth = `basicAuth: {username: alice, passwordRef: ` + secretRef + `}`
	bearer    = `bearerToken: {tokenRef: ` + secretRef + `}`
)

// Cases are the cases of all providers: each with its default branches, all branches, protocols, paths and labels.
func Cases() []Case {
	github := `scmProvider: {github: {organization: acme, api: $API, tokenRef: ` + secretRef + `}, `
	out := []Case{
		{Name: "github", Generator: github + `}`},
		{Name: "github https", Generator: github + `cloneProtocol: https}`},
		{Name: "github protocol", Generator: github + `cloneProtocol: ftp}`, Fails: true},
		{Name: "github values", Generator: github + `values: {a: "{{ .repository }}-{{ .branch }}"}}`},
		{Name: "github old values", Generator: github + `values: {a: x, b: "{{repository}}"}}`, Fails: true, FailsOnlyGo: true},
		{Name: "github requeue", Generator: github + `requeueAfterSeconds: 60}`},
		{Name: "github repository", Generator: github + `filters: [{repositoryMatch: "^w"}]}`},
		{Name: "github two repositories", Generator: github + `filters: [{repositoryMatch: "^w"}, {repositoryMatch: "i$"}]}`},
		{Name: "github label", Generator: github + `filters: [{labelMatch: "^dep"}]}`},
		{Name: "github label and repository", Generator: github + `filters: [{labelMatch: deploy, repositoryMatch: web}]}`},
		{Name: "github path", Generator: github + `filters: [{pathsExist: [chart/Chart.yaml]}]}`},
		{Name: "github directory", Generator: github + `filters: [{pathsExist: [chart/, README.md]}]}`},
		{Name: "github path with a space", Generator: github + `filters: [{pathsExist: ["charts/a b/Chart.yaml"]}]}`},
		{Name: "github no path", Generator: github + `filters: [{pathsDoNotExist: [chart/Chart.yaml]}]}`},
		{Name: "github both paths", Generator: github + `filters: [{pathsExist: [README.md], pathsDoNotExist: [deploy]}]}`},
		{Name: "github repository and path", Generator: github + `filters: [{repositoryMatch: infra, pathsExist: [chart]}]}`},
		{Name: "github path or repository", Generator: github + `filters: [{pathsExist: [deploy]}, {repositoryMatch: "api|web"}]}`},
		{
			Name:      "github path or path",
			Generator: github + `filters: [{pathsExist: [deploy]}, {pathsExist: [chart], repositoryMatch: web}]}`,
		},
		{Name: "github empty filter", Generator: github + `filters: [{}]}`},
		{Name: "github no paths", Generator: github + `filters: [{pathsExist: [], repositoryMatch: web}]}`},
		{Name: "github branch", Generator: github + `filters: [{branchMatch: trunk}]}`},
		{Name: "github bad pattern", Generator: github + `filters: [{branchMatch: "("}]}`, Fails: true},
		{
			Name: "github nobody", Generator: `scmProvider: {github: {organization: nobody, api: $API, tokenRef: ` + secretRef + `}}`,
			Fails: true,
		},
		{
			Name:      "github no key",
			Generator: `scmProvider: {github: {organization: acme, api: $API, tokenRef: {secretName: scm, key: other}}}`, Fails: true,
		},
		{
			Name:      "github no secret",
			Generator: `scmProvider: {github: {organization: acme, api: $API, tokenRef: {secretName: none, key: token}}}`, Fails: true,
		},
		{Name: "github no token", Generator: `scmProvider: {github: {organization: acme, api: $API}}`, Fails: true},
		{Name: "github two providers", Generator: `scmProvider: {github: {organization: acme, api: $API, tokenRef: ` + secretRef +
			`}, gitlab: {group: x}}`},
		{Name: "no provider", Provider: "github", Generator: `scmProvider: {cloneProtocol: ssh}`, Fails: true},
		{Name: "github all branches", Generator: `scmProvider: {github: {organization: acme, api: $API, allBranches: true, tokenRef: ` +
			secretRef + `}}`},
		{
			Name: "github all branches of a kind",
			Generator: `scmProvider: {github: {organization: acme, api: $API, allBranches: true, tokenRef: ` + secretRef +
				`}, filters: [{branchMatch: "^(dev|v1)$"}, {pathsExist: [chart], repositoryMatch: web}]}`,
		},
		{
			Name:      "github archived",
			Generator: `scmProvider: {github: {organization: acme, api: $API, excludeArchivedRepos: true, tokenRef: ` + secretRef + `}}`,
			Since:     5,
		},
		{Name: "github api with a path", Generator: `scmProvider: {github: {organization: acme, api: $API/api/v3/, tokenRef: ` + secretRef +
			`}}`},

		{Name: "gitlab", Generator: `scmProvider: {gitlab: {group: acme/platform, api: $API, tokenRef: ` + secretRef + `}}`},
		{Name: "gitlab https", Generator: `scmProvider: {gitlab: {group: acme/platform, api: $API/, includeSubgroups: true, tokenRef: ` +
			secretRef + `}, cloneProtocol: https}`},
		{
			Name:      "gitlab not shared",
			Generator: `scmProvider: {gitlab: {group: acme/platform, api: $API, includeSharedProjects: false, includeSubgroups: true, tokenRef: ` + secretRef + `}}`,
		},
		{Name: "gitlab topic", Generator: `scmProvider: {gitlab: {group: acme/platform, api: $API, topic: deploy, tokenRef: ` + secretRef +
			`}}`},
		{Name: "gitlab all branches", Generator: `scmProvider: {gitlab: {group: acme/platform, api: $API, allBranches: true, tokenRef: ` +
			secretRef + `}, filters: [{pathsExist: [chart/Chart.yaml]}, {pathsExist: [deploy]}]}`},
		{Name: "gitlab labels", Generator: `scmProvider: {gitlab: {group: acme/platform, api: $API, tokenRef: ` + secretRef +
			`}, filters: [{labelMatch: deploy}]}`},
		{
			Name:      "gitlab archived",
			Generator: `scmProvider: {gitlab: {group: acme/platform, api: $API, includeArchivedRepos: true, tokenRef: ` + secretRef + `}}`,
			Since:     5,
		},
		{Name: "gitlab nobody", Generator: `scmProvider: {gitlab: {group: nobody, api: $API, tokenRef: ` + secretRef + `}}`, Fails: true},

		{Name: "gitea", Generator: `scmProvider: {gitea: {owner: acme, api: $API, tokenRef: ` + secretRef + `}}`},
		{Name: "gitea https", Generator: `scmProvider: {gitea: {owner: acme, api: $API/, insecure: true, tokenRef: ` + secretRef +
			`}, cloneProtocol: https}`},
		{Name: "gitea all branches", Generator: `scmProvider: {gitea: {owner: acme, api: $API, allBranches: true, tokenRef: ` + secretRef +
			`}, filters: [{pathsExist: [chart]}, {pathsExist: [deploy/kustomization.yaml]}]}`},
		{Name: "gitea labels", Generator: `scmProvider: {gitea: {owner: acme, api: $API, tokenRef: ` + secretRef +
			`}, filters: [{labelMatch: "^go$"}]}`},
		{Name: "gitea archived", Generator: `scmProvider: {gitea: {owner: acme, api: $API, excludeArchivedRepos: true, tokenRef: ` +
			secretRef + `}}`, Since: 5},

		{Name: "bitbucket", Generator: `scmProvider: {bitbucket: {owner: acme, user: alice, appPasswordRef: ` + secretRef + `}}`},
		{Name: "bitbucket https", Generator: `scmProvider: {bitbucket: {owner: acme, user: alice, appPasswordRef: ` + secretRef +
			`}, cloneProtocol: https}`},
		{Name: "bitbucket protocol", Generator: `scmProvider: {bitbucket: {owner: acme, user: alice, appPasswordRef: ` + secretRef +
			`}, cloneProtocol: ftp}`, Fails: true},
		{
			Name:      "bitbucket all branches",
			Generator: `scmProvider: {bitbucket: {owner: acme, user: alice, allBranches: true, appPasswordRef: ` + secretRef + `}}`,
		},
		{Name: "bitbucket paths", Generator: `scmProvider: {bitbucket: {owner: acme, user: alice, appPasswordRef: ` + secretRef +
			`}, filters: [{pathsExist: [chart/]}, {pathsExist: [deploy/kustomization.yaml]}]}`},

		{Name: "bitbucketServer", Generator: `scmProvider: {bitbucketServer: {project: SHOP, api: $API, ` + basicAuth + `}}`},
		{Name: "bitbucketServer https", Generator: `scmProvider: {bitbucketServer: {project: SHOP, api: $API/rest, ` + bearer +
			`}, cloneProtocol: https}`},
		{
			Name:      "bitbucketServer all branches",
			Generator: `scmProvider: {bitbucketServer: {project: SHOP, api: $API/rest/, allBranches: true, ` + bearer + `}}`,
		},
		{Name: "bitbucketServer paths", Generator: `scmProvider: {bitbucketServer: {project: SHOP, api: $API, ` + bearer +
			`}, filters: [{pathsExist: [chart]}, {pathsExist: [deploy/kustomization.yaml]}]}`},
		{
			Name: "bitbucketServer nobody", Generator: `scmProvider: {bitbucketServer: {project: NONE, api: $API, ` + bearer + `}}`,
			Fails: true,
		},

		{Name: "azureDevOps", Generator: `scmProvider: {azureDevOps: {organization: acme, teamProject: shop, api: $API, accessTokenRef: ` +
			secretRef + `}}`},
		{
			Name:      "azureDevOps all branches",
			Generator: `scmProvider: {azureDevOps: {organization: acme, teamProject: shop, api: $API/, allBranches: true, accessTokenRef: ` + secretRef + `}, cloneProtocol: whatever}`,
		},
		{
			Name: "azureDevOps paths",
			Generator: `scmProvider: {azureDevOps: {organization: acme, teamProject: shop, api: $API, accessTokenRef: ` + secretRef +
				`}, filters: [{pathsExist: [chart]}, {pathsExist: [deploy/kustomization.yaml]}]}`,
		},
		{
			Name: "azureDevOps no token", Generator: `scmProvider: {azureDevOps: {organization: acme, teamProject: shop, api: $API}}`,
			Fails: true,
		},

		{Name: "pull requests of github", Provider: "github", Generator: pulls("github", "owner: acme, repo: web", "", "")},
		{
			Name: "pull requests of github with labels", Provider: "github",
			Generator: pulls("github", "owner: acme, repo: web, labels: [preview, go]", "", ""),
		},
		{
			Name: "pull requests of github by branch", Provider: "github",
			Generator: pulls("github", "owner: acme, repo: web", "", `, filters: [{branchMatch: "^f"}]`),
		},
		{
			Name: "pull requests of github by target", Provider: "github",
			Generator: pulls("github", "owner: acme, repo: web", "",
				`, filters: [{targetBranchMatch: release}, {branchMatch: fix, titleMatch: polish}]`),
		},
		{
			Name: "pull requests of github by title", Provider: "github",
			Generator: pulls("github", "owner: acme, repo: web", "", `, filters: [{titleMatch: "^WIP$"}]`),
		},
		{
			Name: "pull requests of github with an empty filter", Provider: "github",
			Generator: pulls("github", "owner: acme, repo: web", "", `, filters: [{}]`),
		},
		{
			Name: "pull requests of github with values", Provider: "github",
			Generator: pulls("github", "owner: acme, repo: web", "", `, values: {a: "{{ .number }}-{{ .branch_slug }}"}`),
		},
		{
			Name: "pull requests of github with old values", Provider: "github",
			Generator: pulls("github", "owner: acme, repo: web", "", `, values: {b: "{{number}}"}`), Fails: true, FailsOnlyGo: true,
		},
		{Name: "pull requests of nobody", Provider: "github", Generator: pulls("github", "owner: acme, repo: none", "", ""), Fails: true},
		{
			Name: "pull requests of nobody, tolerated", Provider: "github",
			Generator: pulls("github", "owner: acme, repo: none", "", ", continueOnRepoNotFoundError: true"),
		},
		{Name: "pull requests of gitlab", Provider: "gitlab", Generator: pulls("gitlab", "project: acme/web", "", "")},
		{
			Name: "pull requests of gitlab with labels", Provider: "gitlab",
			Generator: pulls("gitlab", "project: acme/web, labels: [preview, go], pullRequestState: opened", "", ""),
		},
		{
			Name: "pull requests of gitlab with a state", Provider: "gitlab",
			Generator: pulls("gitlab", "project: acme/web, pullRequestState: merged", "", ""),
		},
		{
			Name: "pull requests of gitlab's nobody, tolerated", Provider: "gitlab",
			Generator: pulls("gitlab", "project: acme/none", "", ", continueOnRepoNotFoundError: true"),
		},
		{Name: "pull requests of gitea", Provider: "gitea", Generator: pulls("gitea", "owner: acme, repo: web", "", "")},
		{
			Name: "pull requests of gitea with labels", Provider: "gitea",
			Generator: pulls("gitea", "owner: acme, repo: web, labels: [preview]", "", ""),
		},
		{
			Name: "pull requests of gitea's nobody, tolerated", Provider: "gitea",
			Generator: pulls("gitea", "owner: acme, repo: none", "", ", continueOnRepoNotFoundError: true"),
		},
		{Name: "pull requests of bitbucket", Provider: "bitbucket", Generator: pulls("bitbucket", "owner: acme, repo: web", basicAuth, "")},
		{
			Name: "pull requests of bitbucket with a token", Provider: "bitbucket",
			Generator: pulls("bitbucket", "owner: acme, repo: web", bearer, ""),
		},
		{
			Name: "pull requests of bitbucket's nobody, tolerated", Provider: "bitbucket",
			Generator: pulls("bitbucket", "owner: acme, repo: none", bearer, ", continueOnRepoNotFoundError: true"),
		},
		{
			Name: "pull requests of bitbucketServer", Provider: "bitbucketServer",
			Generator: pulls("bitbucketServer", "project: SHOP, repo: web", bearer, ""),
		},
		{
			Name: "pull requests of bitbucketServer by target", Provider: "bitbucketServer",
			Generator: pulls("bitbucketServer", "project: SHOP, repo: web", basicAuth, `, filters: [{targetBranchMatch: main}]`),
		},
		{
			Name: "pull requests of bitbucketServer's nobody, tolerated", Provider: "bitbucketServer",
			Generator: pulls("bitbucketServer", "project: SHOP, repo: none", bearer, ", continueOnRepoNotFoundError: true"),
		},
		{Name: "pull requests of azure", Provider: "azureDevOps", Generator: pulls("azuredevops",
			"organization: acme, project: shop, repo: web", "", "")},
		{
			Name: "pull requests of azure with labels", Provider: "azureDevOps",
			Generator: pulls("azuredevops", "organization: acme, project: shop, repo: web, labels: [preview]", "", ""),
		},
		{
			Name: "pull requests of azure's nobody, tolerated", Provider: "azureDevOps",
			Generator: pulls("azuredevops", "organization: acme, project: nothing, repo: web", "", ", continueOnRepoNotFoundError: true"),
		},
	}
	for i, c := range out {
		if c.Provider == "" {
			out[i].Provider, _, _ = strings.Cut(c.Name, " ")
		}
	}
	return out
}

func pulls(provider, spec, auth, rest string) string {
	if auth == "" {
		auth = "tokenRef: " + secretRef
	}
	return "pullRequest: {" + provider + ": {" + spec + ", api: $API, " + auth + "}" + rest + "}"
}

// Secret is the Secret that the cases name.
const Secret = `
apiVersion: v1
kind: Secret
metadata: {name: scm, namespace: argocd, labels: {argocd.argoproj.io/secret-type: scm-creds}}
stringData: {token: ` + Token + `}
`

// parameters are those of both generators; a template that uses others says "<no value>" or leaves them as they are.
var parameters = []string{
	"organization", "repository", "repository_id", "url", "branch", "branchNormalized", "sha", "short_sha", "short_sha_7", "labels",
	"number", "title", "branch_slug", "target_branch", "target_branch_slug", "head_sha", "head_short_sha", "head_short_sha_7", "author",
	"values.a", "values.b",
}

// IsError reports whether a mode of templates gives an error.
func (c Case) IsError(goTemplate bool) bool { return c.Fails && (goTemplate || !c.FailsOnlyGo) }

// Set is an ApplicationSet with a case's generator whose Applications show all parameters.
func (c Case) Set(api string, goTemplate bool) string {
	name, mode := "x-{{repository}}-{{branchNormalized}}", "false"
	if goTemplate {
		name, mode = "x-{{ .repository }}-{{ .branchNormalized }}", "true"
	}
	if strings.HasPrefix(c.Generator, "pullRequest") {
		name = strings.NewReplacer("x-{{repository}}-{{branchNormalized}}", "pr-{{number}}", "x-{{ .repository }}-{{ .branchNormalized }}",
			"pr-{{ .number }}").Replace(name)
	}
	var b strings.Builder
	b.WriteString("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec:\n  " +
		"goTemplate: " + mode +
		"\n  generators:\n    - " + strings.ReplaceAll(c.Generator, "$API", api) + "\n  template:\n    metadata:\n      name: '" + name +
		"'\n      annotations:\n")
	for _, p := range parameters {
		if goTemplate {
			b.WriteString("        " + p + ": '{{ ." + p + " }}'\n")
		} else {
			b.WriteString("        " + p + ": '{{" + p + "}}'\n")
		}
	}
	if goTemplate {
		b.WriteString("        json: '{{ .labels | toJson }}'\n")
	}
	b.WriteString("    spec:\n      project: default\n      source: {repoURL: 'https://git.example.com/x', path: x, targetRevision: x}\n " +
		"     destination: {server: 'https://kubernetes.default.svc', namespace: x}\n")
	return b.String()
}
