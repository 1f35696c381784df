package scm

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/argosy-cd/argosy/internal/appset/generator"
)

// gitea asks Gitea (applicationset/services/scm_provider/gitea.go and pull_request/gitea.go, v3.2.11). Argo CD reads the first page of
// every list, with as many items as the server likes; more of them is a warning.
type gitea struct {
	*host
	spec
}

// firstPage reads a list, and notes if there is more.
func (g *gitea) firstPage(ctx context.Context, what, path string, query url.Values, out any) error {
	if query == nil {
		query = url.Values{}
	}
	query.Set("page", "1")
	query.Set("limit", "0")
	header, err := g.get(ctx, path, query, out)
	if err == nil && next(header) > 1 {
		g.note(fmt.Sprintf("%s has more %s than the first page, which is all that Argo CD reads of Gitea", g.base.Host, what))
	}
	return err
}

func (g *gitea) repositories(ctx context.Context, protocol string) ([]generator.Repository, error) {
	var list []struct {
		ID            int64  `json:"id"`
		Name          string `json:"name"`
		DefaultBranch string `json:"default_branch"`
		SSH           string `json:"ssh_url"`
		HTML          string `json:"html_url"`
		Archived      bool   `json:"archived"`
	}
	err := g.firstPage(ctx, "repositories", "orgs/"+url.PathEscape(g.Owner)+"/repos", nil, &list)
	if err == nil {
		err = tooMany(len(list), maxRepositories, "repositories")
	}
	if err != nil {
		return nil, err
	}
	labels := make([][]string, len(list))
	err = each(ctx, len(list), func(ctx context.Context, i int) error {
		var found []label
		err := g.firstPage(ctx, "labels", g.repo(list[i].Name)+"/labels", nil, &found)
		labels[i] = append([]string{}, labelNames(found)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []generator.Repository
	for i, r := range list {
		address, err := protocolURL(protocol, r.SSH, r.HTML)
		if err != nil {
			return nil, err
		}
		if g.ExcludeArchivedRepos && r.Archived {
			continue
		}
		out = append(out, generator.Repository{
			Organization: g.Owner, Repository: r.Name, Branch: r.DefaultBranch, URL: address,
			Labels: labels[i], Number: r.ID,
		})
	}
	return out, nil
}

func (g *gitea) repo(name string) string {
	return "repos/" + url.PathEscape(g.Owner) + "/" + url.PathEscape(name)
}

func (g *gitea) branches(ctx context.Context, r generator.Repository) ([]generator.Branch, error) {
	if !g.AllBranches {
		var b gitlabBranch
		_, err := g.get(ctx, g.repo(r.Repository)+"/branches/"+url.PathEscape(r.Branch), nil, &b)
		return []generator.Branch{{Name: r.Branch, SHA: b.Commit.ID}}, err
	}
	var list []gitlabBranch
	err := g.firstPage(ctx, "branches", g.repo(r.Repository)+"/branches", nil, &list)
	var out []generator.Branch
	for _, b := range list {
		out = append(out, generator.Branch{Name: b.Name, SHA: b.Commit.ID})
	}
	return out, errors.Join(err, tooMany(len(out), maxBranches, "branches"))
}

func (g *gitea) hasPath(ctx context.Context, r generator.Repository, path string) (bool, error) {
	_, err := g.get(ctx, g.repo(r.Repository)+"/contents/"+escapePath(path), url.Values{"ref": {r.Branch}}, nil)
	return found(err)
}

func (g *gitea) pullRequests(ctx context.Context) ([]generator.PullRequest, error) {
	var list []pull
	err := g.firstPage(ctx, "pull requests", g.repo(g.Repo)+"/pulls", url.Values{"state": {"open"}}, &list)
	if isMissing(err) {
		err = errNotFound
	}
	var out []generator.PullRequest
	for _, p := range list {
		if hasLabels(g.Labels, labelNames(p.Labels)) {
			out = append(out, generator.PullRequest{
				Number: p.Number, Title: p.Title, Branch: p.Head.Ref, TargetBranch: p.Base.Ref, HeadSHA: p.Head.SHA,
				Labels: labelNames(p.Labels), Author: p.User.Login,
			})
		}
	}
	return out, errors.Join(err, tooMany(len(out), maxPulls, "pull requests"))
}
