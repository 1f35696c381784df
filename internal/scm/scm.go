// Package scm asks the APIs that generators of ApplicationSets need: GitHub, GitLab, Gitea, Bitbucket Cloud, Bitbucket Server, Azure DevOps
// and AWS CodeCommit, plugins over HTTP, and the objects of a cluster. It sends the requests that Argo CD sends and reads of the answers
// what Argo CD reads; the parameters are made by package generator.
//
// Every answer is bounded in pages, items, bytes and time. Redirects lead to the same server or are refused. Answers are kept for as long
// as Cache-Control allows, and with their ETags, so that a request for an answer that has not changed costs little. A host that says
// "wait" gets no request before that time. Errors name the host and what it said; they never have a token in them.
package scm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/gitremote"
	"github.com/argosy-cd/argosy/internal/rights"
	"github.com/argosy-cd/argosy/internal/secret"
)

// Limits of requests and answers.
const (
	maxPages        = 300
	maxRepositories = 20_000
	maxBranches     = 50_000
	maxPulls        = 20_000
	maxParameters   = 50_000
	maxBody         = 32 << 20  // of one answer
	maxBytes        = 256 << 20 // of all answers to one question
	atOnce          = 6         // requests to a host
	requestTimeout  = 30 * time.Second
	defaultWait     = time.Minute // if a host does not say how long
	maxWait         = time.Hour
	maxFresh        = 5 * time.Minute // the longest time to reuse an answer, even if its host allows more
)

// Client keeps connections, ETags and answers. It is safe for concurrent use, and meant to live as long as the process.
type Client struct {
	// Now is the time. It must be set.
	Now func() time.Time
	// Env are variables such as HTTPS_PROXY and those of AWS.
	Env environ.Environ
	// Bitbucket is the address of Bitbucket Cloud's API for scmProvider, which no set can name. "" is https://api.bitbucket.org/2.0.
	Bitbucket string
	// AWS signs and sends requests to AWS. Nil refuses awsCodeCommit.
	AWS AWS

	mu         sync.Mutex
	transports map[string]*http.Transport
	waits      map[string]time.Time
	store      store
	kept       store
	tokens     gitremote.AppTokens
}

// AWS sends a request to a service of AWS, such as codecommit: operation is the value of X-Amz-Target. An error of the service is an
// AWSError.
type AWS interface {
	Call(ctx context.Context, c AWSCall) ([]byte, error)
}

// AWSCall is a request to AWS. Zero for Region and Role uses the environment.
type AWSCall struct {
	Service, Operation, Region, Role string
	Body                             []byte
}

// AWSError is an error that AWS answered with.
type AWSError struct{ Code, Message string }

func (e *AWSError) Error() string { return e.Code + ": " + e.Message }

// Asker answers the questions of one caller with its rights.
type Asker struct {
	Client *Client
	// Objects has the Secrets, ConfigMaps and other objects that sets refer to.
	Objects Objects
	// Namespace is Argo CD's: plugins, GitHub Apps and decisions are looked for in it.
	Namespace string
	// Strict wants the label argocd.argoproj.io/secret-type=scm-creds on Secrets with tokens, as Argo CD does with its token reference
	// strict mode.
	Strict bool
	// Allowed are the API URLs that a set may name; nil is any. It is Argo CD's list of allowed SCM providers, compared letter by letter.
	Allowed []string
	// Allow checks a question before Secrets are read and requests are sent. Nil allows everything.
	Allow func(Target) error
	// Token returns a token for a provider at an address where a set names none. Nil is none.
	Token func(p generator.Provider, base string) secret.Text
	// Hint says how to provide a Secret or another object. It is appended to the error that the object is not known.
	Hint string
}

// Target is the subject of a question, for Allow.
type Target = rights.Target

// Ask implements generator.APIs.
func (a *Asker) Ask(ctx context.Context, q generator.Question) (*generator.Answer, error) {
	s, err := a.open(ctx, q)
	if err != nil {
		return nil, err
	}
	key := s.key(q)
	if answer := a.Client.freshAnswer(key); answer != nil {
		return answer, nil
	}
	answer, err := s.answer(ctx, q)
	if err == nil {
		answer.Warnings = s.warnings()
		a.Client.keep(key, answer, s.lasts())
		return answer, nil
	}
	var limit *LimitError
	if errors.As(err, &limit) {
		if answer, at := a.Client.keptAnswer(key); answer != nil {
			answer.Warnings = append(answer.Warnings, fmt.Sprintf("%v; the answer of %s is used", limit, at.UTC().Format(time.RFC3339)))
			return answer, nil
		}
	}
	return nil, s.clean(err)
}

// service is a host, or a plugin, opened for one question.
type service interface {
	answer(ctx context.Context, q generator.Question) (*generator.Answer, error)
	// key is the same for the same question with the same credential.
	key(q generator.Question) string
	// clean takes secrets out of an error.
	clean(err error) error
	// lasts is how long the answer may be used again, and warnings are lines about it for the user.
	lasts() time.Duration
	warnings() []string
}

// repositoryHost answers the questions of scmProvider.
type repositoryHost interface {
	repositories(ctx context.Context, protocol string) ([]generator.Repository, error)
	branches(ctx context.Context, r generator.Repository) ([]generator.Branch, error)
	hasPath(ctx context.Context, r generator.Repository, path string) (bool, error)
}

// pullRequestHost answers the questions of pullRequest. It returns errNotFound for a repository that does not exist.
type pullRequestHost interface {
	pullRequests(ctx context.Context) ([]generator.PullRequest, error)
}

var errNotFound = errors.New("not found")

// ask has a host answer a question.
func ask(ctx context.Context, host any, q generator.Question) (*generator.Answer, error) {
	out := &generator.Answer{}
	switch q.Ask {
	case generator.AskRepositories:
		h, ok := host.(repositoryHost)
		if !ok {
			break
		}
		var err error
		out.Repositories, err = h.repositories(ctx, q.CloneProtocol)
		return out, err
	case generator.AskBranches:
		h, ok := host.(repositoryHost)
		if !ok {
			break
		}
		out.Branches = make([][]generator.Branch, len(q.Repositories))
		err := each(ctx, len(q.Repositories), func(ctx context.Context, i int) (err error) {
			out.Branches[i], err = h.branches(ctx, q.Repositories[i])
			if err != nil {
				err = fmt.Errorf("branches of %s: %w", q.Repositories[i], err)
			}
			return err
		})
		total := 0
		for _, list := range out.Branches {
			if total += len(list); total > maxBranches {
				return nil, fmt.Errorf("there are more than %d branches", maxBranches)
			}
		}
		return out, err
	case generator.AskPath:
		h, ok := host.(repositoryHost)
		if !ok {
			break
		}
		out.Exists = make([]bool, len(q.Repositories))
		return out, each(ctx, len(q.Repositories), func(ctx context.Context, i int) (err error) {
			out.Exists[i], err = h.hasPath(ctx, q.Repositories[i], q.Path)
			if err != nil {
				err = fmt.Errorf("looking for %q in %s: %w", q.Path, q.Repositories[i], err)
			}
			return err
		})
	case generator.AskPullRequests:
		h, ok := host.(pullRequestHost)
		if !ok {
			break
		}
		var err error
		if out.PullRequests, err = h.pullRequests(ctx); errors.Is(err, errNotFound) {
			return &generator.Answer{NotFound: true}, nil
		}
		return out, err
	}
	return nil, fmt.Errorf("%s cannot be asked for %s", q.Provider, q.Ask)
}

// each calls f for each index, some at once, to the first error.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	return flight.Each(ctx, atOnce, n, f)
}

// digest is a short name for something that must not be read from it.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// questionKey identifies a question and its credential.
func questionKey(credential string, q generator.Question) string {
	data, _ := json.Marshal(q)
	return digest(credential, string(data))
}
