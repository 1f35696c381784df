package scm

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/argosy-cd/argosy/internal/appset/generator"
)

// bitbucketCloud asks bitbucket.org (applicationset/services/scm_provider/bitbucket_cloud.go and pull_request/bitbucket_cloud.go, v3.2.11).
type bitbucketCloud struct {
	*host
	spec
}

// paged reads a list page by page. The address of the next page is used for its query only.
func (b *bitbucketCloud) paged(ctx context.Context, path string, query url.Values,
	read func(get func(out any) error) (next string, err error),
) error {
	for range maxPages {
		following, err := read(func(out any) error {
			_, err := b.get(ctx, path, query, out)
			return err
		})
		if err != nil || following == "" {
			return err
		}
		u, err := url.Parse(following)
		if err != nil || u.Host != b.base.Host || u.Query().Encode() == query.Encode() {
			return fmt.Errorf("%s: the next page of %s is %q, which is not a page of it", b.base.Host, path, following)
		}
		query = u.Query()
	}
	return fmt.Errorf("%s: there are more than %d pages", b.base.Host, maxPages)
}

func (b *bitbucketCloud) repositories(ctx context.Context, protocol string) ([]generator.Repository, error) {
	if protocol == "" {
		protocol = "ssh"
	}
	var out []generator.Repository
	err := b.paged(ctx, "repositories/"+url.PathEscape(b.Owner), url.Values{"role": {"member"}}, func(get func(any) error) (string, error) {
		var list struct {
			Next   string `json:"next"`
			Values []struct {
				Slug       string `json:"slug"`
				UUID       string `json:"uuid"`
				Mainbranch struct {
					Name string `json:"name"`
				} `json:"mainbranch"`
				Links struct {
					Clone []struct{ Name, Href string } `json:"clone"`
				} `json:"links"`
			} `json:"values"`
		}
		if err := get(&list); err != nil {
			return "", err
		}
		for _, r := range list.Values {
			address := ""
			for _, link := range r.Links.Clone {
				if link.Name == protocol && address == "" {
					address = link.Href
				}
			}
			if address == "" {
				return "", fmt.Errorf("repository %s has no URL for cloneProtocol %q", r.Slug, protocol)
			}
			out = append(out, generator.Repository{
				Organization: b.Owner, Repository: r.Slug, Branch: r.Mainbranch.Name, URL: address,
				Labels: []string{}, ID: r.UUID,
			})
		}
		return list.Next, tooMany(len(out), maxRepositories, "repositories")
	})
	return out, err
}

type bitbucketBranch struct {
	Name   string `json:"name"`
	Target struct {
		Hash string `json:"hash"`
	} `json:"target"`
}

func (b *bitbucketCloud) repo(name string) string {
	return "repositories/" + url.PathEscape(b.Owner) + "/" + url.PathEscape(name)
}

// branches reads one page of branches, as Argo CD does.
func (b *bitbucketCloud) branches(ctx context.Context, r generator.Repository) ([]generator.Branch, error) {
	var list struct {
		Next   string            `json:"next"`
		Values []bitbucketBranch `json:"values"`
	}
	var err error
	switch {
	case b.AllBranches:
		_, err = b.get(ctx, b.repo(r.Repository)+"/refs/branches", nil, &list)
	case r.Branch == "":
		err = errors.New("it has no main branch")
	default:
		list.Values = make([]bitbucketBranch, 1)
		_, err = b.get(ctx, b.repo(r.Repository)+"/refs/branches/"+escapePath(r.Branch), nil, &list.Values[0])
	}
	if err != nil {
		return nil, err
	}
	var out []generator.Branch
	for _, branch := range list.Values {
		if branch.Target.Hash == "" {
			return nil, fmt.Errorf("the answer has no commit of branch %q", branch.Name)
		}
		out = append(out, generator.Branch{Name: branch.Name, SHA: branch.Target.Hash})
	}
	if list.Next != "" {
		b.note(fmt.Sprintf("%s has more branches than the first page, which is all that Argo CD reads of Bitbucket Cloud", r))
	}
	return out, nil
}

func (b *bitbucketCloud) hasPath(ctx context.Context, r generator.Repository, path string) (bool, error) {
	_, err := b.get(ctx, b.repo(r.Repository)+"/src/"+url.PathEscape(r.SHA)+"/"+escapePath(path), url.Values{"format": {"meta"}}, nil)
	return found(err)
}

func (b *bitbucketCloud) pullRequests(ctx context.Context) ([]generator.PullRequest, error) {
	type end struct {
		Branch struct {
			Name string `json:"name"`
		} `json:"branch"`
		Commit struct {
			Hash string `json:"hash"`
		} `json:"commit"`
	}
	var out []generator.PullRequest
	err := b.paged(ctx, b.repo(b.Repo)+"/pullrequests/", nil, func(get func(any) error) (string, error) {
		var list struct {
			Next   string `json:"next"`
			Values []struct {
				ID     int64  `json:"id"`
				Title  string `json:"title"`
				Source end    `json:"source"`
				Target end    `json:"destination"`
				Author struct {
					Nickname string `json:"nickname"`
				} `json:"author"`
			} `json:"values"`
		}
		if err := get(&list); err != nil {
			return "", err
		}
		for _, p := range list.Values {
			out = append(out, generator.PullRequest{
				Number: p.ID, Title: p.Title, Branch: p.Source.Branch.Name, TargetBranch: p.Target.Branch.Name,
				HeadSHA: p.Source.Commit.Hash, Author: p.Author.Nickname,
			})
		}
		return list.Next, tooMany(len(out), maxPulls, "pull requests")
	})
	if isMissing(err) {
		err = errNotFound
	}
	return out, err
}
