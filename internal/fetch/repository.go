package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/secret"
)

// repository is a parsed repository.
type repository struct {
	url    string // without credentials and trailing slash; for messages and keys
	parsed *url.URL
	oci    bool
	host   string // with the port, if there is one
	path   string // without slashes around it
	origin string
	login  login           // in the URL
	helm   *helmRepository // in repositories.yaml; nil is none
}

// repository parses what an Application or a Chart.yaml says. No error contains the URL's credentials.
func (f *Fetcher) repository(spelled string) (*repository, error) {
	spelled = strings.TrimSpace(spelled)
	name, isName := strings.CutPrefix(spelled, "@")
	if !isName {
		name, isName = strings.CutPrefix(spelled, "alias:")
	}
	if isName {
		r, err := f.namedRepository(name)
		if err != nil {
			return nil, err
		}
		spelled = r.URL
	}
	if spelled == "" {
		return nil, errors.New("the repository must be set")
	}
	if !strings.Contains(spelled, "://") {
		spelled = "oci://" + spelled
	}
	u, err := url.Parse(spelled)
	switch {
	case err != nil:
		return nil, fmt.Errorf("repository %s: not a URL", giturl.Redact(spelled))
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci":
		return nil, fmt.Errorf("repository %s: scheme %q is not supported; it must be https, http or oci", giturl.Redact(spelled), u.Scheme)
	case u.Host == "":
		return nil, fmt.Errorf("repository %s: it has no host", giturl.Redact(spelled))
	}
	repo := &repository{oci: u.Scheme == "oci", path: strings.Trim(u.Path, "/")}
	if u.User != nil {
		password, _ := u.User.Password()
		repo.login = login{u.User.Username(), secret.New(password)}
	}
	u.User, u.Fragment, u.Host = nil, "", strings.ToLower(u.Host)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	repo.parsed, repo.host, repo.origin = u, u.Host, giturl.Origin(u)
	repo.url = strings.TrimSuffix(giturl.Redact(u.String()), "/")
	if repo.oci {
		return repo, nil
	}
	repo.helm, err = f.helmRepositoryFor(u)
	return repo, err
}

// below returns the URL of a file that an index names: relative to the repository, or anywhere. As in Helm, a relative one
// keeps the query of the repository, which may be a token.
func (r *repository) below(reference string) (*url.URL, error) {
	ref, err := url.Parse(reference)
	if err != nil {
		return nil, errors.New("the index has an address that is not a URL")
	}
	if ref.IsAbs() {
		return ref, nil
	}
	base := *r.parsed
	base.Path += "/"
	if base.RawPath != "" {
		base.RawPath += "/"
	}
	out := base.ResolveReference(ref)
	if out.RawQuery == "" {
		out.RawQuery = base.RawQuery
	}
	return out, nil
}

// named returns the repository of a chart in a registry.
func (r *repository) named(chart string) *repository {
	out := *r
	out.path = strings.Trim(r.path+"/"+chart, "/")
	return &out
}
