package scm

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/gitremote"
	"github.com/argosy-cd/argosy/internal/secret"
)

// github asks GitHub (applicationset/services/scm_provider/github.go and pull_request/github.go, v3.2.11).
type github struct {
	*host
	spec
}

// githubBase is the address of the API. Enterprise servers have it below /api/v3, unless their name says that it is the API.
func githubBase(api string) string {
	if api == "" {
		return "https://api.github.com"
	}
	u, err := url.Parse(api)
	if err != nil {
		return api
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	if !strings.HasSuffix(u.Path, "/api/v3/") && !strings.HasPrefix(u.Host, "api.") && !strings.Contains(u.Host, ".api.") {
		u.Path += "api/v3/"
	}
	return u.String()
}

func page(n int) url.Values { return url.Values{"per_page": {"100"}, "page": {strconv.Itoa(n)}} }

func (g *github) repositories(ctx context.Context, protocol string) ([]generator.Repository, error) {
	var out []generator.Repository
	err := pages(g.host, func(n int) (int, error) {
		var list []struct {
			ID            int64    `json:"id"`
			Name          string   `json:"name"`
			DefaultBranch string   `json:"default_branch"`
			SSH           string   `json:"ssh_url"`
			Clone         string   `json:"clone_url"`
			Topics        []string `json:"topics"`
			Archived      bool     `json:"archived"`
			Owner         struct {
				Login string `json:"login"`
			} `json:"owner"`
		}
		header, err := g.get(ctx, "orgs/"+url.PathEscape(g.Organization)+"/repos", page(n), &list)
		if err != nil {
			return 0, err
		}
		for _, r := range list {
			address, err := protocolURL(protocol, r.SSH, r.Clone)
			if err != nil {
				return 0, err
			}
			if g.ExcludeArchivedRepos && r.Archived {
				continue
			}
			out = append(out, generator.Repository{
				Organization: r.Owner.Login, Repository: r.Name, Branch: r.DefaultBranch, URL: address,
				Labels: r.Topics, Number: r.ID,
			})
		}
		return next(header), tooMany(len(out), maxRepositories, "repositories")
	})
	return out, err
}

// protocolURL chooses between the URLs of a repository.
func protocolURL(protocol, ssh, https string) (string, error) {
	switch protocol {
	case "", "ssh":
		return ssh, nil
	case "https":
		return https, nil
	}
	return "", fmt.Errorf("cloneProtocol %q is not known; it is ssh or https", protocol)
}

func tooMany(n, most int, what string) error {
	if n > most {
		return fmt.Errorf("there are more than %d %s", most, what)
	}
	return nil
}

type githubBranch struct {
	Name   string `json:"name"`
	Commit struct {
		SHA string `json:"sha"`
	} `json:"commit"`
}

func (g *github) branches(ctx context.Context, r generator.Repository) ([]generator.Branch, error) {
	at := "repos/" + url.PathEscape(r.Organization) + "/" + url.PathEscape(r.Repository) + "/branches"
	if !g.AllBranches {
		var b githubBranch
		_, err := g.get(ctx, at+"/"+url.PathEscape(r.Branch), nil, &b)
		if isMissing(err) {
			return nil, nil // the repository is empty
		}
		return []generator.Branch{{Name: b.Name, SHA: b.Commit.SHA}}, err
	}
	var out []generator.Branch
	err := pages(g.host, func(n int) (int, error) {
		var list []githubBranch
		header, err := g.get(ctx, at, page(n), &list)
		for _, b := range list {
			out = append(out, generator.Branch{Name: b.Name, SHA: b.Commit.SHA})
		}
		return next(header), errors.Join(err, tooMany(len(out), maxBranches, "branches"))
	})
	return out, err
}

func (g *github) hasPath(ctx context.Context, r generator.Repository, path string) (bool, error) {
	at := "repos/" + url.PathEscape(r.Organization) + "/" + url.PathEscape(r.Repository) + "/contents/" + escapePath(path)
	_, err := g.get(ctx, at, url.Values{"ref": {r.Branch}}, nil)
	return found(err)
}

// found reports whether something is there, by the error of asking for it.
func found(err error) (bool, error) {
	if isMissing(err) {
		return false, nil
	}
	return err == nil, err
}

// escapePath escapes the parts of a path, and keeps its slashes.
func escapePath(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// pull is a pull request as GitHub answers, and Gitea, too.
type pull struct {
	Number int64   `json:"number"`
	Title  string  `json:"title"`
	Labels []label `json:"labels"`
	Head   struct {
		Ref string `json:"ref"`
		SHA string `json:"sha"`
	} `json:"head"`
	Base struct {
		Ref string `json:"ref"`
	} `json:"base"`
	User struct {
		Login string `json:"login"`
	} `json:"user"`
}

func (g *github) pullRequests(ctx context.Context) ([]generator.PullRequest, error) {
	var out []generator.PullRequest
	err := pages(g.host, func(n int) (int, error) {
		var list []pull
		header, err := g.get(ctx, "repos/"+url.PathEscape(g.Owner)+"/"+url.PathEscape(g.Repo)+"/pulls", page(n), &list)
		if isMissing(err) {
			err = errNotFound
		}
		for _, p := range list {
			if hasLabels(g.Labels, labelNames(p.Labels)) {
				out = append(out, generator.PullRequest{
					Number: p.Number, Title: p.Title, Branch: p.Head.Ref, TargetBranch: p.Base.Ref, HeadSHA: p.Head.SHA,
					Labels: labelNames(p.Labels), Author: p.User.Login,
				})
			}
		}
		return next(header), errors.Join(err, tooMany(len(out), maxPulls, "pull requests"))
	})
	return out, err
}

type label struct {
	Name string `json:"name"`
}

func labelNames(labels []label) []string {
	var out []string
	for _, l := range labels {
		out = append(out, l.Name)
	}
	return out
}

// hasLabels reports whether a pull request has all labels that are wanted.
func hasLabels(wanted, have []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(have, w) })
}

// authenticateApp gets a token of the installation of a GitHub App. Its key is in a Secret of Argo CD's namespace, as repositories have it.
// If that is not known, a token of the user does.
func (a *Asker) authenticateApp(ctx context.Context, q generator.Question, s spec, h *host) error {
	app, err := a.secret(ctx, a.Namespace, s.AppSecretName)
	if token := a.environment(q, h); !token.IsZero() && errors.As(err, new(generator.Unknown)) {
		h.authorize("Authorization", "Bearer ", token)
		return nil
	}
	if err != nil {
		return err
	}
	kinds := []argo.SecretType{argo.SecretRepoCreds, argo.SecretRepository, argo.SecretSCMCreds}
	if a.Strict && !slices.Contains(kinds, argo.SecretType(app.Labels[argo.SecretTypeLabel])) {
		return fmt.Errorf("the Secret %s is not one of a repository or an SCM: its label %s must be one of %s, %s, %s", s.AppSecretName,
			argo.SecretTypeLabel, kinds[0], kinds[1], kinds[2])
	}
	number := func(key string) (int64, error) {
		if app.Data[key].IsZero() {
			return 0, nil
		}
		n, err := strconv.ParseInt(app.Data[key].Reveal(), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the Secret %s: %s is not a number", s.AppSecretName, key)
		}
		return n, nil
	}
	key := gitremote.AppKey{PrivateKey: app.Data["githubAppPrivateKey"], Base: s.API}
	if key.Base == "" {
		key.Base = app.Data["githubAppEnterpriseBaseUrl"].Reveal()
	}
	var idErr, installationErr error
	key.ID, idErr = number("githubAppID")
	key.Installation, installationErr = number("githubAppInstallationID")
	if err := errors.Join(idErr, installationErr); err != nil {
		return err
	}
	if key.PrivateKey.IsZero() {
		return fmt.Errorf("the Secret %s is not that of a GitHub App: it has no githubAppPrivateKey", s.AppSecretName)
	}
	if key.Base != s.API {
		base, err := url.Parse(strings.TrimSuffix(githubBase(key.Base), "/") + "/")
		if err != nil || base.Host == "" {
			return fmt.Errorf("the Secret %s: githubAppEnterpriseBaseUrl is not a URL", s.AppSecretName)
		}
		// The Secret says where its App is.
		h.base = base
		if err := a.allow(Target{Resource: base.String() + s.owner(false), Namespace: a.Namespace}); err != nil {
			return err
		}
	}
	if key.Installation == 0 {
		if !versions.Version(q.Version).Has(versions.AppInstallationFound) {
			return fmt.Errorf("the Secret %s: githubAppInstallationID must be set; only Argo CD 3.3 and later find it", s.AppSecretName)
		}
		if key.Installation, err = a.installation(ctx, h, key, s.Organization+s.Owner); err != nil {
			return err
		}
	}
	if err := h.waiting(); err != nil {
		return err
	}
	token, err := a.Client.tokens.Get(ctx, h.http, key, a.now)
	if err != nil {
		return err
	}
	h.authorize("Authorization", "Bearer ", token)
	h.identity = fmt.Sprintf("app %d installation %d %s", key.ID, key.Installation, digest(key.PrivateKey.Reveal()))
	return nil
}

// installation looks for the installation of an App in an organization.
func (a *Asker) installation(ctx context.Context, h *host, key gitremote.AppKey, owner string) (int64, error) {
	signed, err := key.Sign(a.now())
	if err != nil {
		return 0, err
	}
	app := &host{
		client: h.client, http: h.http, base: h.base, header: h.header.Clone(),
		identity: fmt.Sprintf("app %d %s", key.ID, digest(key.PrivateKey.Reveal())),
	}
	app.left.Store(maxBytes)
	app.authorize("Authorization", "Bearer ", secret.New(signed))
	var id int64
	err = pages(app, func(n int) (int, error) {
		var list []struct {
			ID      int64 `json:"id"`
			Account struct {
				Login string `json:"login"`
			} `json:"account"`
		}
		header, err := app.get(ctx, "app/installations", page(n), &list)
		for _, i := range list {
			if strings.EqualFold(i.Account.Login, owner) {
				id = i.ID
				return 0, err
			}
		}
		return next(header), err
	})
	if err == nil && id == 0 {
		err = fmt.Errorf("GitHub App %d is not installed in %s", key.ID, owner)
	}
	if err != nil {
		return 0, app.clean(err)
	}
	return id, nil
}
