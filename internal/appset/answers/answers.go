// Package answers keeps what APIs answered to the generators of ApplicationSets, as YAML files that people can read, and replays it. There
// is one file for what one generator asks: the repositories of an owner with the branches and paths that were asked for, the pull requests
// of a repository, the parameters of a plugin, or the objects of a clusterDecisionResource.
//
// The name of a file depends on the question alone, and not on the credentials that it was asked with. No file has a credential, or the
// name of one. Warnings about limits of Argo CD are not kept. A question that has no recorded answer makes its set unknown.
package answers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// maxFile bounds a file of answers.
const maxFile = 64 << 20

// file is the content of a file.
type file struct {
	Question subject `json:"question"`
	// NotFound and PullRequests are the answer about a repository.
	NotFound     bool                    `json:"notFound,omitempty"`
	PullRequests []generator.PullRequest `json:"pullRequests,omitempty"`
	Repositories []repository            `json:"repositories,omitempty"`
	Parameters   []map[string]any        `json:"parameters,omitempty"`
	Decision     *generator.Decision     `json:"decision,omitempty"`

	index map[[2]string]int // of the repositories, by owner and name
}

// repository is a repository with everything that was asked about it.
type repository struct {
	generator.Repository
	// Branches is nil if they were not asked for.
	Branches []branch `json:"branches,omitempty"`
	Empty    bool     `json:"empty,omitempty"` // asked for, and none
}

type branch struct {
	generator.Branch
	Paths map[string]bool `json:"paths,omitempty"`
}

// subject is what all questions of one generator have in common.
type subject struct {
	Kind          generator.Kind     `json:"kind"`
	Provider      generator.Provider `json:"provider,omitempty"`
	Spec          json.RawMessage    `json:"spec"`
	CloneProtocol string             `json:"cloneProtocol,omitempty"`
	// Set is the name of the set, which a plugin is told.
	Set string `json:"set,omitempty"`
}

// about returns the subject of a question.
func about(q generator.Question) (subject, error) {
	s := subject{Kind: generator.Kind(q.Ask), Provider: q.Provider, CloneProtocol: q.CloneProtocol}
	switch q.Ask {
	case generator.AskRepositories, generator.AskBranches, generator.AskPath:
		s.Kind = generator.KindSCMProvider
	case generator.AskPullRequests:
		s.Kind = generator.KindPullRequest
	case generator.AskParameters:
		s.Kind, s.Set = generator.KindPlugin, q.Set.Name
	case generator.AskDecision:
		s.Kind = generator.KindDecision
	}
	v, err := manifest.JSON(q.Spec)
	if err != nil {
		return s, fmt.Errorf("the question is not valid: %w", err)
	}
	spec, _ := v.(map[string]any)
	for key, value := range spec {
		if slices.Contains(generator.Credentials(), key) || value == false || value == "" {
			delete(spec, key)
		}
	}
	s.Spec, err = json.Marshal(spec)
	return s, err
}

// name is the name of the file about a subject.
func (s subject) name() string {
	data, _ := json.Marshal(s)
	sum := sha256.Sum256(data)
	var spec map[string]any
	_ = json.Unmarshal(s.Spec, &spec)
	words := []string{string(s.Kind), string(s.Provider)}
	for _, key := range []string{"organization", "teamProject", "owner", "group", "project", "repo", "region", "configMap", "name"} {
		if text, ok := spec[key].(string); ok {
			words = append(words, text)
		}
	}
	name := strings.ReplaceAll(template.Normalize(strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return w == ""
	}), "-")), ".", "-")
	return name[:min(len(name), 80)] + "-" + hex.EncodeToString(sum[:4]) + ".yaml"
}

func (s subject) String() string {
	return strings.Join(slices.DeleteFunc([]string{string(s.Kind), string(s.Provider), string(s.Spec)}, func(w string) bool {
		return w == ""
	}), " ")
}

// Replay answers questions from recorded files. It sends no requests.
type Replay struct {
	FS fs.FS
	// Dir names the directory in messages.
	Dir string
}

// Ask implements generator.APIs.
func (r Replay) Ask(_ context.Context, q generator.Question) (*generator.Answer, error) {
	s, err := about(q)
	if err != nil {
		return nil, err
	}
	f, err := r.read(s)
	if err != nil {
		return nil, err
	}
	a := &generator.Answer{NotFound: f.NotFound, PullRequests: f.PullRequests, Parameters: f.Parameters, Decision: f.Decision}
	switch q.Ask {
	case generator.AskRepositories:
		for _, repo := range f.Repositories {
			a.Repositories = append(a.Repositories, repo.Repository)
		}
	case generator.AskBranches, generator.AskPath:
		err = f.answer(q, a)
	case generator.AskDecision:
		if f.Decision == nil {
			err = errors.New("it has no decision")
		}
	}
	if err != nil {
		return nil, generator.Unknown{Reason: fmt.Sprintf("%s: %v; record it again with --record", r.path(s), err)}
	}
	return a, nil
}

func (r Replay) path(s subject) string { return strings.TrimSuffix(r.Dir, "/") + "/" + s.name() }

func (r Replay) read(s subject) (*file, error) {
	data, err := r.content(s.name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, generator.Unknown{Reason: fmt.Sprintf("there is no recorded answer for %s: %s is missing; record it with --record", s,
			r.path(s))}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.path(s), err)
	}
	f, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path(s), err)
	}
	return f, nil
}

// content reads a regular file, up to the limit.
func (r Replay) content(name string) ([]byte, error) {
	info, err := fs.Stat(r.FS, name) // before opening: opening a named pipe blocks until it has a writer
	switch {
	case err != nil:
		return nil, cause(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("over the limit of %d MiB", maxFile>>20)
	}
	f, err := r.FS.Open(name)
	if err != nil {
		return nil, cause(err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("over the limit of %d MiB", maxFile>>20)
	}
	return data, cause(err)
}

// cause is an error without the path.
func cause(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// decode reads a file. Fields that are not known are errors: a misspelt one would lose its Applications.
func decode(data []byte) (*file, error) {
	v, err := manifest.Value(data)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	f := &file{}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return nil, plain(err)
	}
	return f, nil
}

// plain rewrites a decoder error from Go types to YAML terms.
func plain(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	kind := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Int64: "a whole number", reflect.Bool: "true or false", reflect.Slice: "a list",
	}[wrong.Type.Kind()]
	return fmt.Errorf("%s: must be %s, it is a value of the kind %s", cmp.Or(wrong.Field, "the file"), cmp.Or(kind, "an object"),
		wrong.Value)
}

// answer answers about repositories one by one.
func (f *file) answer(q generator.Question, a *generator.Answer) error {
	for _, asked := range q.Repositories {
		repo := f.repository(asked)
		switch {
		case repo == nil:
			return fmt.Errorf("it has no repository %s", asked)
		case q.Ask == generator.AskBranches && repo.Branches == nil && !repo.Empty:
			return fmt.Errorf("it has no branches of %s", asked)
		case q.Ask == generator.AskBranches:
			list := []generator.Branch{}
			for _, b := range repo.Branches {
				list = append(list, b.Branch)
			}
			a.Branches = append(a.Branches, list)
		default:
			exists, known := repo.branch(asked.Branch).Paths[q.Path]
			if !known {
				return fmt.Errorf("it does not say whether branch %s of %s has %s", asked.Branch, asked, q.Path)
			}
			a.Exists = append(a.Exists, exists)
		}
	}
	return nil
}

func (f *file) repository(r generator.Repository) *repository {
	if len(f.index) == 0 {
		f.index = map[[2]string]int{}
		for i, o := range slices.Backward(f.Repositories) { // the first of two counts
			f.index[[2]string{o.Organization, o.Repository.Repository}] = i
		}
	}
	i, ok := f.index[[2]string{r.Organization, r.Repository}]
	if !ok {
		return nil
	}
	return &f.Repositories[i]
}

func (r *repository) branch(name string) *branch {
	i := slices.IndexFunc(r.Branches, func(b branch) bool { return b.Name == name })
	if i < 0 {
		return &branch{}
	}
	return &r.Branches[i]
}

// encode writes a file, in an order that does not change.
func (f *file) encode() ([]byte, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	v, err := manifest.JSON(data)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("# What an API answered; written by argosy with --record, replayed with --answers. (%s)\n",
		cmp.Or(string(f.Question.Provider), string(f.Question.Kind)))
	return manifest.AppendYAML([]byte(head), v), nil
}

// add merges an answer into the file.
func (f *file) add(q generator.Question, a *generator.Answer) {
	switch q.Ask {
	case generator.AskRepositories:
		f.index = nil
		for _, r := range a.Repositories {
			f.Repositories = append(f.Repositories, repository{Repository: r})
		}
	case generator.AskBranches:
		for i, asked := range q.Repositories {
			repo := f.repository(asked)
			if repo == nil || repo.Branches != nil {
				continue
			}
			for _, b := range a.Branches[i] {
				repo.Branches = append(repo.Branches, branch{Branch: b})
			}
			repo.Empty = len(repo.Branches) == 0
		}
	case generator.AskPath:
		for i, asked := range q.Repositories {
			if repo := f.repository(asked); repo != nil {
				b := repo.branch(asked.Branch)
				if b.Paths == nil {
					b.Paths = map[string]bool{}
				}
				b.Paths[q.Path] = a.Exists[i]
			}
		}
	default:
		f.NotFound, f.PullRequests, f.Parameters, f.Decision = a.NotFound, a.PullRequests, a.Parameters, a.Decision
	}
}
