package generator

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/problem"
)

// pullRequestProviders are in the order in which Argo CD looks for them (applicationset/generators/pull_request.go, v3.2.11).
var pullRequestProviders = []provider{
	{
		GitHub,
		map[string]kindOf{"owner": isText, "repo": isText, "api": isText, "tokenRef": isRef, "appSecretName": isText, "labels": isStrings},
		[]string{"owner", "repo"},
		nil,
	},
	{
		GitLab,
		map[string]kindOf{
			"project": isText, "api": isText, "tokenRef": isRef, "labels": isStrings, "pullRequestState": isText,
			"insecure": isFlag, "caRef": isCA,
		},
		[]string{"project"},
		nil,
	},
	{
		Gitea,
		map[string]kindOf{"owner": isText, "repo": isText, "api": isText, "tokenRef": isRef, "insecure": isFlag, "labels": isStrings},
		[]string{"owner", "repo", "api"},
		nil,
	},
	{
		BitbucketServer,
		map[string]kindOf{
			"project": isText, "repo": isText, "api": isText, "basicAuth": isAuth, "bearerToken": isToken, "insecure": isFlag,
			"caRef": isCA,
		},
		[]string{"project", "repo", "api"},
		nil,
	},
	{
		Bitbucket,
		map[string]kindOf{"owner": isText, "repo": isText, "api": isText, "basicAuth": isAuth, "bearerToken": isToken},
		[]string{"owner", "repo"},
		nil,
	},
	{
		AzurePulls,
		map[string]kindOf{"organization": isText, "project": isText, "repo": isText, "api": isText, "tokenRef": isRef, "labels": isStrings},
		[]string{"organization", "project", "repo"},
		nil,
	},
}

type pullRequestFilter struct{ branch, target, title *regexp.Regexp }

func (s pullRequestFilter) matches(p PullRequest) bool {
	return (s.branch == nil || s.branch.MatchString(p.Branch)) && (s.target == nil || s.target.MatchString(p.TargetBranch)) &&
		(s.title == nil || s.title.MatchString(p.Title))
}

// pullRequest gives one set for each open pull request that a filter lets through.
func (r *run) pullRequest(f *fields) ([]Set, error) {
	f.requeue()
	tolerant := f.boolean("continueOnRepoNotFoundError")
	table := f.table("values")
	var filters []pullRequestFilter
	for _, item := range f.objects("filters") {
		filters = append(filters, pullRequestFilter{
			item.pattern("branchMatch"), item.pattern("targetBranchMatch"),
			item.pattern("titleMatch"),
		})
		f.errs = append(f.errs, problem.All(item.err())...)
	}
	if len(filters) > maxPatterns {
		f.errs = append(f.errs, fmt.Errorf("%s.filters: more than %d filters", f.path, maxPatterns))
	}
	p, spec := r.chosen(f, pullRequestProviders)
	values, err := r.newValues(table)
	if err := errors.Join(f.err(), problem.Wrap(err, func(e error) error { return fmt.Errorf("%s.%w", f.path, e) })); err != nil {
		return nil, err
	}
	answer, err := r.ask(f, Question{Ask: AskPullRequests, Provider: p.name, Spec: spec})
	if err != nil {
		return nil, err
	}
	if answer.NotFound {
		if tolerant {
			return nil, nil
		}
		return nil, fmt.Errorf("%s.%s: the repository is not found; continueOnRepoNotFoundError: true would give no parameters instead",
			f.path, p.name)
	}
	out := collector{run: r, path: f.path, values: values}
	for _, pull := range answer.PullRequests {
		if out.full() {
			break
		}
		if len(filters) > 0 && !slices.ContainsFunc(filters, func(s pullRequestFilter) bool { return s.matches(pull) }) {
			continue
		}
		what := fmt.Sprintf("pull request %d", pull.Number)
		params := r.pullRequestParams(f.path+": "+what, pull)
		if err := out.add(what, params); err != nil {
			return nil, err
		}
	}
	return out.all()
}

func (r *run) pullRequestParams(path string, p PullRequest) Params {
	return p.params(r.Engine.Go(), func(name string) {
		r.warned[fmt.Sprintf("%s: no parameter %s: Argo CD writes non-Latin letters in Latin ones, by a table that Argosy does not have",
			path, name)] = ""
	})
}

// params are the parameters of a pull request. absent is called with each parameter that is not available.
func (p PullRequest) params(goTemplate bool, absent func(name string)) Params {
	params := Params{
		"number": strconv.FormatInt(p.Number, 10), "title": p.Title, "branch": p.Branch, "target_branch": p.TargetBranch,
		"author":   p.Author,
		"head_sha": p.HeadSHA, "head_short_sha": p.HeadSHA[:min(8, len(p.HeadSHA))], "head_short_sha_7": p.HeadSHA[:min(7, len(p.HeadSHA))],
	}
	for name, branch := range map[string]string{"branch_slug": p.Branch, "target_branch_slug": p.TargetBranch} {
		slug, ok := template.Slug(branch)
		if !ok {
			absent(name)
			continue
		}
		params[name] = slug
	}
	// The older mode has no labels in Argo CD, either.
	if goTemplate {
		params["labels"] = p.Labels
	}
	return params
}
