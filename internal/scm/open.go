package scm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// owner is the path of the subject below the address.
func (s *spec) owner(inAddress bool) string {
	parts := []string{s.Organization, s.TeamProject, s.Owner, s.Group, s.Project, s.Repo}
	if inAddress {
		parts = parts[1:]
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
	p, ok := providers[q.Provider]
	if !ok {
		return "", errNoProvider(q.Provider)
	}
	return p.address(a.Client, &s), nil
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
	if q.Provider == generator.CodeCommit {
		return a.openCodeCommit(q, s)
	}
	p, ok := providers[q.Provider]
	if !ok {
		return nil, errNoProvider(q.Provider)
	}
	base := p.address(a.Client, &s)
	target := Target{Resource: strings.TrimSuffix(base, "/") + "/" + s.owner(p.inAddress)}
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
	maps.Copy(h.header, p.header.Clone())
	if err := a.authenticate(ctx, q, p, s, h); err != nil {
		return nil, h.clean(err)
	}
	return hostService{h, p.host(h, s)}, nil
}

func (a *Asker) allow(t Target) error {
	if a.Allow == nil {
		return nil
	}
	return a.Allow(t)
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
func (a *Asker) authenticate(ctx context.Context, q generator.Question, p provider, s spec, h *host) error {
	if s.AppSecretName != "" && p.app {
		return a.authenticateApp(ctx, q, s, h)
	}
	ref := cmp.Or(s.TokenRef, s.AccessTokenRef, s.AppPasswordRef)
	c := credential{user: s.User, bearer: s.BearerToken != nil, basic: s.BasicAuth != nil}
	switch {
	case c.bearer:
		ref = s.BearerToken.TokenRef
	case c.basic:
		ref, c.user = s.BasicAuth.PasswordRef, s.BasicAuth.Username
	}
	var err error
	c.token, err = a.token(ctx, q.Set, ref)
	if c.token.IsZero() && (err == nil || errors.As(err, new(generator.Unknown))) {
		if c.token = a.environment(q, h); !c.token.IsZero() {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return p.authenticate(h, c)
}

func (a *Asker) now() time.Time { return a.Client.Now() }
