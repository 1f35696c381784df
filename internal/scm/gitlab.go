package scm

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
)

// gitlab asks GitLab (applicationset/services/scm_provider/gitlab.go and pull_request/gitlab.go, v3.2.11).
type gitlab struct {
	*host
	spec
}

// gitlabEscape escapes a name that is one element of a path. GitLab takes a dot for the beginning of a format.
func gitlabEscape(s string) string { return strings.ReplaceAll(url.PathEscape(s), ".", "%2E") }

func nextPage(header http.Header) int {
	n, _ := strconv.Atoi(header.Get("X-Next-Page"))
	return n
}

func (g *gitlab) repositories(ctx context.Context, protocol string) ([]generator.Repository, error) {
	var out []generator.Repository
	shared := g.IncludeSharedProjects == nil || *g.IncludeSharedProjects
	err := pages(g.host, func(n int) (int, error) {
		var list []struct {
			ID            int64    `json:"id"`
			Path          string   `json:"path"`
			DefaultBranch string   `json:"default_branch"`
			SSH           string   `json:"ssh_url_to_repo"`
			HTTP          string   `json:"http_url_to_repo"`
			Topics        []string `json:"topics"`
			TagList       []string `json:"tag_list"`
			Namespace     struct {
				FullPath string `json:"full_path"`
			} `json:"namespace"`
		}
		query := page(n)
		query.Set("include_subgroups", strconv.FormatBool(g.IncludeSubgroups))
		query.Set("with_shared", strconv.FormatBool(shared))
		query.Set("topic", g.Topic)
		if g.IncludeArchivedRepos {
			query.Set("archived", "true")
		}
		header, err := g.get(ctx, "groups/"+gitlabEscape(g.Group)+"/projects", query, &list)
		if err != nil {
			return 0, err
		}
		for _, r := range list {
			address, err := protocolURL(protocol, r.SSH, r.HTTP)
			if err != nil {
				return 0, err
			}
			labels := r.Topics
			if len(labels) == 0 {
				labels = r.TagList // before GitLab 14.5
			}
			out = append(out, generator.Repository{
				Organization: r.Namespace.FullPath, Repository: r.Path, Branch: r.DefaultBranch,
				URL: address, Labels: labels, Number: r.ID,
			})
		}
		following := nextPage(header)
		if total, _ := strconv.Atoi(header.Get("X-Total-Pages")); following != 0 && n >= total {
			g.note("GitLab does not say how many pages of projects there are, and Argo CD reads the first one only")
			following = 0
		}
		return following, tooMany(len(out), maxRepositories, "repositories")
	})
	return out, err
}

type gitlabBranch struct {
	Name   string `json:"name"`
	Commit struct {
		ID string `json:"id"`
	} `json:"commit"`
}

func (g *gitlab) branches(ctx context.Context, r generator.Repository) ([]generator.Branch, error) {
	at := "projects/" + strconv.FormatInt(r.Number, 10) + "/repository/branches"
	if !g.AllBranches {
		var b gitlabBranch
		_, err := g.get(ctx, at+"/"+gitlabEscape(r.Branch), nil, &b)
		if isMissing(err) {
			return nil, nil
		}
		return []generator.Branch{{Name: b.Name, SHA: b.Commit.ID}}, err
	}
	var out []generator.Branch
	err := pages(g.host, func(n int) (int, error) {
		var list []gitlabBranch
		header, err := g.get(ctx, at, page(n), &list)
		if isMissing(err) {
			out = nil
			return 0, nil
		}
		for _, b := range list {
			out = append(out, generator.Branch{Name: b.Name, SHA: b.Commit.ID})
		}
		return nextPage(header), errors.Join(err, tooMany(len(out), maxBranches, "branches"))
	})
	return out, err
}

// hasPath asks for a file, and then for a directory.
func (g *gitlab) hasPath(ctx context.Context, r generator.Repository, path string) (bool, error) {
	at := "projects/" + strconv.FormatInt(r.Number, 10) + "/repository/"
	_, err := g.get(ctx, at+"files/"+gitlabEscape(path), url.Values{"ref": {r.Branch}}, nil)
	if isMissing(err) {
		_, err = g.get(ctx, at+"tree", url.Values{"path": {path}, "ref": {r.Branch}}, nil)
	}
	return found(err)
}

func (g *gitlab) pullRequests(ctx context.Context) ([]generator.PullRequest, error) {
	var out []generator.PullRequest
	err := pages(g.host, func(n int) (int, error) {
		var list []struct {
			IID    int64    `json:"iid"`
			Title  string   `json:"title"`
			Source string   `json:"source_branch"`
			Target string   `json:"target_branch"`
			SHA    string   `json:"sha"`
			Labels []string `json:"labels"`
			Author struct {
				Username string `json:"username"`
			} `json:"author"`
		}
		query := page(n)
		if len(g.Labels) > 0 {
			query.Set("labels", strings.Join(g.Labels, ","))
		}
		if g.PullRequestState != "" {
			query.Set("state", g.PullRequestState)
		}
		header, err := g.get(ctx, "projects/"+gitlabEscape(g.Project)+"/merge_requests", query, &list)
		if isMissing(err) {
			err = errNotFound
		}
		for _, p := range list {
			out = append(out, generator.PullRequest{
				Number: p.IID, Title: p.Title, Branch: p.Source, TargetBranch: p.Target, HeadSHA: p.SHA, Labels: p.Labels,
				Author: p.Author.Username,
			})
		}
		return nextPage(header), errors.Join(err, tooMany(len(out), maxPulls, "merge requests"))
	})
	return out, err
}
