package workspace

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/answers"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/secret"
)

// Asking says how generators that ask APIs are answered. The zero value leaves their sets unknown.
type Asking struct {
	// Answers is a directory with recorded answers; "" is none. With Record, APIs are asked and their answers are written to it.
	Answers string
	Record  bool
	// Secrets are files with the credentials that APIs are asked with, Objects files with other objects.
	Secrets, Objects []string
	// Allowed and Strict are Argo CD's own settings, as in scm.Asker.
	Allowed []string
	Strict  bool
	// Offline asks no API.
	Offline bool
	// Client asks. Nil leaves everything unknown that is neither recorded nor among the objects.
	Client *scm.Client
	// Getenv returns variables of the environment; nil is none.
	Getenv func(string) string
}

// Given reports whether there are answers, credentials or objects, beside Argo CD's own settings.
func (a Asking) Given() bool { return a.Answers != "" || a.Record || len(a.Secrets)+len(a.Objects) > 0 }

// noAnswer is the hint for unknown objects and answers.
const noAnswer = "; give it with --secrets FILE, or replay a recorded answer with --answers DIR"

// Replay answers from files. Without a directory everything is unknown.
func Replay(dir string) generator.APIs {
	if dir == "" {
		return notAsked{}
	}
	return answers.Replay{FS: inside(dir), Dir: dir}
}

// inside is a directory that no link leads out of: a recorded answer may come from an untrusted branch, and errors quote it.
type inside string

// Open implements fs.FS.
func (d inside) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stat implements fs.StatFS, without opening the file.
func (d inside) Stat(name string) (fs.FileInfo, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return root.Stat(name)
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
	return "the API of " + string(q.Provider)
}

// open returns the APIs for generators, and a function that writes a recording. The objects of docs are known to the APIs, too.
func (a Asking) open(docs []manifest.Document) (generator.APIs, func() error, error) {
	done := func() error { return nil }
	switch {
	case a.Record && a.Answers == "":
		return nil, nil, problem.Usagef("--record requires --answers, the directory that answers are written to")
	case a.Record && a.Offline:
		return nil, nil, problem.Usagef("--record and --offline exclude each other: --record asks APIs")
	case a.Answers != "" && !a.Record:
		if len(a.Secrets) > 0 {
			return nil, nil, problem.Usagef("--answers asks no API, so --secrets requires --record")
		}
		return Replay(a.Answers), done, Directory("answers", a.Answers)
	case a.Client == nil:
		return notAsked{}, done, nil
	}
	objects, err := readObjects(a.Secrets, a.Objects)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range docs {
		objects = append(objects, d.Object)
	}
	apis := generator.APIs(asking{
		asker: &scm.Asker{Client: a.Client, Objects: objects, Strict: a.Strict, Allowed: a.Allowed, Token: a.token, Hint: noAnswer},
		any:   !a.Offline && (a.Record || len(a.Secrets) > 0), offline: a.Offline,
	})
	if !a.Record {
		return apis, done, nil
	}
	record := &answers.Record{APIs: apis}
	return record, func() error {
		if err := os.MkdirAll(a.Answers, 0o755); err != nil {
			return problem.Path(err)
		}
		root, err := os.OpenRoot(a.Answers)
		if err != nil {
			return problem.Path(err)
		}
		defer func() { _ = root.Close() }()
		return record.Write(func(name string, data []byte) error { return problem.Path(root.WriteFile(name, data, 0o644)) })
	}, nil
}

func readObjects(lists ...[]string) (scm.Manifests, error) {
	var out scm.Manifests
	for _, files := range lists {
		for _, file := range files {
			data, err := input.File(file)
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

// asking calls APIs for a user's command. A set whose API cannot be reached is unknown.
type asking struct {
	asker *scm.Asker
	// any allows every API; otherwise only those with a token in the environment.
	any, offline bool
}

// Ask implements generator.APIs.
func (a asking) Ask(ctx context.Context, q generator.Question) (*generator.Answer, error) {
	if q.Ask != generator.AskDecision && !a.any {
		base, err := a.asker.Address(q)
		if err != nil || a.offline || a.asker.Token(q.Provider, base).IsZero() {
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

// token returns the token of the environment for a host, and for no other: a set can name any address.
func (a Asking) token(p generator.Provider, base string) secret.Text {
	if a.Getenv == nil {
		return secret.Text{}
	}
	env, own := scm.EnvironmentOf(p), ""
	if env.Own != "" {
		own = a.Getenv(env.Own)
	}
	for _, known := range []string{own, env.Public} {
		if known != "" && sameOrigin(known, base) {
			return secret.New(strings.TrimSpace(a.Getenv(env.Token)))
		}
	}
	return secret.Text{}
}

func sameOrigin(a, b string) bool {
	x, err1 := url.Parse(a)
	y, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && x.Host != "" && x.Scheme == y.Scheme && strings.EqualFold(x.Host, y.Host)
}
