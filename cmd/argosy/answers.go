package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/appset/answers"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/bucket/s3/awsjson"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/parent"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/scm"
)

// answersOptions are the flags about APIs that generators ask.
type answersOptions struct {
	dir     string
	record  bool
	secrets []string
	objects []string
	scmOptions
}

// scmOptions are Argo CD's own settings about APIs. The appset plugin registers them.
type scmOptions struct {
	allowed []string
	strict  bool
}

// registerReplay adds the flag of commands that ask no API.
func (o *answersOptions) registerReplay(flags *pflag.FlagSet) {
	flags.StringVar(&o.dir, "answers", "",
		"`DIR` with recorded answers of APIs, for the generators scmProvider, pullRequest, plugin and clusterDecisionResource (argosy "+
			"appset generate --record)")
}

func (o *answersOptions) register(flags *pflag.FlagSet) {
	o.registerReplay(flags)
	flags.BoolVar(&o.record, "record", false, "ask APIs, and write their answers to the directory of --answers")
	flags.StringArrayVar(&o.secrets, "secrets", nil,
		"ask APIs with the tokens in `FILE`: manifests of the Secrets and ConfigMaps that sets name; repeatable")
	flags.StringArrayVar(&o.objects, "objects", nil,
		"`FILE` with ConfigMaps and objects for clusterDecisionResource; by default those among the arguments; repeatable")
}

// given reports whether a flag is set.
func (o *answersOptions) given() bool {
	return o.dir != "" || o.record || len(o.secrets)+len(o.objects) > 0
}

// noAnswer is the hint of everything that is not known.
const noAnswer = "; give it with --secrets FILE, or replay a recorded answer with --answers DIR"

// replay answers from files, or not at all.
func (o *answersOptions) replay() generator.APIs {
	if o.dir == "" {
		return notAsked{}
	}
	return answers.Replay{FS: os.DirFS(o.dir), Dir: o.dir}
}

// notAsked is for commands that ask no API.
type notAsked struct{}

// Ask implements generator.APIs.
func (notAsked) Ask(_ context.Context, q generator.Question) (*generator.Answer, error) {
	return nil, generator.Unknown{Reason: whoIsAsked(q) +
		" is not asked here; record its answer with argosy appset generate --record, and replay it with --answers DIR"}
}

func whoIsAsked(q generator.Question) string {
	switch q.Ask {
	case generator.AskParameters:
		return "the plugin of this generator"
	case generator.AskDecision:
		return "the cluster"
	}
	return "the API of " + q.Provider
}

// open returns what answers the generators of a command, and what writes down a recording. The objects of the arguments are known, too.
func (o *answersOptions) open(std stdio, offline bool, docs []manifest.Document) (generator.APIs, func() error, error) {
	done := func() error { return nil }
	switch {
	case o.record && o.dir == "":
		return nil, nil, usagef("--record goes with --answers, the directory that answers are written to")
	case o.record && offline:
		return nil, nil, usagef("--record asks APIs, so it goes without --offline")
	case o.dir != "" && !o.record:
		if len(o.secrets) > 0 {
			return nil, nil, usagef("--answers asks no API, so --secrets goes with --record")
		}
		return o.replay(), done, nil
	}
	objects, err := readObjects(o.secrets, o.objects)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range docs {
		objects = append(objects, d.Object)
	}
	asker := &scm.Asker{
		Client:  &scm.Client{Now: std.now, Env: std.env, AWS: &awsjson.Caller{Now: std.now}},
		Objects: objects, Strict: o.strict, Allowed: o.allowed, Token: environmentToken(std), Hint: noAnswer,
	}
	apis := generator.APIs(asking{asker: asker, any: !offline && (o.record || len(o.secrets) > 0), offline: offline})
	if !o.record {
		return apis, done, nil
	}
	record := &answers.Record{APIs: apis}
	return record, func() error {
		if err := os.MkdirAll(o.dir, 0o755); err != nil {
			return pathError(err)
		}
		return record.Write(func(name string, data []byte) error { return os.WriteFile(filepath.Join(o.dir, name), data, 0o644) })
	}, nil
}

func readObjects(lists ...[]string) (scm.Manifests, error) {
	var out scm.Manifests
	for _, files := range lists {
		for _, file := range files {
			data, err := readLimited(file)
			if err != nil {
				return nil, err
			}
			docs, err := manifest.Decode(file, data)
			if err != nil {
				return nil, err
			}
			for _, d := range docs {
				out = append(out, d.Object)
			}
		}
	}
	return out, nil
}

// asking asks APIs for a command of a user. What cannot be had makes a set unknown.
type asking struct {
	asker *scm.Asker
	// any says that every API may be asked; otherwise those that the environment has a token for.
	any, offline bool
}

// Ask implements generator.APIs.
func (a asking) Ask(ctx context.Context, q generator.Question) (*generator.Answer, error) {
	if q.Ask != generator.AskDecision && !a.any {
		base, err := a.asker.Address(q)
		if err != nil || a.offline || a.asker.Token(q.Provider, base) == "" {
			return nil, generator.Unknown{Reason: whoIsAsked(q) +
				" is not asked without a credential; give one with --secrets FILE, or replay a recorded answer with --answers DIR"}
		}
	}
	answer, err := a.asker.Ask(ctx, q)
	if err != nil {
		return nil, plan.Absent(err)
	}
	return answer, nil
}

// environmentToken returns the tokens of the environment, each for the host that it is for and for no other: a set can name any address.
func environmentToken(std stdio) func(provider, base string) string {
	return func(provider, base string) string {
		var variable, own, public string
		switch provider {
		case "github":
			variable, own, public = "GITHUB_TOKEN", std.getenv("GITHUB_API_URL"), "https://api.github.com"
		case "gitlab":
			variable, own, public = "GITLAB_TOKEN", std.getenv("CI_SERVER_URL"), "https://gitlab.com"
		case "gitea":
			variable, own = "GITEA_TOKEN", std.getenv("GITEA_SERVER_URL")
		case "azureDevOps", "azuredevops":
			variable, public = "AZURE_DEVOPS_EXT_PAT", "https://dev.azure.com"
		}
		for _, known := range []string{own, public} {
			if known != "" && sameOrigin(known, base) {
				return strings.TrimSpace(std.getenv(variable))
			}
		}
		return ""
	}
}

func sameOrigin(a, b string) bool {
	x, err1 := url.Parse(a)
	y, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && x.Host != "" && x.Scheme == y.Scheme && strings.EqualFold(x.Host, y.Host)
}

// apiOptions are the flags of the appset plugin about APIs.
type apiOptions struct {
	on bool
	scmOptions
}

func (o *apiOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.on, "generator-apis", false, usageOf("generator-apis"))
	flags.StringSliceVar(&o.allowed, "allowed-scm-providers", nil, usageOf("allowed-scm-providers"))
	flags.BoolVar(&o.strict, "token-ref-strict-mode", false, usageOf("token-ref-strict-mode"))
}

// apisFor returns what answers the generators of a request, with the rights of its parent: nil if the administrator has not allowed APIs,
// or if there is no cluster to read Secrets from. Tokens of projects that are not administrators' must be marked for it.
func (o *apiOptions) apisFor(client *scm.Client, api *kube.Client, namespace string, f parent.For) generator.APIs {
	if !o.on {
		return refusedAPIs("the generators scmProvider, pullRequest, plugin and clusterDecisionResource are off in this sidecar " +
			"(--generator-apis)")
	}
	if api == nil {
		return refusedAPIs("there is no access to a cluster, so the Secrets that generators name are not known")
	}
	return &scm.Asker{
		Client: client, Objects: api, Namespace: namespace, Strict: o.strict || !f.Admin, Allowed: o.allowed,
		Allow: scm.Permit(f.Policy, f.Parent, namespace), Hint: "; it is not there, or it is in another namespace",
	}
}

// refusedAPIs answers nothing, and says why.
type refusedAPIs string

// Ask implements generator.APIs.
func (r refusedAPIs) Ask(context.Context, generator.Question) (*generator.Answer, error) {
	return nil, fmt.Errorf("%w", generator.Unknown{Reason: string(r)})
}
