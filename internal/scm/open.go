package scm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/secret"
)

// spec has the fields of all providers. A question has those of one.
type spec struct {
	API string `json:"api"`
	// The subject of the question.
	Organization     string `json:"organization"`
	TeamProject      string `json:"teamProject"`
	Owner            string `json:"owner"`
	Group            string `json:"group"`
	Project          string `json:"project"`
	Repo             string `json:"repo"`
	Topic            string `json:"topic"`
	PullRequestState string `json:"pullRequestState"`
	Region           string `json:"region"`
	Role             string `json:"role"`
	User             string `json:"user"`

	AllBranches           bool     `json:"allBranches"`
	IncludeSubgroups      bool     `json:"includeSubgroups"`
	IncludeSharedProjects *bool    `json:"includeSharedProjects"`
	ExcludeArchivedRepos  bool     `json:"excludeArchivedRepos"`
	IncludeArchivedRepos  bool     `json:"includeArchivedRepos"`
	Labels                []string `json:"labels"`
	TagFilters            []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"tagFilters"`

	// How it is reached.
	Insecure       bool       `json:"insecure"`
	CARef          *caRef     `json:"caRef"`
	TokenRef       *secretRef `json:"tokenRef"`
	AccessTokenRef *secretRef `json:"accessTokenRef"`
	AppPasswordRef *secretRef `json:"appPasswordRef"`
	AppSecretName  string     `json:"appSecretName"`
	BasicAuth      *struct {
		Username    string     `json:"username"`
		PasswordRef *secretRef `json:"passwordRef"`
	} `json:"basicAuth"`
	BearerToken *struct {
		TokenRef *secretRef `json:"tokenRef"`
	} `json:"bearerToken"`
}

// address is the address of the API, as Argo CD's libraries complete it.
func (s *spec) address(c *Client, q generator.Question) (string, error) {
	switch q.Provider {
	case "github":
		return githubBase(s.API), nil
	case "gitlab":
		return withSuffix(cmp.Or(s.API, "https://gitlab.com"), "/api/v4"), nil
	case "gitea":
		return strings.TrimSuffix(s.API, "/") + "/api/v1", nil
	case "bitbucketServer":
		return withSuffix(s.API, "/rest"), nil
	case "bitbucket":
		return cmp.Or(s.API, c.Bitbucket, "https://api.bitbucket.org/2.0"), nil
	case "azureDevOps", "azuredevops":
		return strings.TrimSuffix(cmp.Or(s.API, "https://dev.azure.com"), "/") + "/" + url.PathEscape(s.Organization), nil
	}
	return "", fmt.Errorf("%q is not a provider", q.Provider)
}

func withSuffix(api, suffix string) string {
	api = strings.TrimSuffix(api, "/")
	if strings.HasSuffix(api, suffix) {
		return api
	}
	return api + suffix
}

// owner is the path of the subject below the address.
func (s *spec) owner(q generator.Question) string {
	parts := []string{s.Organization, s.TeamProject, s.Owner, s.Group, s.Project, s.Repo}
	if strings.EqualFold(q.Provider, "azureDevOps") {
		parts = parts[1:] // it is in the address
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "/")
}

// usesSecrets reports whether a set names a Secret or a ConfigMap of its namespace.
func (s *spec) usesSecrets() bool {
	return s.CARef != nil || s.TokenRef != nil || s.AccessTokenRef != nil || s.AppPasswordRef != nil || s.BasicAuth != nil ||
		s.BearerToken != nil
}

// Address is the address of the API that a question about a host goes to.
func (a *Asker) Address(q generator.Question) (string, error) {
	var s spec
	if err := json.Unmarshal(q.Spec, &s); err != nil {
		return "", errors.New("the question is not valid")
	}
	return s.address(a.Client, q)
}

// open opens the service of a question. It sends no request before the question is allowed.
func (a *Asker) open(ctx context.Context, q generator.Question) (service, error) {
	switch q.Ask {
	case generator.AskParameters:
		return a.openPlugin(ctx, q)
	case generator.AskDecision:
		return a.openDecision(q)
	}
	var s spec
	if err := json.Unmarshal(q.Spec, &s); err != nil {
		return nil, errors.New("the question is not valid")
	}
	if s.API != "" && len(a.Allowed) > 0 && !slices.Contains(a.Allowed, s.API) {
		return nil, fmt.Errorf("the API %q is not one of those that are allowed: %s", s.API, strings.Join(a.Allowed, ", "))
	}
	if q.Provider == "awsCodeCommit" {
		return a.openCodeCommit(q, s)
	}
	base, err := s.address(a.Client, q)
	if err != nil {
		return nil, err
	}
	target := Target{Resource: strings.TrimSuffix(base, "/") + "/" + s.owner(q)}
	if s.usesSecrets() {
		target.Namespace = q.Set.Namespace
	}
	if s.AppSecretName != "" {
		target.Namespace = a.Namespace
	}
	if err := a.allow(target); err != nil {
		return nil, err
	}
	ca, err := a.ca(ctx, q.Set, s.CARef)
	if err != nil {
		return nil, err
	}
	h, err := a.Client.host(connection{base: base, insecure: s.Insecure, ca: ca})
	if err != nil {
		return nil, err
	}
	if q.Provider == "github" {
		// Topics were a preview in older Enterprise servers.
		h.header.Set("Accept", "application/vnd.github.mercy-preview+json, application/vnd.github+json")
		h.header.Set("X-Github-Api-Version", "2022-11-28")
	}
	if err := a.authenticate(ctx, q, s, h); err != nil {
		return nil, h.clean(err)
	}
	return hostService{h, provider(q.Provider, h, s)}, nil
}

func (a *Asker) allow(t Target) error {
	if a.Allow == nil {
		return nil
	}
	return a.Allow(t)
}

// provider returns the host of a provider.
func provider(name string, h *host, s spec) any {
	switch name {
	case "github":
		return &github{h, s}
	case "gitlab":
		return &gitlab{h, s}
	case "gitea":
		return &gitea{h, s}
	case "bitbucket":
		return &bitbucketCloud{h, s}
	case "bitbucketServer":
		return &bitbucketServer{h, s}
	default:
		return &azure{h, s}
	}
}

// hostService is a host, opened.
type hostService struct {
	*host
	provider any
}

func (s hostService) answer(ctx context.Context, q generator.Question) (*generator.Answer, error) {
	return ask(ctx, s.provider, q)
}

// environment returns the token that the user has for a host, a zero one if there is none.
func (a *Asker) environment(q generator.Question, h *host) secret.Text {
	if a.Token == nil {
		return secret.Text{}
	}
	return a.Token(q.Provider, h.base.String())
}

// authenticate reads the credential that a set names, and sends it with each request.
func (a *Asker) authenticate(ctx context.Context, q generator.Question, s spec, h *host) error {
	if s.AppSecretName != "" && q.Provider == "github" {
		return a.authenticateApp(ctx, q, s, h)
	}
	ref, user := cmp.Or(s.TokenRef, s.AccessTokenRef, s.AppPasswordRef), s.User
	bearer := s.BearerToken != nil
	switch {
	case bearer:
		ref = s.BearerToken.TokenRef
	case s.BasicAuth != nil:
		ref, user = s.BasicAuth.PasswordRef, s.BasicAuth.Username
	}
	token, err := a.token(ctx, q.Set, ref)
	if token.IsZero() && (err == nil || errors.As(err, new(generator.Unknown))) {
		if token = a.environment(q, h); !token.IsZero() {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	switch q.Provider {
	case "github":
		h.authorize("Authorization", "Bearer ", token)
	case "gitlab":
		h.authorize("Private-Token", "", token)
	case "gitea":
		h.authorize("Authorization", "token ", token)
	case "azureDevOps", "azuredevops":
		if token.IsZero() && q.Provider == "azureDevOps" {
			return errors.New("azureDevOps: no access token provided")
		}
		if !token.IsZero() {
			h.basic("", token)
		}
	case "bitbucketServer":
		if bearer || s.BasicAuth != nil {
			h.header.Set("X-Atlassian-Token", "no-check")
			h.header.Set("X-Requested-With", "XMLHttpRequest")
		}
		fallthrough
	default:
		if bearer {
			h.authorize("Authorization", "Bearer ", token)
		} else if user != "" || !token.IsZero() {
			h.basic(user, token)
		}
	}
	return nil
}

func (a *Asker) now() time.Time { return a.Client.Now() }
