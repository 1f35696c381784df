package scm

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/secret"
)

// provider is a kind of Git host that is reached over HTTP.
type provider struct {
	// address is the address of the API, as Argo CD's libraries complete it.
	address func(c *Client, s *spec) string
	// inAddress says that the organization is in the address.
	inAddress bool
	// host answers questions.
	host func(h *host, s spec) any
	// header is sent with each request. Nil adds nothing.
	header http.Header
	// app says that Spec.AppSecretName is a GitHub App.
	app bool
	// authenticate sends a credential with each request.
	authenticate func(h *host, c credential) error
	// environment says where a user's environment has a token. Zero is nowhere.
	environment Environment
}

// Environment says where a user's environment has a token for a provider, and which servers the token is for.
type Environment struct {
	// Token is the variable with the token, and Own the one with the address of the user's own server; "" is none.
	Token, Own string
	// Public is the address of the public server; "" is none.
	Public string
}

// EnvironmentOf returns where the environment has a token for a provider. Zero is nowhere.
func EnvironmentOf(p generator.Provider) Environment { return providers[p].environment }

// providers are all but AWS CodeCommit, which has no address of its own.
var providers = map[generator.Provider]provider{
	generator.GitHub: {
		address: func(_ *Client, s *spec) string { return githubBase(s.API) },
		host:    func(h *host, s spec) any { return &github{h, s} },
		header: http.Header{
			// Topics were a preview in older Enterprise servers.
			"Accept":               {"application/vnd.github.mercy-preview+json, application/vnd.github+json"},
			"X-Github-Api-Version": {"2022-11-28"},
		},
		app:          true,
		authenticate: inHeader("Authorization", "Bearer "),
		environment:  Environment{"GITHUB_TOKEN", "GITHUB_API_URL", "https://api.github.com"},
	},
	generator.GitLab: {
		address:      func(_ *Client, s *spec) string { return withSuffix(cmp.Or(s.API, "https://gitlab.com"), "/api/v4") },
		host:         func(h *host, s spec) any { return &gitlab{h, s} },
		authenticate: inHeader("Private-Token", ""),
		environment:  Environment{"GITLAB_TOKEN", "CI_SERVER_URL", "https://gitlab.com"},
	},
	generator.Gitea: {
		address:      func(_ *Client, s *spec) string { return strings.TrimSuffix(s.API, "/") + "/api/v1" },
		host:         func(h *host, s spec) any { return &gitea{h, s} },
		authenticate: inHeader("Authorization", "token "),
		environment:  Environment{Token: "GITEA_TOKEN", Own: "GITEA_SERVER_URL"},
	},
	generator.Bitbucket: {
		address:      func(c *Client, s *spec) string { return cmp.Or(s.API, c.Bitbucket, "https://api.bitbucket.org/2.0") },
		host:         func(h *host, s spec) any { return &bitbucketCloud{h, s} },
		authenticate: userOrBearer,
	},
	generator.BitbucketServer: {
		address: func(_ *Client, s *spec) string { return withSuffix(s.API, "/rest") },
		host:    func(h *host, s spec) any { return &bitbucketServer{h, s} },
		authenticate: func(h *host, c credential) error {
			if c.bearer || c.basic {
				h.header.Set("X-Atlassian-Token", "no-check")
				h.header.Set("X-Requested-With", "XMLHttpRequest")
			}
			return userOrBearer(h, c)
		},
	},
	generator.AzureDevOps: azureProvider(func(h *host, c credential) error {
		if c.token.IsZero() {
			return fmt.Errorf("%s: no access token provided", generator.AzureDevOps)
		}
		return tokenOnly(h, c)
	}),
	generator.AzurePulls: azureProvider(tokenOnly),
}

func azureProvider(authenticate func(*host, credential) error) provider {
	const public = "https://dev.azure.com"
	return provider{
		address: func(_ *Client, s *spec) string {
			return strings.TrimSuffix(cmp.Or(s.API, public), "/") + "/" + url.PathEscape(s.Organization)
		},
		inAddress:    true,
		host:         func(h *host, s spec) any { return &azure{h, s} },
		authenticate: authenticate,
		environment:  Environment{Token: "AZURE_DEVOPS_EXT_PAT", Public: public},
	}
}

// errNoProvider says that there is no such provider.
func errNoProvider(p generator.Provider) error { return fmt.Errorf("%q is not a provider", p) }

func withSuffix(api, suffix string) string {
	api = strings.TrimSuffix(api, "/")
	if strings.HasSuffix(api, suffix) {
		return api
	}
	return api + suffix
}

// credential is the credential for a host. A zero token is none.
type credential struct {
	user  string
	token secret.Text
	// bearer and basic say that the set names the credential in bearerToken or in basicAuth.
	bearer, basic bool
}

// inHeader sends a token in a header.
func inHeader(name, prefix string) func(h *host, c credential) error {
	return func(h *host, c credential) error {
		h.authorize(name, prefix, c.token)
		return nil
	}
}

// tokenOnly sends a token as a password without a user.
func tokenOnly(h *host, c credential) error {
	if !c.token.IsZero() {
		h.basic("", c.token)
	}
	return nil
}

// userOrBearer sends a token as a password, or as a bearer token if the set says so.
func userOrBearer(h *host, c credential) error {
	if c.bearer {
		h.authorize("Authorization", "Bearer ", c.token)
	} else if c.user != "" || !c.token.IsZero() {
		h.basic(c.user, c.token)
	}
	return nil
}
