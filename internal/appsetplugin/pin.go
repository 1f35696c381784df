package appsetplugin

import (
	"cmp"
	"context"
	"fmt"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
)

// Pins reports whether a source uses this plugin with pinned Applications.
func Pins(source map[string]any) bool {
	given, _ := SourceParameters(source)
	return given.Pins()
}

// KeepsPins reports whether Applications that a new commit does not change keep their old one.
func KeepsPins(source map[string]any) bool {
	given, _ := SourceParameters(source)
	return given.Pin == PinChanged
}

// Own returns the revision that a source of this plugin follows. A source that its parent has pinned follows the branch from before.
func Own(source map[string]any) appset.Read {
	given, _ := SourceParameters(source)
	revision := cmp.Or(given.PinBranch, manifest.String(source, "targetRevision"))
	return appset.Read{URL: manifest.String(source, "repoURL"), Revision: revision}
}

// own is the revision that the application of a call follows. It has no commit if the call is not for a commit, as for a chart.
func own(c argo.Call) appset.Read {
	r := appset.Read{URL: c.RepoURL, Revision: cmp.Or(c.Parameter(ParameterPinBranch), c.Target)}
	if argo.IsCommit(c.Revision) {
		r.Commit = c.Revision
	}
	return r
}

// follows reports whether a source of an Application follows a revision.
func follows(source map[string]any, r appset.Read) bool {
	revision, ok := source["targetRevision"].(string)
	if source["targetRevision"] != nil && !ok {
		return false // the API server refuses it
	}
	return manifest.String(source, "chart") == "" && !argo.IsCommit(revision) &&
		giturl.Canonical(manifest.String(source, "repoURL")) == giturl.Canonical(r.URL) &&
		argo.Revision(revision) == argo.Revision(r.Revision)
}

// Follows reports whether one of the sources of an Application follows one of some revisions: by pin it gets a commit instead.
func Follows(app manifest.Object, reads []appset.Read) bool {
	for _, s := range argo.Sources(app) {
		for _, r := range reads {
			if s != nil && follows(s, r) {
				return true
			}
		}
	}
	return false
}

// pinner gives Applications commits instead of branches.
type pinner struct {
	config   Config
	request  Request
	work     For
	mode     Pin
	self     argo.Ref
	children *Children // nil if unknown
	warnings []string
}

// child is an Application with sources that get a commit.
type child struct {
	object manifest.Object
	ref    argo.Ref
	pins   []*pinned
}

// pinned is a source that gets a commit.
type pinned struct {
	source map[string]any
	read   appset.Read
	commit string
}

// pin sets the commits in the Applications of an answer. The parent itself is not pinned: it would never see a new commit again.
func (p *pinner) pin(ctx context.Context, answer *appset.Expanded) error {
	var children []*child
	for i, o := range answer.Objects {
		if !argo.IsApplication(o) || policy.Ref(o, p.request.Namespace) == p.self {
			continue
		}
		reads, err := p.reads(answer.Reads[i])
		if err != nil {
			return fmt.Errorf("%s %q: %w", argo.KindApplication, manifest.String(o, "metadata", "name"), err)
		}
		c := &child{object: o, ref: policy.Ref(o, p.request.Namespace)}
		for _, s := range argo.Sources(o) {
			for _, r := range reads {
				if s != nil && follows(s, r) {
					c.pins = append(c.pins, &pinned{s, r, r.Commit})
					break
				}
			}
		}
		if len(c.pins) > 0 {
			children = append(children, c)
		}
	}
	if p.mode == PinChanged {
		if err := p.keep(ctx, children); err != nil {
			return err
		}
	}
	for _, c := range children {
		for _, s := range c.pins {
			s.set()
		}
	}
	return nil
}

// reads are the revisions with their commits, those of the set before the parent's own: its Applications are made of the files in them.
func (p *pinner) reads(set []appset.Read) ([]appset.Read, error) {
	var out []appset.Read
	commits := map[[2]string]string{}
	for i, r := range append(set[:len(set):len(set)], p.work.own) {
		id := [2]string{giturl.Canonical(r.URL), argo.Revision(r.Revision)}
		before, twice := commits[id]
		switch {
		case r.Commit == "" || twice && (i == len(set) || before == r.Commit):
			continue
		case twice:
			return nil, fmt.Errorf("revision %q of its repository was commit %.12s and then %.12s while it was read", r.Revision, before,
				r.Commit)
		}
		commits[id] = r.Commit
		out = append(out, r)
	}
	return out, nil
}

// set writes the commit into the source. A parent of this plugin that pins also gets the name of its branch: it says in its repository
// which of its own Applications are pinned.
func (s *pinned) set() {
	branch := argo.Revision(manifest.String(s.source, "targetRevision"))
	s.source["targetRevision"] = s.commit
	if !Pins(s.source) {
		return
	}
	plugin := manifest.Map(s.source, "plugin")
	list, _ := plugin["parameters"].([]any)
	kept := make([]any, 0, len(list)+1)
	for _, parameter := range list {
		if m, _ := parameter.(map[string]any); manifest.String(m, "name") != ParameterPinBranch {
			kept = append(kept, parameter)
		}
	}
	plugin["parameters"] = append(kept, map[string]any{"name": ParameterPinBranch, "string": branch})
}
