package scm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/argosy-cd/argosy/internal/appset/generator"
)

// bitbucketServer asks Bitbucket Server and Data Center (applicationset/services/scm_provider/bitbucket_server.go and
// pull_request/bitbucket_server.go, v3.2.11).
type bitbucketServer struct {
	*host
	spec
}

// more is where a list goes on.
type more struct {
	IsLastPage    *bool `json:"isLastPage"`
	NextPageStart int   `json:"nextPageStart"`
}

// paged reads a list page by page.
func (b *bitbucketServer) paged(path string, read func(query url.Values) (more, error)) error {
	start := 0
	for n := range maxPages {
		query := url.Values{"limit": {"100"}}
		if n > 0 {
			query.Set("start", strconv.Itoa(start))
		}
		m, err := read(query)
		if err != nil || m.IsLastPage == nil || *m.IsLastPage {
			return err
		}
		if m.NextPageStart <= start {
			return fmt.Errorf("%s: after item %d, %s goes on at item %d", b.base.Host, start, path, m.NextPageStart)
		}
		start = m.NextPageStart
	}
	return fmt.Errorf("%s: there are more than %d pages", b.base.Host, maxPages)
}

type serverBranch struct {
	DisplayID    string `json:"displayId"`
	LatestCommit string `json:"latestCommit"`
}

func (b *bitbucketServer) repo(project, name string) string {
	return "api/1.0/projects/" + url.PathEscape(project) + "/repos/" + url.PathEscape(name)
}

func (b *bitbucketServer) repositories(ctx context.Context, protocol string) ([]generator.Repository, error) {
	var out []generator.Repository
	path := "api/1.0/projects/" + url.PathEscape(b.Project) + "/repos"
	err := b.paged(path, func(query url.Values) (more, error) {
		var list struct {
			more
			Values []struct {
				ID      int64  `json:"id"`
				Name    string `json:"name"`
				Project struct {
					Key string `json:"key"`
				} `json:"project"`
				Links struct {
					Clone []struct{ Name, Href string } `json:"clone"`
				} `json:"links"`
			} `json:"values"`
		}
		if _, err := b.get(ctx, path, query, &list); err != nil {
			return more{}, err
		}
		for _, r := range list.Values {
			links := map[string]string{}
			for _, link := range r.Links.Clone {
				if _, ok := links[link.Name]; !ok {
					links[link.Name] = link.Href
				}
			}
			address, err := protocolURL(protocol, links["ssh"], links["http"])
			if err != nil {
				return more{}, err
			}
			out = append(out, generator.Repository{
				Organization: r.Project.Key, Repository: r.Name, URL: address, Labels: []string{},
				Number: r.ID,
			})
		}
		return list.more, tooMany(len(out), maxRepositories, "repositories")
	})
	if err != nil {
		return nil, err
	}
	// The list has no default branches; a repository without one is left out.
	found := make([]*serverBranch, len(out))
	err = each(ctx, len(out), func(ctx context.Context, i int) (err error) {
		found[i], err = b.defaultBranch(ctx, out[i])
		return err
	})
	var named []generator.Repository
	for i, r := range out {
		if found[i] != nil {
			r.Branch, r.SHA = found[i].DisplayID, found[i].LatestCommit
			named = append(named, r)
		}
	}
	return named, err
}

// defaultBranch returns nil for a repository that is empty, or whose default branch is not there.
func (b *bitbucketServer) defaultBranch(ctx context.Context, r generator.Repository) (*serverBranch, error) {
	var branch serverBranch
	_, err := b.get(ctx, b.repo(r.Organization, r.Repository)+"/branches/default", nil, &branch)
	if isMissing(err) || errors.Is(err, io.EOF) {
		return nil, nil
	}
	return &branch, err
}

func (b *bitbucketServer) branches(ctx context.Context, r generator.Repository) ([]generator.Branch, error) {
	if !b.AllBranches {
		branch, err := b.defaultBranch(ctx, r)
		if branch == nil || err != nil {
			return nil, err
		}
		return []generator.Branch{{Name: branch.DisplayID, SHA: branch.LatestCommit}}, nil
	}
	var out []generator.Branch
	path := b.repo(r.Organization, r.Repository) + "/branches"
	err := b.paged(path, func(query url.Values) (more, error) {
		var list struct {
			more
			Values []serverBranch `json:"values"`
		}
		_, err := b.get(ctx, path, query, &list)
		for _, branch := range list.Values {
			out = append(out, generator.Branch{Name: branch.DisplayID, SHA: branch.LatestCommit})
		}
		return list.more, errors.Join(err, tooMany(len(out), maxBranches, "branches"))
	})
	return out, err
}

func (b *bitbucketServer) hasPath(ctx context.Context, r generator.Repository, path string) (bool, error) {
	_, err := b.get(ctx, b.repo(r.Organization, r.Repository)+"/browse/"+escapePath(path),
		url.Values{"limit": {"100"}, "at": {r.Branch}, "type": {"true"}}, nil)
	return found(err)
}

func (b *bitbucketServer) pullRequests(ctx context.Context) ([]generator.PullRequest, error) {
	var out []generator.PullRequest
	path := b.repo(b.Project, b.Repo) + "/pull-requests"
	err := b.paged(path, func(query url.Values) (more, error) {
		var list struct {
			more
			Values []struct {
				ID     int64        `json:"id"`
				Title  string       `json:"title"`
				From   serverBranch `json:"fromRef"`
				To     serverBranch `json:"toRef"`
				Author struct {
					User struct {
						Name string `json:"name"`
					} `json:"user"`
				} `json:"author"`
			} `json:"values"`
		}
		_, err := b.get(ctx, path, query, &list)
		if isMissing(err) {
			err = errNotFound
		}
		for _, p := range list.Values {
			out = append(out, generator.PullRequest{
				Number: p.ID, Title: p.Title, Branch: p.From.DisplayID, TargetBranch: p.To.DisplayID, HeadSHA: p.From.LatestCommit,
				Labels: []string{}, Author: p.Author.User.Name,
			})
		}
		return list.more, errors.Join(err, tooMany(len(out), maxPulls, "pull requests"))
	})
	return out, err
}
