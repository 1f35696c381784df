package generator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// APIs answers what generators ask outside of Git: hosts of repositories, plugins, and objects of a cluster. The commands, the sidecar with
// its workers and the replay of recorded answers all implement it. An implementation must bound the size of an answer.
type APIs interface {
	Ask(ctx context.Context, q Question) (*Answer, error)
}

// Ask is the kind of a Question.
type Ask string

// Questions of the generators.
const (
	AskRepositories Ask = "repositories" // scmProvider: all repositories of an owner, with their default branch
	AskBranches     Ask = "branches"     // scmProvider: the branches of Question.Repositories
	AskPath         Ask = "path"         // scmProvider: whether Question.Path is in each of Question.Repositories, at its branch
	AskPullRequests Ask = "pullRequests" // pullRequest: the open pull requests of a repository
	AskParameters   Ask = "parameters"   // plugin: the parameters that a plugin returns
	AskDecision     Ask = "decision"     // clusterDecisionResource: a ConfigMap and the objects that it describes
)

// Provider is a kind of Git host: the field of a generator that names it.
type Provider string

// Providers.
const (
	GitHub          Provider = "github"
	GitLab          Provider = "gitlab"
	Gitea           Provider = "gitea"
	Bitbucket       Provider = "bitbucket" // Bitbucket Cloud
	BitbucketServer Provider = "bitbucketServer"
	AzureDevOps     Provider = "azureDevOps" // of scmProvider
	AzurePulls      Provider = "azuredevops" // of pullRequest: Azure DevOps, too
	CodeCommit      Provider = "awsCodeCommit"
)

// Question is a generator's question to an API. It has names of Secrets, and never their content.
type Question struct {
	Ask Ask `json:"ask"`
	// Set is the ApplicationSet of the generator. Secrets are read from its namespace.
	Set SetName `json:"set"`
	// Provider is the host; "" for a plugin and for a decision.
	Provider Provider `json:"provider,omitempty"`
	// Spec is the object of that field, or of the generator, with known fields of the right type only.
	Spec json.RawMessage `json:"spec"`
	// CloneProtocol is the generator's; "" is the default of the host.
	CloneProtocol string `json:"cloneProtocol,omitempty"`
	// Repositories and Path belong to AskBranches and AskPath.
	Repositories []Repository `json:"repositories,omitempty"`
	Path         string       `json:"path,omitempty"`
	// Version is the minor version of Argo CD 3.
	Version int `json:"version,omitempty"`
}

// SetName names an ApplicationSet.
type SetName struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Answer is the answer of an API. The question decides which field is set.
type Answer struct {
	Repositories []Repository `json:"repositories,omitempty"`
	// Branches has for each repository of the question its branches, and Exists whether it has the path.
	Branches [][]Branch `json:"branches,omitempty"`
	Exists   []bool     `json:"exists,omitempty"`
	// PullRequests are in the order of the host. NotFound says that the host does not know the repository.
	PullRequests []PullRequest `json:"pullRequests,omitempty"`
	NotFound     bool          `json:"notFound,omitempty"`
	// Parameters are the parameters of a plugin.
	Parameters []map[string]any `json:"parameters,omitempty"`
	Decision   *Decision        `json:"decision,omitempty"`
	// Warnings are lines for the user, such as that Argo CD reads one page only.
	Warnings []string `json:"warnings,omitempty"`
}

// Repository is a repository of a host, or one branch of it.
type Repository struct {
	Organization string   `json:"organization"`
	Repository   string   `json:"repository"`
	URL          string   `json:"url"`
	Branch       string   `json:"branch"`
	SHA          string   `json:"sha,omitempty"`
	Labels       []string `json:"labels"`
	// ID is the host's own identifier if it is text, and Number if it is a number.
	ID     string `json:"id,omitempty"`
	Number int64  `json:"number,omitempty"`
}

func (r Repository) String() string { return r.Organization + "/" + r.Repository }

// Branch is a branch of a repository. SHA is "" for a host that does not tell it.
type Branch struct {
	Name string `json:"name"`
	SHA  string `json:"sha,omitempty"`
}

// PullRequest is a pull request, or a merge request.
type PullRequest struct {
	Number       int64    `json:"number"`
	Title        string   `json:"title"`
	Branch       string   `json:"branch"`
	TargetBranch string   `json:"targetBranch"`
	HeadSHA      string   `json:"headSHA"`
	Labels       []string `json:"labels"`
	Author       string   `json:"author"`
}

// Decision has the objects that a clusterDecisionResource generator reads from Argo CD's namespace.
type Decision struct {
	// ConfigMap is the data of the ConfigMap that configMapRef names.
	ConfigMap map[string]string `json:"configMap"`
	// Objects are the objects of the kind in it that the generator selects, in the order of their names.
	Objects []DecisionObject `json:"objects"`
}

// DecisionObject is an object that decides about clusters.
type DecisionObject struct {
	Name   string         `json:"name"`
	Status map[string]any `json:"status,omitempty"`
}

// Credentials returns the fields of a provider about access to a host. An answer does not depend on them.
func Credentials() []string {
	return []string{
		"accessTokenRef", "appPasswordRef", "appSecretName", "basicAuth", "bearerToken", "caRef", "insecure", "role",
		"tokenRef", "user",
	}
}

// ask asks a question and checks that the answer is one to it.
func (r *run) ask(f *fields, q Question) (*Answer, error) {
	if r.APIs == nil {
		return nil, fmt.Errorf("%s: %w", f.path, Unknown{"this generator asks an API, and no API can be asked here"})
	}
	q.Set, q.Version = r.Set, int(r.Version)
	a, err := r.APIs.Ask(r.ctx, q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	for _, w := range a.Warnings {
		r.warned[f.path+": "+w] = ""
	}
	n := len(q.Repositories)
	if q.Ask == AskBranches && len(a.Branches) != n || q.Ask == AskPath && len(a.Exists) != n || q.Ask == AskDecision && a.Decision == nil {
		return nil, fmt.Errorf("%s: the answer does not belong to the question", f.path)
	}
	return a, nil
}

// kindOf is the type of a field of a provider.
type kindOf int

const (
	isText kindOf = iota
	isFlag
	isStrings
	isRef  // of a key in a Secret: secretName, key
	isCA   // of a key in a ConfigMap: configMapName, key
	isAuth // username, passwordRef
	isToken
	isTags
)

// provider is a host that a generator can ask: its field, and the fields in it.
type provider struct {
	name     Provider
	fields   map[string]kindOf
	required []string
	// since has fields that older versions of Argo CD do not know.
	since map[string]int
}

// chosen returns the provider that a generator names. Of several, Argo CD takes the first one of its own order.
func (r *run) chosen(f *fields, providers []provider) (provider, json.RawMessage) {
	var chosen *provider
	for i, p := range providers {
		f.known = append(f.known, string(p.name))
		switch {
		case f.value[string(p.name)] == nil:
		case chosen == nil:
			chosen = &providers[i]
		default:
			r.warned[fmt.Sprintf("%s.%s: ignored, because %s is set too", f.path, p.name, chosen.name)] = ""
		}
	}
	if chosen == nil {
		if len(f.errs) == 0 {
			var names []string
			for _, p := range providers {
				names = append(names, string(p.name))
			}
			f.errs = append(f.errs, fmt.Errorf("%s: no provider; it needs one of %s", f.path, strings.Join(names, ", ")))
		}
		return provider{}, nil
	}
	spec, err := r.providerSpec(f.path, *chosen, f.value[string(chosen.name)])
	if err != nil {
		f.errs = append(f.errs, err)
	}
	return *chosen, spec
}

// providerSpec checks the fields of a provider and returns those that the version of Argo CD knows.
func (r *run) providerSpec(path string, p provider, v any) (json.RawMessage, error) {
	f := newFields(path+"."+string(p.name), v, r)
	f.known = nil
	out := map[string]any{}
	for _, name := range manifest.Keys(p.fields) {
		if since := p.since[name]; since > 0 && r.Version != 0 && int(r.Version) < since {
			if f.value[name] != nil {
				r.warned[fmt.Sprintf("%s.%s: ignored, Argo CD knows it since 3.%d", f.path, name, since)] = ""
			}
			f.known = append(f.known, name)
			continue
		}
		switch p.fields[name] {
		case isText:
			f.text(name)
		case isFlag:
			f.boolean(name)
		case isStrings:
			f.strings(name)
		case isTags:
			for _, tag := range f.objects(name) {
				tag.text("key")
				tag.text("value")
				f.errs = append(f.errs, tag.err())
			}
		case isRef:
			f.reference(name, "secretName", "key")
		case isCA:
			f.reference(name, "configMapName", "key")
		case isToken:
			f.nested(name, func(o *fields) { o.reference("tokenRef", "secretName", "key") })
		case isAuth:
			f.nested(name, func(o *fields) {
				o.text("username")
				o.reference("passwordRef", "secretName", "key")
			})
		}
		if v := f.value[name]; v != nil {
			out[name] = v
		}
	}
	for _, name := range p.required {
		if s, ok := f.value[name].(string); len(f.errs) == 0 && (s == "" || !ok) {
			f.errs = append(f.errs, fmt.Errorf("%s: %s must be set", f.path, name))
		}
	}
	f.errs = slices.DeleteFunc(f.errs, func(err error) bool { return err == nil })
	if err := f.err(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(out)
	return data, err
}

// nested reads an object inside of an object.
func (f *fields) nested(name string, read func(*fields)) {
	m := field[map[string]any](f, name, "an object")
	if m == nil {
		return
	}
	o := newFields(f.path+"."+name, m, f.run)
	o.known = nil
	read(o)
	f.errs = append(f.errs, o.err())
}

// reference reads an object of names.
func (f *fields) reference(name string, keys ...string) {
	f.nested(name, func(o *fields) {
		for _, key := range keys {
			o.text(key)
		}
	})
}
