package scm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
)

// azure asks Azure DevOps (applicationset/services/scm_provider/azure_devops.go and pull_request/azure_devops.go, v3.2.11). It knows the
// addresses that Argo CD's library looks up.
type azure struct {
	*host
	spec
}

const azureVersion = "7.1-preview.1"

// azurePage is Azure DevOps's default number of pull requests in an answer.
const azurePage = 101

func (a *azure) project() string {
	if a.TeamProject != "" {
		return url.PathEscape(a.TeamProject)
	}
	return url.PathEscape(a.Project)
}

func (a *azure) read(ctx context.Context, path string, query url.Values, out any) error {
	if query == nil {
		query = url.Values{}
	}
	query.Set("api-version", azureVersion)
	_, err := a.get(ctx, a.project()+"/_apis/git/"+path, query, out)
	return err
}

// azureError reports whether an error is of a type that Azure DevOps names.
func azureError(err error, typeKey string) bool {
	var s *statusError
	if !errors.As(err, &s) {
		return false
	}
	var body struct {
		TypeKey string `json:"typeKey"`
	}
	return json.Unmarshal(s.body, &body) == nil && body.TypeKey == typeKey
}

func (a *azure) repositories(ctx context.Context, _ string) ([]generator.Repository, error) {
	var list struct {
		Value []struct {
			ID            string `json:"id"`
			Name          string `json:"name"`
			DefaultBranch string `json:"defaultBranch"`
			RemoteURL     string `json:"remoteUrl"`
		} `json:"value"`
	}
	if err := a.read(ctx, "repositories", nil, &list); err != nil {
		return nil, err
	}
	var out []generator.Repository
	for _, r := range list.Value {
		// One without a default branch is empty.
		if r.ID != "" && r.Name != "" && r.DefaultBranch != "" && r.RemoteURL != "" {
			out = append(out, generator.Repository{
				Organization: a.Organization, Repository: r.Name, Branch: r.DefaultBranch,
				URL: r.RemoteURL, Labels: []string{}, ID: r.ID,
			})
		}
	}
	return out, tooMany(len(out), maxRepositories, "repositories")
}

type azureBranch struct {
	Name   string `json:"name"`
	Commit *struct {
		ID string `json:"commitId"`
	} `json:"commit"`
}

func (a *azure) branches(ctx context.Context, r generator.Repository) ([]generator.Branch, error) {
	path := "repositories/" + url.PathEscape(r.Repository) + "/stats/branches"
	var list struct {
		Value []azureBranch `json:"value"`
	}
	var err error
	if a.AllBranches {
		err = a.read(ctx, path, nil, &list)
	} else {
		list.Value = make([]azureBranch, 1)
		err = a.read(ctx, path, url.Values{"name": {strings.Replace(r.Branch, "refs/heads/", "", 1)}}, &list.Value[0])
	}
	if azureError(err, "GitRepositoryNotFoundException") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []generator.Branch
	for _, b := range list.Value {
		if b.Name == "" || b.Commit == nil {
			return nil, fmt.Errorf("%s: the answer has a branch without a name or a commit", a.base.Host)
		}
		out = append(out, generator.Branch{Name: b.Name, SHA: b.Commit.ID})
	}
	return out, tooMany(len(out), maxBranches, "branches")
}

func (a *azure) hasPath(ctx context.Context, r generator.Repository, path string) (bool, error) {
	err := a.read(ctx, "repositories/"+url.PathEscape(r.ID)+"/items", url.Values{"path": {path}, "versionDescriptor.version": {r.Branch}},
		nil)
	if azureError(err, "GitItemNotFoundException") {
		return false, nil
	}
	return err == nil, err
}

func (a *azure) pullRequests(ctx context.Context) ([]generator.PullRequest, error) {
	var list struct {
		Value []struct {
			ID         *int64 `json:"pullRequestId"`
			Title      string `json:"title"`
			Repository *struct {
				Name string `json:"name"`
			} `json:"repository"`
			Source string `json:"sourceRefName"`
			Target string `json:"targetRefName"`
			Commit *struct {
				ID string `json:"commitId"`
			} `json:"lastMergeSourceCommit"`
			Labels    []label `json:"labels"`
			CreatedBy struct {
				UniqueName string `json:"uniqueName"`
			} `json:"createdBy"`
		} `json:"value"`
	}
	err := a.read(ctx, "pullrequests", nil, &list)
	var status *statusError
	if errors.As(err, &status) && strings.Contains(string(status.body), "The following project does not exist") {
		return nil, errNotFound
	}
	if err != nil {
		return nil, err
	}
	var out []generator.PullRequest
	for _, p := range list.Value {
		if p.ID == nil || p.Repository == nil || p.Source == "" || p.Target == "" || p.Commit == nil || p.Commit.ID == "" ||
			p.Repository.Name != a.Repo {
			continue
		}
		labels := append([]string{}, labelNames(p.Labels)...)
		if !hasLabels(a.Labels, labels) {
			continue
		}
		// The part of the mail address before the @.
		author, _, _ := strings.Cut(p.CreatedBy.UniqueName, "@")
		out = append(out, generator.PullRequest{
			Number: *p.ID, Title: p.Title, Branch: strings.Replace(p.Source, "refs/heads/", "", 1),
			TargetBranch: strings.Replace(p.Target, "refs/heads/", "", 1),
			HeadSHA:      p.Commit.ID, Labels: labels, Author: author,
		})
	}
	if len(list.Value) >= azurePage {
		a.note(fmt.Sprintf("project %s may have more pull requests than %d, which is all that Argo CD reads of Azure DevOps", a.Project,
			len(list.Value)))
	}
	return out, nil
}

// signIn reports whether an answer is the page on which Azure DevOps asks people to sign in.
func signIn(res *http.Response) bool {
	return res.StatusCode == http.StatusNonAuthoritativeInfo && strings.HasPrefix(res.Header.Get("Content-Type"), "text/html")
}
