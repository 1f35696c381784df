package generator

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/problem"
)

// scmProviders are in the order in which Argo CD looks for them (applicationset/generators/scm_provider.go, v3.2.11).
var scmProviders = []provider{
	{
		GitHub,
		map[string]kindOf{
			"organization": isText, "api": isText, "tokenRef": isRef, "appSecretName": isText, "allBranches": isFlag,
			"excludeArchivedRepos": isFlag,
		},
		[]string{"organization"},
		map[string]int{"excludeArchivedRepos": int(versions.ArchivedRepositories.Since)},
	},
	{
		GitLab,
		map[string]kindOf{
			"group": isText, "includeSubgroups": isFlag, "api": isText, "tokenRef": isRef, "allBranches": isFlag, "insecure": isFlag,
			"includeSharedProjects": isFlag, "topic": isText, "caRef": isCA,
			"includeArchivedRepos": isFlag,
		},
		[]string{"group"},
		map[string]int{"includeArchivedRepos": int(versions.ArchivedRepositories.Since)},
	},
	{
		Gitea,
		map[string]kindOf{
			"owner": isText, "api": isText, "tokenRef": isRef, "allBranches": isFlag, "insecure": isFlag,
			"excludeArchivedRepos": isFlag,
		},
		[]string{"owner", "api"},
		map[string]int{"excludeArchivedRepos": int(versions.ArchivedRepositories.Since)},
	},
	{
		BitbucketServer,
		map[string]kindOf{
			"project": isText, "api": isText, "basicAuth": isAuth, "bearerToken": isToken, "allBranches": isFlag,
			"insecure": isFlag, "caRef": isCA,
		},
		[]string{"project", "api"},
		nil,
	},
	{
		AzureDevOps,
		map[string]kindOf{"organization": isText, "api": isText, "teamProject": isText, "accessTokenRef": isRef, "allBranches": isFlag},
		[]string{"organization", "teamProject"},
		nil,
	},
	{
		Bitbucket,
		map[string]kindOf{"owner": isText, "user": isText, "appPasswordRef": isRef, "allBranches": isFlag},
		[]string{"owner", "user"},
		nil,
	},
	{CodeCommit, map[string]kindOf{"tagFilters": isTags, "role": isText, "region": isText, "allBranches": isFlag}, nil, nil},
}

// scmFilter is an entry of filters. All of its conditions must hold.
type scmFilter struct {
	repository, label, branch *regexp.Regexp
	exist, missing            []string
	// onBranch says that it is about branches; one that is about nothing at all does not count, as in Argo CD.
	onBranch, onRepository bool
}

// scmSpec is an scmProvider generator.
type scmSpec struct {
	provider Provider
	spec     json.RawMessage
	protocol string
	filters  []scmFilter
	values   *values
}

// scmProvider gives one set for each branch of each repository that the filters let through.
func (r *run) scmProvider(f *fields) ([]Set, error) {
	g, err := r.scmSpec(f)
	if err != nil {
		return nil, err
	}
	repositories, err := r.scmRepositories(f, g)
	if err != nil {
		return nil, err
	}
	out := collector{run: r, path: f.path, values: g.values}
	for _, repo := range repositories {
		if out.full() {
			break
		}
		params := repo.params(g.provider)
		what := fmt.Sprintf("branch %s of %s", repo.Branch, repo)
		if err := out.add(what, params); err != nil {
			return nil, err
		}
	}
	return out.all()
}

func (r *run) scmSpec(f *fields) (*scmSpec, error) {
	g := &scmSpec{protocol: f.text("cloneProtocol")}
	f.requeue()
	table := f.table("values")
	for _, item := range f.objects("filters") {
		g.filters = append(g.filters, newSCMFilter(item))
		f.errs = append(f.errs, problem.All(item.err())...)
	}
	if len(g.filters) > maxPatterns {
		f.errs = append(f.errs, fmt.Errorf("%s.filters: more than %d filters", f.path, maxPatterns))
	}
	p, spec := r.chosen(f, scmProviders)
	g.provider, g.spec = p.name, spec
	values, err := r.newValues(table)
	g.values = values
	return g, errors.Join(f.err(), problem.Wrap(err, func(e error) error { return fmt.Errorf("%s.%w", f.path, e) }))
}

// newSCMFilter reads a filter (applicationset/services/scm_provider/utils.go, compileFilters, v3.2.11).
func newSCMFilter(f *fields) scmFilter {
	s := scmFilter{
		repository: f.pattern("repositoryMatch"), label: f.pattern("labelMatch"), branch: f.pattern("branchMatch"),
		exist: f.strings("pathsExist"), missing: f.strings("pathsDoNotExist"),
	}
	s.onBranch = s.branch != nil || f.value["pathsExist"] != nil || f.value["pathsDoNotExist"] != nil
	s.onRepository = !s.onBranch && (s.repository != nil || s.label != nil)
	return s
}

// pattern reads a regular expression; nil is none.
func (f *fields) pattern(name string) *regexp.Regexp {
	text := f.text(name)
	if f.value[name] == nil {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		f.errs = append(f.errs, fmt.Errorf("%s.%s: %q is not a regular expression: %w", f.path, name, text, err))
	}
	return re
}

// scmRepositories requests repositories, and then the branches of those that pass a filter.
func (r *run) scmRepositories(f *fields, g *scmSpec) ([]Repository, error) {
	question := Question{Provider: g.provider, Spec: g.spec, CloneProtocol: g.protocol}
	list := question
	list.Ask = AskRepositories
	answer, err := r.ask(f, list)
	if err != nil {
		return nil, err
	}
	repositories := answer.Repositories
	if filters := g.only(func(s scmFilter) bool { return s.onRepository }); len(filters) > 0 {
		repositories = slices.DeleteFunc(slices.Clone(repositories), func(repo Repository) bool {
			return !slices.ContainsFunc(filters, func(s scmFilter) bool { return s.matches(repo) })
		})
	}
	if len(repositories) == 0 {
		return nil, r.ctx.Err()
	}
	branches := question
	branches.Ask, branches.Repositories = AskBranches, repositories
	if answer, err = r.ask(f, branches); err != nil {
		return nil, err
	}
	var out []Repository
	for i, repo := range repositories {
		for _, b := range answer.Branches[i] {
			repo.Branch, repo.SHA = b.Name, b.SHA
			if out = append(out, repo); len(out) > r.MaxSets {
				return nil, r.tooMany(f.path)
			}
		}
	}
	filters := g.only(func(s scmFilter) bool { return s.onBranch })
	if len(filters) == 0 {
		return out, nil
	}
	return r.scmPassing(f, question, filters, out)
}

func (g *scmSpec) only(kind func(scmFilter) bool) []scmFilter {
	return slices.DeleteFunc(slices.Clone(g.filters), func(s scmFilter) bool { return !kind(s) })
}

// matches reports whether the regular expressions of a filter match.
func (s scmFilter) matches(r Repository) bool {
	return (s.repository == nil || s.repository.MatchString(r.Repository)) && (s.branch == nil || s.branch.MatchString(r.Branch)) &&
		(s.label == nil || slices.ContainsFunc(r.Labels, s.label.MatchString))
}

// scmPassing returns the branches that a filter lets through. It asks for a path only where Argo CD would: in branches that no earlier
// filter and no earlier condition has decided about.
func (r *run) scmPassing(f *fields, question Question, filters []scmFilter, all []Repository) ([]Repository, error) {
	passed := make([]bool, len(all))
	for _, s := range filters {
		var left []int // of all, still in question
		for i, repo := range all {
			if !passed[i] && s.matches(repo) {
				left = append(left, i)
			}
		}
		for n, path := range slices.Concat(s.exist, s.missing) {
			if len(left) == 0 {
				break
			}
			q := question
			q.Ask, q.Path, q.Repositories = AskPath, strings.TrimRight(path, "/"), nil
			for _, i := range left {
				q.Repositories = append(q.Repositories, all[i])
			}
			answer, err := r.ask(f, q)
			if err != nil {
				return nil, err
			}
			var still []int
			for k, i := range left {
				if answer.Exists[k] == (n < len(s.exist)) {
					still = append(still, i)
				}
			}
			left = still
		}
		for _, i := range left {
			passed[i] = true
		}
	}
	var out []Repository
	for i, repo := range all {
		if passed[i] {
			out = append(out, repo)
		}
	}
	return out, nil
}

// params are the parameters of a branch, which are the same in both template modes.
func (r Repository) params(provider Provider) Params {
	p := Params{
		"organization": r.Organization, "repository": r.Repository, "url": r.URL, "branch": r.Branch,
		"branchNormalized": template.Normalize(r.Branch),
		"sha":              r.SHA, "short_sha": r.SHA[:min(8, len(r.SHA))], "short_sha_7": r.SHA[:min(7, len(r.SHA))],
		"labels": strings.Join(r.Labels, ","), "repository_id": any(int(r.Number)),
	}
	switch {
	case r.ID != "" && provider == AzureDevOps:
		p["repository_id"] = identifier(r.ID)
	case r.ID != "":
		p["repository_id"] = r.ID
	}
	return p
}

// identifier is a text that is no string in Argo CD: Go templates print it, and the older mode does not know it.
type identifier string
